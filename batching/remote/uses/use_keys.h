/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The keys of the vault that GPU hosts have, as far as somebody has used them:
 * their numbers in sessions with hosts, which hosts have been told of them, and
 * what their signatures are checked with.
 *
 * Every function is called under the lock of the uses (uses_core.h).
 */
#ifndef WARPRSA_BATCHING_REMOTE_USES_USE_KEYS_H
#define WARPRSA_BATCHING_REMOTE_USES_USE_KEYS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "batching/base/id_pool.h"
#include "batching/remote/engine/verify.h"
#include "batching/vault/vault.h"

enum {
    WARPRSA_USE_KEYS_MAX = 4096, /* as many as keys.conf may have */
    WARPRSA_USE_KEY_BUCKETS = 256,
};

typedef struct warprsa_use_key {
    warprsa_vault_key *key; /* a reference */
    uint32_t number;        /* in every session */
    uint32_t told; /* a bit for each connection by which a host knows it */
    /* The same of those by which the host had no room for it when it was told
     * last, and refuses its uses. */
    uint32_t no_room;
    /* A bit for each place whose host has said that it has no such key; read
     * and written without the lock, too. */
    _Atomic uint32_t lacks;
    unsigned uses; /* that have no answer of a host */
    /* What raises signatures to e, eight at a time where the CPU can. NULL:
     * libcrypto does. */
    warprsa_verify *verify;
    int size; /* warprsa_size_class, if `verify` is there */
    LIST_ENTRY(warprsa_use_key) bucket;
} warprsa_use_key;

typedef struct warprsa_use_keys {
    LIST_HEAD(, warprsa_use_key) buckets[WARPRSA_USE_KEY_BUCKETS];
    warprsa_id_pool numbers;
    warprsa_use_key *numbered[WARPRSA_USE_KEYS_MAX]; /* NULL: free */
    unsigned count;
} warprsa_use_keys;

/* False: no memory. */
bool warprsa_use_keys_init(warprsa_use_keys *keys);

/* Releases all keys, none of which has uses. */
void warprsa_use_keys_free(warprsa_use_keys *keys);

/* Finds or adds a key, for one more use of it. NULL: no memory, or too many. */
warprsa_use_key *warprsa_use_keys_take(warprsa_use_keys *keys,
                                       warprsa_vault_key *key);

/* A key without uses that the vault has removed, or NULL; and releases it, when
 * no host knows it any more. */
warprsa_use_key *warprsa_use_keys_next_removed(const warprsa_use_keys *keys);
void warprsa_use_keys_release(warprsa_use_keys *keys, warprsa_use_key *key);

/* The key of a number; NULL: there is none. */
warprsa_use_key *warprsa_use_keys_number(const warprsa_use_keys *keys,
                                         uint32_t number);

/* There is a new session with a host, which knows no keys by this connection;
 * and has said nothing of them in the place of a bit. The bits may be 0. */
void warprsa_use_keys_forget(warprsa_use_keys *keys, uint32_t connection,
                             uint32_t place);

#endif
