/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the daemon knows of the network. warprsad has no network. Only
 * warprsad-remote has it: the same daemon, linked with batching/remote.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_NETWORK_H
#define WARPRSA_BATCHING_DAEMON_SERVER_NETWORK_H

#include <stdbool.h>
#include <stddef.h>

#include "batching/daemon/server/use_operations.h"
#include "batching/queue/queue.h"

struct warprsa_options; /* options.h */

/* What the uses of keys that other hosts have need of the daemon. */
typedef struct warprsa_network_daemon {
    unsigned deadline_ms; /* a use that has waited for so long is late */
    warprsa_counters *counters;
    warprsa_trace_fn log;
    void *log_arg;
} warprsa_network_daemon;

typedef struct warprsa_network {
    /* Sets *engine to the engine whose devices are other hosts, or to NULL if
     * none are configured. False with the reason in why. To be called once. */
    bool (*engine)(const struct warprsa_options *options,
                   warprsa_queue_engine *engine, char *why, size_t why_size);
    /* check_hosts: whether a list of hosts is right. set_hosts: has the engine
     * use these hosts from now on. False with the reason in why. */
    bool (*check_hosts)(const char *hosts, char *why, size_t why_size);
    bool (*set_hosts)(const char *hosts, char *why, size_t why_size);
    /* Gets ready for uses of keys that other hosts have, before the first one.
     * False: no memory. To be called once, after engine(). */
    bool (*start_uses)(const struct warprsa_options *options,
                       const warprsa_network_daemon *daemon);
    /* Has a host carry out a whole use, once this thread has called
     * send_uses(). False: hosts carry out none. Any thread. */
    bool (*use)(warprsa_use_task *task);
    /* After one use() or several by this thread: hosts get them. Those for
     * which there is no room, or no memory, are late. */
    void (*send_uses)(void);
    /* Ends all connections. No task is left, and none comes. */
    void (*stop_uses)(void);
} warprsa_network;

/* NULL: this program has no network. */
const warprsa_network *warprsa_network_get(void);

#endif
