/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Beginning operations with a key.
 */
#include "pkcs11/key_operation.h"

#include <stdlib.h>
#include <string.h>

static const CK_FLAGS private_flags = CKF_SIGN | CKF_SIGN_RECOVER | CKF_DECRYPT;

/* Whether a padding has room in a key's numbers: RFC 8017, 9.1.1 and 7.1.1. */
static bool fits(const warprsa_entry *entry, const warprsa_key_use *use)
{
    const unsigned hash = warprsa_use_digest_bytes(use->digest);

    if (use->padding == WARPRSA_PADDING_PSS)
        return hash + (unsigned)use->salt_bytes + 2 <=
               (entry->modulus_bits - 1 + 7) / 8;
    if (use->padding == WARPRSA_PADDING_OAEP)
        return 2 * hash + 2 <= entry->modulus_bytes;
    return true;
}

/* Whether the key may be used so. */
static CK_RV check_key(const warprsa_entry *entry, warprsa_object_kind kind,
                       const warprsa_mechanism *mechanism,
                       const warprsa_key_use *use, CK_FLAGS how)
{
    const bool is_private = (how & private_flags) != 0;

    if (kind == WARPRSA_OBJECT_CERTIFICATE)
        return CKR_KEY_HANDLE_INVALID;
    if (is_private != (kind == WARPRSA_OBJECT_PRIVATE))
        return CKR_KEY_TYPE_INCONSISTENT;
    if (is_private ? (entry->allowed & how) == 0
                   : entry->pss && how != CKF_VERIFY)
        return CKR_KEY_FUNCTION_NOT_PERMITTED;
    if (!warprsa_entry_allows(entry, mechanism, how))
        return CKR_MECHANISM_INVALID;
    return fits(entry, use) ? CKR_OK : CKR_KEY_SIZE_RANGE;
}

/* The memory of the session's operation in a slot. NULL: no memory. */
static warprsa_operation *operation_of(const warprsa_call *call,
                                       warprsa_operation_slot slot)
{
    warprsa_operation **operation = &call->session->operations[slot];

    if (*operation == NULL)
        *operation = calloc(1, sizeof(**operation));
    return *operation;
}

static CK_RV begin(const warprsa_call *call, warprsa_operation_slot slot,
                   CK_FLAGS how, const CK_MECHANISM *given,
                   CK_OBJECT_HANDLE key)
{
    warprsa_operation *operation = operation_of(call, slot);
    const warprsa_mechanism *mechanism = NULL;
    warprsa_object_kind kind;
    warprsa_entry *entry = NULL;
    warprsa_key_use use;
    CK_RV rv = warprsa_mechanism_read(given, how, &mechanism, &use);

    if (operation == NULL)
        return CKR_HOST_MEMORY;
    if (rv != CKR_OK)
        return rv;
    use.operation = how == CKF_DECRYPT ? WARPRSA_USE_DECRYPT : WARPRSA_USE_SIGN;
    entry = warprsa_objects_find(&call->library->objects, key, &kind);
    rv = entry == NULL ? CKR_KEY_HANDLE_INVALID
                       : check_key(entry, kind, mechanism, &use, how);
    if (rv == CKR_OK)
        rv = warprsa_operation_begin(operation, &call->library->crypto, how,
                                     mechanism, &use, entry);
    warprsa_entry_release(entry);
    return rv;
}

warprsa_operation *warprsa_call_operation(const warprsa_call *call,
                                          warprsa_operation_slot slot,
                                          CK_FLAGS how)
{
    warprsa_operation *operation = call->session->operations[slot];

    return operation != NULL && (operation->how & how) != 0 ? operation : NULL;
}

CK_RV warprsa_key_operation_init(CK_SESSION_HANDLE session,
                                 warprsa_operation_slot slot, CK_FLAGS how,
                                 const CK_MECHANISM *mechanism,
                                 CK_OBJECT_HANDLE key)
{
    warprsa_operation *active = NULL;
    warprsa_call call;
    CK_RV rv = warprsa_call_begin(&call, session);

    if (rv != CKR_OK)
        return rv;
    active = warprsa_call_operation(&call, slot, ~(CK_FLAGS)0);
    if (active != NULL && mechanism == NULL)
        warprsa_operation_end(active);
    else if (active != NULL)
        rv = CKR_OPERATION_ACTIVE;
    else if (mechanism == NULL ||
             (mechanism->pParameter == NULL && mechanism->ulParameterLen > 0))
        rv = CKR_ARGUMENTS_BAD;
    else
        rv = begin(&call, slot, how, mechanism, key);
    return warprsa_call_end(&call, rv);
}

