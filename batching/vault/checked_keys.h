/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which key files have been found to hold a right key, by the SHA-256 of what
 * is in them. To check the numbers of a key takes 0.1 s, and a new serving
 * process needs all keys at once: operations wait for it. The set is the
 * supervisor's. Processes that it forks share it: one reader at a time adds to
 * it. The serving process unmaps it.
 */
#ifndef WARPRSA_BATCHING_VAULT_CHECKED_KEYS_H
#define WARPRSA_BATCHING_VAULT_CHECKED_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WARPRSA_CHECKED_KEY_BYTES = 32, /* SHA-256 */
};

typedef struct warprsa_checked_keys warprsa_checked_keys;

/* An empty set. NULL: no memory. */
warprsa_checked_keys *warprsa_checked_keys_map(void);

/* Takes the set out of this process alone. NULL: does nothing. */
void warprsa_checked_keys_unmap(warprsa_checked_keys *keys);

/* Of a NULL set: false. Any thread. */
bool warprsa_checked_keys_have(const warprsa_checked_keys *keys,
                               const uint8_t digest[WARPRSA_CHECKED_KEY_BYTES]);

/* A full set begins anew. NULL: does nothing. Any thread. */
void warprsa_checked_keys_add(warprsa_checked_keys *keys,
                              const uint8_t digest[WARPRSA_CHECKED_KEY_BYTES]);

#endif
