/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Public keys that keys.conf has; see remote_key.h.
 */
#include "batching/vault/remote_key.h"

#include <string.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

enum {
    /* What libcrypto, which checks the signatures, can raise to an exponent. */
    SMALL_MODULUS_BITS = OPENSSL_RSA_SMALL_MODULUS_BITS,
    LARGE_MODULUS_E_BITS = OPENSSL_RSA_MAX_PUBEXP_BITS,
    /* Base64 has four characters for three bytes. */
    BASE64_MAX = (WARPRSA_REMOTE_KEY_SPKI_BYTES + 2) / 3 * 4,
};

/* Whether both numbers may be those of a key: e is odd, at least 3 and below n
 * (RFC 8017, 3.1), and n is odd. With e = 1 any message would be its own
 * signature. */
static bool can_verify(const EVP_PKEY *key, int bits)
{
    BIGNUM *e = NULL, *n = NULL;
    const bool can =
        EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &e) == 1 &&
        EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_N, &n) == 1 &&
        BN_is_odd(n) && BN_is_odd(e) && !BN_is_one(e) && BN_cmp(e, n) < 0 &&
        (bits <= SMALL_MODULUS_BITS || BN_num_bits(e) <= LARGE_MODULUS_E_BITS);

    BN_free(e);
    BN_free(n);
    return can;
}

EVP_PKEY *warprsa_remote_key_public(OSSL_LIB_CTX *libctx, const uint8_t *spki,
                                    size_t bytes)
{
    const unsigned char *at = spki;
    EVP_PKEY *key = bytes <= WARPRSA_REMOTE_KEY_SPKI_BYTES
                        ? d2i_PUBKEY_ex(NULL, &at, (long)bytes, libctx, NULL)
                        : NULL;
    int bits = 0;
    bool can = false;

    if (key != NULL &&
        (EVP_PKEY_is_a(key, "RSA") || EVP_PKEY_is_a(key, "RSA-PSS")) &&
        at == spki + bytes)
        bits = EVP_PKEY_get_bits(key);
    can = bits >= WARPRSA_REMOTE_KEY_BITS_MIN &&
          bits <= WARPRSA_REMOTE_KEY_BITS_MAX && can_verify(key, bits);
    ERR_clear_error();
    if (can)
        return key;
    EVP_PKEY_free(key);
    return NULL;
}

/* EVP_DecodeBlock() takes some things that are no base64, and counts the
 * padding's bytes: what comes out is encoded again, and must be the same. */
static size_t decode(uint8_t *to, const char *base64, size_t length)
{
    unsigned char padded[BASE64_MAX + 1], again[BASE64_MAX + 1];
    size_t bytes = 0, padding = 0;

    if (length == 0 || length > BASE64_MAX || length % 4 != 0)
        return 0;
    while (padding < 2 && base64[length - 1 - padding] == '=')
        padding++;
    if (EVP_DecodeBlock(padded, (const unsigned char *)base64, (int)length) !=
        (int)(length / 4 * 3))
        return 0;
    bytes = length / 4 * 3 - padding;
    if (bytes > WARPRSA_REMOTE_KEY_SPKI_BYTES ||
        EVP_EncodeBlock(again, padded, (int)bytes) != (int)length ||
        memcmp(again, base64, length) != 0)
        return 0;
    memcpy(to, padded, bytes);
    return bytes;
}

bool warprsa_remote_key_decode(warprsa_remote_key *key, const char *base64,
                               size_t length)
{
    EVP_PKEY *public = NULL;

    memset(key->spki, 0, sizeof(key->spki));
    key->spki_bytes = (uint32_t)decode(key->spki, base64, length);
    public = warprsa_remote_key_public(NULL, key->spki, key->spki_bytes);
    EVP_PKEY_free(public);
    return public != NULL;
}
