/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * PKCS #11: verifying signatures, with or without recovery.
 */
#include <string.h>

#include "pkcs11/key_operation.h"
#include "pkcs11/public_key.h"

/* Verifies what the operation has. */
static CK_RV verify(const warprsa_call *call, warprsa_operation *operation,
                    const CK_BYTE *signature, CK_ULONG signature_bytes)
{
    const warprsa_crypto *crypto = &call->library->crypto;
    uint8_t input[WARPRSA_VAULT_MODULUS_BYTES_MAX];
    size_t bytes = operation->bytes;
    CK_RV rv = CKR_OK;

    if (signature_bytes != operation->entry->modulus_bytes)
        return CKR_SIGNATURE_LEN_RANGE;
    if (operation->mechanism->digest != WARPRSA_DIGEST_NONE) {
        rv = warprsa_operation_hash(operation, input, &bytes);
    } else if (operation->use.padding == WARPRSA_PADDING_NONE) {
        rv = warprsa_operation_number(operation, input);
        bytes = operation->entry->modulus_bytes;
    } else if (operation->use.padding == WARPRSA_PADDING_PSS &&
               bytes != warprsa_use_digest_bytes(operation->use.digest)) {
        rv = CKR_DATA_LEN_RANGE;
    } else if (bytes > 0) {
        memcpy(input, operation->data, bytes);
    }
    return rv != CKR_OK ? rv
                        : warprsa_public_key_verify(crypto, operation, input,
                                                    bytes, signature);
}

CK_RV C_VerifyInit(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                   CK_OBJECT_HANDLE key)
{
    return warprsa_key_operation_init(session, WARPRSA_OPERATION_VERIFY,
                                      CKF_VERIFY, mechanism, key);
}

CK_RV C_Verify(CK_SESSION_HANDLE session, CK_BYTE *data, CK_ULONG bytes,
               CK_BYTE *signature, CK_ULONG signature_bytes)
{
    warprsa_operation *operation = NULL;
    warprsa_call call;
    CK_RV rv = warprsa_call_begin_whole(
        &call, session, WARPRSA_OPERATION_VERIFY, CKF_VERIFY, &operation);

    if (rv != CKR_OK)
        return rv;
    if ((data == NULL && bytes > 0) || signature == NULL)
        rv = CKR_ARGUMENTS_BAD;
    else
        rv = warprsa_operation_add(operation, data, bytes);
    if (rv == CKR_OK)
        rv = verify(&call, operation, signature, signature_bytes);
    warprsa_operation_end(operation);
    return warprsa_call_end(&call, rv);
}

CK_RV C_VerifyUpdate(CK_SESSION_HANDLE session, CK_BYTE *data, CK_ULONG bytes)
{
    return warprsa_key_operation_update(session, WARPRSA_OPERATION_VERIFY,
                                        CKF_VERIFY, data, bytes);
}

CK_RV C_VerifyFinal(CK_SESSION_HANDLE session, CK_BYTE *signature,
                    CK_ULONG signature_bytes)
{
    warprsa_operation *operation = NULL;
    warprsa_call call;
    CK_RV rv = warprsa_call_begin_operation(
        &call, session, WARPRSA_OPERATION_VERIFY, CKF_VERIFY, &operation);

    if (rv != CKR_OK)
        return rv;
    rv = signature == NULL
             ? CKR_ARGUMENTS_BAD
             : verify(&call, operation, signature, signature_bytes);
    warprsa_operation_end(operation);
    return warprsa_call_end(&call, rv);
}

CK_RV C_VerifyRecoverInit(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                          CK_OBJECT_HANDLE key)
{
    return warprsa_key_operation_init(session, WARPRSA_OPERATION_VERIFY,
                                      CKF_VERIFY_RECOVER, mechanism, key);
}

CK_RV C_VerifyRecover(CK_SESSION_HANDLE session, CK_BYTE *signature,
                      CK_ULONG signature_bytes, CK_BYTE *data,
                      CK_ULONG *data_bytes)
{
    uint8_t recovered[WARPRSA_VAULT_MODULUS_BYTES_MAX];
    warprsa_operation *operation = NULL;
    size_t bytes = 0;
    warprsa_call call;
    CK_RV rv =
        warprsa_call_begin_whole(&call, session, WARPRSA_OPERATION_VERIFY,
                                 CKF_VERIFY_RECOVER, &operation);

    if (rv != CKR_OK)
        return rv;
    if (signature == NULL || data_bytes == NULL)
        rv = CKR_ARGUMENTS_BAD;
    else if (signature_bytes != operation->entry->modulus_bytes)
        rv = CKR_SIGNATURE_LEN_RANGE;
    else
        rv = warprsa_public_key_recover(&call.library->crypto, operation,
                                        signature, recovered, &bytes);
    if (rv == CKR_OK && !warprsa_output_has_room(data, data_bytes, bytes, &rv))
        return warprsa_call_end(&call, rv);
    if (rv == CKR_OK) {
        memcpy(data, recovered, bytes);
        *data_bytes = bytes;
    }
    warprsa_operation_end(operation);
    return warprsa_call_end(&call, rv);
}
