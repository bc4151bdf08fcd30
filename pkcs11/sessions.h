/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The sessions of the token. A handle is a place in a table and the generation
 * of its holder, so that the handle of a closed session never names another
 * one. Each session has a lock: calls with the same session run one after the
 * other, calls with different sessions do not wait for each other.
 */
#ifndef WARPRSA_PKCS11_SESSIONS_H
#define WARPRSA_PKCS11_SESSIONS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "batching/base/id_pool.h"
#include "pkcs11/cryptoki.h"
#include "pkcs11/operation.h"

enum {
    WARPRSA_SESSIONS_MAX = 131071, /* 2^17 - 1 */
    WARPRSA_SESSIONS_CHUNK = 256,  /* allocated at a time */
    WARPRSA_SESSIONS_CHUNKS = (WARPRSA_SESSIONS_MAX + WARPRSA_SESSIONS_CHUNK) /
                              WARPRSA_SESSIONS_CHUNK,
};

/* A search for objects: those that it has found and not told yet. */
typedef struct warprsa_search {
    bool active;
    CK_OBJECT_HANDLE *handles;
    CK_ULONG count, told, room;
} warprsa_search;

typedef struct warprsa_session {
    pthread_mutex_t lock; /* of all that follows */
    bool open;
    CK_ULONG generation; /* of the holder, or the next one */
    CK_FLAGS flags;      /* of C_OpenSession */
    warprsa_search search;
    warprsa_operation *operations[WARPRSA_OPERATION_SLOTS]; /* made as needed */
} warprsa_session;

typedef struct warprsa_sessions {
    warprsa_id_pool ids;
    pthread_mutex_t lock; /* of making chunks, and of changing what follows */
    _Atomic(warprsa_session *) chunks[WARPRSA_SESSIONS_CHUNKS];
    atomic_ulong open, open_writable;
    atomic_bool logged_in; /* the user, in all sessions that are open */
} warprsa_sessions;

/* False: no memory. */
bool warprsa_sessions_init(warprsa_sessions *sessions);

/* Nobody uses a session any more. Closes all. */
void warprsa_sessions_free(warprsa_sessions *sessions);

/* Opens a session. CKR_OK, CKR_SESSION_COUNT: there are as many as there may
 * be, CKR_HOST_MEMORY. Any thread. */
CK_RV warprsa_sessions_open(warprsa_sessions *sessions, CK_FLAGS flags,
                            CK_SESSION_HANDLE *handle);

/* The session of a handle, locked. NULL: there is none. Any thread. */
warprsa_session *warprsa_sessions_enter(warprsa_sessions *sessions,
                                        CK_SESSION_HANDLE handle);
void warprsa_sessions_leave(warprsa_session *session);

/* Closes a session, with its operations; after the calls with it that are under
 * way have ended. False: there is none. Any thread. */
bool warprsa_sessions_close(warprsa_sessions *sessions,
                            CK_SESSION_HANDLE handle);
void warprsa_sessions_close_all(warprsa_sessions *sessions);

/* Logs the user in, or out. CKR_OK, or CKR_USER_ALREADY_LOGGED_IN and
 * CKR_USER_NOT_LOGGED_IN: nothing has changed. The caller is in a session. Any
 * thread. */
CK_RV warprsa_sessions_log_in(warprsa_sessions *sessions);
CK_RV warprsa_sessions_log_out(warprsa_sessions *sessions);

/* Forgets what a search has found. */
void warprsa_search_end(warprsa_search *search);

#endif
