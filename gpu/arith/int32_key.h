/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A private key prepared for the arithmetic of gpu/arith/int32_limb.h: limbs of
 * 32 bits. The counterpart of gpu/arith/prepared_key.h, with the same names for
 * the same constants.
 */
#ifndef WARPRSA_GPU_ARITH_INT32_KEY_H
#define WARPRSA_GPU_ARITH_INT32_KEY_H

#include <stdbool.h>

#include "gpu/arith/prepared_key.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WARPRSA_INT32_HALF_LIMBS = 65, /* of a prime of the largest class */
    WARPRSA_INT32_FULL_LIMBS = 130,
};

/* How limbs are spread over lanes: over more lanes where few requests are to
 * finish early, over fewer lanes where many requests keep the device busy
 * anyway. The size classes are those of prepared_key.h, with at least five bits
 * to spare in each. */
/* clang-format off */
#define WARPRSA_INT32_SHAPE_FEW_1024 {17, 2, 9}
#define WARPRSA_INT32_SHAPE_FEW_2048 {33, 4, 9}
#define WARPRSA_INT32_SHAPE_FEW_3072 {49, 8, 7}
#define WARPRSA_INT32_SHAPE_FEW_4096 {65, 8, 9}
#define WARPRSA_INT32_SHAPE_MANY_1024 {17, 1, 17}
#define WARPRSA_INT32_SHAPE_MANY_2048 {33, 1, 33}
#define WARPRSA_INT32_SHAPE_MANY_3072 {49, 2, 25}
#define WARPRSA_INT32_SHAPE_MANY_4096 {65, 4, 17}
/* clang-format on */

/* One prime; R = 2^(32 limbs). */
typedef struct warprsa_int32_half {
    uint32_t modulus[WARPRSA_INT32_HALF_LIMBS];
    uint32_t r2[WARPRSA_INT32_HALF_LIMBS];      /* R^2 mod p */
    uint32_t r3[WARPRSA_INT32_HALF_LIMBS];      /* R^3 mod p */
    uint32_t n0inv;                             /* -1/p mod 2^32 */
    uint32_t exponent[WARPRSA_EXPONENT_WORDS];  /* dp */
    uint32_t p_minus_1[WARPRSA_EXPONENT_WORDS]; /* p - 1 */
    uint32_t bits;                              /* of the prime */
} warprsa_int32_half;

/* A whole key. SECRET. Low limb first; unused limbs are zero. */
typedef struct warprsa_int32_key {
    warprsa_int32_half half[2];                 /* p, q */
    uint32_t qinv_r[WARPRSA_INT32_HALF_LIMBS];  /* (1/q mod p) R mod p */
    uint32_t modulus[WARPRSA_INT32_FULL_LIMBS]; /* n; here R = 2^(64 limbs) */
    uint32_t r2[WARPRSA_INT32_FULL_LIMBS];      /* R^2 mod n */
    uint32_t q_r[WARPRSA_INT32_FULL_LIMBS];     /* q R mod n */
    uint32_t n0inv;                             /* -1/n mod 2^32 */
    uint64_t e;
    uint32_t modulus_bytes;
    uint32_t size; /* warprsa_size_class */
    /* Digits of a blinded exponent; known from lengths that are public. */
    uint32_t windows;
} warprsa_int32_key;

/* The shape of a size class for few requests, or for many; `limbs` is the same
 * in both. */
warprsa_shape warprsa_int32_shape_of(warprsa_size_class size, bool many);

/* Fills `out` from `key`, of a class that is not large. Returns what
 * warprsa_prepare_key() does. `out` is wiped on failure; on success the caller
 * owns it and wipes it. Any thread. */
warprsa_status warprsa_prepare_int32_key(warprsa_int32_key *out,
                                         const warprsa_private_key *key);

#ifdef __cplusplus
}
#endif
#endif
