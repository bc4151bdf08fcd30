/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Making the two RSA objects of a key; see padding_key.h.
 */
#include "batching/vault/padding_key.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>

enum {
    FURTHER_PRIMES_MAX = 3, /* after two: libcrypto takes no more than five */
};

/* ---- the RSA_METHOD of the object that is told ---- */

static _Thread_local const uint8_t *told_power;

void warprsa_padding_key_tell(const uint8_t *power)
{
    told_power = power;
}

/*
 * Sets r to the number in `power`, without a step that depends on its leading
 * zeros: BN_bin2bn() skips those. So it gets the bytes behind a word that is 1,
 * and BN_consttime_swap() moves the words below that one to r, with the length.
 * r keeps a word 0 at its top, as libcrypto's own fixed-length numbers do.
 * BN_FLG_CONSTTIME makes libcrypto look at r's length in constant time.
 */
static int set_power(BIGNUM *r, const uint8_t *power, int bytes)
{
    const int word = (int)sizeof(BN_ULONG);
    const int words = (bytes + word - 1) / word;
    uint8_t number[sizeof(BN_ULONG) + WARPRSA_VAULT_MODULUS_BYTES_MAX] = {0};
    const int length = (words + 1) * word;
    BIGNUM *from = NULL;
    int ok = 0;

    number[word - 1] = 1;
    memcpy(number + length - bytes, power, (size_t)bytes);
    from = BN_bin2bn(number, length, NULL);
    OPENSSL_cleanse(number, sizeof(number));
    /* r becomes 0, with room for one more word than `power` has. */
    if (from != NULL && (BN_zero(r), BN_set_bit(r, words * word * CHAR_BIT)) &&
        BN_clear_bit(r, words * word * CHAR_BIT)) {
        BN_consttime_swap(1, r, from, words);
        BN_set_flags(r, BN_FLG_CONSTTIME);
        ok = 1;
    }
    BN_clear_free(from);
    return ok;
}

/* libcrypto calls this for a key without CRT numbers. */
static int bn_mod_exp(BIGNUM *r, const BIGNUM *a, const BIGNUM *p,
                      const BIGNUM *m, BN_CTX *ctx, BN_MONT_CTX *m_ctx)
{
    (void)a, (void)p, (void)ctx, (void)m_ctx;
    return told_power != NULL && set_power(r, told_power, BN_num_bytes(m));
}

/* The cipher asks for the bare number of TLS and removes the padding itself. */
static int priv_dec(int length, const unsigned char *from, unsigned char *to,
                    RSA *rsa, int padding)
{
    if (padding != RSA_NO_PADDING)
        return RSA_meth_get_priv_dec(RSA_PKCS1_OpenSSL())(length, from, to, rsa,
                                                          padding);
    if (told_power == NULL || length != RSA_size(rsa))
        return -1;
    memcpy(to, told_power, (size_t)length);
    return length;
}

static RSA_METHOD *make_method(void)
{
    RSA_METHOD *method = RSA_meth_dup(RSA_PKCS1_OpenSSL());

    if (method != NULL && RSA_meth_set_bn_mod_exp(method, bn_mod_exp) &&
        RSA_meth_set_priv_dec(method, priv_dec))
        return method;
    RSA_meth_free(method);
    return NULL;
}

/* ---- numbers of a key ---- */

/* A public number of the key, for the caller to free. NULL: it has none. */
static BIGNUM *public_number_of(const EVP_PKEY *key, const char *name)
{
    BIGNUM *number = NULL;

    return EVP_PKEY_get_bn_param(key, name, &number) ? number : NULL;
}

/* A private one, in libcrypto's secure heap if the process has that. */
static BIGNUM *number_of(const EVP_PKEY *key, const char *name)
{
    BIGNUM *number = BN_secure_new();

    if (number != NULL && EVP_PKEY_get_bn_param(key, name, &number))
        return number;
    BN_clear_free(number);
    return NULL;
}

static BIGNUM *nth_number_of(const EVP_PKEY *key, const char *kind, int n)
{
    char name[32];

    snprintf(name, sizeof(name), "%s%d", kind, n);
    return number_of(key, name);
}

