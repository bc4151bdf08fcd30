/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See padding_keys.h.
 */
#include "tests/unit/vault/padding_keys.h"

#include <stdio.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include "tests/unit/support/unit_test.h"

warprsa_padding_library *subject_library(void)
{
    static warprsa_padding_library *library;

    if (library == NULL)
        library = warprsa_padding_library_new();
    assert_non_null(library);
    return library;
}

static void take(padding_subject *subject, const char *name, EVP_PKEY *oracle)
{
    *subject = (padding_subject){.name = name, .oracle = oracle};
    assert_non_null(oracle);
    subject->key = warprsa_padding_key_new(subject_library(), oracle);
    assert_non_null(subject->key);
    assert_int_equal(ERR_peek_error(), 0);
    assert_true(
        EVP_PKEY_get_bn_param(oracle, OSSL_PKEY_PARAM_RSA_N, &subject->n));
    assert_true(
        EVP_PKEY_get_bn_param(oracle, OSSL_PKEY_PARAM_RSA_D, &subject->d));
    subject->bytes = (unsigned)EVP_PKEY_get_size(oracle);
    assert_int_equal(subject->key->bytes, subject->bytes);
    BN_set_flags(subject->d, BN_FLG_CONSTTIME);
}

void subject_new(padding_subject *subject, const char *name, unsigned bits,
                 unsigned primes)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
    EVP_PKEY *oracle = NULL;

    assert_int_equal(EVP_PKEY_keygen_init(ctx), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_keygen_bits(ctx, (int)bits), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_keygen_primes(ctx, (int)primes), 1);
    assert_int_equal(EVP_PKEY_generate(ctx, &oracle), 1);
    EVP_PKEY_CTX_free(ctx);
    take(subject, name, oracle);
}

void subject_new_pss(padding_subject *subject, const char *name, unsigned bits,
                     const pss_restrictions *restrictions)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "RSA-PSS", NULL);
    EVP_PKEY *oracle = NULL;

    assert_int_equal(EVP_PKEY_keygen_init(ctx), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_keygen_bits(ctx, (int)bits), 1);
    if (restrictions->digest != NULL)
        assert_int_equal(EVP_PKEY_CTX_set_rsa_pss_keygen_md_name(
                             ctx, restrictions->digest, NULL),
                         1);
    if (restrictions->mgf1_digest != NULL)
        assert_int_equal(EVP_PKEY_CTX_set_rsa_pss_keygen_mgf1_md_name(
                             ctx, restrictions->mgf1_digest),
                         1);
    if (restrictions->salt_bytes >= 0)
        assert_int_equal(EVP_PKEY_CTX_set_rsa_pss_keygen_saltlen(
                             ctx, restrictions->salt_bytes),
                         1);
    assert_int_equal(EVP_PKEY_generate(ctx, &oracle), 1);
    EVP_PKEY_CTX_free(ctx);
    take(subject, name, oracle);
}

enum {
    MERSENNE_PRIMES = 5,
    /* n, e, d; a prime and an exponent of each, and coefficients but for the
     * first. */
    LARGEST_NUMBERS = 3 + 3 * MERSENNE_PRIMES - 1,
};

typedef struct named_number {
    char name[32];
    BIGNUM *number;
} named_number;

typedef struct numbers {
    named_number of[LARGEST_NUMBERS];
    int count;
    BN_CTX *ctx;
} numbers;

/* A new number of the key; index 0: its name is `name`. */
static BIGNUM *add(numbers *all, const char *name, int index)
{
    named_number *to = &all->of[all->count++];

    if (index == 0)
        snprintf(to->name, sizeof(to->name), "%s", name);
    else
        snprintf(to->name, sizeof(to->name), "%s%d", name, index);
    to->number = BN_new();
    assert_non_null(to->number);
    return to->number;
}

/* Sets *number to 2^exponent - 1. */
static void set_mersenne(BIGNUM *number, int exponent)
{
    assert_true(BN_set_bit(number, exponent));
    assert_true(BN_sub_word(number, 1));
}

