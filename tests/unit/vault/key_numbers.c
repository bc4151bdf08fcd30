/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of vault keys: what is made of them computes as the key does, and
 * numbers that are none of a key are refused.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/vault/key_numbers.h"

#include <string.h>

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/rsa.h>

#include "tests/unit/support/rsa_numbers.h"
#include "tests/unit/support/vault_keys.h"

/* output = input^d mod n, by libcrypto. */
static void compute(EVP_PKEY *key, const uint8_t *input, uint8_t *output,
                    size_t bytes)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(key, NULL);
    size_t length = bytes;

    assert_non_null(ctx);
    assert_int_equal(EVP_PKEY_decrypt_init(ctx), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_NO_PADDING), 1);
    assert_int_equal(EVP_PKEY_decrypt(ctx, output, &length, input, bytes), 1);
    assert_int_equal(length, bytes);
    EVP_PKEY_CTX_free(ctx);
}

/* What is made of the numbers has the same n and the same powers. */
static void assert_same_key(EVP_PKEY *key)
{
    static warprsa_key_numbers numbers;
    const size_t bytes = (size_t)EVP_PKEY_get_size(key);
    uint8_t input[WARPRSA_VAULT_MODULUS_BYTES_MAX] = {0};
    uint8_t expected[sizeof(input)], output[sizeof(input)];
    EVP_PKEY *made = NULL;

    vault_keys_numbers(&numbers, key);
    made = warprsa_key_numbers_to(&numbers);
    assert_non_null(made);
    memset(input + 1, 0x5a, bytes - 1);
    compute(key, input, expected, bytes);
    compute(made, input, output, bytes);
    assert_memory_equal(output, expected, bytes);
    assert_int_equal(ERR_peek_error(), 0);
    EVP_PKEY_free(made);
}

TEST(test_round_trip)
{
    static const struct {
        unsigned bits, primes;
    } keys[] = {{1024, 2}, {1026, 2}, {2048, 2}, {1024, 3}, {4096, 4}};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        EVP_PKEY *key = vault_keys_make("RSA", keys[i].bits, keys[i].primes);

        assert_same_key(key);
        EVP_PKEY_free(key);
    }
}

TEST(test_for_engines)
{
    static warprsa_key_numbers numbers;
    EVP_PKEY *key = vault_keys_make("RSA", 1024, 2);
    warprsa_private_key out;
    rsa_numbers expected;
    uint8_t number[WARPRSA_PRIME_BYTES_MAX];

    assert_int_equal(rsa_numbers_init(&expected), 1);
    assert_int_equal(rsa_numbers_of_key(&expected, key), 1);
    vault_keys_numbers(&numbers, key);
    assert_true(warprsa_key_numbers_for_engines(&numbers, &out));
    assert_int_equal(out.modulus_bytes, 128);
    BN_bn2binpad(expected.value[NUMBER_P], number, sizeof(number));
    assert_memory_equal(out.p, number, sizeof(number));
    BN_bn2binpad(expected.value[NUMBER_DQ], number, sizeof(number));
    assert_memory_equal(out.dq, number, sizeof(number));
    BN_bn2binpad(expected.value[NUMBER_QINV], number, sizeof(number));
    assert_memory_equal(out.qinv, number, sizeof(number));
    rsa_numbers_free(&expected);
    EVP_PKEY_free(key);
}

TEST(test_not_for_engines)
{
    static const warprsa_private_key none;
    static warprsa_key_numbers numbers;
    EVP_PKEY *key = vault_keys_make("RSA", 1024, 3);
    warprsa_private_key out;

    vault_keys_numbers(&numbers, key);
    memset(&out, 1, sizeof(out));
    assert_false(warprsa_key_numbers_for_engines(&numbers, &out));
    assert_memory_equal(&out, &none, sizeof(none));
    EVP_PKEY_free(key);
}

TEST(test_pss)
{
    static warprsa_key_numbers numbers;
    EVP_PKEY *key = vault_keys_make("RSA-PSS", 1024, 2);

    vault_keys_numbers(&numbers, key);
    assert_int_equal(numbers.is_pss, 1);
    assert_int_equal(numbers.pss_digest, WARPRSA_DIGEST_NONE);
    EVP_PKEY_free(key);
    key = vault_keys_make_restricted(24);
    vault_keys_numbers(&numbers, key);
    assert_int_equal(numbers.is_pss, 1);
    assert_int_equal(numbers.pss_digest, WARPRSA_DIGEST_SHA256);
    assert_int_equal(numbers.pss_mgf1_digest, WARPRSA_DIGEST_SHA256);
    assert_int_equal(numbers.pss_salt_bytes_min, 24);
    EVP_PKEY_free(key);
    assert_int_equal(ERR_peek_error(), 0);
}

/* A key of the type RSA-PSS that is restricted to these digests, of which NULL
 * is the default, SHA-1, and to salts of this length or more. */
static EVP_PKEY *make_restricted(const char *digest, const char *mgf1_digest,
                                 int salt_bytes)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "RSA-PSS", NULL);
    EVP_PKEY *key = NULL;

    assert_non_null(ctx);
    assert_int_equal(EVP_PKEY_keygen_init(ctx), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_keygen_bits(ctx, 1024), 1);
    if (digest != NULL)
        assert_int_equal(
            EVP_PKEY_CTX_set_rsa_pss_keygen_md_name(ctx, digest, NULL), 1);
    if (mgf1_digest != NULL)
        assert_int_equal(
            EVP_PKEY_CTX_set_rsa_pss_keygen_mgf1_md_name(ctx, mgf1_digest), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_pss_keygen_saltlen(ctx, salt_bytes),
                     1);
    assert_int_equal(EVP_PKEY_generate(ctx, &key), 1);
    EVP_PKEY_CTX_free(ctx);
    return key;
}

