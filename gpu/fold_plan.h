/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which requests of a batch are folded (fold.h): those of keys that have many
 * in it, and which fold.h's bounds allow. They come first in the batch, key by
 * key.
 */
#ifndef WARPRSA_FOLD_PLAN_H
#define WARPRSA_FOLD_PLAN_H

#include "gpu/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Requests first..first + count - 1 of a batch, all of one key: what a block
 * of the kernel takes at once. */
typedef struct warprsa_fold_item {
    uint32_t first, count;
} warprsa_fold_item;

/* When folding pays; 0 requests_min: never. */
typedef struct warprsa_fold_rule {
    uint32_t item_most;    /* requests to an item at most */
    uint32_t key_min;      /* requests of one key at least */
    uint32_t requests_min; /* of all keys with so many, at least */
} warprsa_fold_rule;

/* One stream's; one thread at a time. */
typedef struct warprsa_fold_plan {
    uint32_t *order;  /* [batch_max]: place i of the batch is for this task */
    uint32_t *places; /* [keys_max], zero between calls */
    uint32_t folded;  /* the first so many places are folded */
    uint32_t items;
} warprsa_fold_plan;

/*
 * Whether the fold is right for a key: primes of the lengths it is made for
 * (FOLD_BITS_MIN..FOLD_BITS of the key's class), n = pq, and qinv the inverse
 * of q: its check is that of s^e = m mod p and mod q. 1 or 0; 0 also for lack
 * of memory. Any thread.
 */
int warprsa_fold_takes(const warprsa_private_key *key);

/* For keys 0..keys_max - 1. 1, or 0 for lack of memory; then
 * warprsa_fold_plan_free() frees what there is. */
int warprsa_fold_plan_new(warprsa_fold_plan *plan, size_t batch_max,
                          size_t keys_max);
void warprsa_fold_plan_free(warprsa_fold_plan *plan);

/*
 * Fills order, folded and items for a batch, and `items`, which has room for
 * `count`. takes[key] says whether a key may be folded. Tasks of one key keep
 * their order, and so do those that are not folded.
 */
void warprsa_fold_plan_make(warprsa_fold_plan *plan, warprsa_fold_item *items,
                            const warprsa_task *tasks, size_t count,
                            const uint8_t *takes,
                            const warprsa_fold_rule *rule);

#ifdef __cplusplus
}
#endif
#endif
