/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The daemon's secrets: random numbers and ids of keys by libcrypto, and memory
 * that stays in the process. The only input from a client is a private key,
 * whose id is computed.
 */
#ifndef WARPRSA_BATCHING_DAEMON_PROCESS_SECRETS_H
#define WARPRSA_BATCHING_DAEMON_PROCESS_SECRETS_H

#include <stdbool.h>

#include "batching/queue/queue.h"

/* To be called once, before the next two functions. False: libcrypto has no
 * random numbers. */
bool warprsa_secrets_init(void);

/* A warprsa_random_fn (gpu/engine.h): fills `out` with `length` random bytes;
 * 1, or 0 on failure. Any thread. */
int warprsa_secrets_random(void *arg, void *out, size_t length);

/* The id of a key: HMAC-SHA-256 (RFC 2104) of the whole key with a secret of
 * this process, so that nobody outside can tell which key has which id. False:
 * not computed. Any thread. */
bool warprsa_secrets_key_id(const warprsa_private_key *key,
                            uint8_t id[WARPRSA_KEY_ID_BYTES]);

/* Keeps the memory of this process and of those it forks out of core dumps and
 * debuggers. `why` says what was not possible; it is empty if all was. */
void warprsa_secrets_forbid_dumps(char *why, size_t why_size);

/* Keeps the process's memory out of swap, where RLIMIT_MEMLOCK is unlimited.
 * `why` as above. */
void warprsa_secrets_lock_memory(char *why, size_t why_size);

#endif
