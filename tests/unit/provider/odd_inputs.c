/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Odd inputs: of every length and value at the borders, with every padding, by
 * a good key. The answers and the errors are the default provider's, whichever
 * way an operation takes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/rsa.h>

#include "tests/unit/support/ways.h"

enum {
    K = 128, /* bytes of the modulus */
};

static ways_key key;

static int set_up(void **state)
{
    if (ways_setup(state) != 0)
        return -1;
    key = ways_key_of("good", true, key_make(NULL, "RSA", 1024, 2));
    return 0;
}

static int tear_down(void **state)
{
    ways_key_free(&key);
    return ways_teardown(state);
}

/* All calls of a kind, with inputs of 0x11, of these lengths. */
static void compare_lengths(const ways_call *call, const size_t *lengths,
                            size_t count)
{
    unsigned char input[2 * K];

    memset(input, 0x11, sizeof(input));
    for (size_t i = 0; i < count; i++)
        (void)ways_compare(&key, call, input, lengths[i]);
}

#define COMPARE_LENGTHS(call, ...)                                             \
    do {                                                                       \
        static const size_t lengths_[] = {__VA_ARGS__};                        \
        compare_lengths(call, lengths_, sizeof(lengths_) / sizeof(size_t));    \
    } while (0)

/* 0, 1, p, n - 1, n, n + 1 and the largest number, with the modulus's length.
 */
static void compare_values(const ways_call *call)
{
    unsigned char input[K];
    BIGNUM *n = NULL, *p = NULL;

    memset(input, 0, sizeof(input));
    (void)ways_compare(&key, call, input, K);
    input[K - 1] = 1;
    (void)ways_compare(&key, call, input, K);
    assert_int_equal(
        EVP_PKEY_get_bn_param(key.oracle, OSSL_PKEY_PARAM_RSA_N, &n), 1);
    assert_int_equal(
        EVP_PKEY_get_bn_param(key.oracle, OSSL_PKEY_PARAM_RSA_FACTOR1, &p), 1);
    assert_int_equal(BN_bn2binpad(p, input, K), K);
    (void)ways_compare(&key, call, input, K);
    assert_true(BN_sub_word(n, 1));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(BN_bn2binpad(n, input, K), K);
        (void)ways_compare(&key, call, input, K);
        assert_true(BN_add_word(n, 1));
    }
    memset(input, 0xff, sizeof(input));
    (void)ways_compare(&key, call, input, K);
    BN_clear_free(p);
    BN_free(n);
}

/* Once with the right length and value, so that success is known to count. */
static void assert_succeeds(const ways_call *call, size_t length)
{
    unsigned char input[K];

    memset(input, 0x11, sizeof(input));
    assert_int_equal(ways_compare(&key, call, input, length), 1);
}

TEST(raw_signatures)
{
    const ways_call call = {WAYS_SIGN, .padding = RSA_NO_PADDING};
    const ways_call digest = {WAYS_SIGN, .padding = RSA_NO_PADDING,
                              .digest = "SHA256"};

    assert_succeeds(&call, K);
    COMPARE_LENGTHS(&call, 0, 1, 100, K - 1, K + 1);
    COMPARE_LENGTHS(&digest, 0, 32, K);
    compare_values(&call);
}

TEST(raw_decryptions)
{
    const ways_call call = {WAYS_DECRYPT, .padding = RSA_NO_PADDING};

    assert_succeeds(&call, K);
    COMPARE_LENGTHS(&call, 0, 1, 100, K - 1, K + 1);
    compare_values(&call);
}

TEST(pkcs1_signatures)
{
    const ways_call plain = {WAYS_SIGN, .padding = RSA_PKCS1_PADDING};
    static const char *const digests[] = {"SHA256", "SHA1", "MD5", "SHA512"};

    assert_succeeds(&plain, 32);
    COMPARE_LENGTHS(&plain, 0, 1, K - 12, K - 11, K - 10, K - 1, K, K + 1);
    for (size_t i = 0; i < sizeof(digests) / sizeof(digests[0]); i++) {
        const ways_call call = {WAYS_SIGN, .padding = RSA_PKCS1_PADDING,
                                .digest = digests[i]};
        const ways_call whole = {WAYS_DIGEST_SIGN, .padding = RSA_PKCS1_PADDING,
                                 .digest = digests[i]};

        COMPARE_LENGTHS(&call, 0, 16, 20, 32, 64, K);
        COMPARE_LENGTHS(&whole, 0, 1, K);
    }
}

