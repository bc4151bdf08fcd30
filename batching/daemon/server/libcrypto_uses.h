/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What sessions need of libcrypto for uses of keys of the vault
 * (use_operations.h), by padding.h and compute.h of the vault. Each user is an
 * owner of the vault's threads. Uses of keys that GPU hosts have go to the
 * network.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_LIBCRYPTO_USES_H
#define WARPRSA_BATCHING_DAEMON_SERVER_LIBCRYPTO_USES_H

#include "batching/daemon/server/network.h"
#include "batching/daemon/server/use_operations.h"

typedef struct warprsa_libcrypto_uses warprsa_libcrypto_uses;

/* Starts the vault's threads. A task that has waited for deadline_ms is late.
 * network NULL: there is none, and there are no keys of GPU hosts. NULL: no
 * memory, or no threads. */
warprsa_libcrypto_uses *
warprsa_libcrypto_uses_new(unsigned deadline_ms,
                           const warprsa_network *network);

/* Ends the threads. No task is left: a server that has stopped
 * (warprsa_server_stop()) has waited for all of its own. NULL: does nothing. */
void warprsa_libcrypto_uses_free(warprsa_libcrypto_uses *uses);

/* They live as long as `uses`. */
const warprsa_use_operations *
warprsa_libcrypto_uses_operations(const warprsa_libcrypto_uses *uses);

#endif
