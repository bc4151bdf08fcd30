/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the host tests of the papers' systems share: moduli and bases at the
 * edges beside random ones, each checked against libcrypto.
 */
#ifndef WARPRSA_PAPERS_EDGES_H
#define WARPRSA_PAPERS_EDGES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/programs/papers/common/number.h"

enum {
    PAPERS_EDGES = 6, /* moduli */
    PAPERS_EDGE_BASES = 5,
};

/* Modulus number i of `bits` bits, odd, with its top bit set: all ones, the
 * least, one with a long run of zeros, one with a long run of ones, random. */
static inline void papers_edge_modulus(BIGNUM *n, size_t bits, int i)
{
    bool made =
        BN_set_word(n, 0) && BN_set_bit(n, (int)bits - 1) && BN_set_bit(n, 0);

    switch (i) {
    case 0:
        made = BN_lshift(n, BN_value_one(), (int)bits) && BN_sub_word(n, 1);
        break;
    case 1:
        break;
    case 2:
        made = made && BN_set_bit(n, (int)bits / 2);
        break;
    case 3:
        for (int bit = 33; bit < (int)bits - 1; bit++)
            made = made && BN_set_bit(n, bit);
        break;
    default:
        made = BN_rand(n, (int)bits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ODD);
    }
    if (!made)
        papers_fail("no modulus");
}

/* Base number i: 0, 1, n - 1, and random ones. */
static inline void papers_edge_base(const papers_modexp *m, uint32_t *to, int i)
{
    papers_bases(m, to, 1);
    if (i < 3)
        memset(to, 0, m->words * sizeof(*to));
    if (i == 1)
        to[0] = 1;
    if (i == 2) {
        memcpy(to, m->modulus, m->words * sizeof(*to));
        to[0]--;
    }
}

/* A system's exponentiation on the host: result = base^e mod n. */
typedef void papers_host_modexp(const papers_modexp *m, const uint32_t *base,
                                uint32_t *result);

/* Checks it for all edges of a size with the exponent given (0: random ones as
 * long as the modulus). Returns how many results were compared; a wrong one
 * ends the program, and so does a comparison that cannot tell a wrong one. */
static inline int papers_check_edges(const char *name, size_t bits,
                                     unsigned long exponent,
                                     papers_host_modexp *modexp)
{
    int checked = 0;
    BIGNUM *n = BN_new();

    for (int i = 0; i < PAPERS_EDGES; i++) {
        papers_modexp m;

        papers_edge_modulus(n, bits, i);
        papers_modexp_of(&m, n, exponent);
        for (int j = 0; j < PAPERS_EDGE_BASES; j++, checked++) {
            uint32_t base[PAPERS_WORDS_MAX], result[PAPERS_WORDS_MAX];

            papers_edge_base(&m, base, j);
            modexp(&m, base, result);
            if (!papers_modexp_is(&m, base, result)) {
                fprintf(stderr, "%s: wrong: %zu bits, modulus %d, base %d\n",
                        name, bits, i, j);
                exit(EXIT_FAILURE);
            }
            result[m.words / 2] ^= 1;
            if (papers_modexp_is(&m, base, result))
                papers_fail("the check does not see a wrong result");
        }
        papers_modexp_free(&m);
    }
    BN_free(n);
    printf("%s: %zu bits, exponent %lu: %d results are right\n", name, bits,
           exponent, checked);
    return checked;
}

#endif
