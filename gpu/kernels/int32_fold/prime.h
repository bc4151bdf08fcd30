/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a fold needs of a prime besides its matrix. SECRET.
 */
#ifndef WARPRSA_GPU_KERNELS_INT32_FOLD_PRIME_H
#define WARPRSA_GPU_KERNELS_INT32_FOLD_PRIME_H

#include "gpu/kernels/int32_fold/layout.h"

/* The limbs of even and of odd indices: those that each chain multiplies. */
typedef struct warprsa_int_fold_prime {
    uint32_t limbs[2][WARPRSA_INT_FOLD_LIMBS_MAX / 2];
    uint32_t inverse; /* -1/P mod 2^32 */
    uint32_t unused[3];
} warprsa_int_fold_prime;

WARPRSA_FN uint32_t
warprsa_int_fold_prime_limb(const warprsa_int_fold_prime *prime, int i)
{
    return prime->limbs[i % 2][i / 2];
}

WARPRSA_FN void warprsa_int_fold_put_prime(warprsa_int_fold_prime *prime, int i,
                                           uint32_t limb)
{
    prime->limbs[i % 2][i / 2] = limb;
}

/* -1/m mod 2^32 for odd m, by Newton's iteration: m is 1/m modulo 8, and each
 * turn doubles the correct bits. */
WARPRSA_FN uint32_t warprsa_int_fold_negative_inverse(uint32_t m)
{
    uint32_t x = m;

    WARPRSA_UNROLL
    for (int i = 0; i < 4; i++)
        x *= 2 - m * x;
    return 0 - x;
}

#ifdef WARPRSA_VERIFIES
static inline int
warprsa_int_fold_is_at_least(const uint32_t *x,
                             const warprsa_int_fold_prime *prime, const int n)
{
    int i = n - 1;

    while (i > 0 && x[i] == warprsa_int_fold_prime_limb(prime, i))
        i--;
    return x[i] >= warprsa_int_fold_prime_limb(prime, i);
}
#endif

#endif
