/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A call of a function of PKCS #11: it is in the library, and has its session
 * locked, from begin to end. Meanwhile the thread can't be cancelled.
 */
#ifndef WARPRSA_PKCS11_CALL_H
#define WARPRSA_PKCS11_CALL_H

#include "pkcs11/library.h"

enum {
    WARPRSA_TOKEN_SLOT = 0, /* the number of the one slot */
};

typedef struct warprsa_call {
    warprsa_library *library;
    warprsa_session *session; /* NULL: the function has none */
    int cancellation;
} warprsa_call;

/* Begins a call without a session. CKR_OK, or CKR_CRYPTOKI_NOT_INITIALIZED: the
 * call is over. */
CK_RV warprsa_call_begin_library(warprsa_call *call);

/* Begins a call with a session. CKR_OK, or CKR_CRYPTOKI_NOT_INITIALIZED or
 * CKR_SESSION_HANDLE_INVALID: the call is over. */
CK_RV warprsa_call_begin(warprsa_call *call, CK_SESSION_HANDLE handle);

/* Ends a call that has begun. Returns rv. */
CK_RV warprsa_call_end(warprsa_call *call, CK_RV rv);

#endif
