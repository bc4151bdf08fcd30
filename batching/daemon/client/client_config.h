/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a client is opened with.
 */
#ifndef WARPRSA_BATCHING_DAEMON_CLIENT_CLIENT_CONFIG_H
#define WARPRSA_BATCHING_DAEMON_CLIENT_CLIENT_CONFIG_H

#include "batching/daemon/client/control_connection.h"
#include "batching/queue/backend.h"

typedef struct warprsa_client_config {
    /* Outlives the client, and only the client uses it. */
    warprsa_control_connection *control_connection;
    unsigned slots; /* requests in flight wanted; the daemon has a limit */
    unsigned deadline_ms; /* from submission; the daemon has one of its own */
    bool uses;            /* of keys of the daemon's vault */
    bool hides_device;    /* the counters show the devices of another backend */
    warprsa_trace_fn trace;
    void *trace_arg;
    warprsa_counters *counters; /* outlives the client's callers */
    /* Learns how long answers take; may be NULL; outlives the client's
     * callers. */
    warprsa_router *router;
} warprsa_client_config;

#endif
