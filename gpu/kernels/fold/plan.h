/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which requests of a batch are folded (fold.h): those of keys that fold.h's
 * bounds allow, cut into items of one key, where that is sooner done than by
 * another kernel. They come first in the batch, key by key.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_PLAN_H
#define WARPRSA_GPU_KERNELS_FOLD_PLAN_H

#include "gpu/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WARPRSA_FOLD_ITEM_MAX = 128,
};

/* Requests first..first + count - 1 of a batch, all of one key: what a block
 * of the kernel takes at once. */
typedef struct warprsa_fold_item {
    uint32_t first, count;
} warprsa_fold_item;

/*
 * What is folded of a batch: as many items as take the shortest time together
 * with what is left. `predict` says what `items` of them and then `rest`
 * requests by other kernels take, in any unit; items are asked for one by one,
 * the fullest first.
 */
typedef struct warprsa_fold_rule {
    uint32_t item_max; /* requests to an item, 1..ITEM_MOST; 0: no folding */
    uint32_t item_min; /* requests that it must have, >= 1 */
    double (*predict)(const void *arg, size_t items, size_t rest);
    const void *arg;
} warprsa_fold_rule;

/* What the plan keeps of a key while it is made. */
typedef struct warprsa_fold_share {
    uint32_t tasks; /* in the batch */
    uint32_t next;  /* the place of its next task that is folded */
    uint32_t left;  /* so many of those are to come */
} warprsa_fold_share;

/* One stream's; one thread at a time. */
typedef struct warprsa_fold_plan {
    uint32_t *order;           /* [batch_max]: place i is for this task */
    warprsa_fold_share *share; /* [keys_max], zero between calls */
    uint32_t folded;           /* the first so many places are folded */
    uint32_t items;
} warprsa_fold_plan;

/*
 * Whether the fold is right for a key: primes of the lengths it is made for
 * (FOLD_BITS_MIN..FOLD_BITS of the key's class), n = pq, and qinv the inverse
 * of q: its check is that of s^e = m mod p and mod q. 1 or 0; 0 also for lack
 * of memory. Any thread.
 */
int warprsa_fold_accepts_key(const warprsa_private_key *key);

/* For keys 0..keys_max - 1. 1, or 0 for lack of memory; then
 * warprsa_fold_plan_free() frees what there is. */
int warprsa_fold_plan_new(warprsa_fold_plan *plan, size_t batch_max,
                          size_t keys_max);
void warprsa_fold_plan_free(warprsa_fold_plan *plan);

/*
 * Fills order, folded and items for a batch, and `items`, which has room for
 * `count`. accepts[key] says whether a key may be folded. Of a key's tasks the
 * first are folded; they keep their order, and so do those that are not.
 */
void warprsa_fold_plan_make(warprsa_fold_plan *plan, warprsa_fold_item *items,
                            const warprsa_task *tasks, size_t count,
                            const uint8_t *accepts,
                            const warprsa_fold_rule *rule);

#ifdef __cplusplus
}
#endif
#endif
