/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The curve P-224 by libcrypto.
 */
#include "bench/programs/papers/p224/points.h"

#include <openssl/obj_mac.h>

static void want(int done)
{
    if (!done)
        papers_fail("no curve");
}

void p224_curve_new(p224_curve *c)
{
    BIGNUM *x = BN_new(), *y = BN_new();

    c->group = EC_GROUP_new_by_curve_name(NID_secp224r1);
    c->ctx = BN_CTX_new();
    want(c->group != NULL && c->ctx != NULL && x != NULL && y != NULL &&
         EC_POINT_get_affine_coordinates(
             c->group, EC_GROUP_get0_generator(c->group), x, y, c->ctx));
    papers_words(c->x.w, P224_WORDS, x);
    papers_words(c->y.w, P224_WORDS, y);
    BN_free(x);
    BN_free(y);
}

void p224_curve_free(p224_curve *c)
{
    EC_GROUP_free(c->group);
    BN_CTX_free(c->ctx);
}

void p224_scalar(const p224_curve *c, uint32_t *k, size_t i)
{
    const BIGNUM *order = EC_GROUP_get0_order(c->group);
    BIGNUM *x = BN_new();

    want(x != NULL);
    if (i < 3)
        want(BN_set_word(x, i + 1));
    else if (i < 5)
        want(BN_copy(x, order) != NULL && BN_sub_word(x, i - 2));
    else
        do
            want(BN_rand_range(x, order));
        while (BN_is_zero(x));
    papers_words(k, P224_WORDS, x);
    BN_free(x);
}

/* Jacobian coordinates to libcrypto's point. */
static EC_POINT *point_of(const p224_curve *c, const p224_point *point)
{
    const BIGNUM *p = EC_GROUP_get0_field(c->group);
    EC_POINT *to = EC_POINT_new(c->group);
    BIGNUM *x = BN_new(), *y = BN_new(), *z = BN_new(), *zz = BN_new();

    want(to != NULL && x != NULL && y != NULL && z != NULL && zz != NULL);
    papers_number(x, point->x.w, P224_WORDS);
    papers_number(y, point->y.w, P224_WORDS);
    papers_number(z, point->z.w, P224_WORDS);
    if (BN_cmp(x, p) >= 0 || BN_cmp(y, p) >= 0 || BN_cmp(z, p) >= 0 ||
        BN_mod_inverse(z, z, p, c->ctx) == NULL)
        want(EC_POINT_set_to_infinity(c->group, to));
    else
        want(BN_mod_sqr(zz, z, p, c->ctx) && BN_mod_mul(x, x, zz, p, c->ctx) &&
             BN_mod_mul(zz, zz, z, p, c->ctx) &&
             BN_mod_mul(y, y, zz, p, c->ctx));
    /* A point that is not on the curve is refused, and so stays another. */
    if (!EC_POINT_set_affine_coordinates(c->group, to, x, y, c->ctx))
        want(EC_POINT_set_to_infinity(c->group, to));
    BN_free(x);
    BN_free(y);
    BN_free(z);
    BN_free(zz);
    return to;
}

bool p224_is(const p224_curve *c, const uint32_t *k, const p224_point *point)
{
    EC_POINT *seen = point_of(c, point), *wanted = EC_POINT_new(c->group);
    BIGNUM *x = BN_new();
    bool same;

    want(x != NULL && wanted != NULL);
    papers_number(x, k, P224_WORDS);
    want(EC_POINT_mul(c->group, wanted, x, NULL, NULL, c->ctx));
    same = EC_POINT_cmp(c->group, seen, wanted, c->ctx) == 0;
    BN_free(x);
    EC_POINT_free(seen);
    EC_POINT_free(wanted);
    return same;
}
