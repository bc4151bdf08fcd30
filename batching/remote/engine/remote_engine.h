/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The engine "remote": other hosts that compute, as devices of a queue. Opening
 * a device connects to its host and runs the known-answer test there. A lost
 * connection is a lost device. So the queue chooses among hosts, gives them up
 * and takes them back as it does with GPUs. Requests that a host did not answer
 * go to another device (batching/queue/failover.h).
 *
 * A batch travels in messages of 256 operations at most. Keys go to the host
 * when a batch first needs them there, and are wiped with the session.
 */
#ifndef WARPRSA_BATCHING_REMOTE_ENGINE_REMOTE_ENGINE_H
#define WARPRSA_BATCHING_REMOTE_ENGINE_REMOTE_ENGINE_H

#include "batching/remote/wire/tls.h"
#include "gpu/engine.h"

typedef struct warprsa_remote_engine_config {
    warprsa_tls_files tls; /* the texts must live on */
    bool verify; /* raise each result to e, and compare it with its input */
} warprsa_remote_engine_config;

/*
 * The engine; its devices are the hosts of hosts.h. open() reads the files anew
 * each time, so that new ones take effect. To be called once in a process with
 * a configuration, before its other threads; later with NULL, by any thread.
 */
const warprsa_engine *
warprsa_engine_remote(const warprsa_remote_engine_config *config);

#endif
