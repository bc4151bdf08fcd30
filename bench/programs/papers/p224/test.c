/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The host build of the point multiplication, against libcrypto.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/programs/papers/p224/points.h"

enum {
    SCALARS = 60,
    PRODUCTS = 2000,
};

/* Products of random numbers, and of those near 0 and p. */
static void check_products(const p224_curve *c)
{
    const BIGNUM *p = EC_GROUP_get0_field(c->group);
    BIGNUM *x[2] = {BN_new(), BN_new()};

    for (int i = 0; i < PRODUCTS; i++) {
        p224_number n[2], wanted;

        for (int j = 0; j < 2; j++) {
            if (!BN_rand_range(x[j], p) ||
                (i % 3 == 0 && !BN_set_word(x[j], (BN_ULONG)(i / 3 % 5))) ||
                (i % 3 == 1 && (BN_copy(x[j], p) == NULL ||
                                !BN_sub_word(x[j], (BN_ULONG)(i % 4 + 1)))))
                papers_fail("no numbers");
            papers_words(n[j].w, P224_WORDS, x[j]);
        }
        if (!BN_mod_mul(x[0], x[0], x[1], p, c->ctx))
            papers_fail("no product");
        papers_words(wanted.w, P224_WORDS, x[0]);
        n[0] = p224_mul(n[0], n[1]);
        for (int j = 0; j < P224_WORDS; j++)
            if (n[0].w[j] != wanted.w[j])
                papers_fail("p224: a product is wrong");
    }
    BN_free(x[0]);
    BN_free(x[1]);
}

int main(void)
{
    p224_curve c;

    p224_curve_new(&c);
    check_products(&c);
    for (size_t i = 0; i < SCALARS; i++) {
        uint32_t k[P224_WORDS];
        p224_point point;

        p224_scalar(&c, k, i);
        point = p224_multiply(k, c.x, c.y);
        if (!p224_is(&c, k, &point))
            papers_fail("p224: a point is wrong");
        point.x.w[3] ^= 1;
        if (p224_is(&c, k, &point))
            papers_fail("the check does not see a wrong point");
    }
    printf("p224: %d products and %d points are right\n", PRODUCTS, SCALARS);
    p224_curve_free(&c);
    return EXIT_SUCCESS;
}
