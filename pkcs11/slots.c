/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * PKCS #11: slot and token management. There is one slot, for the socket of
 * warprsad, and its token is always present: keys stay known while warprsad is
 * away, and operations wait for it.
 */
#include <string.h>

#include "pkcs11/call.h"
#include "pkcs11/mechanisms.h"
#include "pkcs11/padded_text.h"

CK_RV C_GetSlotList(CK_BBOOL token_present, CK_SLOT_ID *list, CK_ULONG *count)
{
    warprsa_call call;
    CK_RV rv = warprsa_call_begin_library(&call);

    (void)token_present;
    if (rv != CKR_OK)
        return rv;
    if (count == NULL)
        return warprsa_call_end(&call, CKR_ARGUMENTS_BAD);
    if (list != NULL && *count < 1)
        rv = CKR_BUFFER_TOO_SMALL;
    else if (list != NULL)
        list[0] = WARPRSA_TOKEN_SLOT;
    *count = 1;
    return warprsa_call_end(&call, rv);
}

/* Begins a call about a slot, which writes something to `out`. */
static CK_RV begin(warprsa_call *call, CK_SLOT_ID slot, const void *out)
{
    CK_RV rv = warprsa_call_begin_library(call);

    if (rv != CKR_OK)
        return rv;
    if (slot != WARPRSA_TOKEN_SLOT)
        return warprsa_call_end(call, CKR_SLOT_ID_INVALID);
    return out != NULL ? CKR_OK : warprsa_call_end(call, CKR_ARGUMENTS_BAD);
}

CK_RV C_GetSlotInfo(CK_SLOT_ID slot, CK_SLOT_INFO *info)
{
    warprsa_call call;
    CK_RV rv = begin(&call, slot, info);

    if (rv != CKR_OK)
        return rv;
    memset(info, 0, sizeof(*info));
    WARPRSA_PAD(info->slotDescription, call.library->settings.socket);
    WARPRSA_PAD(info->manufacturerID, WARPRSA_MANUFACTURER);
    info->flags = CKF_TOKEN_PRESENT;
    info->hardwareVersion = info->firmwareVersion = warprsa_padded_version();
    return warprsa_call_end(&call, CKR_OK);
}

/* The token's serial number tells one socket from another: FNV-1a of its path,
 * which programs see in the slot's description as well. */
static void set_serial(CK_TOKEN_INFO *info, const char *path)
{
    char text[sizeof(info->serialNumber) + 1];
    uint64_t hash = 0xcbf29ce484222325U;

    while (*path != '\0')
        hash = (hash ^ (uint8_t)*path++) * 0x100000001b3U;
    snprintf(text, sizeof(text), "%016llx", (unsigned long long)hash);
    WARPRSA_PAD(info->serialNumber, text);
}

CK_RV C_GetTokenInfo(CK_SLOT_ID slot, CK_TOKEN_INFO *info)
{
    warprsa_call call;
    CK_RV rv = begin(&call, slot, info);

    if (rv != CKR_OK)
        return rv;
    memset(info, 0, sizeof(*info));
    WARPRSA_PAD(info->label, "warprsa");
    WARPRSA_PAD(info->manufacturerID, WARPRSA_MANUFACTURER);
    WARPRSA_PAD(info->model, "warprsad");
    set_serial(info, call.library->settings.socket);
    info->flags = CKF_RNG | CKF_WRITE_PROTECTED | CKF_TOKEN_INITIALIZED |
                  CKF_SO_PIN_LOCKED;
    info->ulMaxSessionCount = WARPRSA_SESSIONS_MAX;
    info->ulMaxRwSessionCount = WARPRSA_SESSIONS_MAX;
    info->ulSessionCount = atomic_load(&call.library->sessions.open);
    info->ulRwSessionCount = atomic_load(&call.library->sessions.open_writable);
    info->ulTotalPublicMemory = CK_UNAVAILABLE_INFORMATION;
    info->ulFreePublicMemory = CK_UNAVAILABLE_INFORMATION;
    info->ulTotalPrivateMemory = CK_UNAVAILABLE_INFORMATION;
    info->ulFreePrivateMemory = CK_UNAVAILABLE_INFORMATION;
    info->hardwareVersion = info->firmwareVersion = warprsa_padded_version();
    WARPRSA_PAD(info->utcTime, "");
    return warprsa_call_end(&call, CKR_OK);
}

CK_RV C_GetMechanismList(CK_SLOT_ID slot, CK_MECHANISM_TYPE *list,
                         CK_ULONG *count)
{
    warprsa_call call;
    CK_RV rv = begin(&call, slot, count);

    if (rv != CKR_OK)
        return rv;
    if (list != NULL && *count < warprsa_mechanism_count)
        rv = CKR_BUFFER_TOO_SMALL;
    for (unsigned i = 0;
         rv == CKR_OK && list != NULL && i < warprsa_mechanism_count; i++)
        list[i] = warprsa_mechanisms[i].type;
    *count = warprsa_mechanism_count;
    return warprsa_call_end(&call, rv);
}

CK_RV C_GetMechanismInfo(CK_SLOT_ID slot, CK_MECHANISM_TYPE type,
                         CK_MECHANISM_INFO *info)
{
    const warprsa_mechanism *mechanism = warprsa_mechanism_find(type);
    warprsa_call call;
    CK_RV rv = begin(&call, slot, info);

    if (rv != CKR_OK)
        return rv;
    if (mechanism == NULL)
        return warprsa_call_end(&call, CKR_MECHANISM_INVALID);
    memset(info, 0, sizeof(*info));
    info->flags = mechanism->flags;
    /* What the device performs is the private operation, in warprsad and its
     * engine. Digests are computed here, in software. */
    if (mechanism->padding != 0) {
        info->flags |= CKF_HW;
        info->ulMinKeySize = WARPRSA_TOKEN_BITS_MIN;
        info->ulMaxKeySize = WARPRSA_TOKEN_BITS_MAX;
    }
    return warprsa_call_end(&call, CKR_OK);
}

CK_RV C_InitToken(CK_SLOT_ID slot, CK_UTF8CHAR *pin, CK_ULONG pin_bytes,
                  CK_UTF8CHAR *label)
{
    warprsa_call call;
    CK_RV rv = begin(&call, slot, &call);

    (void)pin, (void)pin_bytes, (void)label;
    return rv != CKR_OK ? rv
                        : warprsa_call_end(&call, CKR_TOKEN_WRITE_PROTECTED);
}

/* Nothing ever happens to the slot. Who would wait for it gets the error that
 * tells that the token can't do that. */
CK_RV C_WaitForSlotEvent(CK_FLAGS flags, CK_SLOT_ID *slot, CK_VOID_PTR reserved)
{
    warprsa_call call;
    CK_RV rv = warprsa_call_begin_library(&call);

    if (rv != CKR_OK)
        return rv;
    if (slot == NULL || reserved != NULL)
        rv = CKR_ARGUMENTS_BAD;
    else
        rv = (flags & CKF_DONT_BLOCK) != 0 ? CKR_NO_EVENT
                                           : CKR_FUNCTION_NOT_SUPPORTED;
    return warprsa_call_end(&call, rv);
}