/* Defaults are left out of a key, and libcrypto names them to nobody. A key
 * that has nothing else is restricted all the same. */
TEST(test_pss_defaults)
{
    static const struct {
        const char *digest, *mgf1_digest;
        unsigned expected, mgf1_expected;
        int salt_bytes;
    } keys[] = {
        {"SHA1", "SHA1", WARPRSA_DIGEST_SHA1, WARPRSA_DIGEST_SHA1, 20},
        {NULL, NULL, WARPRSA_DIGEST_SHA1, WARPRSA_DIGEST_SHA1, 30},
        {"SHA1", "SHA256", WARPRSA_DIGEST_SHA1, WARPRSA_DIGEST_SHA256, 20},
        {"SHA256", "SHA1", WARPRSA_DIGEST_SHA256, WARPRSA_DIGEST_SHA1, 0},
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        static warprsa_key_numbers numbers;
        EVP_PKEY *key = make_restricted(keys[i].digest, keys[i].mgf1_digest,
                                        keys[i].salt_bytes);

        vault_keys_numbers(&numbers, key);
        assert_int_equal(numbers.is_pss, 1);
        assert_int_equal(numbers.pss_digest, keys[i].expected);
        assert_int_equal(numbers.pss_mgf1_digest, keys[i].mgf1_expected);
        assert_int_equal(numbers.pss_salt_bytes_min, keys[i].salt_bytes);
        EVP_PKEY_free(key);
    }
    assert_int_equal(ERR_peek_error(), 0);
}

/* A key without primes, a public key, and one of another type. */
TEST(test_lacking)
{
    static const warprsa_key_numbers none;
    static warprsa_key_numbers numbers;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    EVP_PKEY *with_primes = vault_keys_make("RSA", 1024, 2);
    rsa_numbers of;

    assert_non_null(key);
    assert_false(warprsa_key_numbers_from(&numbers, key));
    EVP_PKEY_free(key);
    assert_int_equal(rsa_numbers_init(&of), 1);
    assert_int_equal(rsa_numbers_of_key(&of, with_primes), 1);
    for (int i = NUMBER_P; i < NUMBERS; i++)
        BN_zero(of.value[i]);
    key = rsa_numbers_import(&of, NULL);
    assert_non_null(key);
    memset(&numbers, 1, sizeof(numbers));
    assert_false(warprsa_key_numbers_from(&numbers, key));
    assert_memory_equal(&numbers, &none, sizeof(none));
    EVP_PKEY_free(key);
    EVP_PKEY_free(with_primes);
    rsa_numbers_free(&of);
    assert_int_equal(ERR_peek_error(), 0);
}

/* Whether numbers of these lengths are taken. They are none of a key. */
static bool takes(int n_bits, int e_bits)
{
    static warprsa_key_numbers numbers;
    rsa_numbers of;
    EVP_PKEY *key = NULL;
    bool taken = false;

    assert_int_equal(rsa_numbers_init(&of), 1);
    for (int i = NUMBER_D; i < NUMBERS; i++)
        assert_int_equal(BN_set_word(of.value[i], 3), 1);
    assert_int_equal(BN_set_bit(of.value[NUMBER_N], n_bits - 1), 1);
    assert_int_equal(BN_set_bit(of.value[NUMBER_E], e_bits - 1), 1);
    key = rsa_numbers_import(&of, NULL);
    assert_non_null(key);
    taken = warprsa_key_numbers_from(&numbers, key);
    EVP_PKEY_free(key);
    rsa_numbers_free(&of);
    return taken;
}

/* A public key that the daemon can tell nobody would end each list of keys. */
TEST(test_long_public_keys)
{
    assert_true(takes(16384, 64));
    assert_true(takes(8192, 8191));
    assert_false(takes(9400, 9399));
    assert_false(takes(16384, 4096));
    assert_int_equal(ERR_peek_error(), 0);
}

/* Numbers from another process: lengths that lead out of the bytes. */
TEST(test_unsound)
{
    static warprsa_key_numbers sound, odd[11];
    EVP_PKEY *key = vault_keys_make("RSA", 1024, 2);
    warprsa_private_key engines;

    vault_keys_numbers(&sound, key);
    for (size_t i = 0; i < 11; i++)
        odd[i] = sound;
    odd[0].primes = 0;
    odd[1].primes = 1;
    odd[2].primes = WARPRSA_VAULT_PRIMES_MAX + 1;
    odd[3].primes = UINT32_MAX;
    odd[4].lengths[7] = sizeof(sound.bytes);
    odd[5].lengths[5] = UINT32_MAX;
    odd[6].lengths[2] = 0;
    odd[7].lengths[0] = WARPRSA_VAULT_MODULUS_BYTES_MAX + 1;
    odd[8].spki_bytes = sizeof(sound.spki) + 1;
    odd[9].pss_digest = WARPRSA_USE_DIGESTS;
    odd[10].bytes[0] = 0; /* n is shorter than it says */
    for (size_t i = 0; i < 11; i++) {
        assert_null(warprsa_key_numbers_to(&odd[i]));
        assert_false(warprsa_key_numbers_for_engines(&odd[i], &engines));
    }
    EVP_PKEY_free(key);
}

RUN_TESTS(NULL, NULL)
