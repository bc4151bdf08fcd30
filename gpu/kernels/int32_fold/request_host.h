/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A whole request of the fold in integers on the CPU.
 */
#ifndef WARPRSA_GPU_KERNELS_INT32_FOLD_REQUEST_HOST_H
#define WARPRSA_GPU_KERNELS_INT32_FOLD_REQUEST_HOST_H

#include "gpu/kernels/int32_fold/request.h"

enum {
    /* 48 limbs have more entries than 64. */
    WARPRSA_INT_FOLD_HOST_WORDS = WARPRSA_INT_FOLD_MEMORY_WORDS(48),
};

/* Of one request. SECRET. */
typedef struct warprsa_int_fold_workspace {
    warprsa_int_fold_shared_key shared;
    uint8_t matrix[WARPRSA_INT_FOLD_MATRIX_BYTES(WARPRSA_INT_FOLD_LIMBS_MAX)];
    uint32_t row[WARPRSA_INT_FOLD_LIMBS_MAX];
    uint32_t stage[3 * WARPRSA_INT_FOLD_LIMBS_MAX / 2];
    uint32_t memory[WARPRSA_INT_FOLD_HOST_WORDS];
    uint32_t exponent[2][WARPRSA_BLINDED_WORDS];
    uint32_t factor[2][WARPRSA_INT_FOLD_LIMBS_MAX];
    uint32_t root[2][WARPRSA_INT_FOLD_LIMBS_MAX];
    uint32_t x[WARPRSA_INT_FOLD_LIMBS_MAX];
} warprsa_int_fold_workspace;

/* What a block of the device makes of a key for one prime. */
static inline void warprsa_int_fold_load_key(warprsa_int_fold_workspace *w,
                                             const warprsa_int_fold_key *key,
                                             const int n)
{
    for (int i = 0; i < n; i++)
        warprsa_int_fold_make_limb(&w->shared, key, i);
    for (int k = 0; k <= WARPRSA_INT_FOLD_BYTES(n); k++)
        warprsa_int_fold_make_row(w->matrix, &w->shared, key, k, n);
}

/* The number that a workspace is for. */
static inline warprsa_int_fold_group
warprsa_int_fold_group_of(warprsa_int_fold_workspace *w)
{
    const warprsa_int_fold_group g = {.prime = &w->shared.prime,
                                      .matrix = w->matrix,
                                      .row = w->row,
                                      .stage = w->stage,
                                      .registers = w->memory,
                                      .table = w->memory,
                                      .stride = 1};

    return g;
}

/* Computes a request: its output and status. `key` has the numbers of p and of
 * q. */
static inline void warprsa_int_fold_operate(warprsa_int_fold_workspace *w,
                                            const warprsa_int_fold_key *key,
                                            const uint8_t *input,
                                            const uint64_t *random,
                                            uint8_t *output, uint32_t *status,
                                            const int n)
{
    const warprsa_int_fold_group g = warprsa_int_fold_group_of(w);
    const warprsa_int_fold_request r = {.input = input,
                                        .output = output,
                                        .random = random,
                                        .exponent = w->exponent[0],
                                        .factor = w->factor[0],
                                        .root = w->root[0],
                                        .apart = WARPRSA_INT_FOLD_LIMBS_MAX,
                                        .status = status};

    for (int which = 0; which < 2; which++) {
        warprsa_int_fold_load_key(w, &key[which], n);
        warprsa_int_fold_begin(&w->shared.program, key->e);
        warprsa_int_fold_put_begin(&g, &r, &key[which], n);
        warprsa_int_fold_run(&g, &w->shared, 0, n);
        warprsa_int_fold_put_begun(&g, &r, which, n);
        warprsa_int_fold_put_power(&g, &r, which, n);
        warprsa_int_fold_power(
            w->x, &g, warprsa_int_fold_digits_of((int)key->windows, n), n);
        warprsa_int_fold_put_root(&r, w->x, which, n);
    }
    warprsa_int_fold_end(&w->shared.program, key->e);
    for (int which = 0; which < 2; which++) {
        warprsa_int_fold_load_key(w, &key[which], n);
        if (which == 0)
            warprsa_int_fold_put_end(&g, &r, key, n);
        warprsa_int_fold_run(&g, &w->shared,
                             which == 0 ? 0 : w->shared.program.check, n);
        warprsa_int_fold_compare(&g, n);
    }
    warprsa_int_fold_put_bytes(&g, &r, key, n);
}

#endif
