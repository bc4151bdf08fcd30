/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "narrow_fold" on the CPU: the powers of narrow.h between stages in
 * block arithmetic, as gpu/kernels/narrow_fold/narrow_fold.cuh has them.
 * Keys that it is not made for are computed with as "low_latency" does.
 */
#define WARPRSA_BLOCK_ARITH
#define WARPRSA_HOST_MODEXP blind_and_modexp_by_narrow_fold

#include "gpu/kernels/low_latency/block_modexp.h"
#include "gpu/kernels/narrow_fold/narrow_host.h"

static void make_keys(warprsa_narrow_key *keys, const warprsa_operation *op,
                      int threads_per_number, int limbs_per_thread)
{
    warprsa_narrow_maker maker;

    warprsa_narrow_new_maker(&maker, op, threads_per_number, limbs_per_thread);
    for (int row = 0; row < WARPRSA_NARROW_ROWS; row++)
        warprsa_narrow_make_row(&keys[0], &keys[1], &maker, row,
                                threads_per_number, limbs_per_thread);
    warprsa_narrow_make_bias(&keys[0], &keys[1], &maker, threads_per_number,
                             limbs_per_thread);
    explicit_bzero(&maker, sizeof(maker));
}

static void blind_and_modexp_by_narrow_fold(warprsa_number *x,
                                            const warprsa_operation *op,
                                            int limbs, int threads_per_number,
                                            int limbs_per_thread)
{
    const warprsa_operation_half *half = op->key->half;
    warprsa_narrow_key keys[2];
    double samples[2][WARPRSA_NARROW_LIMBS];

    if (limbs != WARPRSA_NARROW_LIMBS || half[0].bits > WARPRSA_NARROW_BITS ||
        half[1].bits > WARPRSA_NARROW_BITS) {
        warprsa_block_blind_and_modexp(x, op, limbs, threads_per_number,
                                       limbs_per_thread);
        return;
    }
    make_keys(keys, op, threads_per_number, limbs_per_thread);
    warprsa_narrow_begin(x, op, threads_per_number, limbs_per_thread);
    warprsa_narrow_put(samples[0], WARPRSA_NARROW_LIMBS, x, threads_per_number,
                       limbs_per_thread);
    for (int which = 0; which < 2; which++)
        warprsa_narrow_host_power(samples[which], &keys[which],
                                  op->exponent + which * WARPRSA_BLINDED_WORDS,
                                  op->windows);
    warprsa_narrow_end(x, samples[0], WARPRSA_NARROW_LIMBS, op,
                       threads_per_number, limbs_per_thread);
    explicit_bzero(keys, sizeof(keys));
    explicit_bzero(samples, sizeof(samples));
}

#include "gpu/host/operation.h"

const warprsa_host_arithmetic warprsa_host_narrow_fold =
    WARPRSA_HOST_ARITHMETIC;
