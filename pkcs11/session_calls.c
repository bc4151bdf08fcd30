/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * PKCS #11: session management.
 *
 * Nobody needs to log in: the kernel has told warprsad who the user is, and all
 * objects are public. There is no PIN to compare with. C_Login takes any, since
 * programs with a PIN in their configuration fail where C_Login does, and keeps
 * the state that the standard has for it. A security officer has nothing to do
 * here, and can't log in.
 */
#include "pkcs11/call.h"

CK_RV C_OpenSession(CK_SLOT_ID slot, CK_FLAGS flags, CK_VOID_PTR application,
                    CK_NOTIFY notify, CK_SESSION_HANDLE *session)
{
    warprsa_call call;
    CK_RV rv = warprsa_call_begin_library(&call);

    (void)application, (void)notify;
    if (rv != CKR_OK)
        return rv;
    /* A writable session is one, though the token refuses all that writes: some
     * programs open no other, and never write. */
    if (slot != WARPRSA_TOKEN_SLOT)
        rv = CKR_SLOT_ID_INVALID;
    else if (session == NULL)
        rv = CKR_ARGUMENTS_BAD;
    else if ((flags & CKF_SERIAL_SESSION) == 0)
        rv = CKR_SESSION_PARALLEL_NOT_SUPPORTED;
    else if ((flags & ~(CKF_SERIAL_SESSION | CKF_RW_SESSION)) != 0)
        rv = CKR_ARGUMENTS_BAD;
    else
        rv = warprsa_sessions_open(&call.library->sessions, flags, session);
    return warprsa_call_end(&call, rv);
}

CK_RV C_CloseSession(CK_SESSION_HANDLE session)
{
    warprsa_call call;
    CK_RV rv = warprsa_call_begin_library(&call);

    if (rv != CKR_OK)
        return rv;
    if (!warprsa_sessions_close(&call.library->sessions, session))
        rv = CKR_SESSION_HANDLE_INVALID;
    return warprsa_call_end(&call, rv);
}

CK_RV C_CloseAllSessions(CK_SLOT_ID slot)
{
    warprsa_call call;
    CK_RV rv = warprsa_call_begin_library(&call);

    if (rv != CKR_OK)
        return rv;
    if (slot == WARPRSA_TOKEN_SLOT)
        warprsa_sessions_close_all(&call.library->sessions);
    else
        rv = CKR_SLOT_ID_INVALID;
    return warprsa_call_end(&call, rv);
}

static CK_STATE state_of(const warprsa_call *call)
{
    const bool user = call->library->sessions.logged_in;

    if ((call->session->flags & CKF_RW_SESSION) != 0)
        return user ? CKS_RW_USER_FUNCTIONS : CKS_RW_PUBLIC_SESSION;
    return user ? CKS_RO_USER_FUNCTIONS : CKS_RO_PUBLIC_SESSION;
}

CK_RV C_GetSessionInfo(CK_SESSION_HANDLE session, CK_SESSION_INFO *info)
{
    warprsa_call call;
    CK_RV rv = warprsa_call_begin(&call, session);

    if (rv != CKR_OK)
        return rv;
    if (info == NULL)
        return warprsa_call_end(&call, CKR_ARGUMENTS_BAD);
    *info = (CK_SESSION_INFO){
        .slotID = WARPRSA_TOKEN_SLOT,
        .state = state_of(&call),
        .flags = call.session->flags,
    };
    return warprsa_call_end(&call, CKR_OK);
}

/* ---- login ---- */

static CK_RV login(CK_SESSION_HANDLE session, CK_USER_TYPE type,
                   const CK_UTF8CHAR *pin, CK_ULONG pin_bytes)
{
    warprsa_call call;
    CK_RV rv = warprsa_call_begin(&call, session);

    if (rv != CKR_OK)
        return rv;
    if (pin == NULL && pin_bytes > 0)
        rv = CKR_ARGUMENTS_BAD;
    else if (type == CKU_USER)
        rv = warprsa_sessions_log_in(&call.library->sessions);
    else if (type == CKU_SO)
        rv = call.library->sessions.logged_in
                 ? CKR_USER_ANOTHER_ALREADY_LOGGED_IN
                 : CKR_PIN_LOCKED;
    else if (type == CKU_CONTEXT_SPECIFIC) /* no key asks for it */
        rv = CKR_OPERATION_NOT_INITIALIZED;
    else
        rv = CKR_USER_TYPE_INVALID;
    return warprsa_call_end(&call, rv);
}

CK_RV C_Login(CK_SESSION_HANDLE session, CK_USER_TYPE type, CK_UTF8CHAR *pin,
              CK_ULONG pin_bytes)
{
    return login(session, type, pin, pin_bytes);
}

CK_RV C_LoginUser(CK_SESSION_HANDLE session, CK_USER_TYPE type,
                  CK_UTF8CHAR *pin, CK_ULONG pin_bytes, CK_UTF8CHAR *name,
                  CK_ULONG name_bytes)
{
    (void)name, (void)name_bytes;
    return login(session, type, pin, pin_bytes);
}

CK_RV C_Logout(CK_SESSION_HANDLE session)
{
    warprsa_call call;
    CK_RV rv = warprsa_call_begin(&call, session);

    if (rv != CKR_OK)
        return rv;
    rv = warprsa_sessions_log_out(&call.library->sessions);
    return warprsa_call_end(&call, rv);
}

/* ---- operations ---- */

CK_RV C_SessionCancel(CK_SESSION_HANDLE session, CK_FLAGS flags)
{
    static const CK_FLAGS slots[WARPRSA_OPERATION_SLOTS] = {
        [WARPRSA_OPERATION_DIGEST] = CKF_DIGEST,
        [WARPRSA_OPERATION_SIGN] = CKF_SIGN | CKF_SIGN_RECOVER,
        [WARPRSA_OPERATION_VERIFY] = CKF_VERIFY | CKF_VERIFY_RECOVER,
        [WARPRSA_OPERATION_ENCRYPT] = CKF_ENCRYPT,
        [WARPRSA_OPERATION_DECRYPT] = CKF_DECRYPT,
    };
    warprsa_call call;
    CK_RV rv = warprsa_call_begin(&call, session);

    if (rv != CKR_OK)
        return rv;
    if ((flags & CKF_FIND_OBJECTS) != 0)
        warprsa_search_end(&call.session->search);
    for (unsigned i = 0; i < WARPRSA_OPERATION_SLOTS; i++)
        if (call.session->operations[i] != NULL &&
            (call.session->operations[i]->how & flags & slots[i]) != 0)
            warprsa_operation_end(call.session->operations[i]);
    return warprsa_call_end(&call, CKR_OK);
}

static CK_RV unsaveable(CK_SESSION_HANDLE session, CK_RV why)
{
    warprsa_call call;
    CK_RV rv = warprsa_call_begin(&call, session);

    return rv != CKR_OK ? rv : warprsa_call_end(&call, why);
}

CK_RV C_GetOperationState(CK_SESSION_HANDLE session, CK_BYTE *state,
                          CK_ULONG *state_bytes)
{
    (void)state, (void)state_bytes;
    return unsaveable(session, CKR_STATE_UNSAVEABLE);
}

CK_RV C_SetOperationState(CK_SESSION_HANDLE session, CK_BYTE *state,
                          CK_ULONG state_bytes, CK_OBJECT_HANDLE encryption,
                          CK_OBJECT_HANDLE authentication)
{
    (void)state, (void)state_bytes, (void)encryption, (void)authentication;
    return unsaveable(session, CKR_SAVED_STATE_INVALID);
}
