/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What all threads of the daemon's server share: its configuration, whether it
 * is stopping, and how many clients each user has. It knows of no thread, and
 * nothing in it comes from a client but the user id, which the kernel vouches
 * for.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_CONTEXT_H
#define WARPRSA_BATCHING_DAEMON_SERVER_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "batching/daemon/server_config.h"
#include "batching/daemon/user_quota.h"

typedef struct warprsa_server_context {
    warprsa_server_config config; /* constant but for its limits */
    pthread_mutex_t lock;         /* of config.limits */
    _Atomic bool closing;         /* no more connections */
    _Atomic bool stopping; /* no more requests; after the acceptor has ended */
    warprsa_user_quota clients; /* a seat for each client process */
    /* Of sessions, and of their notifiers; some of those that the process may
     * have are left for all else. */
    warprsa_user_quota descriptors;
    unsigned descriptors_max;
    pthread_mutex_t log_lock; /* of what follows */
    uint64_t log_second;      /* the second of the clock that it counts */
    unsigned log_lines, log_left_out; /* in that second */
} warprsa_server_context;

/* Copies the configuration. False: no memory. */
bool warprsa_server_context_init(warprsa_server_context *context,
                                 const warprsa_server_config *config);
void warprsa_server_context_free(warprsa_server_context *context);

/* The limits as they are now, and new ones. Any thread. */
void warprsa_server_context_get_limits(warprsa_server_context *context,
                                       warprsa_server_limits *limits);
void warprsa_server_context_set_limits(warprsa_server_context *context,
                                       const warprsa_server_limits *limits);

/* Writes a line to the log; level 0: errors, 1: clients. Of these, 500 a second
 * are written, since a client can cause as many as it likes. Any thread. */
__attribute__((format(printf, 3, 4))) void
warprsa_server_log(warprsa_server_context *context, int level,
                   const char *format, ...);

#endif
