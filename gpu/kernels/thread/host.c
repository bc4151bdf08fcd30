/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "thread" on the CPU: the modexp of
 * gpu/kernels/thread/thread_modexp.h between the stages over lanes, as
 * gpu/kernels/thread/thread.cuh has it.
 */
#define WARPRSA_HOST_MODEXP blind_and_modexp_by_threads

#include "gpu/kernels/thread/thread_modexp.h"

/* Copies half `which` of a number over lanes to consecutive samples (put), or
 * back. */
static void copy_half(warprsa_number *x, double *samples, int which, int put,
                      int limbs, int threads_per_number, int limbs_per_thread)
{
    for (int i = 0; i < limbs; i++) {
        double *at = &x->of[which * threads_per_number + i / limbs_per_thread]
                           [i % limbs_per_thread];

        if (put)
            samples[i] = *at;
        else
            *at = samples[i];
    }
}

static void modexp_half(warprsa_number *x, warprsa_number *one,
                        const warprsa_operation *op, int which, int limbs,
                        int threads_per_number, int limbs_per_thread)
{
    const warprsa_prepared_half *half = &op->key->half[which];
    double a[WARPRSA_HALF_SAMPLES], p[WARPRSA_HALF_SAMPLES];
    double chosen[WARPRSA_HALF_SAMPLES];
    uint64_t start[4 * WARPRSA_HALF_SAMPLES];
    const warprsa_thread thread = {.a = a,
                                   .p = p,
                                   .stride = 1,
                                   .n0inv = half->n0inv,
                                   .table = op->table,
                                   .chosen = chosen,
                                   .near = limbs / 2,
                                   .table_stride = 1,
                                   .exponent = op->exponent +
                                               which * WARPRSA_BLINDED_WORDS,
                                   .windows = op->windows,
                                   .start = start};

    for (int c = 0; c < 4 * limbs; c++)
        start[c] = warprsa_thread_start(c >= 2 * limbs, c % (2 * limbs), limbs);
    copy_half(one, p, which, 1, limbs, threads_per_number, limbs_per_thread);
    copy_half(x, a, which, 1, limbs, threads_per_number, limbs_per_thread);
    warprsa_balance(thread.table, p, WARPRSA_TABLE_SIZE, 1, limbs);
    warprsa_balance(a, a, 1, 1, limbs);
    warprsa_balance(p, half->modulus, 1, 1, limbs);
    warprsa_thread_modexp(&thread, limbs, limbs / WARPRSA_THREAD_BLOCKS, 0);
    warprsa_unbalance(&thread, limbs);
    copy_half(x, a, which, 0, limbs, threads_per_number, limbs_per_thread);
    explicit_bzero(a, sizeof(a));
    explicit_bzero(p, sizeof(p));
    explicit_bzero(chosen, sizeof(chosen));
}

static void blind_and_modexp_by_threads(warprsa_number *x,
                                        const warprsa_operation *op, int limbs,
                                        int threads_per_number,
                                        int limbs_per_thread)
{
    warprsa_modulus p;
    warprsa_number one;

    warprsa_blind(x, &one, &p, op, limbs, threads_per_number, limbs_per_thread);
    for (int which = 0; which < 2; which++)
        modexp_half(x, &one, op, which, limbs, threads_per_number,
                    limbs_per_thread);
    explicit_bzero(&p, sizeof(p));
}

#include "gpu/kernels/host_operation.h"

const warprsa_host_arithmetic warprsa_host_thread = WARPRSA_HOST_ARITHMETIC;
