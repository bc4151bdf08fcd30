/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What C_Initialize makes and C_Finalize ends: the client of warprsad, the
 * token's objects, sessions, and libcrypto. There is one a process; a forked
 * child has none until it initialises the module itself. The module starts no
 * thread.
 */
#ifndef WARPRSA_PKCS11_LIBRARY_H
#define WARPRSA_PKCS11_LIBRARY_H

#include "batching/daemon/client/client_uses.h"
#include "batching/queue/counters.h"
#include "pkcs11/crypto.h"
#include "pkcs11/objects.h"
#include "pkcs11/sessions.h"
#include "pkcs11/settings.h"

typedef struct warprsa_library {
    unsigned generation; /* warprsa_fork_generation() of its process */
    warprsa_token_settings settings;
    warprsa_counters *counters;
    warprsa_control_connection control;
    warprsa_client *client;
    warprsa_crypto crypto;
    warprsa_objects objects;
    warprsa_sessions sessions;
    pthread_mutex_t reading_lock;   /* of reading objects from the daemon */
    _Atomic uint64_t readings;      /* begun so far; changed with the lock */
    uint64_t last_reading;          /* that has ended; with the lock */
    bool has_read;                  /* one has told all keys; with the lock */
    struct warprsa_library *parent; /* of the process that forked this one */
} warprsa_library;

/* Makes the library of this process. CKR_OK, CKR_CRYPTOKI_ALREADY_INITIALIZED,
 * CKR_HOST_MEMORY. The daemon need not be there. Any thread. */
CK_RV warprsa_library_open(const warprsa_token_settings *settings);

/* Ends it, once the calls under way have ended; later ones find none. CKR_OK,
 * CKR_CRYPTOKI_NOT_INITIALIZED. Any thread. */
CK_RV warprsa_library_close(void);

/* The library of this process, which stays until the caller leaves it. NULL:
 * there is none, and nothing to leave. Any thread. */
warprsa_library *warprsa_library_enter(void);
void warprsa_library_leave(void);

#endif
