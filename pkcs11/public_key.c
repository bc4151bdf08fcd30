/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Public keys by libcrypto.
 */
#include "pkcs11/public_key.h"

#include <string.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/rsa.h>

static EVP_PKEY_CTX *context_new(const warprsa_crypto *crypto,
                                 const warprsa_operation *operation)
{
    return EVP_PKEY_CTX_new_from_pkey(crypto->libctx, operation->entry->public,
                                      NULL);
}

static const EVP_MD *digest(const warprsa_crypto *crypto, unsigned number)
{
    return crypto->digests[number];
}

static bool set_pss(EVP_PKEY_CTX *context, const warprsa_crypto *crypto,
                    const warprsa_key_use *use)
{
    return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 &&
           EVP_PKEY_CTX_set_signature_md(context,
                                         digest(crypto, use->digest)) == 1 &&
           EVP_PKEY_CTX_set_rsa_mgf1_md(
               context, digest(crypto, use->mgf1_digest)) == 1 &&
           EVP_PKEY_CTX_set_rsa_pss_saltlen(context, use->salt_bytes) == 1;
}

/* Of RSA with no digest, libcrypto compares what the padding holds. */
static bool set_pkcs1(EVP_PKEY_CTX *context, const warprsa_crypto *crypto,
                      const warprsa_operation *operation)
{
    const unsigned number = operation->mechanism->digest;

    return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1 &&
           (number == WARPRSA_DIGEST_NONE ||
            EVP_PKEY_CTX_set_signature_md(context, digest(crypto, number)) ==
                1);
}

static CK_RV verify_padded(const warprsa_crypto *crypto,
                           const warprsa_operation *operation,
                           const uint8_t *signed_bytes, size_t bytes,
                           const uint8_t *signature)
{
    EVP_PKEY_CTX *context = context_new(crypto, operation);
    CK_RV rv = CKR_FUNCTION_FAILED;

    if (context != NULL && EVP_PKEY_verify_init(context) == 1 &&
        (operation->use.padding == WARPRSA_PADDING_PSS
             ? set_pss(context, crypto, &operation->use)
             : set_pkcs1(context, crypto, operation)))
        rv =
            EVP_PKEY_verify(context, signature, operation->entry->modulus_bytes,
                            signed_bytes, bytes) == 1
                ? CKR_OK
                : CKR_SIGNATURE_INVALID;
    EVP_PKEY_CTX_free(context);
    ERR_clear_error();
    return rv;
}

CK_RV warprsa_public_key_recover(const warprsa_crypto *crypto,
                                 const warprsa_operation *operation,
                                 const uint8_t *signature, uint8_t *data,
                                 size_t *bytes)
{
    const size_t modulus = operation->entry->modulus_bytes;
    EVP_PKEY_CTX *context = context_new(crypto, operation);
    CK_RV rv = CKR_FUNCTION_FAILED;

    *bytes = modulus;
    if (context != NULL && EVP_PKEY_verify_recover_init(context) == 1 &&
        EVP_PKEY_CTX_set_rsa_padding(context, operation->use.padding ==
                                                      WARPRSA_PADDING_NONE
                                                  ? RSA_NO_PADDING
                                                  : RSA_PKCS1_PADDING) == 1)
        rv = EVP_PKEY_verify_recover(context, data, bytes, signature,
                                     modulus) == 1
                 ? CKR_OK
                 : CKR_SIGNATURE_INVALID;
    EVP_PKEY_CTX_free(context);
    ERR_clear_error();
    return rv;
}

/* Without padding, the signature has the number itself in it. */
static CK_RV verify_number(const warprsa_crypto *crypto,
                           const warprsa_operation *operation,
                           const uint8_t *number, size_t bytes,
                           const uint8_t *signature)
{
    uint8_t recovered[WARPRSA_VAULT_MODULUS_BYTES_MAX];
    size_t length = 0;
    CK_RV rv = warprsa_public_key_recover(crypto, operation, signature,
                                          recovered, &length);

    if (rv == CKR_OK &&
        (length != bytes || memcmp(recovered, number, bytes) != 0))
        rv = CKR_SIGNATURE_INVALID;
    return rv;
}

CK_RV warprsa_public_key_verify(const warprsa_crypto *crypto,
                                const warprsa_operation *operation,
                                const uint8_t *signed_bytes, size_t bytes,
                                const uint8_t *signature)
{
    return operation->use.padding == WARPRSA_PADDING_NONE
               ? verify_number(crypto, operation, signed_bytes, bytes,
                               signature)
               : verify_padded(crypto, operation, signed_bytes, bytes,
                               signature);
}

static bool set_oaep(EVP_PKEY_CTX *context, const warprsa_crypto *crypto,
                     const warprsa_key_use *use)
{
    uint8_t *label = NULL;

    if (EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) != 1 ||
        EVP_PKEY_CTX_set_rsa_oaep_md(context, digest(crypto, use->digest)) !=
            1 ||
        EVP_PKEY_CTX_set_rsa_mgf1_md(context,
                                     digest(crypto, use->mgf1_digest)) != 1)
        return false;
    if (use->label_bytes == 0)
        return true;
    label = OPENSSL_memdup(use->label, use->label_bytes);
    if (label != NULL &&
        EVP_PKEY_CTX_set0_rsa_oaep_label(context, label, use->label_bytes) == 1)
        return true;
    OPENSSL_free(label);
    return false;
}

CK_RV warprsa_public_key_encrypt(const warprsa_crypto *crypto,
                                 const warprsa_operation *operation,
                                 const uint8_t *message, size_t bytes,
                                 uint8_t *output)
{
    const unsigned padding = operation->use.padding;
    size_t length = operation->entry->modulus_bytes;
    EVP_PKEY_CTX *context = context_new(crypto, operation);
    bool ok = context != NULL && EVP_PKEY_encrypt_init(context) == 1;

    if (padding == WARPRSA_PADDING_OAEP)
        ok = ok && set_oaep(context, crypto, &operation->use);
    else
        ok = ok && EVP_PKEY_CTX_set_rsa_padding(context,
                                                padding == WARPRSA_PADDING_NONE
                                                    ? RSA_NO_PADDING
                                                    : RSA_PKCS1_PADDING) == 1;
    ok = ok &&
         EVP_PKEY_encrypt(context, output, &length, message, bytes) == 1 &&
         length == operation->entry->modulus_bytes;
    EVP_PKEY_CTX_free(context);
    /* Paddings are random. The thread's generator would outlive the library
     * context, and call into it when the thread ends. */
    OPENSSL_thread_stop_ex(crypto->libctx);
    ERR_clear_error();
    return ok ? CKR_OK : CKR_FUNCTION_FAILED;
}
