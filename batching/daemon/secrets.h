/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the daemon does about secrets: random numbers and ids of keys by
 * libcrypto, memory that stays in the process.
 */
#ifndef WARPRSA_DAEMON_SECRETS_H
#define WARPRSA_DAEMON_SECRETS_H

#include <stdbool.h>

#include "batching/queue.h"

/* To be called once, first. False: no random numbers. */
bool warprsa_secrets_init(void);

/* A warprsa_random_fn. Any thread. */
int warprsa_secrets_random(void *arg, void *out, size_t length);

/* HMAC-SHA-256 of the whole key with a secret of this process: nobody else can
 * tell which key has which id. Any thread. */
bool warprsa_secrets_key_id(const warprsa_private_key *key,
                            uint8_t id[WARPRSA_KEY_ID_BYTES]);

/* Keeps memory out of swap, as far as the limits allow, and out of core dumps
 * and debuggers. What was not possible is told in `why`; empty: all was. */
void warprsa_secrets_lock_memory(char *why, size_t why_size);

#endif