CK_RV warprsa_call_begin_operation(warprsa_call *call,
                                   CK_SESSION_HANDLE session,
                                   warprsa_operation_slot slot, CK_FLAGS how,
                                   warprsa_operation **operation)
{
    CK_RV rv = warprsa_call_begin(call, session);

    if (rv != CKR_OK)
        return rv;
    *operation = warprsa_call_operation(call, slot, how);
    return *operation != NULL
               ? CKR_OK
               : warprsa_call_end(call, CKR_OPERATION_NOT_INITIALIZED);
}

CK_RV warprsa_call_begin_whole(warprsa_call *call, CK_SESSION_HANDLE session,
                               warprsa_operation_slot slot, CK_FLAGS how,
                               warprsa_operation **operation)
{
    CK_RV rv =
        warprsa_call_begin_operation(call, session, slot, how, operation);

    if (rv != CKR_OK)
        return rv;
    return (*operation)->updated ? warprsa_call_end(call, CKR_OPERATION_ACTIVE)
                                 : CKR_OK;
}

bool warprsa_output_has_room(const CK_BYTE *output, CK_ULONG *bytes,
                             CK_ULONG most, CK_RV *rv)
{
    if (output != NULL && *bytes >= most)
        return true;
    *rv = output == NULL ? CKR_OK : CKR_BUFFER_TOO_SMALL;
    *bytes = most;
    return false;
}

CK_RV warprsa_operation_number(const warprsa_operation *operation,
                               uint8_t number[WARPRSA_VAULT_MODULUS_BYTES_MAX])
{
    const warprsa_entry *entry = operation->entry;
    const size_t zeros = entry->modulus_bytes - operation->bytes;

    if (operation->bytes > entry->modulus_bytes)
        return CKR_DATA_LEN_RANGE;
    memset(number, 0, zeros);
    if (operation->bytes > 0)
        memcpy(number + zeros, operation->data, operation->bytes);
    return memcmp(number, entry->modulus.data, entry->modulus_bytes) < 0
               ? CKR_OK
               : CKR_DATA_INVALID;
}

/* Adds data to an operation, and ends it where that fails. */
static CK_RV update(warprsa_operation *operation, const CK_BYTE *data,
                    CK_ULONG bytes)
{
    const CK_RV rv = data == NULL && bytes > 0
                         ? CKR_ARGUMENTS_BAD
                         : warprsa_operation_add(operation, data, bytes);

    operation->updated = true;
    if (rv != CKR_OK)
        warprsa_operation_end(operation);
    return rv;
}

CK_RV warprsa_key_operation_update(CK_SESSION_HANDLE session,
                                   warprsa_operation_slot slot, CK_FLAGS how,
                                   const CK_BYTE *data, CK_ULONG bytes)
{
    warprsa_operation *operation = NULL;
    warprsa_call call;
    CK_RV rv =
        warprsa_call_begin_operation(&call, session, slot, how, &operation);

    return rv != CKR_OK
               ? rv
               : warprsa_call_end(&call, update(operation, data, bytes));
}

CK_RV warprsa_collect_update(CK_SESSION_HANDLE session,
                             warprsa_operation_slot slot, CK_FLAGS how,
                             const CK_BYTE *data, CK_ULONG bytes,
                             const CK_BYTE *part, CK_ULONG *part_bytes)
{
    warprsa_operation *operation = NULL;
    warprsa_call call;
    CK_RV rv =
        warprsa_call_begin_operation(&call, session, slot, how, &operation);

    if (rv != CKR_OK)
        return rv;
    if (part_bytes == NULL) {
        warprsa_operation_end(operation);
        return warprsa_call_end(&call, CKR_ARGUMENTS_BAD);
    }
    /* Without a place for output, the program asks for its length. */
    if (part != NULL)
        rv = update(operation, data, bytes);
    if (rv == CKR_OK)
        *part_bytes = 0;
    else if (rv == CKR_DATA_LEN_RANGE && how == CKF_DECRYPT)
        rv = CKR_ENCRYPTED_DATA_LEN_RANGE;
    return warprsa_call_end(&call, rv);
}
