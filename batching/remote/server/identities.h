/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who may use a server, and how much: the administrator's map of identities,
 * which is read again at each reload. A line of it is
 *
 *   IDENTITY [sessions=N] [keys=N] [operations=N] [rate=N]
 *
 * with an identity as tls.h has it, as in "dns:web1.example.org". Of several
 * lines of one identity the last counts. Empty lines and those that begin with
 * # are left out.
 */
#ifndef WARPRSA_BATCHING_REMOTE_SERVER_IDENTITIES_H
#define WARPRSA_BATCHING_REMOTE_SERVER_IDENTITIES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "batching/base/log_budget.h"
#include "batching/remote/wire/tls.h"

enum {
    WARPRSA_IDENTITY_FIRST = 2,
    WARPRSA_IDENTITY_SESSIONS_MAX = 64,
    WARPRSA_IDENTITY_KEYS_MAX = 65536,
    WARPRSA_IDENTITY_OPERATIONS_MAX = 65536,
    WARPRSA_IDENTITY_RATE_MAX = 100000000,
    /* Of an identity's operations, those of a further session: an eighth. */
    WARPRSA_IDENTITY_FURTHER_PART = 8,
};

typedef struct warprsa_identity {
    LIST_ENTRY(warprsa_identity) link;
    char name[WARPRSA_TLS_NAME];
    uint32_t number;     /* of this process's, for warprsad; from FIRST on */
    unsigned references; /* under the table's lock, as `listed` */
    bool listed;         /* in the file, while it is read */
    /* The present limits; rate 0: no limit. */
    _Atomic bool removed;
    atomic_uint sessions_max, keys_max, operations_max, rate_max;
    /* Its present use. */
    atomic_uint connections, sessions, further, operations;
    /* When the operations so far would be done at the identity's rate. */
    _Atomic uint64_t rate_ns;
    warprsa_log_budget log;
} warprsa_identity;

typedef struct warprsa_identities {
    pthread_mutex_t lock;
    LIST_HEAD(, warprsa_identity) list;
    uint32_t numbers; /* given out so far */
} warprsa_identities;

/* False: no memory. */
bool warprsa_identities_init(warprsa_identities *table);

/* No identity may be in use. */
void warprsa_identities_free(warprsa_identities *table);

/*
 * Reads the file, the first time or again: limits change, identities come and
 * are removed. False: `why` names the first line with a mistake and what is
 * allowed there. The other lines count all the same, since an identity that an
 * administrator has taken out must not stay because of a mistake elsewhere. A
 * line with a mistake grants nothing: the identity that it names keeps its
 * former limits, if it had any. A file that can't be read changes nothing. Any
 * thread.
 */
bool warprsa_identities_read(warprsa_identities *table, const char *path,
                             char *why, size_t why_size);

/* The identity of this name with one more reference, which the caller releases.
 * NULL: there is none. Any thread. */
warprsa_identity *warprsa_identities_find(warprsa_identities *table,
                                          const char *name);
void warprsa_identities_hold(warprsa_identities *table,
                             warprsa_identity *identity);
void warprsa_identities_release(warprsa_identities *table,
                                warprsa_identity *identity);

/* Counts one more connection. False: the identity has two more than it may have
 * sessions of both kinds. What a connection is for is not known yet: one whose
 * further session is then refused has a place meanwhile. Any thread. */
bool warprsa_identity_begin_connection(warprsa_identity *identity);
void warprsa_identity_end_connection(warprsa_identity *identity);

/* Counts one more session. False: the identity has as many as it may have. Any
 * thread. */
bool warprsa_identity_begin_session(warprsa_identity *identity);
void warprsa_identity_end_session(warprsa_identity *identity);

/*
 * The same of a further session: one that a client does not need, but that
 * carries a part of its work. An identity may have half as many of these as
 * sessions, beside them. So no client of the identity loses a session to them,
 * and as each of them has an eighth of the operations, they add a sixteenth to
 * the memory of the sessions for these. Each has all keys, so they add half to
 * the memory for keys. Operations of all are counted together.
 */
bool warprsa_identity_begin_further(warprsa_identity *identity);
void warprsa_identity_end_further(warprsa_identity *identity);

/* Counts one more operation, at this time. False: too many at once, or too
 * fast. Any thread. */
bool warprsa_identity_begin_operation(warprsa_identity *identity,
                                      uint64_t now_ns);
void warprsa_identity_end_operation(warprsa_identity *identity);

#endif
