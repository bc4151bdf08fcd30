/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * PKCS #11: digests.
 */
#include <stdlib.h>
#include <string.h>

#include "pkcs11/key_operation.h"

static CK_RV begin(const warprsa_call *call, const CK_MECHANISM *given)
{
    warprsa_operation **operation =
        &call->session->operations[WARPRSA_OPERATION_DIGEST];
    const warprsa_mechanism *mechanism = NULL;
    warprsa_key_use use;
    CK_RV rv = warprsa_mechanism_read(given, CKF_DIGEST, &mechanism, &use);

    if (rv != CKR_OK)
        return rv;
    if (*operation == NULL)
        *operation = calloc(1, sizeof(**operation));
    return *operation == NULL
               ? CKR_HOST_MEMORY
               : warprsa_operation_begin(*operation, &call->library->crypto,
                                         CKF_DIGEST, mechanism, &use, NULL);
}

CK_RV C_DigestInit(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism)
{
    warprsa_call call;
    warprsa_operation *active = NULL;
    CK_RV rv = warprsa_call_begin(&call, session);

    if (rv != CKR_OK)
        return rv;
    active =
        warprsa_call_operation(&call, WARPRSA_OPERATION_DIGEST, CKF_DIGEST);
    if (active != NULL && mechanism == NULL)
        warprsa_operation_end(active);
    else if (active != NULL)
        rv = CKR_OPERATION_ACTIVE;
    else if (mechanism == NULL)
        rv = CKR_ARGUMENTS_BAD;
    else
        rv = begin(&call, mechanism);
    return warprsa_call_end(&call, rv);
}

/* Whether the function is over before it hashes: by an error, which ends the
 * operation, or since the program asks for the length. */
static bool is_over(warprsa_operation *operation, const CK_BYTE *hash,
                    CK_ULONG *hash_bytes, CK_RV *rv)
{
    if (*rv == CKR_OK && hash_bytes == NULL)
        *rv = CKR_ARGUMENTS_BAD;
    if (*rv == CKR_OK)
        return !warprsa_output_has_room(
            hash, hash_bytes,
            warprsa_use_digest_bytes(operation->mechanism->digest), rv);
    warprsa_operation_end(operation);
    return true;
}

/* Writes the hash, for which there is room, and ends the operation. */
static CK_RV finish(warprsa_operation *operation, CK_BYTE *hash,
                    CK_ULONG *hash_bytes)
{
    uint8_t output[EVP_MAX_MD_SIZE];
    size_t bytes = 0;
    CK_RV rv = warprsa_operation_hash(operation, output, &bytes);

    if (rv == CKR_OK) {
        memcpy(hash, output, bytes);
        *hash_bytes = bytes;
    }
    warprsa_operation_end(operation);
    return rv;
}

CK_RV C_Digest(CK_SESSION_HANDLE session, CK_BYTE *data, CK_ULONG bytes,
               CK_BYTE *hash, CK_ULONG *hash_bytes)
{
    warprsa_operation *operation = NULL;
    warprsa_call call;
    CK_RV rv = warprsa_call_begin_whole(
        &call, session, WARPRSA_OPERATION_DIGEST, CKF_DIGEST, &operation);

    if (rv != CKR_OK)
        return rv;
    if (data == NULL && bytes > 0)
        rv = CKR_ARGUMENTS_BAD;
    if (is_over(operation, hash, hash_bytes, &rv))
        return warprsa_call_end(&call, rv);
    rv = warprsa_operation_add(operation, data, bytes);
    if (rv == CKR_OK)
        rv = finish(operation, hash, hash_bytes);
    else
        warprsa_operation_end(operation);
    return warprsa_call_end(&call, rv);
}

CK_RV C_DigestUpdate(CK_SESSION_HANDLE session, CK_BYTE *data, CK_ULONG bytes)
{
    return warprsa_key_operation_update(session, WARPRSA_OPERATION_DIGEST,
                                        CKF_DIGEST, data, bytes);
}

CK_RV C_DigestKey(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE key)
{
    warprsa_operation *operation = NULL;
    warprsa_object_kind kind;
    warprsa_entry *entry = NULL;
    warprsa_call call;
    CK_RV rv = warprsa_call_begin_operation(
        &call, session, WARPRSA_OPERATION_DIGEST, CKF_DIGEST, &operation);

    if (rv != CKR_OK)
        return rv;
    entry = warprsa_objects_find(&call.library->objects, key, &kind);
    rv = entry == NULL || kind == WARPRSA_OBJECT_CERTIFICATE
             ? CKR_KEY_HANDLE_INVALID
             : CKR_KEY_INDIGESTIBLE;
    warprsa_entry_release(entry);
    warprsa_operation_end(operation);
    return warprsa_call_end(&call, rv);
}

CK_RV C_DigestFinal(CK_SESSION_HANDLE session, CK_BYTE *hash,
                    CK_ULONG *hash_bytes)
{
    warprsa_operation *operation = NULL;
    warprsa_call call;
    CK_RV rv = warprsa_call_begin_operation(
        &call, session, WARPRSA_OPERATION_DIGEST, CKF_DIGEST, &operation);

    if (rv != CKR_OK)
        return rv;
    if (!is_over(operation, hash, hash_bytes, &rv))
        rv = finish(operation, hash, hash_bytes);
    return warprsa_call_end(&call, rv);
}
