/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of a vault key; see key_numbers.h. RSA objects are deprecated
 * since OpenSSL 3.0, but the only way to a key for libcrypto that goes through
 * no decoder and no copy that nobody wipes.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "batching/vault/key_numbers.h"

#include <stdio.h>
#include <string.h>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

enum {
    N,
    E,
    D,
    FIRST_PRIME,
};

static unsigned count_of(const warprsa_key_numbers *numbers)
{
    return FIRST_PRIME + 3 * numbers->primes - 1;
}

/* The parameter of number i, as libcrypto calls it. */
static void name_of(unsigned i, unsigned primes, char name[24])
{
    static const char *const first[] = {
        OSSL_PKEY_PARAM_RSA_N, OSSL_PKEY_PARAM_RSA_E, OSSL_PKEY_PARAM_RSA_D};
    static const char *const kinds[] = {"rsa-factor", "rsa-exponent",
                                        "rsa-coefficient"};
    const unsigned at = i - FIRST_PRIME;

    if (i < FIRST_PRIME)
        snprintf(name, 24, "%s", first[i]);
    else
        snprintf(name, 24, "%s%u", kinds[at / primes], at % primes + 1);
}

static BIGNUM *number_of(const EVP_PKEY *key, unsigned i, unsigned primes)
{
    BIGNUM *number = NULL;
    char name[24];

    name_of(i, primes, name);
    if (EVP_PKEY_get_bn_param(key, name, &number) != 1)
        return NULL;
    return number;
}

static unsigned count_primes(const EVP_PKEY *key)
{
    unsigned primes = 0;

    while (primes <= WARPRSA_VAULT_PRIMES_MAX) {
        BIGNUM *prime =
            number_of(key, FIRST_PRIME + primes, WARPRSA_VAULT_PRIMES_MAX + 1);

        if (prime == NULL)
            break;
        BN_clear_free(prime);
        primes++;
    }
    return primes;
}

static bool take_numbers(warprsa_key_numbers *numbers, const EVP_PKEY *key)
{
    size_t used = 0;

    for (unsigned i = 0; i < count_of(numbers); i++) {
        BIGNUM *number = number_of(key, i, numbers->primes);
        int length = number != NULL ? BN_num_bytes(number) : 0;

        if (length == 0 || used + (size_t)length > sizeof(numbers->bytes)) {
            BN_clear_free(number);
            return false;
        }
        BN_bn2bin(number, numbers->bytes + used);
        numbers->lengths[i] = (uint32_t)length;
        used += (size_t)length;
        BN_clear_free(number);
    }
    return true;
}

static bool take_spki(warprsa_key_numbers *numbers, const EVP_PKEY *key)
{
    unsigned char *at = numbers->spki;
    int length = i2d_PUBKEY(key, NULL);

    if (length <= 0 || (size_t)length > sizeof(numbers->spki))
        return false;
    numbers->spki_bytes = (uint32_t)length;
    return i2d_PUBKEY(key, &at) == length;
}

/* The digest of a restriction of PSS. False: it is there, and unknown. */
static bool take_digest(const EVP_PKEY *key, const char *parameter,
                        uint32_t *digest)
{
    char name[40] = "";
    EVP_MD *md = NULL;

    *digest = WARPRSA_DIGEST_NONE;
    if (EVP_PKEY_get_utf8_string_param(key, parameter, name, sizeof(name),
                                       NULL) != 1)
        return true;
    md = EVP_MD_fetch(NULL, name, NULL);
    for (unsigned i = 1; i < WARPRSA_USE_DIGESTS && md != NULL; i++)
        if (EVP_MD_is_a(md, warprsa_use_digest_name(i)))
            *digest = i;
    EVP_MD_free(md);
    return *digest != WARPRSA_DIGEST_NONE;
}

