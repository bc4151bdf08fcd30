/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Unit tests of the choice among keys: the alias table and what is drawn from
 * it, against the exact probabilities of Zipf's law.
 */
#include "tests/unit/support/unit_test.h"

#include <math.h>
#include <stdlib.h>

#include "bench/load/distribution.h"

enum {
    DRAWS = 2000000,
    EXPECTED_LEAST = 20, /* in a cell of the chi-squared test */
};

static const double exponents[] = {0.01, 0.5, 1, 1.3, 2, 10};
static const unsigned counts[] = {1, 2, 3, 10, 1000, 100000};

#define EACH(i, array)                                                         \
    size_t i = 0;                                                              \
    i < sizeof(array) / sizeof((array)[0]);                                    \
    i++

static double *new_probabilities(unsigned count, double exponent)
{
    double *p = calloc(count, sizeof(*p)), sum = 0;

    assert_non_null(p);
    for (unsigned i = count; i-- > 0;)
        sum += p[i] = pow((double)i + 1, -exponent);
    for (unsigned i = 0; i < count; i++)
        p[i] /= sum;
    return p;
}

/* What the table gives each rank, added up exactly, is its probability. A cell
 * is right to 2^-32, and one rank may be the alias of all others. */
TEST(table_holds_zipfs_law)
{
    for (EACH(c, counts)) {
        for (EACH(e, exponents)) {
            load_distribution d;
            double *right = new_probabilities(counts[c], exponents[e]);
            double *found = calloc(counts[c], sizeof(*found));

            assert_non_null(found);
            assert_true(load_distribution_init(&d, counts[c], exponents[e]));
            for (unsigned i = 0; i < counts[c]; i++) {
                assert_true(d.aliases[i].alias < counts[c]);
                found[i] += d.aliases[i].stays * 0x1p-32 / counts[c];
                found[d.aliases[i].alias] +=
                    (1 - d.aliases[i].stays * 0x1p-32) / counts[c];
            }
            for (unsigned i = 0; i < counts[c]; i++)
                assert_true(fabs(found[i] - right[i]) < 1e-9);
            load_distribution_clear(&d);
            free(found);
            free(right);
        }
    }
}

/* Draws, and returns the number of standard deviations by which chi-squared of
 * what was drawn exceeds its mean, if the ranks had the probabilities `p`.
 * Neighbours share a cell until it should hold EXPECTED_LEAST. */
static double excess(const load_distribution *d, const double *p, uint64_t seed)
{
    load_random random = {seed};
    unsigned *drawn = calloc(d->count, sizeof(*drawn));
    double squares = 0, expected = 0, found = 0;
    unsigned cells = 0;

    assert_non_null(drawn);
    for (unsigned i = 0; i < DRAWS; i++) {
        unsigned rank = load_distribution_choose(d, &random);

        assert_true(rank < d->count);
        drawn[rank]++;
    }
    for (unsigned i = 0; i < d->count; i++) {
        expected += p[i] * DRAWS;
        found += drawn[i];
        if (expected >= EXPECTED_LEAST) {
            squares += (found - expected) * (found - expected) / expected;
            expected = found = 0;
            cells++;
        }
    }
    free(drawn);
    assert_true(cells > 1);
    return (squares - (cells - 1)) / sqrt(2.0 * (cells - 1));
}

/* The seeds are fixed, so a draw that passes once passes always. The control: a
 * law that is a little steeper, and keys that are all alike, are found. */
TEST(draws_follow_zipfs_law)
{
    const unsigned most[] = {10, 1000, 100000};
    const double steep[] = {0.5, 1, 1.3};

    for (EACH(c, most)) {
        for (EACH(e, steep)) {
            double *right = new_probabilities(most[c], steep[e]);
            double *steeper = new_probabilities(most[c], steep[e] + 0.05);
            load_distribution d;

            assert_true(load_distribution_init(&d, most[c], steep[e]));
            for (uint64_t seed = 1; seed <= 3; seed++)
                assert_true(excess(&d, right, seed << 32) < 4);
            assert_true(excess(&d, steeper, 0) > 50);
            load_distribution_clear(&d);
            assert_true(load_distribution_init(&d, most[c], 0));
            assert_true(excess(&d, right, 0) > 50);
            load_distribution_clear(&d);
            free(steeper);
            free(right);
        }
    }
}

TEST(uniform_uses_all_keys_alike)
{
    double *right = new_probabilities(1000, 0);
    load_distribution d;

    assert_true(load_distribution_init(&d, 1000, 0));
    assert_null(d.aliases);
    assert_true(excess(&d, right, 1) < 4);
    load_distribution_clear(&d);
    free(right);
}

/* The same seed draws the same ranks, another seed other ones. */
TEST(seed_decides)
{
    load_random one = {7}, same = {7}, other = {8};
    unsigned equal = 0;
    load_distribution d;

    assert_true(load_distribution_init(&d, 1000, 1));
    for (unsigned i = 0; i < 1000; i++) {
        unsigned rank = load_distribution_choose(&d, &one);

        assert_int_equal(rank, load_distribution_choose(&d, &same));
        equal += rank == load_distribution_choose(&d, &other);
    }
    assert_true(equal < 500);
    load_distribution_clear(&d);
}

RUN_TESTS(NULL, NULL)
