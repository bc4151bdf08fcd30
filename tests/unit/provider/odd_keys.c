/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Odd keys: with wrong numbers, unusual exponents, primes that are none, three
 * primes, and of all lengths. The answers and the errors are the default
 * provider's, whichever way an operation takes.
 */
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/rsa.h>

#include "tests/unit/support/vault_daemon.h"
#include "tests/unit/support/ways.h"

enum {
    BYTES_MAX = 2048, /* of a modulus */
};

static rsa_numbers good, odd;

static int set_up(void **state)
{
    EVP_PKEY *key = NULL;
    int made;

    if (ways_setup(state) != 0 || !rsa_numbers_init(&good) ||
        !rsa_numbers_init(&odd))
        return -1;
    key = key_make(NULL, "RSA", 1024, 2);
    made = rsa_numbers_of_key(&good, key);
    EVP_PKEY_free(key);
    return made ? 0 : -1;
}

static int tear_down(void **state)
{
    rsa_numbers_free(&good);
    rsa_numbers_free(&odd);
    return ways_teardown(state);
}

/* Makes `odd` the good key again, to be changed. Returns its numbers. */
static BIGNUM **changed(void)
{
    for (int i = 0; i < NUMBERS; i++)
        assert_non_null(BN_copy(odd.value[i], good.value[i]));
    return odd.value;
}

/* A signature, a decryption and a raw number, which is a success by default. */
static void compare_some(const ways_key *key)
{
    static const ways_call calls[] = {
        {WAYS_DECRYPT, .padding = RSA_NO_PADDING},
        {WAYS_SIGN, .padding = RSA_NO_PADDING},
        {WAYS_DIGEST_SIGN, .padding = RSA_PKCS1_PADDING, .digest = "SHA256"},
        {WAYS_SIGN, .padding = RSA_PKCS1_PSS_PADDING, .digest = "SHA256"},
        {WAYS_DECRYPT, .padding = RSA_PKCS1_PADDING},
    };
    const size_t k = (size_t)EVP_PKEY_get_size(key->oracle);
    unsigned char input[BYTES_MAX];

    memset(input, 0x11, sizeof(input));
    input[0] = 0;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        const bool is_pss = calls[i].padding == RSA_PKCS1_PSS_PADDING;

        (void)ways_compare(key, &calls[i], input, is_pss ? 32 : k);
    }
}

static void compare_odd(const char *name, bool by_engine)
{
    ways_key key = ways_key_from(name, by_engine, &odd);

    compare_some(&key);
    ways_key_free(&key);
}

/* Where a number is wrong, libcrypto finds out and computes by d. */
TEST(wrong_numbers)
{
    BIGNUM **v = changed();

    assert_true(BN_add_word(v[NUMBER_DP], 2));
    compare_odd("wrong dP", false);
    v = changed();
    assert_true(BN_add_word(v[NUMBER_DQ], 2));
    compare_odd("wrong dQ", false);
    v = changed();
    assert_true(BN_add_word(v[NUMBER_QINV], 2));
    compare_odd("wrong qInv", false);
    v = changed();
    assert_true(BN_add(v[NUMBER_QINV], v[NUMBER_QINV], v[NUMBER_P]));
    compare_odd("qInv + p", false);
    v = changed();
    BN_zero(v[NUMBER_DP]);
    compare_odd("dP = 0", false);
    v = changed();
    BN_zero(v[NUMBER_QINV]);
    compare_odd("qInv = 0", false);
    v = changed();
    assert_true(BN_add_word(v[NUMBER_N], 2));
    compare_odd("n is not p q", false);
}

/* Numbers that are not the usual ones, and yet right. */
TEST(unusual_numbers)
{
    BIGNUM **v = changed();

    compare_odd("good", true);
    assert_true(BN_add_word(v[NUMBER_D], 2));
    compare_odd("wrong d, which is not used", true);
    v = changed();
    assert_true(BN_add(v[NUMBER_DP], v[NUMBER_DP], v[NUMBER_P]) &&
                BN_sub_word(v[NUMBER_DP], 1));
    compare_odd("dP + p - 1", true);
    v = changed();
    BN_swap(v[NUMBER_P], v[NUMBER_Q]);
    assert_true(rsa_numbers_crt(&odd));
    compare_odd("p and q swapped", true);
}

