/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of sessions.
 */
#include "pkcs11/sessions.h"

#include <stdlib.h>
#include <string.h>

enum {
    PLACE_BITS = 17,
    PLACE_MASK = (1 << PLACE_BITS) - 1,
};
_Static_assert((int)WARPRSA_SESSIONS_MAX <= (int)PLACE_MASK,
               "a handle has room for each place");

/* Places count from 1, so that no handle is CK_INVALID_HANDLE. */
static CK_SESSION_HANDLE handle_of(CK_ULONG generation, uint32_t id)
{
    return generation << PLACE_BITS | (CK_SESSION_HANDLE)id;
}

bool warprsa_sessions_init(warprsa_sessions *sessions)
{
    memset(sessions, 0, sizeof(*sessions));
    return pthread_mutex_init(&sessions->lock, NULL) == 0 &&
           warprsa_id_pool_init(&sessions->ids, 1, WARPRSA_SESSIONS_MAX);
}

/* The place of an id; NULL: nobody has ever held one near it. */
static warprsa_session *place_of(warprsa_sessions *sessions, uint32_t id)
{
    warprsa_session *chunk = atomic_load_explicit(
        &sessions->chunks[id / WARPRSA_SESSIONS_CHUNK], memory_order_acquire);

    return chunk == NULL ? NULL : &chunk[id % WARPRSA_SESSIONS_CHUNK];
}

static warprsa_session *chunk_new(void)
{
    warprsa_session *chunk = calloc(WARPRSA_SESSIONS_CHUNK, sizeof(*chunk));
    unsigned ready = 0;

    while (chunk != NULL && ready < WARPRSA_SESSIONS_CHUNK &&
           pthread_mutex_init(&chunk[ready].lock, NULL) == 0)
        ready++;
    if (ready == WARPRSA_SESSIONS_CHUNK)
        return chunk;
    free(chunk);
    return NULL;
}

/* The place of an id, made if need be. NULL: no memory. */
static warprsa_session *make_place(warprsa_sessions *sessions, uint32_t id)
{
    warprsa_session *place = place_of(sessions, id);

    if (place != NULL)
        return place;
    pthread_mutex_lock(&sessions->lock);
    if (place_of(sessions, id) == NULL)
        atomic_store_explicit(&sessions->chunks[id / WARPRSA_SESSIONS_CHUNK],
                              chunk_new(), memory_order_release);
    pthread_mutex_unlock(&sessions->lock);
    return place_of(sessions, id);
}

/* Counts a session that opens, 1, or closes, -1. With the last one the user is
 * logged out. */
static void count(warprsa_sessions *sessions, CK_FLAGS flags, int by)
{
    pthread_mutex_lock(&sessions->lock);
    sessions->open += (CK_ULONG)by;
    if ((flags & CKF_RW_SESSION) != 0)
        sessions->open_writable += (CK_ULONG)by;
    if (sessions->open == 0)
        sessions->logged_in = false;
    pthread_mutex_unlock(&sessions->lock);
}

CK_RV warprsa_sessions_open(warprsa_sessions *sessions, CK_FLAGS flags,
                            CK_SESSION_HANDLE *handle)
{
    warprsa_session *session = NULL;
    uint32_t id = 0;

    if (!warprsa_id_pool_acquire(&sessions->ids, &id))
        return CKR_SESSION_COUNT;
    session = make_place(sessions, id);
    if (session == NULL) {
        warprsa_id_pool_release(&sessions->ids, id);
        return CKR_HOST_MEMORY;
    }
    pthread_mutex_lock(&session->lock);
    session->open = true;
    session->flags = flags;
    *handle = handle_of(session->generation, id);
    pthread_mutex_unlock(&session->lock);
    count(sessions, flags, 1);
    return CKR_OK;
}

warprsa_session *warprsa_sessions_enter(warprsa_sessions *sessions,
                                        CK_SESSION_HANDLE handle)
{
    const uint32_t id = handle & PLACE_MASK;
    warprsa_session *session = place_of(sessions, id);

    if (session == NULL)
        return NULL;
    pthread_mutex_lock(&session->lock);
    if (session->open && handle_of(session->generation, id) == handle)
        return session;
    pthread_mutex_unlock(&session->lock);
    return NULL;
}

void warprsa_sessions_leave(warprsa_session *session)
{
    pthread_mutex_unlock(&session->lock);
}

void warprsa_search_end(warprsa_search *search)
{
    free(search->handles);
    *search = (warprsa_search){0};
}

/* Closes an open session, whose lock the caller has and gives away. */
static void close_locked(warprsa_sessions *sessions, warprsa_session *session,
                         uint32_t id)
{
    count(sessions, session->flags, -1);
    warprsa_search_end(&session->search);
    for (unsigned i = 0; i < WARPRSA_OPERATION_SLOTS; i++) {
        warprsa_operation_free(session->operations[i]);
        session->operations[i] = NULL;
    }
    session->open = false;
    session->generation++;
    pthread_mutex_unlock(&session->lock);
    warprsa_id_pool_release(&sessions->ids, id);
}

bool warprsa_sessions_close(warprsa_sessions *sessions,
                            CK_SESSION_HANDLE handle)
{
    warprsa_session *session = warprsa_sessions_enter(sessions, handle);

    if (session == NULL)
        return false;
    close_locked(sessions, session, handle & PLACE_MASK);
    return true;
}

void warprsa_sessions_close_all(warprsa_sessions *sessions)
{
    for (uint32_t id = 1; id <= WARPRSA_SESSIONS_MAX; id++) {
        warprsa_session *session = place_of(sessions, id);

        if (session == NULL)
            continue;
        pthread_mutex_lock(&session->lock);
        if (session->open)
            close_locked(sessions, session, id);
        else
            pthread_mutex_unlock(&session->lock);
    }
}

CK_RV warprsa_sessions_log_in(warprsa_sessions *sessions)
{
    return atomic_exchange(&sessions->logged_in, true)
               ? CKR_USER_ALREADY_LOGGED_IN
               : CKR_OK;
}

CK_RV warprsa_sessions_log_out(warprsa_sessions *sessions)
{
    return atomic_exchange(&sessions->logged_in, false)
               ? CKR_OK
               : CKR_USER_NOT_LOGGED_IN;
}

void warprsa_sessions_free(warprsa_sessions *sessions)
{
    warprsa_sessions_close_all(sessions);
    for (unsigned i = 0; i < WARPRSA_SESSIONS_CHUNKS; i++) {
        warprsa_session *chunk = atomic_load(&sessions->chunks[i]);

        for (unsigned j = 0; chunk != NULL && j < WARPRSA_SESSIONS_CHUNK; j++)
            pthread_mutex_destroy(&chunk[j].lock);
        free(chunk);
    }
    warprsa_id_pool_free(&sessions->ids);
    pthread_mutex_destroy(&sessions->lock);
}
