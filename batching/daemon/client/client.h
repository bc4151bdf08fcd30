/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The client of the daemon: warprsa_backend_daemon does for a process without
 * devices what queue.h does for one that has them. It starts no thread. While
 * no daemon runs, operations are refused, and from time to time an operation of
 * the process tries to connect again.
 */
#ifndef WARPRSA_BATCHING_DAEMON_CLIENT_CLIENT_H
#define WARPRSA_BATCHING_DAEMON_CLIENT_CLIENT_H

#include "batching/daemon/client/client_config.h"

typedef struct warprsa_client warprsa_client;

/* Makes a client that is not connected yet. NULL: no memory. */
warprsa_client *warprsa_client_open(const warprsa_client_config *config);

/*
 * The functions of a warprsa_client. They promise what queue.h does, but for
 * two things: close() always succeeds, and an answer may also be REFUSED
 * because the daemon has gone, which is counted as WARPRSA_CPU_NO_DEVICE.
 */
extern const warprsa_backend_ops warprsa_backend_daemon;

#endif
