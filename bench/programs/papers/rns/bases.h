/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The two bases of residue number systems and a modulus's constants, and
 * numbers into and out of them, with libcrypto. The paper leaves all of that to
 * the host, too. One thread; errors end the program.
 */
#ifndef WARPRSA_PAPERS_RNS_BASES_H
#define WARPRSA_PAPERS_RNS_BASES_H

#include "bench/programs/papers/common/number.h"
#include "bench/programs/papers/rns/rns.h"

/* A pair of base extensions, and the longest modulus that it takes (the
 * paper's table 6). */
typedef struct rns_pair {
    const char *name;
    rns_extension first, second;
    size_t bits;
} rns_pair;

enum {
    RNS_PAIRS = 4, /* of the paper's table 2 */
};

extern const rns_pair rns_pairs[RNS_PAIRS];

/* Constants for the modulus and the exponent of m, which has at most
 * pair->bits. */
void rns_key_new(rns_key *key, const papers_modexp *m, const rns_pair *pair);

/* to[0..31], to[32..63] <- x A mod M modulo a_i and b_i. */
void rns_enter(uint32_t *to, const uint32_t *x, const papers_modexp *m,
               const rns_key *key);

/* to <- x / A mod M, of m->words words, from residues modulo a_i. */
void rns_leave(uint32_t *to, const uint32_t *residues, const papers_modexp *m,
               const rns_key *key);

#endif
