/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The engine "remote": other hosts that compute, as devices of a queue. Opening
 * one connects and runs the known-answer test there; a connection that is lost
 * is a device that is lost. So the queue chooses among hosts, gives them up and
 * takes them back as it does with GPUs.
 *
 * A batch travels in messages of 256 operations at most. Keys go to the host
 * when a batch first needs them there, and are wiped with the session.
 */
#ifndef WARPRSA_BATCHING_REMOTE_ENGINE_H
#define WARPRSA_BATCHING_REMOTE_ENGINE_H

#include "batching/remote/address.h"
#include "batching/remote/tls.h"
#include "gpu/engine.h"

enum {
    WARPRSA_REMOTE_HOSTS_MAX = 8,
};

typedef struct warprsa_remote_engine_config {
    const char *hosts; /* HOST:PORT, separated by blanks; up to HOSTS_MAX */
    warprsa_tls_files tls;
    bool verify; /* raise each result to e, and compare it with its input */
} warprsa_remote_engine_config;

/*
 * The engine for these hosts, in the order of their ordinals; NULL with the
 * reason in why. The texts must live on. The files are read at each open(), so
 * that new ones take effect. Once in a process, before its other threads; from
 * then on with NULL for the configuration, which stays, and any thread.
 */
const warprsa_engine *
warprsa_engine_remote(const warprsa_remote_engine_config *config, char *why,
                      size_t why_size);

#endif
