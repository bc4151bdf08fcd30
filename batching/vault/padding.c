/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Padding and its removal, by libcrypto; see padding.h.
 */
#include "batching/vault/padding.h"

#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/proverr.h>
#include <openssl/rsa.h>

#include "batching/base/wipe_registers.h"

/* The digest of a use; NULL, with an error: libcrypto does not have it. */
static const EVP_MD *digest_of(const warprsa_padding_key *key, unsigned digest)
{
    const EVP_MD *md = key->library->digests[digest].md;

    if (md == NULL)
        ERR_raise(ERR_LIB_PROV, PROV_R_INVALID_DIGEST);
    return md;
}

/* Both numbers are public. */
static bool is_below_modulus(const warprsa_padding_key *key,
                             const uint8_t *number)
{
    return memcmp(number, key->n, key->bytes) < 0;
}

/* ---- the private operation, or what follows it, by libcrypto ---- */

enum {
    CIPHER_PARAMETERS_MAX = 6,
};

/* The numbers that a cipher's parameters point to. */
typedef struct cipher_settings {
    int padding;
    unsigned client_version, alternative_version;
    OSSL_PARAM parameters[CIPHER_PARAMETERS_MAX];
} cipher_settings;

static void fill_settings(cipher_settings *to, const warprsa_key_use *use)
{
    OSSL_PARAM *next = to->parameters;

    to->padding = RSA_PKCS1_PADDING;
    if (use->padding == WARPRSA_PADDING_NONE)
        to->padding = RSA_NO_PADDING;
    if (use->padding == WARPRSA_PADDING_OAEP) {
        to->padding = RSA_PKCS1_OAEP_PADDING;
        *next++ = OSSL_PARAM_construct_utf8_string(
            OSSL_ASYM_CIPHER_PARAM_OAEP_DIGEST,
            (char *)warprsa_use_digest_name(use->digest), 0);
        *next++ = OSSL_PARAM_construct_utf8_string(
            OSSL_ASYM_CIPHER_PARAM_MGF1_DIGEST,
            (char *)warprsa_use_digest_name(use->mgf1_digest), 0);
        if (use->label_bytes > 0)
            *next++ = OSSL_PARAM_construct_octet_string(
                OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL, (void *)use->label,
                use->label_bytes);
    }
    if (use->padding == WARPRSA_PADDING_TLS) {
        to->padding = RSA_PKCS1_WITH_TLS_PADDING;
        to->client_version = use->tls_client_version;
        to->alternative_version = use->tls_alternative_version;
        *next++ = OSSL_PARAM_construct_uint(
            OSSL_ASYM_CIPHER_PARAM_TLS_CLIENT_VERSION, &to->client_version);
        *next++ = OSSL_PARAM_construct_uint(
            OSSL_ASYM_CIPHER_PARAM_TLS_NEGOTIATED_VERSION,
            &to->alternative_version);
    }
    *next++ =
        OSSL_PARAM_construct_int(OSSL_ASYM_CIPHER_PARAM_PAD_MODE, &to->padding);
    *next = OSSL_PARAM_construct_end();
}

/* Decrypts `input`, as long as the modulus, by either RSA object of the key. */
static bool decrypt(const warprsa_padding_key *key, RSA *rsa,
                    const warprsa_key_use *use, const uint8_t *input,
                    uint8_t *answer, unsigned *length)
{
    const warprsa_padding_cipher *cipher = &key->library->cipher;
    void *context = cipher->newctx(key->library->provctx);
    size_t written = 0;
    cipher_settings settings;
    bool ok = false;

    if (context == NULL)
        return false;
    fill_settings(&settings, use);
    ok = cipher->decrypt_init(context, rsa, settings.parameters) == 1 &&
         cipher->decrypt(context, answer, &written, key->bytes, input,
                         key->bytes) == 1;
    cipher->freectx(context);
    /* Whether it worked is what the client is told. */
    if (!ok)
        OPENSSL_cleanse(answer, key->bytes);
    *length = ok ? (unsigned)written : 0;
    return ok;
}