static bool take_restrictions(warprsa_key_numbers *numbers, const EVP_PKEY *key)
{
    int salt = 0;

    numbers->is_pss = EVP_PKEY_is_a(key, "RSA-PSS");
    if (!numbers->is_pss)
        return true;
    if (!take_digest(key, OSSL_PKEY_PARAM_RSA_DIGEST, &numbers->pss_digest) ||
        !take_digest(key, OSSL_PKEY_PARAM_RSA_MGF1_DIGEST,
                     &numbers->pss_mgf1_digest))
        return false;
    /* libcrypto gives a length of the salt for restricted keys alone. */
    if (EVP_PKEY_get_int_param(key, OSSL_PKEY_PARAM_RSA_PSS_SALTLEN, &salt) !=
        1)
        return numbers->pss_digest == WARPRSA_DIGEST_NONE &&
               numbers->pss_mgf1_digest == WARPRSA_DIGEST_NONE;
    /* Defaults are left out of a key (RFC 4055, 3.1). */
    if (numbers->pss_digest == WARPRSA_DIGEST_NONE)
        numbers->pss_digest = WARPRSA_DIGEST_SHA1;
    if (numbers->pss_mgf1_digest == WARPRSA_DIGEST_NONE)
        numbers->pss_mgf1_digest = WARPRSA_DIGEST_SHA1;
    if (salt > 0)
        numbers->pss_salt_bytes_min = (uint32_t)salt;
    return true;
}

/* A question that has no answer leaves an error on libcrypto's queue. */
bool warprsa_key_numbers_from(warprsa_key_numbers *numbers, const EVP_PKEY *key)
{
    bool ok = false;

    memset(numbers, 0, sizeof(*numbers));
    ERR_set_mark();
    numbers->primes = count_primes(key);
    ok = numbers->primes >= 2 && numbers->primes <= WARPRSA_VAULT_PRIMES_MAX &&
         take_numbers(numbers, key) && take_spki(numbers, key) &&
         take_restrictions(numbers, key);
    ERR_pop_to_mark();
    if (!ok)
        OPENSSL_cleanse(numbers, sizeof(*numbers));
    return ok;
}

/* Whether all lengths are such that the numbers lie within `bytes`, and that of
 * n is what it says: without zeros before it. */
static bool is_sound(const warprsa_key_numbers *numbers)
{
    size_t used = 0;

    if (numbers->primes < 2 || numbers->primes > WARPRSA_VAULT_PRIMES_MAX ||
        numbers->spki_bytes == 0 ||
        numbers->spki_bytes > sizeof(numbers->spki) ||
        numbers->lengths[N] < WARPRSA_VAULT_MODULUS_BITS_MIN / 8 ||
        numbers->lengths[N] > WARPRSA_VAULT_MODULUS_BYTES_MAX ||
        numbers->bytes[0] == 0 || numbers->pss_digest >= WARPRSA_USE_DIGESTS ||
        numbers->pss_mgf1_digest >= WARPRSA_USE_DIGESTS)
        return false;
    for (unsigned i = 0; i < count_of(numbers); i++) {
        if (numbers->lengths[i] == 0 ||
            numbers->lengths[i] > sizeof(numbers->bytes) - used)
            return false;
        used += numbers->lengths[i];
    }
    return true;
}

/* The bytes of number i. */
static const uint8_t *at(const warprsa_key_numbers *numbers, unsigned i)
{
    const uint8_t *bytes = numbers->bytes;

    for (unsigned j = 0; j < i; j++)
        bytes += numbers->lengths[j];
    return bytes;
}

static BIGNUM *take(BIGNUM **number)
{
    BIGNUM *taken = *number;

    *number = NULL;
    return taken;
}

static bool set_more_primes(RSA *rsa, BIGNUM **of, unsigned primes)
{
    BIGNUM **prime = of + FIRST_PRIME + 2;
    BIGNUM **exponent = of + FIRST_PRIME + primes + 2;
    BIGNUM **coefficient = of + FIRST_PRIME + 2 * primes + 1;
    const unsigned more = primes - 2;

    if (more == 0)
        return true;
    if (RSA_set0_multi_prime_params(rsa, prime, exponent, coefficient,
                                    (int)more) != 1)
        return false;
    for (unsigned i = 0; i < more; i++)
        prime[i] = exponent[i] = coefficient[i] = NULL;
    return true;
}

