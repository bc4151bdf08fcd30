/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which kernel a batch gets. The predicted time goes through the measured
 * points, and the kernel is chosen by it. No device is asked.
 */
#include "tests/unit/support/unit_test.h"

#include <math.h>
#include <stdio.h>

#include "gpu/select/selection.h"

static const warprsa_kernel any = {.name = "any"}, few = {.name = "few"},
                            many = {.name = "many"}, other = {.name = "other"};

static const warprsa_kernel_timing timing = {
    WARPRSA_CLASS_2048, &any, 1000, 2000, 3000, 7000};

static void at(const warprsa_kernel_timing *p, size_t count, double ms)
{
    const double predicted = warprsa_predict_ms(p, count);

    if (predicted < ms - 1e-6 || predicted > ms + 1e-6)
        fail_msg("%zu: %f ms, not %f", count, predicted, ms);
}

TEST(times_go_through_the_points)
{
    warprsa_kernel_timing changed = timing;

    at(&timing, 1, 2);
    at(&timing, 500, 3);
    at(&timing, 1000, 7);
    at(&timing, 2000, 14);
    at(&timing, 2500, 17);
    at(&timing, 250, 2);
    at(&timing, 400, 2.2);
    at(&timing, 750, 5);
    at(&timing, 3750, 26);
    changed.wave_us = 3500; /* the extended line is above both points */
    at(&changed, 250, 2.5);
    changed = timing;
    changed.kernel = &warprsa_kernel_fold;
    at(&changed, 1, 2);
    at(&changed, 250, 2);
    at(&changed, 375, 2.5);
    at(&changed, 500, 3);
    at(&changed, 501, 7);
    at(&changed, 1000, 7);
}

TEST(more_operations_of_a_wave_never_take_less)
{
    for (size_t count = 1; count < 1000; count++)
        assert_true(warprsa_predict_ms(&timing, count) <=
                    warprsa_predict_ms(&timing, count + 1) + 1e-9);
}

/* The kernel with one thread for each half needs the whole device. A batch that
 * is just larger than its wave has to wait for a second wave. */
TEST(choices)
{
    static const struct {
        warprsa_size_class size;
        size_t count;
        const warprsa_kernel *kernel;
    } wanted[] = {
        {WARPRSA_CLASS_2048, 1, &few},      {WARPRSA_CLASS_2048, 100, &few},
        {WARPRSA_CLASS_2048, 300, &many},   {WARPRSA_CLASS_2048, 400, &many},
        {WARPRSA_CLASS_2048, 401, &few},    {WARPRSA_CLASS_2048, 800, &many},
        {WARPRSA_CLASS_4096, 100000, &few},
    };
    const warprsa_kernel_timings timings = {
        3,
        {{WARPRSA_CLASS_2048, &few, 100, 1, 2, 4},
         {WARPRSA_CLASS_2048, &many, 400, 8, 8, 10},
         {WARPRSA_CLASS_4096, &few, 100, 5, 6, 7}}};

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        const warprsa_kernel *chosen =
            warprsa_fastest_kernel(&timings, wanted[i].size, wanted[i].count);

        assert_non_null(chosen);
        if (chosen != wanted[i].kernel)
            fail_msg("%zu: %s, not %s", wanted[i].count, chosen->name,
                     wanted[i].kernel->name);
    }
    assert_null(warprsa_fastest_kernel(&timings, WARPRSA_CLASS_1024, 1));
}

/* The fold's timings are of requests of one key, so no whole batch is given to
 * it. */
TEST(fold_is_for_parts)
{
    const warprsa_kernel_timings timings = {
        2,
        {{WARPRSA_CLASS_2048, &warprsa_kernel_fold, 1000, 1, 1, 1},
         {WARPRSA_CLASS_2048, &any, 1000, 2000, 3000, 7000}}};

    assert_ptr_equal(warprsa_fastest_kernel(&timings, WARPRSA_CLASS_2048, 500),
                     &any);
    assert_true(warprsa_fastest_ms(&timings, WARPRSA_CLASS_2048, 500) == 3.0);
    assert_true(warprsa_fastest_ms(&timings, WARPRSA_CLASS_2048, 0) == 0.0);
    assert_true(warprsa_fastest_ms(&timings, WARPRSA_CLASS_4096, 5) == 0.0);
}

