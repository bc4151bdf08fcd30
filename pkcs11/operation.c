/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The life of an operation.
 */
#include "pkcs11/operation.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

CK_RV warprsa_operation_begin(warprsa_operation *operation,
                              const warprsa_crypto *crypto, CK_FLAGS how,
                              const warprsa_mechanism *mechanism,
                              const warprsa_key_use *use, warprsa_entry *entry)
{
    if (mechanism->digest != WARPRSA_DIGEST_NONE) {
        const EVP_MD *digest = crypto->digests[mechanism->digest];

        if (digest == NULL)
            return CKR_MECHANISM_INVALID;
        if (operation->hashing == NULL)
            operation->hashing = EVP_MD_CTX_new();
        if (operation->hashing == NULL ||
            EVP_DigestInit_ex2(operation->hashing, digest, NULL) != 1)
            return CKR_HOST_MEMORY;
    }
    warprsa_entry_hold(entry);
    operation->entry = entry;
    operation->mechanism = mechanism;
    operation->use = *use;
    operation->updated = false;
    operation->bytes = 0;
    operation->how = how;
    return CKR_OK;
}

CK_RV warprsa_operation_add(warprsa_operation *operation, const uint8_t *data,
                            size_t bytes)
{
    if (operation->mechanism->digest != WARPRSA_DIGEST_NONE)
        return EVP_DigestUpdate(operation->hashing, data, bytes) == 1
                   ? CKR_OK
                   : CKR_FUNCTION_FAILED;
    if (bytes > WARPRSA_VAULT_MODULUS_BYTES_MAX - operation->bytes)
        return CKR_DATA_LEN_RANGE;
    if (operation->data == NULL)
        operation->data = malloc(WARPRSA_VAULT_MODULUS_BYTES_MAX);
    if (operation->data == NULL)
        return CKR_HOST_MEMORY;
    if (bytes > 0)
        memcpy(operation->data + operation->bytes, data, bytes);
    operation->bytes += bytes;
    return CKR_OK;
}

CK_RV warprsa_operation_hash(warprsa_operation *operation,
                             uint8_t hash[EVP_MAX_MD_SIZE], size_t *bytes)
{
    unsigned length = 0;

    if (EVP_DigestFinal_ex(operation->hashing, hash, &length) != 1)
        return CKR_FUNCTION_FAILED;
    *bytes = length;
    return CKR_OK;
}

void warprsa_operation_end(warprsa_operation *operation)
{
    if (operation == NULL || operation->how == 0)
        return;
    if (operation->bytes > 0)
        OPENSSL_cleanse(operation->data, operation->bytes);
    operation->bytes = 0;
    if (operation->mechanism->digest != WARPRSA_DIGEST_NONE)
        (void)EVP_MD_CTX_reset(operation->hashing); /* it has a block of it */
    warprsa_entry_release(operation->entry);
    operation->entry = NULL;
    operation->how = 0;
}

void warprsa_operation_free(warprsa_operation *operation)
{
    if (operation == NULL)
        return;
    warprsa_operation_end(operation);
    EVP_MD_CTX_free(operation->hashing);
    free(operation->data);
    free(operation);
}
