/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How often each key of a group is used: all alike, or by Zipf's law, by which
 * the key of rank r (1, 2, ...) is used in proportion to r^-s. Measured
 * popularities of web sites have an s of about 1.
 */
#ifndef WARPRSA_LOAD_DISTRIBUTION_H
#define WARPRSA_LOAD_DISTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/load/random.h"

/* Half of what the alias method knows of one rank: a draw that falls on it
 * stays there if its fraction is less than `stays` / 2^32, and goes to `alias`
 * otherwise. */
typedef struct load_alias {
    uint32_t stays, alias;
} load_alias;

typedef struct load_distribution {
    unsigned count;
    load_alias *aliases; /* one for each rank; NULL: all alike */
} load_distribution;

/*
 * Sets up the ranks 0 .. count - 1, where rank 0 is the most frequent one;
 * exponent 0: all alike. count > 0. False: no memory. The table of the alias
 * method is made as in M. D. Vose, "A linear algorithm for generating random
 * numbers with a given distribution", IEEE Transactions on Software Engineering
 * 17(9), 1991.
 */
bool load_distribution_init(load_distribution *distribution, unsigned count,
                            double exponent);
void load_distribution_clear(load_distribution *distribution);

/* A rank. The same state of `random` gives the same rank. Any thread, with a
 * `random` of its own. */
unsigned load_distribution_choose(const load_distribution *distribution,
                                  load_random *random);

#endif