/* Beyond a wave "narrow_fold" takes no step: its blocks share all powers. */
TEST(narrow_fold_shares_evenly)
{
    const warprsa_kernel *const narrow = &warprsa_kernel_narrow_fold;
    const warprsa_kernel_timing timing = {
        WARPRSA_CLASS_3072, narrow, 1000, 1000, 2000, 3000};

    assert_true(warprsa_predict_ms(&timing, 500) == 2.0);
    assert_true(warprsa_predict_ms(&timing, 1000) == 3.0);
    for (size_t count = 1000; count < 4000; count += 50)
        assert_true(fabs(warprsa_predict_ms(&timing, count + 50) -
                         warprsa_predict_ms(&timing, count) - 0.1) < 1e-9);
}

/* The milliseconds that batches took on an H200. The table's rows
 * were measured with other batches. The prediction must be within a sixth, and
 * the chosen kernel must take hardly longer than the best. */
TEST(predicted_and_measured)
{
    static const struct {
        warprsa_size_class size;
        size_t count;
        double cooperative, thread, low_latency;
    } measured[] = {
        {WARPRSA_CLASS_1024, 32, 0.730, 1.885, 0.471},
        {WARPRSA_CLASS_1024, 1024, 0.746, 1.915, 0.731},
        {WARPRSA_CLASS_1024, 4096, 0.752, 1.935, 2.521},
        {WARPRSA_CLASS_1024, 16384, 2.163, 2.499, 9.821},
        {WARPRSA_CLASS_1024, 65536, 8.119, 9.001, 38.193},
        {WARPRSA_CLASS_2048, 32, 2.293, 7.612, 1.124},
        {WARPRSA_CLASS_2048, 1024, 2.293, 7.646, 1.908},
        {WARPRSA_CLASS_2048, 4096, 3.720, 7.698, 6.978},
        {WARPRSA_CLASS_2048, 16384, 13.762, 11.406, 27.434},
        {WARPRSA_CLASS_2048, 65536, 53.719, 48.148, 106.835},
        {WARPRSA_CLASS_3072, 32, 5.927, 21.084, 3.021},
        {WARPRSA_CLASS_3072, 1024, 5.927, 21.774, 5.420},
        {WARPRSA_CLASS_3072, 4096, 13.412, 22.889, 21.418},
        {WARPRSA_CLASS_3072, 16384, 51.507, 35.475, 85.086},
        {WARPRSA_CLASS_3072, 65536, 198.783, 142.812, 331.777},
        {WARPRSA_CLASS_4096, 32, 8.141, 45.727, 5.506},
        {WARPRSA_CLASS_4096, 1024, 8.146, 51.431, 9.748},
        {WARPRSA_CLASS_4096, 4096, 25.654, 58.672, 38.601},
        {WARPRSA_CLASS_4096, 16384, 99.848, 77.990, 152.696},
        {WARPRSA_CLASS_4096, 65536, 389.900, 321.844, 595.382},
    };
    static const warprsa_kernel *const kernels[] = {
        &warprsa_kernel_cooperative, &warprsa_kernel_thread,
        &warprsa_kernel_low_latency};
    warprsa_kernel_timings timings;

    assert_true(warprsa_kernel_timings_known("NVIDIA H200", &timings));
    for (size_t i = 0; i < sizeof(measured) / sizeof(measured[0]); i++) {
        const double ms[] = {measured[i].cooperative, measured[i].thread,
                             measured[i].low_latency};
        const warprsa_kernel *chosen = warprsa_fastest_kernel(
            &timings, measured[i].size, measured[i].count);
        double best = ms[0], taken = 0;

        for (int v = 0; v < 3; v++) {
            const double predicted =
                warprsa_predict_ms(warprsa_kernel_timing_of(
                                       &timings, measured[i].size, kernels[v]),
                                   measured[i].count);

            if (predicted < ms[v] * 5 / 6 || predicted > ms[v] * 7 / 6)
                fail_msg("RSA class %d, %zu by %s: %f ms, measured %f",
                         measured[i].size, measured[i].count, kernels[v]->name,
                         predicted, ms[v]);
            best = ms[v] < best ? ms[v] : best;
            if (chosen == kernels[v])
                taken = ms[v];
        }
        if (taken > best * 1.02)
            fail_msg("RSA class %d, %zu: %s takes %f ms, the best %f",
                     measured[i].size, measured[i].count, chosen->name, taken,
                     best);
    }
}