/* n and e alone. */
static bool set_public(RSA *rsa, const EVP_PKEY *key)
{
    BIGNUM *n = public_number_of(key, OSSL_PKEY_PARAM_RSA_N);
    BIGNUM *e = public_number_of(key, OSSL_PKEY_PARAM_RSA_E);

    if (n != NULL && e != NULL &&
        BN_num_bytes(n) <= WARPRSA_VAULT_MODULUS_BYTES_MAX &&
        RSA_set0_key(rsa, n, e, NULL) == 1)
        return true;
    BN_free(n);
    BN_free(e);
    return false;
}

static bool set_n_e_d(RSA *rsa, const EVP_PKEY *key)
{
    BIGNUM *n = public_number_of(key, OSSL_PKEY_PARAM_RSA_N);
    BIGNUM *e = public_number_of(key, OSSL_PKEY_PARAM_RSA_E);
    BIGNUM *d = number_of(key, OSSL_PKEY_PARAM_RSA_D);

    if (n != NULL && e != NULL && d != NULL &&
        BN_num_bytes(n) <= WARPRSA_VAULT_MODULUS_BYTES_MAX &&
        RSA_set0_key(rsa, n, e, d) == 1)
        return true;
    BN_free(n);
    BN_free(e);
    BN_clear_free(d);
    return false;
}

/* Primes, exponents and coefficients after the second. RSA_set0_multi_prime_
 * params() takes the numbers of three arrays, and keeps none if it fails. */
static bool set_further_primes(RSA *rsa, const EVP_PKEY *key)
{
    BIGNUM *primes[FURTHER_PRIMES_MAX], *exponents[FURTHER_PRIMES_MAX],
        *coefficients[FURTHER_PRIMES_MAX];
    int count = 0;
    bool ok = true;

    while (ok && count < FURTHER_PRIMES_MAX) {
        primes[count] = nth_number_of(key, "rsa-factor", count + 3);
        if (primes[count] == NULL)
            break;
        exponents[count] = nth_number_of(key, "rsa-exponent", count + 3);
        coefficients[count] = nth_number_of(key, "rsa-coefficient", count + 2);
        ok = exponents[count] != NULL && coefficients[count] != NULL;
        count++;
    }
    if (count == 0 ||
        (ok && RSA_set0_multi_prime_params(rsa, primes, exponents, coefficients,
                                           count) == 1))
        return true;
    for (int i = 0; i < count; i++) {
        BN_clear_free(primes[i]);
        BN_clear_free(exponents[i]);
        BN_clear_free(coefficients[i]);
    }
    return false;
}

/* The CRT numbers. A key that has none, or not all, computes with d. */
static bool set_crt(RSA *rsa, const EVP_PKEY *key)
{
    BIGNUM *p = number_of(key, OSSL_PKEY_PARAM_RSA_FACTOR1);
    BIGNUM *q = number_of(key, OSSL_PKEY_PARAM_RSA_FACTOR2);
    BIGNUM *dp = number_of(key, OSSL_PKEY_PARAM_RSA_EXPONENT1);
    BIGNUM *dq = number_of(key, OSSL_PKEY_PARAM_RSA_EXPONENT2);
    BIGNUM *qinv = number_of(key, OSSL_PKEY_PARAM_RSA_COEFFICIENT1);
    bool all =
        p != NULL && q != NULL && dp != NULL && dq != NULL && qinv != NULL;
    bool ok = !all;

    if (all && RSA_set0_factors(rsa, p, q) == 1) {
        p = q = NULL;
        if (RSA_set0_crt_params(rsa, dp, dq, qinv) == 1) {
            dp = dq = qinv = NULL;
            ok = set_further_primes(rsa, key);
        }
    }
    BN_clear_free(p);
    BN_clear_free(q);
    BN_clear_free(dp);
    BN_clear_free(dq);
    BN_clear_free(qinv);
    return ok;
}

/* ---- restrictions ---- */

/* The number of the digest that a parameter of the key names. A parameter that
 * is not there has the default of RFC 4055, SHA-1. */
