/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The curve P-224 by libcrypto: its generator, scalars, and its answers. One
 * thread; errors end the program.
 */
#ifndef WARPRSA_PAPERS_P224_POINTS_H
#define WARPRSA_PAPERS_P224_POINTS_H

#include <openssl/ec.h>

#include "bench/programs/papers/common/number.h"
#include "bench/programs/papers/p224/p224.h"

typedef struct p224_curve {
    EC_GROUP *group;
    BN_CTX *ctx;
    p224_number x, y; /* of the generator */
} p224_curve;

void p224_curve_new(p224_curve *c);
void p224_curve_free(p224_curve *c);

/* Scalar number i: 1, 2, 3, the order less 1 and 2, and random ones. */
void p224_scalar(const p224_curve *c, uint32_t *k, size_t i);

/* Whether the point is k times the generator. */
bool p224_is(const p224_curve *c, const uint32_t *k, const p224_point *point);

#endif
