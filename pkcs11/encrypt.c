/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * PKCS #11: encryption. As of decryption, the output comes at the end.
 */
#include <string.h>

#include <openssl/crypto.h>

#include "pkcs11/key_operation.h"
#include "pkcs11/public_key.h"

/* The bytes that a padding takes of a modulus, at least: RFC 8017, 7.1.1 and
 * 7.2.1. */
static size_t padding_bytes(const warprsa_operation *operation)
{
    switch (operation->use.padding) {
    case WARPRSA_PADDING_OAEP:
        return 2 * (size_t)warprsa_use_digest_bytes(operation->use.digest) + 2;
    case WARPRSA_PADDING_PKCS1:
        return 11;
    default:
        return 0;
    }
}

/* Encrypts what the operation has. */
static CK_RV encrypt(const warprsa_call *call, warprsa_operation *operation,
                     CK_BYTE *output, CK_ULONG *output_bytes)
{
    const unsigned modulus = operation->entry->modulus_bytes;
    uint8_t input[WARPRSA_VAULT_MODULUS_BYTES_MAX];
    size_t bytes = operation->bytes;
    CK_RV rv = CKR_OK;

    if (bytes + padding_bytes(operation) > modulus)
        return CKR_DATA_LEN_RANGE;
    if (operation->use.padding == WARPRSA_PADDING_NONE) {
        rv = warprsa_operation_number(operation, input);
        bytes = modulus;
    } else if (bytes > 0) {
        memcpy(input, operation->data, bytes);
    }
    if (rv == CKR_OK)
        rv = warprsa_public_key_encrypt(&call->library->crypto, operation,
                                        input, bytes, output);
    if (rv == CKR_OK)
        *output_bytes = modulus;
    OPENSSL_cleanse(input, bytes);
    return rv;
}

CK_RV C_EncryptInit(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                    CK_OBJECT_HANDLE key)
{
    return warprsa_key_operation_init(session, WARPRSA_OPERATION_ENCRYPT,
                                      CKF_ENCRYPT, mechanism, key);
}

CK_RV C_Encrypt(CK_SESSION_HANDLE session, CK_BYTE *data, CK_ULONG bytes,
                CK_BYTE *output, CK_ULONG *output_bytes)
{
    warprsa_operation *operation = NULL;
    warprsa_call call;
    CK_RV rv = warprsa_call_begin_whole(
        &call, session, WARPRSA_OPERATION_ENCRYPT, CKF_ENCRYPT, &operation);

    if (rv != CKR_OK)
        return rv;
    if ((data == NULL && bytes > 0) || output_bytes == NULL)
        rv = CKR_ARGUMENTS_BAD;
    else if (!warprsa_output_has_room(output, output_bytes,
                                      operation->entry->modulus_bytes, &rv))
        return warprsa_call_end(&call, rv);
    else
        rv = warprsa_operation_add(operation, data, bytes);
    if (rv == CKR_OK)
        rv = encrypt(&call, operation, output, output_bytes);
    warprsa_operation_end(operation);
    return warprsa_call_end(&call, rv);
}

CK_RV C_EncryptUpdate(CK_SESSION_HANDLE session, CK_BYTE *data, CK_ULONG bytes,
                      CK_BYTE *part, CK_ULONG *part_bytes)
{
    return warprsa_collect_update(session, WARPRSA_OPERATION_ENCRYPT,
                                  CKF_ENCRYPT, data, bytes, part, part_bytes);
}

CK_RV C_EncryptFinal(CK_SESSION_HANDLE session, CK_BYTE *output,
                     CK_ULONG *output_bytes)
{
    warprsa_operation *operation = NULL;
    warprsa_call call;
    CK_RV rv = warprsa_call_begin_operation(
        &call, session, WARPRSA_OPERATION_ENCRYPT, CKF_ENCRYPT, &operation);

    if (rv != CKR_OK)
        return rv;
    if (output_bytes == NULL)
        rv = CKR_ARGUMENTS_BAD;
    else if (!warprsa_output_has_room(output, output_bytes,
                                      operation->entry->modulus_bytes, &rv))
        return warprsa_call_end(&call, rv);
    if (rv == CKR_OK)
        rv = encrypt(&call, operation, output, output_bytes);
    warprsa_operation_end(operation);
    return warprsa_call_end(&call, rv);
}
