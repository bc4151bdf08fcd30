/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of the alias method, and drawing from it.
 */
#include "bench/load/distribution.h"

#include <math.h>
#include <stdlib.h>

/* Sets `share` to the probability of each rank times `count`: 1 is the mean. */
static void zipf(double *share, unsigned count, double exponent)
{
    double sum = 0;

    /* From the least on, so that the sum loses no small terms. */
    for (unsigned i = count; i-- > 0;) {
        share[i] = pow((double)i + 1, -exponent);
        sum += share[i];
    }
    for (unsigned i = 0; i < count; i++)
        share[i] *= (double)count / sum;
}

/*
 * Fills each rank that has less than the mean up to the mean, with probability
 * of one that has more. Such a rank is then settled, so the loop ends after
 * count - 1 steps at most. `order` has the ranks with less at its front and
 * those with more at its back. Rounding may leave some over at the end: their
 * share is the mean, and they stay.
 */
static void fill(load_alias *aliases, double *share, unsigned *order,
                 unsigned count)
{
    unsigned less = 0, more = count;

    for (unsigned i = 0; i < count; i++) {
        aliases[i] = (load_alias){UINT32_MAX, i};
        order[share[i] < 1 ? less++ : --more] = i;
    }
    while (less > 0 && more < count) {
        unsigned small = order[--less], large = order[more];

        aliases[small] = (load_alias){(uint32_t)(share[small] * 0x1p32), large};
        share[large] -= 1 - share[small];
        if (share[large] < 1) {
            more++;
            order[less++] = large;
        }
    }
}

bool load_distribution_init(load_distribution *distribution, unsigned count,
                            double exponent)
{
    double *share = NULL;
    unsigned *order = NULL;

    *distribution = (load_distribution){.count = count};
    if (exponent == 0)
        return true;
    share = calloc(count, sizeof(*share));
    order = calloc(count, sizeof(*order));
    distribution->aliases = calloc(count, sizeof(*distribution->aliases));
    if (share != NULL && order != NULL && distribution->aliases != NULL) {
        zipf(share, count, exponent);
        fill(distribution->aliases, share, order, count);
    } else {
        load_distribution_clear(distribution);
    }
    free(share);
    free(order);
    return distribution->aliases != NULL;
}

void load_distribution_clear(load_distribution *distribution)
{
    free(distribution->aliases);
    distribution->aliases = NULL;
}

unsigned load_distribution_choose(const load_distribution *distribution,
                                  load_random *random)
{
    unsigned rank = load_random_below(random, distribution->count);
    const load_alias *alias = NULL;

    if (distribution->aliases == NULL)
        return rank;
    alias = &distribution->aliases[rank];
    return load_random_next(random) >> 32 < alias->stays ? rank : alias->alias;
}
