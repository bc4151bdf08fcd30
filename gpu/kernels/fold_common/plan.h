/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Decides which requests of a batch the kernels "fold", "narrow_fold" and
 * "int32_fold" compute, and where they are put. Only keys that a kernel's
 * bounds allow are folded, and only where that is done sooner than by another
 * kernel. An item is a run of requests of one key that one block, or one block
 * for each prime, takes at once. The folded requests come first in the batch,
 * key by key, cut into items.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_COMMON_PLAN_H
#define WARPRSA_GPU_KERNELS_FOLD_COMMON_PLAN_H

#include <stdbool.h>

#include "gpu/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WARPRSA_FOLD_ITEM_MAX = 384,
};

/* The ways to fold that a key may be within the bounds of, as bits. */
enum {
    WARPRSA_FOLD_IN_DOUBLES = 1,  /* those of fold.h */
    WARPRSA_FOLD_IN_INTEGERS = 2, /* those of int32_fold/int_fold.h */
};

/* Bits of the longest prime that numbers of so many samples are folded by, B in
 * fold.h: 1024, 1536 and 2048. For half of a number's samples (pair.h) it is
 * half of that. */
#define WARPRSA_FOLD_BITS(limbs) ((limbs)*512 / 10)
/* Bits of the shortest prime, which warprsa_fold_reduce() needs. */
#define WARPRSA_FOLD_BITS_MIN(limbs) (52 * (limbs)-40)

/* An item: positions first..first + count - 1 of a batch, all of one key. */
typedef struct warprsa_fold_item {
    uint32_t first, count;
} warprsa_fold_item;

/*
 * How to choose. As many items are folded as take the shortest time together
 * with the requests that are left. `predict` says how long so many items and
 * then `rest` requests by other kernels take, in any unit; one of short_max
 * requests or fewer counts as short_share of another. It is called for one item
 * more at a time, the fullest items first.
 */
typedef struct warprsa_fold_rule {
    uint32_t item_max;  /* requests to an item, 1..ITEM_MAX; 0: no folding */
    uint32_t item_min;  /* requests that it must have, >= 1 */
    uint32_t short_max; /* 0: all items count alike */
    double short_share; /* above 0, at most 1 */
    double (*predict)(const void *arg, double items, size_t rest);
    const void *arg;
    /* Nothing is folded of a batch that is more than so many full items; 0: no
     * limit. */
    uint32_t items_max;
    bool
        in_integers; /* of keys, those that accept IN_INTEGERS; or IN_DOUBLES */
    /* The full items come first, and not each after those before it in the
     * batch: blocks that take one after the other end at the same time then. */
    bool full_first;
} warprsa_fold_rule;

/* Rules that a batch is folded by, one after the other. */
enum {
    WARPRSA_FOLD_PARTS = 2,
};

/* What the plan notes of a key while it is made. */
typedef struct warprsa_fold_share {
    uint32_t tasks;                    /* in the batch, not folded yet */
    uint8_t accepts;                   /* as the array of that name */
    uint32_t pass;                     /* the last that it was met in */
    uint32_t next[WARPRSA_FOLD_PARTS]; /* position of its next task of a part */
    uint32_t left[WARPRSA_FOLD_PARTS]; /* tasks of a part still to be put */
} warprsa_fold_share;

/* Items by one rule. */
typedef struct warprsa_fold_part_of_plan {
    uint32_t items;
    size_t rule; /* if there are items */
} warprsa_fold_part_of_plan;

/* The plan of one stream. One thread at a time. */
typedef struct warprsa_fold_plan {
    uint32_t *order;           /* [batch_max]: the task at position i */
    warprsa_fold_share *share; /* [keys_max], zero between calls */
    uint32_t folded;           /* positions below this are folded */
    uint32_t items;            /* of all parts, in their order */
    warprsa_fold_part_of_plan part[WARPRSA_FOLD_PARTS];
    uint32_t pass; /* passes over the tasks so far */
} warprsa_fold_plan;

/*
 * The ways in which a key may be folded, FOLD_IN_DOUBLES and FOLD_IN_INTEGERS;
 * 0 also if there is no memory. Any thread. In doubles the primes must have
 * lengths that the fold is made for (FOLD_BITS_MIN to FOLD_BITS of the key's
 * class). In integers both must have FOLD_BITS bits, of which the upper 16 are
 * not all ones. In both n must be p q, and qinv the inverse of q: these matter
 * as the kernels check s^e = m mod p and mod q only.
 */
int warprsa_fold_accepts_key(const warprsa_private_key *key);

/* Allocates a plan for batches of up to batch_max tasks and keys 0..keys_max -
 * 1. 1, or 0 if there is no memory; warprsa_fold_plan_free() frees what there
 * is in both cases. */
int warprsa_fold_plan_new(warprsa_fold_plan *plan, size_t batch_max,
                          size_t keys_max);
void warprsa_fold_plan_free(warprsa_fold_plan *plan);

/*
 * Makes the plan of a batch: fills order, folded and items of `plan`, and the
 * array `items`, which must have room for `count`. accepts[key] says how a
 * key may be folded (warprsa_fold_accepts_key()). Of the tasks of a key the
 * first ones are folded. They keep their order, and so do those that are not.
 * Of `rule_count` rules, each for another kernel, the one is taken by which the
 * shortest time is predicted. If another makes the time of what that leaves
 * shorter still, its items follow, as another part.
 */
void warprsa_fold_plan_make(warprsa_fold_plan *plan, warprsa_fold_item *items,
                            const warprsa_task *tasks, size_t count,
                            const uint8_t *accepts,
                            const warprsa_fold_rule *rules, size_t rule_count);

#ifdef __cplusplus
}
#endif
#endif