static bool sign_number(const warprsa_padding_key *key, const uint8_t *number,
                        uint8_t *answer)
{
    return RSA_private_encrypt((int)key->bytes, number, answer, key->computing,
                               RSA_NO_PADDING) == (int)key->bytes;
}

/* libcrypto's errors for a number that is not below the modulus, or for a key
 * that does not decrypt. Nothing is computed. */
static bool refuse_number(const warprsa_padding_key *key,
                          const warprsa_key_use *use, const uint8_t *input,
                          uint8_t *number)
{
    unsigned length = 0;

    if (key->restrictions.pss && use->operation == WARPRSA_USE_DECRYPT)
        ERR_raise(ERR_LIB_PROV,
                  PROV_R_OPERATION_NOT_SUPPORTED_FOR_THIS_KEYTYPE);
    else if (use->operation == WARPRSA_USE_DECRYPT)
        (void)decrypt(key, key->computing, use, input, number, &length);
    else
        (void)sign_number(key, input, number);
    return false;
}

/* ---- before the private operation ---- */

/* Whether the input is the DigestInfo of the digest that the use names. The
 * rules of the key are about that digest, so nothing else may be signed. */
static bool is_digest_info(const warprsa_padding_key *key,
                           const warprsa_key_use *use, const uint8_t *input)
{
    const warprsa_padding_digest *digest = &key->library->digests[use->digest];

    return use->input_bytes ==
               digest->info_bytes + warprsa_use_digest_bytes(use->digest) &&
           memcmp(input, digest->info, digest->info_bytes) == 0;
}

static bool encode_pkcs1(const warprsa_padding_key *key,
                         const warprsa_key_use *use, const uint8_t *input,
                         uint8_t *number)
{
    if (key->restrictions.pss) {
        ERR_raise(ERR_LIB_PROV, PROV_R_ILLEGAL_OR_UNSUPPORTED_PADDING_MODE);
        return false;
    }
    if (use->digest != WARPRSA_DIGEST_NONE) {
        if (digest_of(key, use->digest) == NULL)
            return false;
        if (!is_digest_info(key, use, input)) {
            ERR_raise(ERR_LIB_RSA, RSA_R_DIGEST_DOES_NOT_MATCH);
            return false;
        }
    }
    return RSA_padding_add_PKCS1_type_1(number, (int)key->bytes, input,
                                        use->input_bytes) == 1;
}

/* The longest salt in bytes; negative if the key is too short for the hash. RFC
 * 8017, 9.1.1: emLen is emBits in whole bytes, and emBits is one less than the
 * modulus has. */
static int salt_bytes_max(const warprsa_padding_key *key,
                          const warprsa_key_use *use)
{
    return (int)(key->bits - 1 + 7) / 8 -
           (int)warprsa_use_digest_bytes(use->digest) - 2;
}

/* The salt's length in bytes for warprsa_key_use.salt_bytes. It may be one that
 * is too long for the key, and negative if the hash is. */
static int salt_bytes_of(const warprsa_padding_key *key,
                         const warprsa_key_use *use)
{
    const int hash = (int)warprsa_use_digest_bytes(use->digest);
    const int most = salt_bytes_max(key, use);

    switch (use->salt_bytes) {
    case WARPRSA_SALT_DIGEST:
        return hash;
    case WARPRSA_SALT_AUTO:
    case WARPRSA_SALT_MAX:
        return most;
    case WARPRSA_SALT_AUTO_DIGEST_MAX:
        return most < hash ? most : hash;
    default:
        return use->salt_bytes;
    }
}