static void fill_largest(numbers *all)
{
    static const int exponents[MERSENNE_PRIMES] = {9941, 4423, 1279, 607, 127};
    BIGNUM *n = add(all, "n", 0), *e = add(all, "e", 0), *d = add(all, "d", 0);
    BIGNUM *primes[MERSENNE_PRIMES], *phi = BN_new(), *less = BN_new();

    assert_true(BN_one(n) && BN_one(phi) && BN_set_word(e, RSA_F4));
    for (int i = 0; i < MERSENNE_PRIMES; i++) {
        primes[i] = add(all, "rsa-factor", i + 1);
        set_mersenne(primes[i], exponents[i]);
        /* RFC 8017, 3.2: the second's inverse modulo the first; from the third
         * on, the inverse of the product of those before. */
        if (i == 1)
            assert_non_null(BN_mod_inverse(add(all, "rsa-coefficient", 1),
                                           primes[1], primes[0], all->ctx));
        if (i > 1)
            assert_non_null(BN_mod_inverse(add(all, "rsa-coefficient", i), n,
                                           primes[i], all->ctx));
        assert_true(BN_mul(n, n, primes[i], all->ctx));
        assert_true(BN_sub(less, primes[i], BN_value_one()));
        assert_true(BN_mul(phi, phi, less, all->ctx));
    }
    assert_non_null(BN_mod_inverse(d, e, phi, all->ctx));
    for (int i = 0; i < MERSENNE_PRIMES; i++) {
        assert_true(BN_sub(less, primes[i], BN_value_one()));
        assert_true(BN_mod(add(all, "rsa-exponent", i + 1), d, less, all->ctx));
    }
    BN_free(phi);
    BN_free(less);
}

static EVP_PKEY *import(const numbers *all)
{
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    OSSL_PARAM *params = NULL;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
    EVP_PKEY *key = NULL;

    for (int i = 0; i < all->count; i++)
        assert_true(OSSL_PARAM_BLD_push_BN(builder, all->of[i].name,
                                           all->of[i].number));
    params = OSSL_PARAM_BLD_to_param(builder);
    assert_non_null(params);
    assert_int_equal(EVP_PKEY_fromdata_init(ctx), 1);
    assert_int_equal(EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_KEYPAIR, params), 1);
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(builder);
    EVP_PKEY_CTX_free(ctx);
    return key;
}

void subject_new_largest(padding_subject *subject, const char *name)
{
    numbers all = {.ctx = BN_CTX_new()};

    fill_largest(&all);
    take(subject, name, import(&all));
    assert_int_equal(subject->bytes, WARPRSA_VAULT_MODULUS_BYTES_MAX);
    for (int i = 0; i < all.count; i++)
        BN_free(all.of[i].number);
    BN_CTX_free(all.ctx);
}

void subject_free(padding_subject *subject)
{
    warprsa_padding_key_free(subject->key);
    EVP_PKEY_free(subject->oracle);
    BN_free(subject->n);
    BN_clear_free(subject->d);
}

void subject_power(const padding_subject *subject, const BIGNUM *exponent,
                   const uint8_t *number, uint8_t *power)
{
    BN_CTX *ctx = BN_CTX_new();
    BIGNUM *r = BN_bin2bn(number, (int)subject->bytes, NULL);

    assert_true(BN_mod_exp(r, r, exponent, subject->n, ctx));
    assert_int_equal(BN_bn2binpad(r, power, (int)subject->bytes),
                     subject->bytes);
    BN_free(r);
    BN_CTX_free(ctx);
}

void oracle_errors(warprsa_use_errors *errors)
{
    warprsa_use_errors all;
    int count = 0;

    warprsa_padding_take_errors(&all);
    *errors = (warprsa_use_errors){{0}};
    for (int i = 0; i < WARPRSA_USE_ERRORS_MAX; i++)
        if (ERR_GET_LIB(all.codes[i]) != ERR_LIB_EVP)
            errors->codes[count++] = all.codes[i];
}

warprsa_key_use use_of(warprsa_use_operation operation,
                       warprsa_use_padding padding, unsigned input_bytes)
{
    return (warprsa_key_use){.operation = (uint8_t)operation,
                             .padding = (uint8_t)padding,
                             .input_bytes = (uint16_t)input_bytes};
}