/* Every device in the table has its times in order and a kernel for every
 * class. */
TEST(known_devices)
{
    static const char *const devices[] = {"NVIDIA H200",
                                          "NVIDIA H100 80GB HBM3"};
    warprsa_kernel_timings timings;

    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        assert_true(warprsa_kernel_timings_known(devices[i], &timings));
        assert_true(warprsa_kernel_timings_fit(&timings, &timings, SIZE_MAX));
    }
    assert_false(
        warprsa_kernel_timings_known("NVIDIA H200 MIG 1g.18gb", &timings));
    assert_int_equal(timings.count, 0);
}

TEST(only_candidates_are_kept)
{
    warprsa_kernel_timings timings, candidates = {0};

    assert_true(warprsa_kernel_timings_known("NVIDIA H200", &timings));
    candidates.row[candidates.count++] = (warprsa_kernel_timing){
        .size = WARPRSA_CLASS_3072, .kernel = &warprsa_kernel_thread};
    candidates.row[candidates.count++] = (warprsa_kernel_timing){
        .size = WARPRSA_CLASS_3072, .kernel = &warprsa_kernel_int32};
    warprsa_kernel_timings_keep(&timings, &candidates);
    assert_int_equal(timings.count, 1);
    assert_ptr_equal(timings.row[0].kernel, &warprsa_kernel_thread);
    assert_int_equal(timings.row[0].size, WARPRSA_CLASS_3072);
    candidates.count = 0;
    warprsa_kernel_timings_keep(&timings, &candidates);
    assert_int_equal(timings.count, 0);
}

TEST(timings_that_cannot_be)
{
    static const warprsa_kernel_timing bad[] = {
        {WARPRSA_CLASS_2048, &other, 1000, 1, 2, 3},
        {WARPRSA_CLASS_2048, &any, 999, 1, 2, 3},
        {WARPRSA_CLASS_2048, &any, 1000, 0, 2, 3},
        {WARPRSA_CLASS_2048, &any, 1000, 3, 2, 3},
        {WARPRSA_CLASS_2048, &any, 1000, 1, 4, 3},
        {WARPRSA_CLASS_2048, &any, 1000, 1, 2,
         WARPRSA_KERNEL_TIMING_US_MAX + 1},
    };
    warprsa_kernel_timings candidates = {0}, timings = {0};

    for (int size = 0; size < WARPRSA_CLASS_LARGE; size++) {
        candidates.row[candidates.count] = timing;
        candidates.row[candidates.count++].size = (warprsa_size_class)size;
    }
    timings = candidates;
    assert_true(warprsa_kernel_timings_fit(&timings, &candidates, 5000));
    assert_false(warprsa_kernel_timings_fit(&timings, &candidates, 500));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        timings.row[WARPRSA_CLASS_2048] = bad[i];
        assert_false(warprsa_kernel_timings_fit(&timings, &candidates, 5000));
    }
    /* One class has no row. */
    timings = candidates;
    timings.count--;
    assert_false(warprsa_kernel_timings_fit(&timings, &candidates, 5000));
}

RUN_TESTS(NULL, NULL)