/* What libcrypto's signature checks before it pads. */
static bool is_allowed_pss(const warprsa_padding_restrictions *restrictions,
                           const warprsa_key_use *use, int salt_bytes)
{
    if (!restrictions->restricted)
        return true;
    if (use->digest != restrictions->digest ||
        use->mgf1_digest != restrictions->mgf1_digest) {
        ERR_raise(ERR_LIB_PROV, PROV_R_DIGEST_NOT_ALLOWED);
        return false;
    }
    if (salt_bytes >= restrictions->salt_bytes_min)
        return true;
    ERR_raise(ERR_LIB_PROV, PROV_R_PSS_SALTLEN_TOO_SMALL);
    return false;
}

static bool encode_pss(const warprsa_padding_key *key,
                       const warprsa_key_use *use, const uint8_t *input,
                       uint8_t *number)
{
    const EVP_MD *md = digest_of(key, use->digest);
    const EVP_MD *mgf1_md = digest_of(key, use->mgf1_digest);
    const int salt_bytes = salt_bytes_of(key, use);
    uint8_t unused[WARPRSA_VAULT_MODULUS_BYTES_MAX];

    if (md == NULL || mgf1_md == NULL ||
        !is_allowed_pss(&key->restrictions, use, salt_bytes))
        return false;
    if (number == NULL && salt_bytes >= 0 &&
        salt_bytes <= salt_bytes_max(key, use))
        return true; /* there is room for hash and salt */
    if (number == NULL)
        number = unused; /* for libcrypto's error */
    /* A negative length would mean something to libcrypto. MAX fails with the
     * right error if there is no room for any salt. */
    if (RSA_padding_add_PKCS1_PSS_mgf1(
            key->computing, number, input, md, mgf1_md,
            salt_bytes < 0 ? WARPRSA_SALT_MAX : salt_bytes) == 1)
        return true;
    ERR_raise(ERR_LIB_PROV, ERR_R_RSA_LIB); /* as libcrypto's signature does */
    return false;
}

static bool encode_number(const warprsa_padding_key *key,
                          const warprsa_key_use *use, const uint8_t *input,
                          uint8_t *number)
{
    if (!is_below_modulus(key, input) ||
        (use->operation == WARPRSA_USE_DECRYPT && key->restrictions.pss))
        return refuse_number(key, use, input, number);
    memcpy(number, input, key->bytes);
    return true;
}

static bool encode(const warprsa_padding_key *key, const warprsa_key_use *use,
                   const uint8_t *input, uint8_t *number)
{
    if (use->operation == WARPRSA_USE_SIGN &&
        use->padding == WARPRSA_PADDING_PKCS1)
        return encode_pkcs1(key, use, input, number);
    if (use->operation == WARPRSA_USE_SIGN &&
        use->padding == WARPRSA_PADDING_PSS)
        return encode_pss(key, use, input, number);
    return encode_number(key, use, input, number);
}

/* ---- after the private operation ---- */

/* The function that the cipher calls, too. With digests that are at hand it
 * takes half the time. */
static bool remove_oaep(const warprsa_padding_key *key,
                        const warprsa_key_use *use, const uint8_t *power,
                        uint8_t *answer, unsigned *length)
{
    const EVP_MD *md = digest_of(key, use->digest);
    const EVP_MD *mgf1_md = digest_of(key, use->mgf1_digest);
    const int bytes = (int)key->bytes;
    const int written = md == NULL || mgf1_md == NULL
                            ? -1
                            : RSA_padding_check_PKCS1_OAEP_mgf1(
                                  answer, bytes, power, bytes, bytes,
                                  use->label, use->label_bytes, md, mgf1_md);

    /* Whether it worked is what the client is told. */
    if (written < 0)
        OPENSSL_cleanse(answer, key->bytes);
    *length = written < 0 ? 0 : (unsigned)written;
    return written >= 0;
}

/* ---- the interface ---- */

/* Begins an operation: an error is one of its own. */
static void begin(void)
{
    if (ERR_peek_error() != 0)
        ERR_clear_error();
}

/* Ends an operation: its errors, if it failed, leave the queue. */
static bool settle(bool ok, warprsa_use_errors *errors)
{
    *errors = (warprsa_use_errors){{0}};
    if (!ok)
        warprsa_padding_take_errors(errors);
    else
        begin();
    warprsa_wipe_registers();
    return ok;
}

