/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a fold needs of a key, made from a prepared key of either form: in limbs
 * of 32 bits (gpu/arith/int32_key.h) or in samples of 52 bits
 * (gpu/arith/prepared_key.h). Samples are doubles whose bits are read as
 * integers, so that nothing here is in floating point.
 *
 * A prepared key has R^2 mod P, with a power of two R. That is 2^(2 log R), and
 * warprsa_int_fold_lower() takes it down to each power that the matrix wants.
 */
#ifndef WARPRSA_GPU_KERNELS_INT32_FOLD_KEY_H
#define WARPRSA_GPU_KERNELS_INT32_FOLD_KEY_H

#include "gpu/arith/int32_key.h"
#include "gpu/kernels/int32_fold/int_fold.h"
#include "gpu/kernels/int32_fold/program.h"

/* What the threads of a block share of a key, while they work modulo one of its
 * primes. SECRET. */
typedef struct warprsa_int_fold_shared_key {
    warprsa_int_fold_prime prime;
    uint32_t qinv[WARPRSA_INT_FOLD_LIMBS_MAX]; /* F / q mod p, for the end */
    uint32_t q[WARPRSA_INT_FOLD_LIMBS_MAX];    /* likewise */
    warprsa_int_fold_program program;
} warprsa_int_fold_shared_key;

/* Where the numbers of a prepared key are, those of one of its primes. */
typedef struct warprsa_int_fold_key {
    bool limbs; /* or samples */
    int which;  /* 0 for p, 1 for q */
    const void *modulus, *r2, *q, *qinv_r;
    const uint32_t *exponent, *p_minus_1;
    uint64_t e;
    uint32_t modulus_bytes, windows;
} warprsa_int_fold_key;

/* Of a key in either form; both have the same names. */
#define WARPRSA_INT_FOLD_KEY_OF(from, which_prime, in_limbs)                   \
    {                                                                          \
        in_limbs, which_prime, (from)->half[which_prime].modulus,              \
            (from)->half[which_prime].r2, (from)->half[1].modulus,             \
            (from)->qinv_r, (from)->half[which_prime].exponent,                \
            (from)->half[which_prime].p_minus_1, (from)->e,                    \
            (from)->modulus_bytes, (from)->windows                             \
    }

WARPRSA_FN warprsa_int_fold_key
warprsa_int_fold_key_of_limbs(const warprsa_int32_key *from, int which)
{
    const warprsa_int_fold_key key = WARPRSA_INT_FOLD_KEY_OF(from, which, true);

    return key;
}

WARPRSA_FN warprsa_int_fold_key
warprsa_int_fold_key_of_samples(const warprsa_prepared_key *from, int which)
{
    const warprsa_int_fold_key key =
        WARPRSA_INT_FOLD_KEY_OF(from, which, false);

    return key;
}

/* Whether a prime in limbs is within the bounds of int_fold.h: it has 32 n
 * bits, and the upper 16 of them are not all ones. */
WARPRSA_FN bool warprsa_int_fold_fits(const uint32_t *prime, const int n)
{
    return prime[n] == 0 && prime[n - 1] >> 31 != 0 &&
           prime[n - 1] >> 16 != 0xFFFF;
}

/* log R of a prepared key for numbers of n limbs. */
WARPRSA_FN int warprsa_int_fold_radix_bits(bool limbs, const int n)
{
    return limbs ? 32 * (n + 1) : 52 * (5 * n / 8);
}

/* The integer below 2^52 that a sample is, from the bits of the double. */
WARPRSA_FN uint64_t warprsa_int_fold_sample(const uint64_t bits)
{
    const uint32_t exponent = (uint32_t)(bits >> 52);
    const uint64_t mantissa = (bits & ((1ull << 52) - 1)) | 1ull << 52;

    return exponent == 0 ? 0 : mantissa >> ((1075 - exponent) & 63);
}

/* Limb i of a number of a key. */
WARPRSA_FN uint32_t warprsa_int_fold_key_limb(const void *number, bool limbs,
                                              int i)
{
    const int at = 32 * i / 52, shift = 32 * i % 52;
    uint64_t samples[2] = {0, 0};

    if (limbs)
        return ((const uint32_t *)number)[i];
    memcpy(&samples[0], (const uint64_t *)number + at, sizeof(samples[0]));
    if (shift > 20)
        memcpy(&samples[1], (const uint64_t *)number + at + 1,
               sizeof(samples[1]));
    return (uint32_t)(warprsa_int_fold_sample(samples[0]) >> shift |
                      warprsa_int_fold_sample(samples[1]) << (52 - shift));
}

/* Limb i of the prime, and of q. */
WARPRSA_FN void warprsa_int_fold_make_limb(warprsa_int_fold_shared_key *to,
                                           const warprsa_int_fold_key *key,
                                           int i)
{
    const uint32_t limb =
        warprsa_int_fold_key_limb(key->modulus, key->limbs, i);

    warprsa_int_fold_put_prime(&to->prime, i, limb);
    if (i == 0)
        to->prime.inverse = warprsa_int_fold_negative_inverse(limb);
    to->q[i] = warprsa_int_fold_key_limb(key->q, key->limbs, i);
}

/* x = a number of a key over 2^bits, modulo the prime. */
WARPRSA_FN void warprsa_int_fold_lowered(uint32_t *x, const void *number,
                                         bool limbs,
                                         const warprsa_int_fold_prime *prime,
                                         int bits, const int n)
{
    WARPRSA_UNROLL
    for (int i = 0; i < n; i++)
        x[i] = warprsa_int_fold_key_limb(number, limbs, i);
    warprsa_int_fold_lower(x, prime, bits, n);
}

/*
 * Row k of the matrix, or, for k = 4 n, F / q mod p. The prime
 * itself must be there. This is the same for all of a warp but for k, which is
 * public.
 */
WARPRSA_FN void warprsa_int_fold_make_row(uint8_t *matrix,
                                          warprsa_int_fold_shared_key *to,
                                          const warprsa_int_fold_key *key,
                                          int k, const int n)
{
    const int radix = warprsa_int_fold_radix_bits(key->limbs, n);
    const bool is_row = k < WARPRSA_INT_FOLD_BYTES(n);
    uint32_t x[WARPRSA_INT_FOLD_LIMBS_MAX];

    if (!is_row && key->which == 1)
        return; /* a number modulo p */
    warprsa_int_fold_lowered(
        x, is_row ? key->r2 : key->qinv_r, key->limbs, &to->prime,
        is_row ? 2 * radix - 32 * n - 8 * k : radix - 32, n);
    WARPRSA_UNROLL
    for (int i = 0; i < n; i++) {
        if (is_row) {
            WARPRSA_UNROLL
            for (int j = 0; j < 4; j++)
                matrix[warprsa_int_fold_matrix_offset(k, 4 * i + j, n)] =
                    (uint8_t)(x[i] >> (8 * j));
        } else {
            to->qinv[i] = x[i];
        }
    }
}

#endif
