/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A private key prepared for the arithmetic in double precision: samples of 52
 * bits, Montgomery constants, exponents in words. It is made once per key on
 * the host and copied to the device byte by byte.
 */
#ifndef WARPRSA_GPU_ARITH_PREPARED_KEY_H
#define WARPRSA_GPU_ARITH_PREPARED_KEY_H

#include <stdint.h>

#include "gpu/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Keys of the large classes (gpu/engine.h) are rare and have a form of their
 * own, so that the others are no longer than they need be. What computes with
 * them is compiled with WARPRSA_LARGE; the names here then mean that form. */
#ifdef WARPRSA_LARGE
#define warprsa_prepared_half warprsa_large_half
#define warprsa_prepared_key  warprsa_large_key
#define warprsa_prepare_key   warprsa_prepare_large_key
#define WARPRSA_SAMPLES       80 /* of a prime of the largest class */
#else
#define WARPRSA_SAMPLES 40
#endif

enum {
    WARPRSA_HALF_SAMPLES = WARPRSA_SAMPLES,
    WARPRSA_FULL_SAMPLES = 2 * WARPRSA_SAMPLES,
    WARPRSA_BLOCK_SAMPLES = 15,   /* rows of a block, at most */
    WARPRSA_BLINDING_SAMPLES = 5, /* of r: 260 bits */
    /* A prime's samples of 52 bits in 32-bit words. */
    WARPRSA_EXPONENT_WORDS = WARPRSA_SAMPLES * 52 / 32,
    WARPRSA_EXPONENT_BLINDING_BITS = 32,
    WARPRSA_BLINDED_WORDS = WARPRSA_EXPONENT_WORDS + 1, /* if blinded */
    /* Random words of a request: the words of r, and one word that blinds both
     * exponents, 32 bits each. */
    WARPRSA_RANDOM_WORDS = WARPRSA_BLINDING_SAMPLES + 1,
    WARPRSA_WINDOW = 4, /* bits of an exponent's digit */
};

/* The shape of a size class: a prime has `limbs` samples, spread over
 * threads_per_number lanes of limbs_per_thread samples each (CGBN calls the
 * number of lanes TPI). A request takes 2 * threads_per_number lanes: the lower
 * ones for p, the upper ones for q, all of them for n. */
typedef struct warprsa_shape {
    int limbs, threads_per_number, limbs_per_thread;
} warprsa_shape;

/* clang-format off */
#define WARPRSA_SHAPE_1024 {10, 2, 5}
#define WARPRSA_SHAPE_2048 {20, 4, 5}
#define WARPRSA_SHAPE_3072 {30, 8, 4}
#define WARPRSA_SHAPE_4096 {40, 8, 5}
#define WARPRSA_SHAPE_6144 {60, 16, 4}
#define WARPRSA_SHAPE_8192 {80, 16, 5}

/*
 * The same for block arithmetic (gpu/arith/block_mont_mul.h), where a product
 * is made of blocks of BLOCK_OF(limbs) rows: one block for RSA-1024, two for
 * RSA-2048 and RSA-3072. RSA-4096 has seven blocks of six rows that share their
 * machine code, since code of its own for each block would exceed the
 * instruction cache of an SM. Seven blocks want two rows more than there are
 * samples; these BLOCK_ZEROS(limbs) rows are of zeros.
 */
#define WARPRSA_BLOCK_SHAPE_1024 {10, 16, 2}
#define WARPRSA_BLOCK_SHAPE_2048 {20, 16, 2}
#define WARPRSA_BLOCK_SHAPE_3072 {30, 16, 3}
#define WARPRSA_BLOCK_SHAPE_4096 {40, 16, 3}
#define WARPRSA_BLOCK_OF(limbs)                                                \
    ((limbs) == 40 ? 6 : (limbs) > 10 ? (limbs) / 2 : (limbs))
#define WARPRSA_BLOCK_ZEROS(limbs) ((limbs) == 40 ? 2 : 0)
/* clang-format on */

/* One prime. R = 2^(52 limbs) and B = WARPRSA_BLOCK_OF(limbs). */
typedef struct warprsa_prepared_half {
    double modulus[WARPRSA_HALF_SAMPLES];
    double inv_2_52[WARPRSA_HALF_SAMPLES]; /* 2^-52 mod p */
    double r2[WARPRSA_HALF_SAMPLES];       /* R^2 mod p */
    double r3[WARPRSA_HALF_SAMPLES];       /* R^3 mod p */
    double n0inv;                          /* -1/p mod 2^52 */
#ifndef WARPRSA_LARGE
    double block_inv_2_52[WARPRSA_HALF_SAMPLES]; /* 2^(-52 B) mod p */
    double block_n0inv[WARPRSA_BLOCK_SAMPLES];   /* -1/p mod 2^(52 B) */
#endif
    uint32_t exponent[WARPRSA_EXPONENT_WORDS];  /* dp, low word first */
    uint32_t p_minus_1[WARPRSA_EXPONENT_WORDS]; /* p - 1, likewise */
    uint32_t bits;                              /* of the prime */
} warprsa_prepared_half;

/* A whole key. SECRET. Low sample and low word first; unused ones are zero. */
typedef struct warprsa_prepared_key {
    warprsa_prepared_half half[2];         /* p, q */
    double qinv_r[WARPRSA_HALF_SAMPLES];   /* (1/q mod p) R mod p */
    double modulus[WARPRSA_FULL_SAMPLES];  /* n; here R = 2^(104 limbs) */
    double inv_2_52[WARPRSA_FULL_SAMPLES]; /* 2^-52 mod n */
    double r2[WARPRSA_FULL_SAMPLES];       /* R^2 mod n */
    double q_r[WARPRSA_FULL_SAMPLES];      /* q R mod n */
    double n0inv;                          /* -1/n mod 2^52 */
    uint64_t e;
    uint32_t modulus_bytes;
    uint32_t size; /* warprsa_size_class */
    /* Digits of a blinded exponent; known from lengths that are public. */
    uint32_t windows;
} warprsa_prepared_key;

/* The shape of a class. */
warprsa_shape warprsa_shape_of(warprsa_size_class size);

/*
 * Fills `out` from `key`. Returns WARPRSA_OK, WARPRSA_NO_MEMORY, or
 * WARPRSA_UNSUPPORTED_KEY for a key of another form or of no class
 * (warprsa_key_class()), and for numbers that are no key: dp or dq longer than
 * the class holds, n not p q, or qinv not the inverse of q below p. The last
 * two are needed because results are checked modulo p and q (doc/arithmetic.md
 * has the proof). `out` is wiped on failure; on success the caller owns it and
 * wipes it. Any thread.
 */
warprsa_status warprsa_prepare_key(warprsa_prepared_key *out,
                                   const warprsa_private_key *key);

/*
 * Sets the numbers of a key that its results are checked with: n, 2^-52 mod n
 * and R^2 mod n, one after the other, of `samples` samples each, R being
 * 2^(52 samples); and -1/n mod 2^52. n is odd and below R, and there are
 * WARPRSA_FULL_SAMPLES samples at most. WARPRSA_OK or WARPRSA_NO_MEMORY. Any
 * thread.
 */
warprsa_status warprsa_prepare_modulus(const warprsa_private_key *key,
                                       int samples, double *numbers,
                                       double *n0inv);

#ifdef __cplusplus
}
#endif
#endif
