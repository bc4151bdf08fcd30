/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The host build of the residue number systems, against libcrypto: each pair
 * of base extensions, at the longest modulus that it takes.
 */
#include "bench/programs/papers/common/edges.h"
#include "bench/programs/papers/rns/bases.h"

static const rns_pair *pair;

static void modexp(const papers_modexp *m, const uint32_t *base,
                   uint32_t *result)
{
    static rns_key key;
    uint32_t residues[2 * RNS_LANES];
    static rns_shared shared;
    rns_number x;

    rns_key_new(&key, m, pair);
    rns_enter(residues, base, m, &key);
    for (int i = 0; i < RNS_LANES; i++) {
        x.a[i] = residues[i];
        x.b[i] = residues[RNS_LANES + i];
    }
    rns_modexp(&x, &shared, &key, pair->first, pair->second);
    rns_leave(result, x.a, m, &key);
}

/* Mixed radices want 4 M < A. That allows 1022 bits, as the paper says, but not
 * the very largest such numbers: the moduli of A are a little below 2^32. */
int main(void)
{
    for (int i = 0; i < RNS_PAIRS; i++) {
        pair = &rns_pairs[i];
        papers_check_edges(pair->name, pair->bits == 1022 ? 1021 : pair->bits,
                           65537, modexp);
        papers_check_edges(pair->name, 128, 0, modexp);
        papers_check_edges(pair->name, 128, 1, modexp);
    }
    return EXIT_SUCCESS;
}
