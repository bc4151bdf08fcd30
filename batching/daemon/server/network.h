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

#include "batching/queue/queue.h"

struct warprsa_options; /* options.h */

typedef struct warprsa_network {
    /* Sets *engine to the engine whose devices are other hosts, or to NULL if
     * none are configured. False with the reason in why. To be called once. */
    bool (*engine)(const struct warprsa_options *options,
                   warprsa_queue_engine *engine, char *why, size_t why_size);
    /* check_hosts: whether a list of hosts is right. set_hosts: has the engine
     * use these hosts from now on. False with the reason in why. */
    bool (*check_hosts)(const char *hosts, char *why, size_t why_size);
    bool (*set_hosts)(const char *hosts, char *why, size_t why_size);
} warprsa_network;

/* NULL: this program has no network. */
const warprsa_network *warprsa_network_get(void);

#endif
