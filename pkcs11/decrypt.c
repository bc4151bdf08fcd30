/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * PKCS #11: decryption by warprsad. There is one result, at the end: all that
 * comes in parts is collected.
 */
#include <string.h>

#include <openssl/crypto.h>

#include "pkcs11/key_operation.h"
#include "pkcs11/token_use.h"

/* The most bytes of a message: RFC 8017, 7.1.1 and 7.2.1. */
static CK_ULONG most(const warprsa_operation *operation)
{
    const CK_ULONG modulus = operation->entry->modulus_bytes;

    switch (operation->use.padding) {
    case WARPRSA_PADDING_OAEP:
        return modulus - 2 * warprsa_use_digest_bytes(operation->use.digest) -
               2;
    case WARPRSA_PADDING_PKCS1:
        return modulus - 11;
    default:
        return modulus;
    }
}

/* Decrypts what the operation has. With CKR_BUFFER_TOO_SMALL the operation goes
 * on; the program has to ask for the message again. */
static CK_RV decrypt(const warprsa_call *call, warprsa_operation *operation,
                     CK_BYTE *message, CK_ULONG *message_bytes)
{
    uint8_t output[WARPRSA_VAULT_MODULUS_BYTES_MAX];
    const unsigned modulus = operation->entry->modulus_bytes;
    size_t bytes = 0;
    CK_RV rv = CKR_OK;

    if (operation->bytes != modulus)
        return CKR_ENCRYPTED_DATA_LEN_RANGE;
    operation->use.input_bytes = (uint16_t)modulus;
    rv = warprsa_token_use(call->library, operation->entry, &operation->use,
                           operation->data, output, &bytes);
    if (rv == CKR_OK) {
        if (bytes > *message_bytes)
            rv = CKR_BUFFER_TOO_SMALL;
        else
            memcpy(message, output, bytes);
        *message_bytes = bytes;
    }
    OPENSSL_cleanse(output, modulus);
    return rv;
}

CK_RV C_DecryptInit(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                    CK_OBJECT_HANDLE key)
{
    return warprsa_key_operation_init(session, WARPRSA_OPERATION_DECRYPT,
                                      CKF_DECRYPT, mechanism, key);
}

CK_RV C_Decrypt(CK_SESSION_HANDLE session, CK_BYTE *data, CK_ULONG bytes,
                CK_BYTE *message, CK_ULONG *message_bytes)
{
    warprsa_operation *operation = NULL;
    warprsa_call call;
    CK_RV rv = warprsa_call_begin_whole(
        &call, session, WARPRSA_OPERATION_DECRYPT, CKF_DECRYPT, &operation);

    if (rv != CKR_OK)
        return rv;
    if ((data == NULL && bytes > 0) || message_bytes == NULL) {
        rv = CKR_ARGUMENTS_BAD;
    } else if (message == NULL) {
        *message_bytes = most(operation);
        return warprsa_call_end(&call, CKR_OK);
    } else if (bytes != operation->entry->modulus_bytes) {
        rv = CKR_ENCRYPTED_DATA_LEN_RANGE;
    } else {
        rv = warprsa_operation_add(operation, data, bytes);
    }
    if (rv == CKR_OK)
        rv = decrypt(&call, operation, message, message_bytes);
    if (rv == CKR_BUFFER_TOO_SMALL)
        operation->bytes = 0; /* the program gives the data again */
    else
        warprsa_operation_end(operation);
    return warprsa_call_end(&call, rv);
}

CK_RV C_DecryptUpdate(CK_SESSION_HANDLE session, CK_BYTE *data, CK_ULONG bytes,
                      CK_BYTE *part, CK_ULONG *part_bytes)
{
    return warprsa_collect_update(session, WARPRSA_OPERATION_DECRYPT,
                                  CKF_DECRYPT, data, bytes, part, part_bytes);
}

CK_RV C_DecryptFinal(CK_SESSION_HANDLE session, CK_BYTE *message,
                     CK_ULONG *message_bytes)
{
    warprsa_operation *operation = NULL;
    warprsa_call call;
    CK_RV rv = warprsa_call_begin_operation(
        &call, session, WARPRSA_OPERATION_DECRYPT, CKF_DECRYPT, &operation);

    if (rv != CKR_OK)
        return rv;
    if (message_bytes == NULL) {
        rv = CKR_ARGUMENTS_BAD;
    } else if (message == NULL) {
        *message_bytes = most(operation);
        return warprsa_call_end(&call, CKR_OK);
    } else {
        rv = decrypt(&call, operation, message, message_bytes);
    }
    if (rv != CKR_BUFFER_TOO_SMALL)
        warprsa_operation_end(operation);
    return warprsa_call_end(&call, rv);
}