/* The good dP or dQ less 1. The engines would compute with it as with the good
 * one, and give an answer that is not libcrypto's. */
TEST(even_exponents)
{
    BIGNUM **v = changed();

    assert_true(BN_sub_word(v[NUMBER_DP], 1));
    compare_odd("even dP", false);
    v = changed();
    assert_true(BN_sub_word(v[NUMBER_DQ], 1));
    compare_odd("even dQ", false);
    /* libcrypto falls back on d where its check fails, and d is wrong, too. */
    v = changed();
    assert_true(BN_sub_word(v[NUMBER_DP], 1) && BN_add_word(v[NUMBER_D], 2));
    compare_odd("even dP and wrong d", false);
}

TEST(wrong_exponents)
{
    static const BN_ULONG words[] = {1, 2, 3, 65536, 65539};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        BIGNUM **v = changed();

        assert_true(BN_set_word(v[NUMBER_E], words[i]));
        compare_odd("wrong e", false);
    }
}

/* Public exponents of up to 64 bits are for engines. */
TEST(long_exponents)
{
    static const struct {
        int bits;
        bool by_engine;
    } rows[] = {{2, true},    {17, true},   {32, true},
                {63, true},   {64, true},   {65, false},
                {128, false}, {511, false}, {1000, false}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        BIGNUM **v = changed();

        BN_zero(v[NUMBER_E]);
        assert_true(BN_set_bit(v[NUMBER_E], rows[i].bits - 1) &&
                    BN_set_bit(v[NUMBER_E], 0));
        while (!rsa_numbers_private_exponent(&odd)) {
            ERR_clear_error();
            assert_true(BN_add_word(v[NUMBER_E], 2));
            if (BN_num_bits(v[NUMBER_E]) > rows[i].bits)
                break;
        }
        if (BN_num_bits(v[NUMBER_E]) != rows[i].bits)
            continue; /* 3 divides p - 1 or q - 1 */
        assert_true(rsa_numbers_crt(&odd));
        compare_odd("another e", rows[i].by_engine);
    }
}

/* The least odd e of so many bits that has an inverse, and its d. */
static void set_exponent(rsa_numbers *numbers, int bits)
{
    BIGNUM *e = numbers->value[NUMBER_E];

    BN_zero(e);
    assert_true(BN_set_bit(e, bits - 1) && BN_set_bit(e, 0));
    while (!rsa_numbers_private_exponent(numbers)) {
        ERR_clear_error();
        assert_true(BN_add_word(e, 2));
    }
    assert_int_equal(BN_num_bits(e), bits);
    assert_true(rsa_numbers_crt(numbers));
}

/* libcrypto raises nothing to an exponent of more than 64 bits modulo a number
 * of more than 3,072, and still signs and decrypts with such a key. */
TEST(long_exponents_of_long_keys)
{
    static const ways_call calls[] = {
        {WAYS_DECRYPT, .padding = RSA_NO_PADDING},
        {WAYS_SIGN, .padding = RSA_NO_PADDING},
        {WAYS_DIGEST_SIGN, .padding = RSA_PKCS1_PADDING, .digest = "SHA256"},
        {WAYS_DECRYPT, .padding = RSA_PKCS1_PADDING},
        {WAYS_DECRYPT, .padding = RSA_PKCS1_OAEP_PADDING},
        {WAYS_RECOVER, .padding = RSA_PKCS1_PADDING},
    };
    static const int lengths[] = {65, 2000};
    EVP_PKEY *made = key_make(NULL, "RSA", 3200, 2);
    unsigned char input[BYTES_MAX];
    rsa_numbers numbers;

    assert_true(rsa_numbers_init(&numbers) &&
                rsa_numbers_of_key(&numbers, made));
    memset(input, 0x11, sizeof(input));
    input[0] = 0;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        ways_key key;

        set_exponent(&numbers, lengths[i]);
        key = ways_key_from("a long key", false, &numbers);
        assert_int_equal(key.of[WAY_REFERENCE] != NULL,
                         vault_daemon_has_vault());
        for (size_t j = 0; j < sizeof(calls) / sizeof(calls[0]); j++) {
            const int result = ways_compare(&key, &calls[j], input, 3200 / 8);

            if (j < 3)
                assert_int_equal(result, 1);
        }
        ways_key_free(&key);
    }
    rsa_numbers_free(&numbers);
    EVP_PKEY_free(made);
}