TEST(pss_signatures)
{
    static const char *const salts[] = {"digest", "max", "auto", "0", "1",
                                        "20",     "94",  "95",   "-5"};
    const ways_call plain = {WAYS_SIGN, .padding = RSA_PKCS1_PSS_PADDING};

    COMPARE_LENGTHS(&plain, 0, 20, 32);
    for (size_t i = 0; i < sizeof(salts) / sizeof(salts[0]); i++) {
        const ways_call call = {.what = WAYS_SIGN,
                                .padding = RSA_PKCS1_PSS_PADDING,
                                .digest = "SHA256",
                                .salt = salts[i]};
        const ways_call whole = {.what = WAYS_DIGEST_SIGN,
                                 .padding = RSA_PKCS1_PSS_PADDING,
                                 .digest = "SHA256",
                                 .salt = salts[i]};

        COMPARE_LENGTHS(&call, 0, 31, 32, 33);
        COMPARE_LENGTHS(&whole, 0, 1000 % (2 * K));
    }
}

TEST(x931_signatures)
{
    static const char *const digests[] = {NULL, "SHA1", "SHA256", "MD5"};

    for (size_t i = 0; i < sizeof(digests) / sizeof(digests[0]); i++) {
        const ways_call call = {WAYS_SIGN, .padding = RSA_X931_PADDING,
                                .digest = digests[i]};

        COMPARE_LENGTHS(&call, 0, 1, 20, 32, K - 2, K - 1, K, K + 1);
    }
}

TEST(paddings_that_do_not_fit)
{
    static const int paddings[] = {42, -1, RSA_PKCS1_OAEP_PADDING,
                                   RSA_PKCS1_WITH_TLS_PADDING, 2};

    for (size_t i = 0; i < sizeof(paddings) / sizeof(paddings[0]); i++) {
        const ways_call sign = {WAYS_SIGN, .padding = paddings[i]};
        const ways_call decrypt = {WAYS_DECRYPT, .padding = paddings[i]};

        COMPARE_LENGTHS(&sign, 32, K);
        if (paddings[i] != RSA_PKCS1_OAEP_PADDING)
            COMPARE_LENGTHS(&decrypt, 0, 32, K);
    }
    for (int padding = RSA_X931_PADDING; padding <= RSA_PKCS1_PSS_PADDING;
         padding++) {
        const ways_call decrypt = {WAYS_DECRYPT, .padding = padding};

        COMPARE_LENGTHS(&decrypt, 0, 32, K);
    }
}

/* Encrypts by the default provider. */
static void seal(const ways_call *call, unsigned char sealed[K])
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, key.oracle, NULL);
    size_t length = K;

    assert_int_equal(EVP_PKEY_encrypt_init(ctx), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(ctx, call->padding), 1);
    if (call->digest != NULL)
        assert_int_equal(
            EVP_PKEY_CTX_set_rsa_oaep_md_name(ctx, call->digest, NULL), 1);
    assert_int_equal(EVP_PKEY_encrypt(ctx, sealed, &length, support_message,
                                      sizeof(support_message)),
                     1);
    EVP_PKEY_CTX_free(ctx);
}

TEST(decryptions)
{
    static const ways_call calls[] = {
        {WAYS_DECRYPT, .padding = RSA_PKCS1_PADDING},
        {WAYS_DECRYPT, .padding = RSA_PKCS1_OAEP_PADDING},
        {WAYS_DECRYPT, .padding = RSA_PKCS1_OAEP_PADDING, .digest = "SHA256"},
        {WAYS_DECRYPT, .padding = RSA_PKCS1_WITH_TLS_PADDING},
    };

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        unsigned char sealed[K];
        ways_call sealing = calls[i];

        if (sealing.padding == RSA_PKCS1_WITH_TLS_PADDING)
            sealing.padding = RSA_PKCS1_PADDING;
        seal(&sealing, sealed);
        (void)ways_compare(&key, &calls[i], sealed, K);
        sealed[K - 1] ^= 1;
        (void)ways_compare(&key, &calls[i], sealed, K);
        (void)ways_compare(&key, &calls[i], sealed + 1, K - 1);
        COMPARE_LENGTHS(&calls[i], 0, 1, K - 1, K, K + 1);
        compare_values(&calls[i]);
    }
}

/* Too little room for the output. */
TEST(short_outputs)
{
    static const size_t rooms[] = {1, K - 1, K};
    unsigned char sealed[K], input[K];

    memset(input, 0x11, sizeof(input));
    for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
        const ways_call sign = {WAYS_SIGN, .padding = RSA_PKCS1_PADDING,
                                .room = rooms[i]};
        const ways_call raw = {WAYS_SIGN, .padding = RSA_NO_PADDING,
                               .room = rooms[i]};
        const ways_call decrypt = {WAYS_DECRYPT, .padding = RSA_PKCS1_PADDING,
                                   .room = rooms[i]};

        (void)ways_compare(&key, &sign, input, 32);
        (void)ways_compare(&key, &raw, input, K);
        seal(&decrypt, sealed);
        (void)ways_compare(&key, &decrypt, sealed, K);
    }
}

RUN_TESTS(set_up, tear_down)
