/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * PKCS #11: general functions, and the two that only old programs call.
 */
#include <stdlib.h>
#include <string.h>

#include "batching/base/cancellation.h"
#include "pkcs11/call.h"
#include "pkcs11/padded_text.h"

/*
 * Whether the program's arguments about threads can be met. The module locks
 * by what the operating system has. It can't use functions of the program's
 * alone, which an operation that sleeps until warprsad answers would not know
 * how to wake. It starts no thread, so nothing need be known of that.
 */
static CK_RV check_locking(const CK_C_INITIALIZE_ARGS *args)
{
    const unsigned given =
        (args->CreateMutex != NULL) + (args->DestroyMutex != NULL) +
        (args->LockMutex != NULL) + (args->UnlockMutex != NULL);

    if (given != 0 && given != 4)
        return CKR_ARGUMENTS_BAD;
    return given == 0 || (args->flags & CKF_OS_LOCKING_OK) != 0 ? CKR_OK
                                                                : CKR_CANT_LOCK;
}

CK_RV C_Initialize(CK_VOID_PTR arguments)
{
    const CK_C_INITIALIZE_ARGS *args = arguments;
    warprsa_token_settings settings;
    int cancellation;
    CK_RV rv = args == NULL ? CKR_OK : check_locking(args);

    if (rv != CKR_OK)
        return rv;
    if (!warprsa_token_settings_read(&settings,
                                     args == NULL ? NULL : args->pReserved))
        return CKR_ARGUMENTS_BAD;
    cancellation = warprsa_cancellation_off();
    rv = warprsa_library_open(&settings);
    warprsa_cancellation_restore(cancellation);
    return rv;
}

CK_RV C_Finalize(CK_VOID_PTR reserved)
{
    int cancellation;
    CK_RV rv;

    if (reserved != NULL)
        return CKR_ARGUMENTS_BAD;
    cancellation = warprsa_cancellation_off();
    rv = warprsa_library_close();
    warprsa_cancellation_restore(cancellation);
    return rv;
}

CK_RV C_GetInfo(CK_INFO *info)
{
    warprsa_call call;
    CK_RV rv = warprsa_call_begin_library(&call);

    if (rv != CKR_OK)
        return rv;
    if (info == NULL)
        return warprsa_call_end(&call, CKR_ARGUMENTS_BAD);
    memset(info, 0, sizeof(*info));
    info->cryptokiVersion = (CK_VERSION){3, 1};
    info->libraryVersion = warprsa_padded_version();
    WARPRSA_PAD(info->manufacturerID, WARPRSA_MANUFACTURER);
    WARPRSA_PAD(info->libraryDescription, "keys of warprsad");
    return warprsa_call_end(&call, CKR_OK);
}

/* Both were for functions in the background, which 2.0 did away with. */
static CK_RV not_parallel(CK_SESSION_HANDLE session)
{
    warprsa_call call;
    CK_RV rv = warprsa_call_begin(&call, session);

    return rv != CKR_OK ? rv
                        : warprsa_call_end(&call, CKR_FUNCTION_NOT_PARALLEL);
}

CK_RV C_GetFunctionStatus(CK_SESSION_HANDLE session)
{
    return not_parallel(session);
}

CK_RV C_CancelFunction(CK_SESSION_HANDLE session)
{
    return not_parallel(session);
}
