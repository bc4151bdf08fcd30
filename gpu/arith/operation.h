/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the data of one request are, and how a group of lanes converts, loads
 * and stores its numbers.
 *
 * Parameters that many functions share: `limbs`, threads_per_number and
 * limbs_per_thread are the shape of the size class (warprsa_shape), and
 * threads_per_request is 2 * threads_per_number. `half` and `which` are 0 for p
 * and 1 for q.
 */
#ifndef WARPRSA_GPU_ARITH_OPERATION_H
#define WARPRSA_GPU_ARITH_OPERATION_H

#include "gpu/arith/exact_reduction.h"

#define WARPRSA_TABLE_SIZE (1 << WARPRSA_WINDOW)
/* Samples of table memory that a lane needs. */
#define WARPRSA_TABLE_DOUBLES                                                  \
    (WARPRSA_TABLE_SIZE * WARPRSA_LIMBS_PER_THREAD_MAX)

/* Samples of a result in memory. The lanes of a number may hold more; these are
 * zero. */
#define WARPRSA_RESULT_SAMPLES                                                 \
    ((int)(WARPRSA_FULL_SAMPLES * sizeof(uint64_t) /                           \
           sizeof(warprsa_sample_bits_t)))

/* Where the data of one request are. All memory belongs to the caller. */
typedef struct warprsa_operation {
    const warprsa_operation_key *key;
    const uint8_t *input;   /* modulus_bytes */
    uint8_t *output;        /* likewise */
    const uint64_t *random; /* [RANDOM_WORDS] */
    /* [2][HALF_LIMBS_MAX]: u of each half, by warprsa_blind(). */
    warprsa_sample_t *unblinding;
    /* [2][BLINDED_WORDS], by warprsa_blind_exponent(). */
    uint32_t *exponent;
    /* Digits of the blinded exponents; all requests of a warp have as many. */
    int windows;
    warprsa_sample_bits_t *result; /* [RESULT_SAMPLES], scratch */
    /* Sample i of entry e of lane k is at index
     * (e * limbs_per_thread + i) * table_stride + k. */
    warprsa_sample_t *table;
    int table_stride;
#ifdef WARPRSA_BLOCK_ARITH
    warprsa_exchange exchange; /* [EXCHANGE_DOUBLES], shared by its lanes */
#endif
    bool direct_table_reads; /* see warprsa_device_config */
    uint32_t *status;        /* warprsa_status */
} warprsa_operation;

/* Sample `index` of a number given as bytes, most significant first; bits
 * beyond the bytes are zero. */
WARPRSA_FN warprsa_sample_t warprsa_sample_of_bytes(const uint8_t *bytes,
                                                    int length, int index)
{
    int bit = index * WARPRSA_SAMPLE_BITS, low = bit >> 3;
    uint64_t bits = 0;

    WARPRSA_UNROLL
    for (int i = 0; i < 7; i++) {
        int at = length - 1 - (low + i);

        if (at >= 0)
            bits |= (uint64_t)bytes[at] << (8 * i);
    }
    return warprsa_sample((bits >> (bit & 7)) & WARPRSA_SAMPLE_MASK);
}

/* Byte `index` of a number given in samples; 0 is the least significant. */
WARPRSA_FN uint8_t warprsa_byte_of_samples(const warprsa_sample_bits_t *sample,
                                           int samples, int index)
{
    int bit = index * 8, at = bit / WARPRSA_SAMPLE_BITS;
    int shift = bit - at * WARPRSA_SAMPLE_BITS;
    uint64_t bits = at < samples ? sample[at] >> shift : 0;

    if (shift > WARPRSA_SAMPLE_BITS - 8 && at + 1 < samples)
        bits |= (uint64_t)sample[at + 1] << (WARPRSA_SAMPLE_BITS - shift);
    return (uint8_t)bits;
}

/*
 * Loads a number of each half from consecutive samples in memory, and zeros
 * above `limbs`. half0 and half1 are the same for a number over all lanes.
 *
 * The large classes read the zeros that follow in memory: their 16 or 32 lanes
 * hold at most 80 or 160 samples, and so do the arrays of their keys. If a
 * modulus was loaded under a condition, ptxas makes products without any
 * parallelism (RSA-6144: 286 instead of 130 clocks of stalls in a row).
 */
WARPRSA_FN void warprsa_load(warprsa_number *to, const warprsa_sample_t *half0,
                             const warprsa_sample_t *half1, const int limbs,
                             const int threads_per_number,
                             const int limbs_per_thread,
                             const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        int lane = warprsa_lane(k, threads_per_request);
        const warprsa_sample_t *from =
            lane < threads_per_number ? half0 : half1;
        int first = (lane & (threads_per_number - 1)) * limbs_per_thread;

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
#ifdef WARPRSA_LARGE
            to->of[k][i] = from[first + i];
#else
            to->of[k][i] = first + i < limbs ? from[first + i] : 0;
#endif
    }
#ifdef WARPRSA_LARGE
    (void)limbs;
#endif
}

/* Stores a number of each half where warprsa_load() with these parameters will
 * read it. */
WARPRSA_FN void warprsa_store(const warprsa_number *x, warprsa_sample_t *half0,
                              warprsa_sample_t *half1, const int limbs,
                              const int threads_per_number,
                              const int limbs_per_thread,
                              const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        int lane = warprsa_lane(k, threads_per_request);
        warprsa_sample_t *to = lane < threads_per_number ? half0 : half1;
        int first = (lane & (threads_per_number - 1)) * limbs_per_thread;

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
#ifdef WARPRSA_LARGE
            to[first + i] = x->of[k][i];
#else
            if (first + i < limbs)
                to[first + i] = x->of[k][i];
#endif
    }
#ifdef WARPRSA_LARGE
    (void)limbs;
#endif
}

/* Sets the number 1, not in Montgomery form. */
WARPRSA_FN void warprsa_set_one(warprsa_number *to,
                                const int threads_per_number,
                                const int limbs_per_thread,
                                const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        int lane = warprsa_lane(k, threads_per_request);

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            to->of[k][i] =
                (lane & (threads_per_number - 1)) == 0 && i == 0 ? 1 : 0;
    }
}

#endif