/* p = q: what is right modulo p alone must not be released. */
TEST(equal_primes)
{
    BIGNUM **v = changed();
    BIGNUM *less1 = BN_dup(v[NUMBER_P]), *phi = BN_new();

    assert_true(BN_sub_word(less1, 1) &&
                BN_mul(phi, less1, v[NUMBER_P], odd.ctx) &&
                BN_copy(v[NUMBER_Q], v[NUMBER_P]) != NULL &&
                BN_sqr(v[NUMBER_N], v[NUMBER_P], odd.ctx) &&
                BN_mod_inverse(v[NUMBER_D], v[NUMBER_E], phi, odd.ctx) &&
                BN_mod(v[NUMBER_DP], v[NUMBER_D], less1, odd.ctx) &&
                BN_copy(v[NUMBER_DQ], v[NUMBER_DP]) != NULL);
    for (BN_ULONG qinv = 0; qinv < 3; qinv++) {
        assert_true(BN_set_word(v[NUMBER_QINV], qinv));
        compare_odd("p = q", false);
    }
    BN_free(less1);
    BN_free(phi);
}

/* Primes p a and q a of 512 bits, whose product is n: as above, modulo n / a.
 */
TEST(primes_with_a_common_factor)
{
    BIGNUM **v = changed();
    BIGNUM *a = BN_new(), *phi = BN_new(), *less1 = BN_new();

    BN_one(v[NUMBER_DP]);
    assert_true(BN_generate_prime_ex(a, 256, 0, NULL, NULL, NULL) &&
                BN_sub(phi, a, BN_value_one()) && BN_mul(phi, phi, a, odd.ctx));
    for (int i = NUMBER_P; i <= NUMBER_Q; i++)
        assert_true(BN_generate_prime_ex(v[i], 256, 0, NULL, NULL, NULL) &&
                    BN_sub(less1, v[i], BN_value_one()) &&
                    BN_mul(phi, phi, less1, odd.ctx) &&
                    BN_mul(v[i], v[i], a, odd.ctx));
    assert_true(BN_mul(v[NUMBER_N], v[NUMBER_P], v[NUMBER_Q], odd.ctx));
    assert_non_null(BN_mod_inverse(v[NUMBER_D], v[NUMBER_E], phi, odd.ctx));
    assert_true(BN_copy(v[NUMBER_DP], v[NUMBER_D]) != NULL &&
                BN_mod(v[NUMBER_DP], v[NUMBER_D], v[NUMBER_P], odd.ctx) &&
                BN_mod(v[NUMBER_DQ], v[NUMBER_D], v[NUMBER_Q], odd.ctx) &&
                BN_set_word(v[NUMBER_QINV], 12345));
    compare_odd("p and q share a factor", false);
    BN_free(a);
    BN_free(phi);
    BN_free(less1);
}

TEST(a_prime_that_is_none)
{
    BIGNUM **v = changed();

    assert_true(BN_add_word(v[NUMBER_P], 2) &&
                BN_mul(v[NUMBER_N], v[NUMBER_P], v[NUMBER_Q], odd.ctx));
    compare_odd("p is no prime", false);
    v = changed();
    assert_true(BN_copy(v[NUMBER_P], v[NUMBER_N]) != NULL &&
                BN_one(v[NUMBER_Q]));
    compare_odd("p = n, q = 1", false);
}

