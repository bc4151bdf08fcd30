/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What all threads of the daemon's server share: its configuration, whether it
 * is stopping, and how many clients each user has. It knows no thread. The only
 * thing in it that comes from a client is the user id, which the kernel vouches
 * for.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_SERVER_CONTEXT_H
#define WARPRSA_BATCHING_DAEMON_SERVER_SERVER_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "batching/base/log_budget.h"
#include "batching/base/subuids.h"
#include "batching/daemon/server/server_config.h"
#include "batching/daemon/server/user_quota.h"

struct warprsa_use_threads;

typedef struct warprsa_server_context {
    warprsa_server_config config;            /* constant but for its limits */
    struct warprsa_use_threads *use_threads; /* NULL: none */
    pthread_mutex_t lock;                    /* of config.limits */
    _Atomic bool closing;                    /* no more connections */
    _Atomic bool stopping; /* no more requests; after the acceptor has ended */
    warprsa_user_quota clients; /* a seat for each session */
    /* One more seat for each session of an identity of the network: all
     * identities together have no more seats than one user of this host. */
    warprsa_user_quota network_clients;
    /* The descriptors of sessions and notifiers. Some of the process's limit is
     * left for everything else. */
    warprsa_user_quota descriptors;
    unsigned descriptors_max;
    warprsa_log_budgets log; /* lines about clients, by user */
    pthread_mutex_t subuids_lock;
    warprsa_subuids subuids;
    struct timespec subuids_changed; /* when the file was, as last read */
} warprsa_server_context;

/* Copies the configuration. False: no memory. */
bool warprsa_server_context_init(warprsa_server_context *context,
                                 const warprsa_server_config *config);
void warprsa_server_context_free(warprsa_server_context *context);

/* Reads and sets the limits. Any thread. */
void warprsa_server_context_get_limits(warprsa_server_context *context,
                                       warprsa_server_limits *limits);
void warprsa_server_context_set_limits(warprsa_server_context *context,
                                       const warprsa_server_limits *limits);

/* The user that a user id counts for: the owner of a subordinate id
 * (base/subuids.h), else the id itself. Any thread. */
uid_t warprsa_server_user(warprsa_server_context *context, uid_t uid);

/* Reads the table of subordinate user ids again, if it has changed. Looks up
 * users, which may take long, so it is for one thread that serves nobody. */
void warprsa_server_context_read_subuids(warprsa_server_context *context);

/* Writes a line to the log that no client has caused. Any thread. */
void warprsa_server_log(warprsa_server_context *context, const char *line);

/* Writes a line about a client, at level 1 or 2, unless the budget of this
 * owner is used up (base/log_budget.h): a client can cause any number of lines.
 * Any thread. */
__attribute__((format(printf, 4, 5))) void
warprsa_server_log_about(warprsa_server_context *context, uint64_t owner,
                         int level, const char *format, ...);

/* Says how many lines about each user were left out in seconds that are over.
 * Any thread. */
void warprsa_server_log_left_out(warprsa_server_context *context);

#endif
