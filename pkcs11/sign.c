/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * PKCS #11: signing, with or without recovery, by warprsad.
 */
#include <string.h>

#include <openssl/crypto.h>

#include "batching/vault/wire/digest_info.h"
#include "pkcs11/key_operation.h"
#include "pkcs11/token_use.h"

enum {
    PKCS1_PADDING_BYTES = 11, /* at least: RFC 8017, 9.2 */
    MD5_SHA1_BYTES = 36,
};

/* The digest by which the daemon is to judge data that the program has hashed:
 * that of its DigestInfo; of TLS before 1.2, the two hashes alone, if the rules
 * name these; else none. */
static unsigned digest_of_data(const warprsa_operation *operation)
{
    const uint32_t allowed =
        operation->entry->rights
            .digests[WARPRSA_USE_SIGN][WARPRSA_PADDING_PKCS1];

    if (operation->bytes == MD5_SHA1_BYTES &&
        (allowed >> WARPRSA_DIGEST_MD5_SHA1 & 1) != 0)
        return WARPRSA_DIGEST_MD5_SHA1;
    return warprsa_digest_info_of(operation->data, operation->bytes);
}

/* ---- what is signed ---- */

/* Writes a hash, after its DigestInfo if the padding is PKCS #1 v1.5's. */
static CK_RV write_hash(warprsa_operation *operation, uint8_t *input,
                        size_t *bytes)
{
    size_t prefix = 0;
    CK_RV rv = CKR_OK;

    if (operation->use.padding == WARPRSA_PADDING_PKCS1)
        prefix = warprsa_digest_info_prefix(operation->use.digest, input);
    rv = warprsa_operation_hash(operation, input + prefix, bytes);
    *bytes += prefix;
    return rv;
}

static CK_RV write_data(warprsa_operation *operation, uint8_t *input,
                        size_t *bytes)
{
    *bytes = operation->bytes;
    if (operation->use.padding == WARPRSA_PADDING_NONE) {
        *bytes = operation->entry->modulus_bytes;
        return warprsa_operation_number(operation, input);
    }
    if (operation->use.padding == WARPRSA_PADDING_PSS) {
        if (*bytes != warprsa_use_digest_bytes(operation->use.digest))
            return CKR_DATA_LEN_RANGE;
    } else {
        if (*bytes + PKCS1_PADDING_BYTES > operation->entry->modulus_bytes)
            return CKR_DATA_LEN_RANGE;
        operation->use.digest = (uint8_t)digest_of_data(operation);
    }
    if (*bytes > 0)
        memcpy(input, operation->data, *bytes);
    return CKR_OK;
}

/* Signs what the operation has. The signature is as long as the modulus. */
static CK_RV sign(const warprsa_call *call, warprsa_operation *operation,
                  CK_BYTE *signature, CK_ULONG *signature_bytes)
{
    uint8_t input[WARPRSA_VAULT_MODULUS_BYTES_MAX];
    size_t bytes = 0;
    CK_RV rv = operation->mechanism->digest != WARPRSA_DIGEST_NONE
                   ? write_hash(operation, input, &bytes)
                   : write_data(operation, input, &bytes);

    if (rv != CKR_OK)
        return rv;
    operation->use.input_bytes = (uint16_t)bytes;
    rv = warprsa_token_use(call->library, operation->entry, &operation->use,
                           input, signature, &bytes);
    if (rv == CKR_OK)
        *signature_bytes = bytes;
    return rv;
}

/* ---- functions ---- */

static CK_RV sign_all(CK_SESSION_HANDLE session, CK_FLAGS how,
                      const CK_BYTE *data, CK_ULONG bytes, CK_BYTE *signature,
                      CK_ULONG *signature_bytes)
{
    warprsa_operation *operation = NULL;
    warprsa_call call;
    CK_RV rv = warprsa_call_begin_whole(&call, session, WARPRSA_OPERATION_SIGN,
                                        how, &operation);

    if (rv != CKR_OK)
        return rv;
    if ((data == NULL && bytes > 0) || signature_bytes == NULL)
        rv = CKR_ARGUMENTS_BAD;
    else if (!warprsa_output_has_room(signature, signature_bytes,
                                      operation->entry->modulus_bytes, &rv))
        return warprsa_call_end(&call, rv);
    else
        rv = warprsa_operation_add(operation, data, bytes);
    if (rv == CKR_OK)
        rv = sign(&call, operation, signature, signature_bytes);
    warprsa_operation_end(operation);
    return warprsa_call_end(&call, rv);
}

CK_RV C_SignInit(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                 CK_OBJECT_HANDLE key)
{
    return warprsa_key_operation_init(session, WARPRSA_OPERATION_SIGN, CKF_SIGN,
                                      mechanism, key);
}

CK_RV C_Sign(CK_SESSION_HANDLE session, CK_BYTE *data, CK_ULONG bytes,
             CK_BYTE *signature, CK_ULONG *signature_bytes)
{
    return sign_all(session, CKF_SIGN, data, bytes, signature, signature_bytes);
}

CK_RV C_SignUpdate(CK_SESSION_HANDLE session, CK_BYTE *data, CK_ULONG bytes)
{
    return warprsa_key_operation_update(session, WARPRSA_OPERATION_SIGN,
                                        CKF_SIGN, data, bytes);
}

CK_RV C_SignFinal(CK_SESSION_HANDLE session, CK_BYTE *signature,
                  CK_ULONG *signature_bytes)
{
    warprsa_operation *operation = NULL;
    warprsa_call call;
    CK_RV rv = warprsa_call_begin_operation(
        &call, session, WARPRSA_OPERATION_SIGN, CKF_SIGN, &operation);

    if (rv != CKR_OK)
        return rv;
    if (signature_bytes == NULL)
        rv = CKR_ARGUMENTS_BAD;
    else if (!warprsa_output_has_room(signature, signature_bytes,
                                      operation->entry->modulus_bytes, &rv))
        return warprsa_call_end(&call, rv);
    if (rv == CKR_OK)
        rv = sign(&call, operation, signature, signature_bytes);
    warprsa_operation_end(operation);
    return warprsa_call_end(&call, rv);
}

CK_RV C_SignRecoverInit(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                        CK_OBJECT_HANDLE key)
{
    return warprsa_key_operation_init(session, WARPRSA_OPERATION_SIGN,
                                      CKF_SIGN_RECOVER, mechanism, key);
}

CK_RV C_SignRecover(CK_SESSION_HANDLE session, CK_BYTE *data, CK_ULONG bytes,
                    CK_BYTE *signature, CK_ULONG *signature_bytes)
{
    return sign_all(session, CKF_SIGN_RECOVER, data, bytes, signature,
                    signature_bytes);
}