TEST(several_primes)
{
    ways_key key =
        ways_key_of("three primes", false, key_make(NULL, "RSA", 1024, 3));

    compare_some(&key);
    ways_key_free(&key);
    key =
        ways_key_of("for PSS alone", true, key_make(NULL, "RSA-PSS", 1024, 2));
    compare_some(&key);
    ways_key_free(&key);
}

/* n, e and d alone. */
TEST(without_primes)
{
    OSSL_PARAM *all = NULL, some[4];
    ways_key whole = ways_key_from("whole", true, &good);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
    EVP_PKEY *bare = NULL;
    ways_key key;

    assert_int_equal(EVP_PKEY_todata(whole.oracle, EVP_PKEY_KEYPAIR, &all), 1);
    some[0] = *OSSL_PARAM_locate(all, OSSL_PKEY_PARAM_RSA_N);
    some[1] = *OSSL_PARAM_locate(all, OSSL_PKEY_PARAM_RSA_E);
    some[2] = *OSSL_PARAM_locate(all, OSSL_PKEY_PARAM_RSA_D);
    some[3] = OSSL_PARAM_construct_end();
    assert_int_equal(EVP_PKEY_fromdata_init(ctx), 1);
    assert_int_equal(EVP_PKEY_fromdata(ctx, &bare, EVP_PKEY_KEYPAIR, some), 1);
    key = ways_key_of("without primes", false, bare);
    compare_some(&key);
    ways_key_free(&key);
    ways_key_free(&whole);
    EVP_PKEY_CTX_free(ctx);
    OSSL_PARAM_free(all);
}

TEST(lengths)
{
    static const struct {
        size_t bits;
        bool by_engine;
    } rows[] = {{512, false}, {768, false}, {1023, false}, {1024, true},
                {1025, true}, {1030, true}, {1536, true},  {2048, true},
                {2049, true}, {3072, true}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ways_key key = ways_key_of("of another length", rows[i].by_engine,
                                   key_make(NULL, "RSA", rows[i].bits, 2));

        compare_some(&key);
        ways_key_free(&key);
    }
}

/* The prime of a Diffie-Hellman group: making primes so long takes minutes. */
static void group_prime(BIGNUM *prime, const char *group)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "DH", NULL);
    EVP_PKEY *params = NULL;
    OSSL_PARAM name[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME,
                                         (char *)group, 0),
        OSSL_PARAM_construct_end(),
    };

    assert_int_equal(EVP_PKEY_paramgen_init(ctx), 1);
    assert_int_equal(EVP_PKEY_CTX_set_params(ctx, name), 1);
    assert_int_equal(EVP_PKEY_paramgen(ctx, &params), 1);
    assert_int_equal(
        EVP_PKEY_get_bn_param(params, OSSL_PKEY_PARAM_FFC_P, &prime), 1);
    EVP_PKEY_free(params);
    EVP_PKEY_CTX_free(ctx);
}

TEST(great_lengths)
{
    static const struct {
        const char *p, *q;
        bool by_engine;
    } rows[] = {
        {"modp_2048", "ffdhe2048", true},  {"modp_3072", "ffdhe3072", true},
        {"modp_4096", "ffdhe4096", true},  {"modp_4096", "ffdhe6144", false},
        {"modp_8192", "ffdhe8192", false},
    };
    static const ways_call call = {WAYS_SIGN, .padding = RSA_PKCS1_PADDING};
    unsigned char input[32];

    memset(input, 0x11, sizeof(input));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        BIGNUM **v = changed();
        ways_key key;

        group_prime(v[NUMBER_P], rows[i].p);
        group_prime(v[NUMBER_Q], rows[i].q);
        assert_true(BN_mul(v[NUMBER_N], v[NUMBER_P], v[NUMBER_Q], odd.ctx) &&
                    rsa_numbers_private_exponent(&odd) &&
                    rsa_numbers_crt(&odd));
        key = ways_key_from(rows[i].p, rows[i].by_engine, &odd);
        assert_int_equal(ways_compare(&key, &call, input, sizeof(input)), 1);
        ways_key_free(&key);
    }
    assert_int_equal(BN_num_bits(odd.value[NUMBER_N]), 16384);
}

RUN_TESTS(set_up, tear_down)
