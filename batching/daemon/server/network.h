/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the daemon knows of the network. warprsad has no network: its code is in
 * warprsad-remote alone, the same daemon with batching/remote.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_NETWORK_H
#define WARPRSA_BATCHING_DAEMON_SERVER_NETWORK_H

#include <stdbool.h>
#include <stddef.h>

#include "batching/queue/queue.h"

struct warprsa_options; /* options.h */

typedef struct warprsa_network {
    /* The engine whose devices are other hosts, if any are configured, in
     * *engine; else NULL. False with the reason in why. To be called once. */
    bool (*engine)(const struct warprsa_options *options,
                   warprsa_queue_engine *engine, char *why, size_t why_size);
    /* Whether a list of such hosts is right; has that engine use them from now
     * on. False with the reason in why. */
    bool (*check_hosts)(const char *hosts, char *why, size_t why_size);
    bool (*set_hosts)(const char *hosts, char *why, size_t why_size);
} warprsa_network;

/* NULL: this program has no network. */
const warprsa_network *warprsa_network_get(void);

#endif
