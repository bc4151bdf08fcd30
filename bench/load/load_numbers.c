/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Unit tests of the load generator: percentiles and arrivals.
 */
#include "tests/unit/support/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "bench/load/arrivals.h"
#include "bench/load/histogram.h"

static load_histogram *new_histogram(void)
{
    load_histogram *histogram = calloc(1, sizeof(*histogram));

    assert_non_null(histogram);
    return histogram;
}

static void assert_about(uint64_t found, uint64_t right)
{
    assert_true(found >= right);
    assert_true((double)found <= (double)right * (1 + 1.0 / 64));
}

static void quantiles(void **state)
{
    load_histogram *histogram = new_histogram();

    assert_int_equal(load_histogram_quantile(histogram, 0.5), 0);
    for (uint64_t i = 1; i <= 1000000; i++)
        load_histogram_add(histogram, i);
    assert_int_equal(histogram->count, 1000000);
    assert_int_equal(histogram->sum, UINT64_C(500000500000));
    assert_about(load_histogram_quantile(histogram, 0.5), 500000);
    assert_about(load_histogram_quantile(histogram, 0.99), 990000);
    assert_about(load_histogram_quantile(histogram, 0.999), 999000);
    assert_int_equal(load_histogram_quantile(histogram, 1), 1000000);
    free(histogram);
}

/* Every value falls into a bin of its own size, up to the largest. */
static void any_value(void **state)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        for (int offset = -1; offset <= 1; offset++) {
            uint64_t value = (UINT64_C(1) << bit) + (uint64_t)(int64_t)offset;
            load_histogram *histogram = new_histogram();

            load_histogram_add(histogram, value);
            load_histogram_add(histogram, UINT64_MAX);
            assert_about(load_histogram_quantile(histogram, 0.5), value);
            assert_int_equal(load_histogram_quantile(histogram, 1), UINT64_MAX);
            free(histogram);
        }
    }
}

static void merged(void **state)
{
    load_histogram *one = new_histogram(), *two = new_histogram();

    for (uint64_t i = 0; i < 100; i++)
        load_histogram_add(i < 50 ? one : two, i < 50 ? 10 : 1000);
    load_histogram_merge(one, two);
    assert_int_equal(one->count, 100);
    assert_int_equal(one->most, 1000);
    assert_int_equal(load_histogram_quantile(one, 0.5), 10);
    assert_about(load_histogram_quantile(one, 0.51), 1000);
    free(one);
    free(two);
}

/* What was added between two looks, and nothing that was there before. */
static void since(void **state)
{
    load_histogram *all = new_histogram(), *before = new_histogram();
    load_histogram *now = new_histogram();

    for (unsigned i = 0; i < 100; i++)
        load_histogram_add(all, 1000000);
    load_histogram_merge(now, all);
    load_histogram_since(now, before);
    assert_int_equal(now->count, 100);
    assert_int_equal(now->most, 1000000);
    for (unsigned i = 0; i < 10; i++)
        load_histogram_add(all, 10 + i);
    for (unsigned look = 0; look < 2; look++) {
        memset(now, 0, sizeof(*now));
        load_histogram_merge(now, all);
        load_histogram_since(now, before);
        assert_int_equal(now->count, look == 0 ? 10 : 0);
        assert_int_equal(now->sum, look == 0 ? 145 : 0);
        assert_int_equal(now->most, look == 0 ? 19 : 0);
        assert_int_equal(load_histogram_quantile(now, 0.5), look == 0 ? 14 : 0);
        assert_int_equal(before->count, 110);
    }
    free(all);
    free(before);
    free(now);
}

/* Counts the arrivals of all threads until `end_ns`. */
static unsigned arrivals_until(double rate, bool even, unsigned threads,
                               uint64_t start_ns, uint64_t end_ns)
{
    unsigned count = 0;

    for (unsigned i = 0; i < threads; i++) {
        load_arrivals arrivals;
        uint64_t before = start_ns;

        load_arrivals_start(&arrivals, rate, even, i, threads, i, start_ns);
        while (load_arrivals_next(&arrivals, 0) < end_ns) {
            assert_true(load_arrivals_next(&arrivals, 0) >= before);
            before = load_arrivals_next(&arrivals, 0);
            load_arrivals_advance(&arrivals);
            count++;
        }
    }
    return count;
}

static void open_loop(void **state)
{
    const uint64_t start = UINT64_C(123456789012345);
    const uint64_t second = UINT64_C(1000000000);

    assert_int_equal(arrivals_until(1000, true, 1, start, start + second),
                     1000);
    assert_int_equal(arrivals_until(1000, true, 8, start, start + second),
                     1000);
    /* The standard deviation of a Poisson distribution with a mean of a million
     * is 1,000. */
    assert_in_range(arrivals_until(1e6, false, 7, start, start + second),
                    990000, 1010000);
}

/* The gaps are those of the seed, whenever the measurement starts. */
static void seeded(void **state)
{
    load_arrivals one, same, other;
    unsigned equal = 0;

    load_arrivals_start(&one, 1000, false, 0, 2, 7, 1000000);
    load_arrivals_start(&same, 1000, false, 0, 2, 7, 5000000);
    load_arrivals_start(&other, 1000, false, 0, 2, 8, 1000000);
    for (int i = 0; i < 1000; i++) {
        uint64_t due_ns = load_arrivals_next(&one, 0);

        assert_in_range(load_arrivals_next(&same, 0), due_ns + 3999999,
                        due_ns + 4000001);
        equal += load_arrivals_next(&other, 0) == due_ns;
        load_arrivals_advance(&one);
        load_arrivals_advance(&same);
        load_arrivals_advance(&other);
    }
    assert_int_equal(equal, 0);
}

static void closed_loop(void **state)
{
    load_arrivals arrivals;

    load_arrivals_start(&arrivals, 0, false, 0, 1, 0, 5);
    assert_int_equal(load_arrivals_next(&arrivals, 77), 77);
    load_arrivals_advance(&arrivals);
    assert_int_equal(load_arrivals_next(&arrivals, 78), 78);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles), cmocka_unit_test(any_value),
        cmocka_unit_test(merged),    cmocka_unit_test(open_loop),
        cmocka_unit_test(seeded),    cmocka_unit_test(closed_loop),
        cmocka_unit_test(since),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
