/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A private key as the arithmetic wants it: samples, Montgomery constants,
 * exponents in words. Made once per key on the host and copied to the device
 * as it stands.
 */
#ifndef WARPRSA_GPU_ARITH_PREPARED_KEY_H
#define WARPRSA_GPU_ARITH_PREPARED_KEY_H

#include <stdint.h>

#include "gpu/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WARPRSA_HALF_SAMPLES = 40, /* of a prime of the largest class */
    WARPRSA_FULL_SAMPLES = 80,
    WARPRSA_BLOCK_SAMPLES = 15,   /* rows of a block, at most */
    WARPRSA_BLINDING_SAMPLES = 5, /* of r: 260 bits */
    WARPRSA_EXPONENT_WORDS = 65,  /* 40 samples of 52 bits in 32-bit words */
    WARPRSA_EXPONENT_BLINDING_BITS = 32,
    WARPRSA_BLINDED_WORDS = 66, /* of an exponent with its blinding */
    /* Random words of a request: r, and one for both exponents. */
    WARPRSA_RANDOM_WORDS = WARPRSA_BLINDING_SAMPLES + 1,
    WARPRSA_WINDOW = 4, /* bits of an exponent's digit */
};

/* The shape of a size class: `rows` samples make a prime, spread over `width`
 * lanes of `per_lane` samples; a request takes 2 * width lanes, the lower
 * ones for p, the upper ones for q, all of them for n. */
typedef struct warprsa_shape {
    int limbs, threads_per_number, limbs_per_thread;
} warprsa_shape;

/* clang-format off */
#define WARPRSA_SHAPE_1024 {10, 2, 5}
#define WARPRSA_SHAPE_2048 {20, 4, 5}
#define WARPRSA_SHAPE_3072 {30, 8, 4}
#define WARPRSA_SHAPE_4096 {40, 8, 5}

/* The same where the product goes by blocks of rows (gpu/arith/block_mont_mul.h): one
 * or two, or for the longest, as machine code of its own for each would be more
 * than a multiprocessor keeps at hand, seven that share theirs. So many rows as
 * blocks want more than there are samples are of zeros. */
#define WARPRSA_BLOCK_SHAPE_1024 {10, 16, 2}
#define WARPRSA_BLOCK_SHAPE_2048 {20, 16, 2}
#define WARPRSA_BLOCK_SHAPE_3072 {30, 16, 3}
#define WARPRSA_BLOCK_SHAPE_4096 {40, 16, 3}
#define WARPRSA_BLOCK_OF(limbs)                                                 \
    ((limbs) == 40 ? 6 : (limbs) > 10 ? (limbs) / 2 : (limbs))
#define WARPRSA_BLOCK_ZEROS(limbs) ((limbs) == 40 ? 2 : 0)
/* clang-format on */

/* One prime; R = 2^(52 rows), and B = WARPRSA_BLOCK_OF(rows). */
typedef struct warprsa_prepared_half {
    double modulus[WARPRSA_HALF_SAMPLES];
    double inv_2_52[WARPRSA_HALF_SAMPLES];       /* 2^-52 mod p */
    double r2[WARPRSA_HALF_SAMPLES];             /* R^2 mod p */
    double r3[WARPRSA_HALF_SAMPLES];             /* R^3 mod p */
    double n0inv;                                /* -1/p mod 2^52 */
    double block_inv_2_52[WARPRSA_HALF_SAMPLES]; /* 2^(-52 B) mod p */
    double block_n0inv[WARPRSA_BLOCK_SAMPLES];   /* -1/p mod 2^(52 B) */
    uint32_t exponent[WARPRSA_EXPONENT_WORDS];   /* dp, low word first */
    uint32_t p_minus_1[WARPRSA_EXPONENT_WORDS];  /* p - 1, likewise */
    uint32_t bits;                               /* of the prime */
} warprsa_prepared_half;

/* SECRET. Unused samples are zero. */
typedef struct warprsa_prepared_key {
    warprsa_prepared_half half[2];         /* p, q */
    double qinv_r[WARPRSA_HALF_SAMPLES];   /* (1/q mod p) R mod p */
    double modulus[WARPRSA_FULL_SAMPLES];  /* n; here R = 2^(104 rows) */
    double inv_2_52[WARPRSA_FULL_SAMPLES]; /* 2^-52 mod n */
    double r2[WARPRSA_FULL_SAMPLES];       /* R^2 mod n */
    double q_r[WARPRSA_FULL_SAMPLES];      /* q R mod n */
    double n0inv;                          /* -1/n mod 2^52 */
    uint64_t e;
    uint32_t modulus_bytes;
    uint32_t size;    /* warprsa_size_class */
    uint32_t windows; /* digits of a blinded exponent, from public lengths */
} warprsa_prepared_key;

/* The shape of a class. */
warprsa_shape warprsa_shape_of(warprsa_size_class size);

/*
 * Fills `out` from `key`, whose class must not be -1. WARPRSA_NO_MEMORY, or
 * WARPRSA_UNSUPPORTED_KEY for numbers that are no key (dp or dq not below
 * what the class holds, qinv not below p, n not p q: the check of a result is
 * by p and q). `out` is wiped on failure.
 */
warprsa_status warprsa_prepare_key(warprsa_prepared_key *out,
                                   const warprsa_private_key *key);

#ifdef __cplusplus
}
#endif
#endif
