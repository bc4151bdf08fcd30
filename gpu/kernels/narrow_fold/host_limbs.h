/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The powers of narrow.h between stages in block arithmetic, as narrow_fold.cuh
 * has them. Included once by each of host_20.c, host_30.c and host_40.c, which
 * define WARPRSA_NARROW_LIMBS: for RSA-2048, RSA-3072 and RSA-4096.
 */
#ifndef WARPRSA_GPU_KERNELS_NARROW_FOLD_HOST_LIMBS_H
#define WARPRSA_GPU_KERNELS_NARROW_FOLD_HOST_LIMBS_H

#define WARPRSA_BLOCK_ARITH

#include "gpu/kernels/narrow_fold/narrow_host.h"

#include "gpu/kernels/narrow_fold/host_modexp.h"

#if WARPRSA_NARROW_LIMBS == 20
#define MODEXP warprsa_host_narrow_modexp_20
#elif WARPRSA_NARROW_LIMBS == 30
#define MODEXP warprsa_host_narrow_modexp_30
#else
#define MODEXP warprsa_host_narrow_modexp_40
#endif

static void make_keys(warprsa_narrow_key *keys, const warprsa_operation *op,
                      int threads_per_number, int limbs_per_thread)
{
    warprsa_narrow_maker maker;

    warprsa_narrow_new_maker(&maker, op, threads_per_number, limbs_per_thread);
    warprsa_narrow_make_bias(&keys[0], &keys[1], &maker, threads_per_number,
                             limbs_per_thread);
    for (int i = 0; i < WARPRSA_NARROW_MATRIX_COLUMNS; i++) {
        warprsa_narrow_new_maker(&maker, op, threads_per_number,
                                 limbs_per_thread);
        warprsa_narrow_make_column(&keys[0], &keys[1], &maker, i,
                                   threads_per_number, limbs_per_thread);
    }
    explicit_bzero(&maker, sizeof(maker));
}

void MODEXP(warprsa_number *x, const warprsa_operation *op,
            int threads_per_number, int limbs_per_thread)
{
    warprsa_narrow_key keys[2];
    double samples[2][WARPRSA_NARROW_LIMBS];
    double power[2][WARPRSA_NARROW_LIMBS] = {{1}, {1}};

    make_keys(keys, op, threads_per_number, limbs_per_thread);
    warprsa_narrow_begin(x, op, threads_per_number, limbs_per_thread);
    warprsa_narrow_put(samples[0], WARPRSA_NARROW_LIMBS, x, threads_per_number,
                       limbs_per_thread);
    for (int which = 0; which < 2; which++)
        warprsa_narrow_host_power(
            power[which], samples[which], &keys[which],
            op->exponent + which * WARPRSA_BLINDED_WORDS, op->windows, 0,
            warprsa_narrow_windows((uint32_t)op->windows));
    warprsa_narrow_end(x, power[0], WARPRSA_NARROW_LIMBS, op,
                       threads_per_number, limbs_per_thread);
    explicit_bzero(keys, sizeof(keys));
    explicit_bzero(samples, sizeof(samples));
    explicit_bzero(power, sizeof(power));
}

#endif