/* Takes all numbers over where it succeeds, and some where not. Each call takes
 * all of its numbers or none, and these fail for NULL alone. */
static bool set_numbers(RSA *rsa, BIGNUM **of, unsigned primes)
{
    BIGNUM **prime = of + FIRST_PRIME, **exponent = prime + primes;
    BIGNUM **coefficient = exponent + primes;

    if (RSA_set0_key(rsa, of[N], of[E], of[D]) != 1)
        return false;
    (void)take(&of[N]), (void)take(&of[E]), (void)take(&of[D]);
    if (RSA_set0_factors(rsa, prime[0], prime[1]) != 1)
        return false;
    (void)take(&prime[0]), (void)take(&prime[1]);
    if (RSA_set0_crt_params(rsa, exponent[0], exponent[1], coefficient[0]) != 1)
        return false;
    (void)take(&exponent[0]), (void)take(&exponent[1]);
    (void)take(&coefficient[0]);
    return set_more_primes(rsa, of, primes);
}

static RSA *make_rsa(const warprsa_key_numbers *numbers)
{
    BIGNUM *of[WARPRSA_VAULT_NUMBERS_MAX] = {NULL};
    const unsigned count = count_of(numbers);
    RSA *rsa = RSA_new();
    bool ok = rsa != NULL;

    for (unsigned i = 0; i < count && ok; i++) {
        of[i] = BN_secure_new();
        ok = of[i] != NULL &&
             BN_bin2bn(at(numbers, i), (int)numbers->lengths[i], of[i]) != NULL;
        if (ok && i >= D)
            BN_set_flags(of[i], BN_FLG_CONSTTIME);
    }
    ok = ok && set_numbers(rsa, of, numbers->primes);
    for (unsigned i = 0; i < count; i++)
        BN_clear_free(of[i]);
    if (ok)
        return rsa;
    RSA_free(rsa);
    return NULL;
}

EVP_PKEY *warprsa_key_numbers_to(const warprsa_key_numbers *numbers)
{
    EVP_PKEY *key = NULL;
    RSA *rsa = is_sound(numbers) ? make_rsa(numbers) : NULL;

    if (rsa == NULL)
        return NULL;
    key = EVP_PKEY_new();
    if (key != NULL && EVP_PKEY_assign_RSA(key, rsa) == 1)
        return key;
    EVP_PKEY_free(key);
    RSA_free(rsa);
    return NULL;
}

/* Copies number i, with zeros before it. False: it is too long. */
static bool copy(const warprsa_key_numbers *numbers, unsigned i, uint8_t *out,
                 size_t size)
{
    const size_t length = numbers->lengths[i];

    if (length > size)
        return false;
    memset(out, 0, size - length);
    memcpy(out + size - length, at(numbers, i), length);
    return true;
}

bool warprsa_key_numbers_for_engines(const warprsa_key_numbers *numbers,
                                     warprsa_private_key *key)
{
    bool ok = is_sound(numbers) && numbers->primes == 2;

    memset(key, 0, sizeof(*key));
    if (ok) {
        const uint32_t bytes = numbers->lengths[N];

        key->modulus_bytes = bytes;
        ok = bytes <= sizeof(key->n) &&
             copy(numbers, N, key->n, sizeof(key->n)) &&
             copy(numbers, E, key->e, sizeof(key->e)) &&
             copy(numbers, FIRST_PRIME, key->p, sizeof(key->p)) &&
             copy(numbers, FIRST_PRIME + 1, key->q, sizeof(key->q)) &&
             copy(numbers, FIRST_PRIME + 2, key->dp, sizeof(key->dp)) &&
             copy(numbers, FIRST_PRIME + 3, key->dq, sizeof(key->dq)) &&
             copy(numbers, FIRST_PRIME + 4, key->qinv, sizeof(key->qinv)) &&
             warprsa_key_class(key) >= 0;
    }
    if (!ok)
        OPENSSL_cleanse(key, sizeof(*key));
    return ok;
}