static unsigned digest_of(const warprsa_padding_library *library,
                          const EVP_PKEY *key, const char *parameter)
{
    char name[64];

    if (!EVP_PKEY_get_utf8_string_param(key, parameter, name, sizeof(name),
                                        NULL))
        return WARPRSA_DIGEST_SHA1;
    for (unsigned i = WARPRSA_DIGEST_NONE + 1; i < WARPRSA_USE_DIGESTS; i++)
        if (library->digests[i].md != NULL &&
            EVP_MD_is_a(library->digests[i].md, name))
            return i;
    return WARPRSA_USE_DIGESTS;
}

static void read_restrictions(warprsa_padding_key *ours, const EVP_PKEY *key)
{
    warprsa_padding_restrictions *to = &ours->restrictions;

    to->pss = EVP_PKEY_is_a(key, "RSA-PSS");
    /* libcrypto gives a length of the salt for restricted keys alone. */
    to->restricted =
        to->pss && EVP_PKEY_get_int_param(key, OSSL_PKEY_PARAM_RSA_PSS_SALTLEN,
                                          &to->salt_bytes_min);
    if (!to->restricted)
        return;
    to->digest = digest_of(ours->library, key, OSSL_PKEY_PARAM_RSA_DIGEST);
    to->mgf1_digest =
        digest_of(ours->library, key, OSSL_PKEY_PARAM_RSA_MGF1_DIGEST);
}

/* ---- the key ---- */

static bool make_computing(warprsa_padding_key *ours, const EVP_PKEY *key)
{
    ours->computing = warprsa_padding_library_rsa(ours->library);
    return ours->computing != NULL && set_n_e_d(ours->computing, key) &&
           set_crt(ours->computing, key);
}

/* It has d, of which libcrypto may derive what it answers to a wrong padding,
 * and no CRT numbers. Its blinding is off: the outcome is that of the input
 * itself. */
static bool make_told(warprsa_padding_key *ours, const EVP_PKEY *key)
{
    ours->told = warprsa_padding_library_rsa(ours->library);
    ours->told_method = make_method();
    if (ours->told == NULL || ours->told_method == NULL ||
        !set_n_e_d(ours->told, key) ||
        !RSA_set_method(ours->told, ours->told_method))
        return false;
    RSA_set_flags(ours->told, RSA_FLAG_NO_BLINDING);
    return true;
}

/* As make_computing(), without private numbers. */
static bool make_public(warprsa_padding_key *ours, const EVP_PKEY *key)
{
    ours->computing = warprsa_padding_library_rsa(ours->library);
    return ours->computing != NULL && set_public(ours->computing, key);
}

static warprsa_padding_key *new_key(const warprsa_padding_library *library,
                                    EVP_PKEY *key, bool is_public)
{
    warprsa_padding_key *ours = NULL;

    if (EVP_PKEY_is_a(key, "RSA") || EVP_PKEY_is_a(key, "RSA-PSS"))
        ours = calloc(1, sizeof(*ours));
    if (ours == NULL)
        return NULL;
    ours->library = library;
    if (is_public ? make_public(ours, key)
                  : make_computing(ours, key) && make_told(ours, key)) {
        read_restrictions(ours, key);
        ours->bytes = (unsigned)RSA_size(ours->computing);
        ours->bits = (unsigned)RSA_bits(ours->computing);
        BN_bn2binpad(RSA_get0_n(ours->computing), ours->n, (int)ours->bytes);
        ours->e_fits = BN_bn2binpad(RSA_get0_e(ours->computing), ours->e,
                                    sizeof(ours->e)) >= 0;
        ERR_clear_error(); /* of numbers that the key does not have */
        return ours;
    }
    ERR_clear_error();
    warprsa_padding_key_free(ours);
    return NULL;
}

warprsa_padding_key *
warprsa_padding_key_new(const warprsa_padding_library *library, EVP_PKEY *key)
{
    return new_key(library, key, false);
}

warprsa_padding_key *
warprsa_padding_key_new_public(const warprsa_padding_library *library,
                               EVP_PKEY *key)
{
    return new_key(library, key, true);
}

void warprsa_padding_key_free(warprsa_padding_key *key)
{
    if (key == NULL)
        return;
    RSA_free(key->computing); /* which wipes its numbers */
    RSA_free(key->told);
    RSA_meth_free(key->told_method);
    free(key);
}
