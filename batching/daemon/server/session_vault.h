/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a session has of the vault: the keys that its client has named, and the
 * memory of the uses that it has asked for.
 *
 * A session finds a named key in the vault when a request needs it, and lets go
 * of it once the vault has removed or replaced it: at the next request, or in a
 * review, so that an idle client does not keep it in memory. A use under way
 * has a reference of its own, and ends as it began.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_SESSION_VAULT_H
#define WARPRSA_BATCHING_DAEMON_SERVER_SESSION_VAULT_H

#include "batching/daemon/server/session.h"

/* A use under way. */
typedef struct warprsa_session_use {
    warprsa_vault_key *key; /* a reference */
    warprsa_pending *pending;
    warprsa_key_use header;  /* checked */
    warprsa_vault_paid paid; /* for it */
    /* What a thread of the vault does, has done or would do; its answer is that
     * of the use. */
    warprsa_use_task task;
    bool is_computed;        /* that thread has it, or has had it */
    bool by_engine;          /* the private operation is that of the queue */
    bool on_cpus;            /* as in warprsa_outcome; if by_engine */
    unsigned size;           /* of the modulus, and of each number below */
    uint8_t *answer, *power; /* SECRET; behind `input` */
    uint8_t input[]; /* SECRET; as the header says; once padded, a number */
} warprsa_session_use;

/* Gives a free number of a key to the key of the vault with this digest. False:
 * no memory. */
bool warprsa_session_name_key(warprsa_session *session,
                              warprsa_session_key *key,
                              const uint8_t spki[WARPRSA_KEY_SPKI_BYTES]);

/* Lets go of a key, the client's own or the vault's. Its number is free. */
void warprsa_session_drop_key(warprsa_session *session,
                              warprsa_session_key *key);

/* The key of the vault that a number stands for now; NULL: there is none. */
warprsa_vault_key *warprsa_session_find_key(warprsa_session *session,
                                            warprsa_session_key *key);

/* Lets go of some keys that the vault has removed. Returns whether there are
 * more to be looked at. */
bool warprsa_session_review_keys(warprsa_session *session);

/* Memory for a use of this key, with a reference to it. NULL: there is none. */
warprsa_session_use *warprsa_session_use_new(warprsa_vault_key *key,
                                             const warprsa_key_use *header);

/* Wipes and frees; NULL: does nothing. */
void warprsa_session_use_free(warprsa_session_use *use);

#endif
