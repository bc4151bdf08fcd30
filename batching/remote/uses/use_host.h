/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One of the GPU hosts, and the uses that it has: connections with a session
 * each, and their threads, which give the host whatever waits as soon as the
 * host has room for it. What has come meanwhile goes in one message: there is
 * no timer. There is one connection, or there are more while one has much to
 * do. If a session ends, all of its uses wait for another one.
 */
#ifndef WARPRSA_BATCHING_REMOTE_USES_USE_HOST_H
#define WARPRSA_BATCHING_REMOTE_USES_USE_HOST_H

#include "batching/remote/uses/uses_core.h"

typedef struct warprsa_use_host warprsa_use_host;

/* Starts the first thread for the host of a place (hosts.h), which may have
 * none yet. `core` outlives it. NULL: no memory, or no thread. */
warprsa_use_host *warprsa_use_host_start(warprsa_uses_core *core,
                                         unsigned place);

/* Ends the threads and sessions, and leaves the host's place in core->hosts.
 * Its uses wait again. core->stopping is set. Without the lock. NULL: does
 * nothing. */
void warprsa_use_host_stop(warprsa_use_host *host);

/* ---- With the lock held ---- */

/* The list of hosts has changed. */
void warprsa_use_host_look(warprsa_use_host *host);

/* Tells the host that a key goes. */
void warprsa_use_host_unload(warprsa_use_host *host, warprsa_use_key *key);

/* Lets uses wait again that the host has had for longer than `patience_ns` and
 * what its last answer took, three times `patience_ns` at most, if another host
 * takes some now that has not refused them; or else if the host itself does by
 * another connection, on which it has answered a use that was sent later. The
 * connection then gets no more until the host has answered something on it. */
void warprsa_use_host_take_back(warprsa_use_host *host, uint64_t now_ns,
                                uint64_t patience_ns);

#endif
