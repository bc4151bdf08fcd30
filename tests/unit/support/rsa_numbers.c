/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of an RSA key: see rsa_numbers.h.
 */
#include "tests/unit/support/rsa_numbers.h"

#include <string.h>

#include <openssl/core_names.h>
#include <openssl/param_build.h>

static const char *const names[NUMBERS] = {
    [NUMBER_N] = OSSL_PKEY_PARAM_RSA_N,
    [NUMBER_E] = OSSL_PKEY_PARAM_RSA_E,
    [NUMBER_D] = OSSL_PKEY_PARAM_RSA_D,
    [NUMBER_P] = OSSL_PKEY_PARAM_RSA_FACTOR1,
    [NUMBER_Q] = OSSL_PKEY_PARAM_RSA_FACTOR2,
    [NUMBER_DP] = OSSL_PKEY_PARAM_RSA_EXPONENT1,
    [NUMBER_DQ] = OSSL_PKEY_PARAM_RSA_EXPONENT2,
    [NUMBER_QINV] = OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
};

int rsa_numbers_init(rsa_numbers *numbers)
{
    memset(numbers, 0, sizeof(*numbers));
    numbers->ctx = BN_CTX_new();
    int good = numbers->ctx != NULL;
    for (int i = 0; i < NUMBERS; i++) {
        numbers->value[i] = BN_new();
        good = good && numbers->value[i] != NULL;
    }
    if (!good)
        rsa_numbers_free(numbers);
    return good;
}

void rsa_numbers_free(rsa_numbers *numbers)
{
    for (int i = 0; i < NUMBERS; i++)
        BN_free(numbers->value[i]);
    BN_CTX_free(numbers->ctx);
    memset(numbers, 0, sizeof(*numbers));
}

int rsa_numbers_private_exponent(rsa_numbers *numbers)
{
    BIGNUM **value = numbers->value;
    BN_CTX_start(numbers->ctx);
    BIGNUM *p1 = BN_CTX_get(numbers->ctx);
    BIGNUM *q1 = BN_CTX_get(numbers->ctx);
    BIGNUM *phi = BN_CTX_get(numbers->ctx);
    BIGNUM *gcd = BN_CTX_get(numbers->ctx);
    const int good =
        gcd != NULL && BN_sub(p1, value[NUMBER_P], BN_value_one()) &&
        BN_sub(q1, value[NUMBER_Q], BN_value_one()) &&
        BN_mul(phi, p1, q1, numbers->ctx) &&
        BN_gcd(gcd, phi, value[NUMBER_E], numbers->ctx) && BN_is_one(gcd) &&
        BN_mod_inverse(value[NUMBER_D], value[NUMBER_E], phi, numbers->ctx) !=
            NULL;
    BN_CTX_end(numbers->ctx);
    return good;
}

/* Looks for p with one base (NIST SP 800-56B, appendix C). In the sequence
 * base^(odd * 2^i), the last value before 1 is a square root of 1. If it is not
 * -1, it differs from 1 by a multiple of exactly one of the primes. Returns 1
 * if p was found and set. */
static int try_base(rsa_numbers *numbers, BN_ULONG base, const BIGNUM *odd,
                    int twos)
{
    const BIGNUM *n = numbers->value[NUMBER_N];
    BN_CTX *ctx = numbers->ctx;
    BN_CTX_start(ctx);
    BIGNUM *x = BN_CTX_get(ctx), *square = BN_CTX_get(ctx);
    int good = square != NULL && BN_set_word(square, base) &&
               BN_mod_exp(square, square, odd, n, ctx);
    for (int i = 0; good && i < twos && !BN_is_one(square); i++)
        good = BN_copy(x, square) != NULL && BN_mod_sqr(square, x, n, ctx);
    good = good && BN_is_one(square) && BN_sub_word(x, 1) &&
           BN_gcd(numbers->value[NUMBER_P], x, n, ctx) &&
           !BN_is_one(numbers->value[NUMBER_P]) &&
           BN_cmp(numbers->value[NUMBER_P], n) < 0;
    BN_CTX_end(ctx);
    return good;
}

int rsa_numbers_factor(rsa_numbers *numbers)
{
    BIGNUM **value = numbers->value;
    BN_CTX *ctx = numbers->ctx;
    int good = 0, twos = 0;
    BN_CTX_start(ctx);
    BIGNUM *odd = BN_CTX_get(ctx);
    if (odd != NULL && BN_mul(odd, value[NUMBER_E], value[NUMBER_D], ctx) &&
        BN_sub_word(odd, 1) && !BN_is_zero(odd)) {
        while (!BN_is_bit_set(odd, twos))
            twos++;
        if (BN_rshift(odd, odd, twos))
            for (BN_ULONG base = 2; !good && base < 200; base++)
                good = try_base(numbers, base, odd, twos);
    }
    good = good &&
           BN_div(value[NUMBER_Q], NULL, value[NUMBER_N], value[NUMBER_P], ctx);
    BN_CTX_end(ctx);
    return good;
}

int rsa_numbers_crt(rsa_numbers *numbers)
{
    BIGNUM **value = numbers->value;
    BN_CTX *ctx = numbers->ctx;
    BN_CTX_start(ctx);
    BIGNUM *less1 = BN_CTX_get(ctx);
    const int good = less1 != NULL &&
                     BN_sub(less1, value[NUMBER_P], BN_value_one()) &&
                     BN_mod(value[NUMBER_DP], value[NUMBER_D], less1, ctx) &&
                     BN_sub(less1, value[NUMBER_Q], BN_value_one()) &&
                     BN_mod(value[NUMBER_DQ], value[NUMBER_D], less1, ctx) &&
                     BN_mod_inverse(value[NUMBER_QINV], value[NUMBER_Q],
                                    value[NUMBER_P], ctx) != NULL;
    BN_CTX_end(ctx);
    return good;
}

EVP_PKEY *rsa_numbers_import(const rsa_numbers *numbers, OSSL_LIB_CTX *libctx)
{
    EVP_PKEY *pkey = NULL;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(libctx, "RSA", NULL);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    OSSL_PARAM *params = NULL;
    int good = ctx != NULL && builder != NULL;

    for (int i = 0; good && i < NUMBERS; i++)
        good = OSSL_PARAM_BLD_push_BN(builder, names[i], numbers->value[i]);
    if (good)
        params = OSSL_PARAM_BLD_to_param(builder);
    if (params == NULL || EVP_PKEY_fromdata_init(ctx) <= 0 ||
        EVP_PKEY_fromdata(ctx, &pkey, EVP_PKEY_KEYPAIR, params) <= 0)
        pkey = NULL;
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(builder);
    EVP_PKEY_CTX_free(ctx);
    return pkey;
}

int rsa_numbers_of_key(rsa_numbers *numbers, const EVP_PKEY *key)
{
    int good = 1;

    for (int i = 0; good && i < NUMBERS; i++)
        good = EVP_PKEY_get_bn_param(key, names[i], &numbers->value[i]);
    return good;
}

unsigned rsa_numbers_prime_bits(const rsa_numbers *numbers)
{
    const int p = BN_num_bits(numbers->value[NUMBER_P]);
    const int q = BN_num_bits(numbers->value[NUMBER_Q]);
    return (unsigned)(p > q ? p : q);
}
