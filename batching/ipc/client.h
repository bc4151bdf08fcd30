/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The home of a process's operations that is the daemon: warprsa_backend_daemon
 * does for a client what queue.h does for a process with devices of its own.
 * It starts no thread. Where there is no daemon, or none any more, operations
 * are refused, and it is looked for again from time to time.
 */
#ifndef WARPRSA_BATCHING_IPC_CLIENT_H
#define WARPRSA_BATCHING_IPC_CLIENT_H

#include "batching/backend.h"
#include "batching/ipc/control_connection.h"

typedef struct warprsa_client warprsa_client;

typedef struct warprsa_client_config {
    warprsa_control_connection
        *control_connection; /* outlives the client; nobody else's meanwhile */
    unsigned slots;       /* requests in flight wanted; the daemon has limits */
    unsigned deadline_ms; /* from submission; the daemon has one of its own */
    warprsa_trace_fn trace;
    void *trace_arg;
    warprsa_counters *counters; /* outlives the client's callers */
    warprsa_router *route;      /* is told what answers take; may be NULL,
                                   outlives the client's callers */
} warprsa_client_config;

/* NULL: no memory. Does not look for the daemon yet. */
warprsa_client *warprsa_client_open(const warprsa_client_config *config);

/*
 * The functions of a warprsa_client. Of queue.h's promises two are different:
 * close() always succeeds, and an answer may also be REFUSED because the daemon
 * has gone, which is counted as WARPRSA_CPU_NO_DEVICE.
 */
extern const warprsa_backend_ops warprsa_backend_daemon;

#endif
