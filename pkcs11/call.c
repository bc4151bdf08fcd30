/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Beginning and ending calls.
 */
#include "pkcs11/call.h"

#include "batching/base/cancellation.h"

CK_RV warprsa_call_begin_library(warprsa_call *call)
{
    *call = (warprsa_call){.cancellation = warprsa_cancellation_off()};
    call->library = warprsa_library_enter();
    if (call->library != NULL)
        return CKR_OK;
    warprsa_cancellation_restore(call->cancellation);
    return CKR_CRYPTOKI_NOT_INITIALIZED;
}

CK_RV warprsa_call_begin(warprsa_call *call, CK_SESSION_HANDLE handle)
{
    CK_RV rv = warprsa_call_begin_library(call);

    if (rv != CKR_OK)
        return rv;
    call->session = warprsa_sessions_enter(&call->library->sessions, handle);
    return call->session != NULL
               ? CKR_OK
               : warprsa_call_end(call, CKR_SESSION_HANDLE_INVALID);
}

CK_RV warprsa_call_end(warprsa_call *call, CK_RV rv)
{
    if (call->session != NULL)
        warprsa_sessions_leave(call->session);
    warprsa_library_leave();
    warprsa_cancellation_restore(call->cancellation);
    return rv;
}