bool warprsa_padding_encode(const warprsa_padding_key *key,
                            const warprsa_key_use *use, const uint8_t *input,
                            uint8_t *number, warprsa_use_errors *errors)
{
    begin();
    return settle(encode(key, use, input, number), errors);
}

bool warprsa_padding_is_quick(const warprsa_key_use *use)
{
    return use->operation == WARPRSA_USE_SIGN ||
           use->padding == WARPRSA_PADDING_NONE;
}

bool warprsa_padding_finish(const warprsa_padding_key *key,
                            const warprsa_key_use *use, const uint8_t *number,
                            const uint8_t *power, uint8_t *answer,
                            unsigned *length, warprsa_use_errors *errors)
{
    bool ok = true;

    begin();
    if (warprsa_padding_is_quick(use)) {
        memcpy(answer, power, key->bytes);
        *length = key->bytes;
    } else if (use->padding == WARPRSA_PADDING_OAEP) {
        ok = remove_oaep(key, use, power, answer, length);
    } else {
        warprsa_padding_key_tell(power);
        ok = decrypt(key, key->told, use, number, answer, length);
        warprsa_padding_key_tell(NULL);
    }
    return settle(ok, errors);
}

/* Whether a number is one that encode_pss() may have made of a hash. */
static bool is_pss_of(const warprsa_padding_key *key,
                      const warprsa_key_use *use, const uint8_t *hash,
                      const uint8_t *number)
{
    const EVP_MD *md = digest_of(key, use->digest);
    const EVP_MD *mgf1_md = digest_of(key, use->mgf1_digest);
    const int salt_bytes = salt_bytes_of(key, use);

    return md != NULL && mgf1_md != NULL && salt_bytes >= 0 &&
           RSA_verify_PKCS1_PSS_mgf1(key->computing, hash, md, mgf1_md, number,
                                     salt_bytes) == 1;
}

bool warprsa_padding_verify(const warprsa_padding_key *key,
                            const warprsa_key_use *use, const uint8_t *input,
                            const uint8_t *answer)
{
    uint8_t number[WARPRSA_VAULT_MODULUS_BYTES_MAX];
    uint8_t expected[WARPRSA_VAULT_MODULUS_BYTES_MAX];
    bool ok = false;

    begin();
    ok = warprsa_use_is_checkable(use) &&
         RSA_public_decrypt((int)key->bytes, answer, number, key->computing,
                            RSA_NO_PADDING) == (int)key->bytes;
    if (ok && use->padding == WARPRSA_PADDING_PSS)
        ok = is_pss_of(key, use, input, number);
    else if (ok)
        ok = encode(key, use, input, expected) &&
             memcmp(number, expected, key->bytes) == 0;
    begin();
    warprsa_wipe_registers();
    return ok;
}

bool warprsa_padding_verify_power(const warprsa_padding_key *key,
                                  const warprsa_key_use *use,
                                  const uint8_t *input, const uint8_t *power)
{
    bool ok = false;

    begin();
    ok = use->operation == WARPRSA_USE_SIGN &&
         use->padding == WARPRSA_PADDING_PSS &&
         is_pss_of(key, use, input, power);
    begin();
    return ok;
}

bool warprsa_padding_compute(const warprsa_padding_key *key,
                             const warprsa_key_use *use, const uint8_t *input,
                             uint8_t *answer, unsigned *length,
                             warprsa_use_errors *errors)
{
    uint8_t number[WARPRSA_VAULT_MODULUS_BYTES_MAX];
    bool ok = false;

    begin();
    *length = 0;
    ok = encode(key, use, input, number);
    if (ok && use->operation == WARPRSA_USE_DECRYPT) {
        ok = decrypt(key, key->computing, use, number, answer, length);
    } else if (ok) {
        ok = sign_number(key, number, answer);
        *length = ok ? key->bytes : 0;
    }
    return settle(ok, errors);
}
