/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernels that may be chosen for a batch, compared with their timings on
 * known devices. No GPU is asked.
 */
#include "tests/unit/support/unit_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gpu/arith/private_operation.h"
#include "gpu/engine.h"
#include "gpu/kernels/fold_common/fold_kernel.h"
#include "gpu/kernels/thread/thread_block.h"
#include "gpu/select/calibration.h"
#include "gpu/select/candidates.h"
#include "gpu/select/estimate.h"

TEST(first_takes_everything)
{
    assert_non_null(warprsa_kernels[0]->at_once);
    for (int size = 0; size < WARPRSA_CLASSES; size++)
        assert_non_null(warprsa_kernels[0]->launch[size]);
}

TEST(candidates_take_keys_of_one_form)
{
    static const warprsa_gpu gpus[] = {{.sms = 1, .capability = 80},
                                       {.sms = 1, .capability = 89}};

    for (int i = 0; i < 4; i++) {
        const bool int32_keys = i / 2;
        warprsa_kernel_timings candidates;

        warprsa_candidates(&candidates, &gpus[i % 2], int32_keys);
        for (size_t j = 0; j < candidates.count; j++)
            assert_true(candidates.row[j].kernel->either_keys ||
                        candidates.row[j].kernel->int32_keys == int32_keys);
    }
}

TEST(each_form_has_a_kernel_for_the_rest)
{
    for (int int32_keys = 0; int32_keys < 2; int32_keys++) {
        const warprsa_kernel *kernel = warprsa_kernel_by_default(int32_keys);

        assert_int_equal(kernel->int32_keys, int32_keys);
        for (int size = 0; size < WARPRSA_CLASS_LARGE; size++)
            assert_non_null(kernel->launch[size]);
    }
}

/* A kernel that is launched in another shape has other timings;
 * bench/programs/kernel_select measures them. As long as the table has the old
 * timings, the device is calibrated when it is opened. */
TEST(table_is_of_these_kernels)
{
    static const struct {
        const char *device;
        warprsa_gpu gpu;
    } devices[] = {{"NVIDIA H200",
                    {.sms = 132, .capability = 90, .singles_per_double = 2}},
                   {"NVIDIA H100 80GB HBM3",
                    {.sms = 132, .capability = 90, .singles_per_double = 2}}};
    warprsa_kernel_timings candidates, timings;

    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        warprsa_candidates(&candidates, &devices[i].gpu, false);
        assert_true(warprsa_kernel_timings_known(devices[i].device, &timings));
        warprsa_kernel_timings_keep(&timings, &candidates);
        for (size_t j = 0; j < timings.count; j++) {
            const warprsa_kernel_timing *timing = &timings.row[j];
            const warprsa_kernel_timing *candidate = warprsa_kernel_timing_of(
                &candidates, timing->size, timing->kernel);

            assert_non_null(candidate);
            if (timing->wave != candidate->wave)
                fail_msg("%s, RSA-%d, %s: the table's wave is %u, the "
                         "kernel's %u",
                         devices[i].device, 1024 * ((int)timing->size + 1),
                         timing->kernel->name, timing->wave, candidate->wave);
        }
        assert_true(
            warprsa_kernel_timings_fit(&timings, &candidates, SIZE_MAX));
    }
}

/* A card of which there are no timings. Its batches take as long as the H200's,
 * by the card's SMs, clock and slowdown. Without timings of the H200 they take
 * as long as the estimate says, and no less than a quarter of a wave. */
static bool run_on_card(void *arg, warprsa_size_class size,
                        const warprsa_kernel *kernel, size_t count, double *ms)
{
    static const double h200_sms = 132, h200_khz = 1980000;
    const warprsa_gpu *gpu = arg;
    const uint32_t quarter = kernel->at_once(size) * gpu->sms / 4;
    warprsa_kernel_timings h200;
    const warprsa_kernel_timing *timing;

    assert_true(warprsa_kernel_timings_known("NVIDIA H200", &h200));
    timing = warprsa_kernel_timing_of(&h200, size, kernel);
    if (timing != NULL)
        *ms = warprsa_predict_ms(
                  timing, (size_t)ceil((double)count * h200_sms / gpu->sms)) *
              warprsa_slowdown(kernel, gpu) * h200_khz / gpu->clock_khz;
    else
        *ms = 1e3 * (double)(count > quarter ? count : quarter) /
              warprsa_estimate(kernel, gpu, size);
    return true;
}

static const struct {
    const char *name;
    warprsa_gpu gpu;
} cards[] = {
    {"A100", {108, 80, 2, 1410000, 0}},
    {"H100", {132, 90, 2, 1980000, 0}},
    {"A10", {72, 86, 64, 1695000, 0}},
    {"L4", {58, 89, 64, 2040000, 0}},
    {"L40S", {142, 89, 64, 2520000, 0}},
    {"RTX 4090", {128, 89, 64, 2520000, 0}},
    {"B200", {148, 100, 2, 1965000, 0}},
    {"B300", {148, 103, 64, 1965000, 0}},
    {"RTX 5090", {170, 120, 64, 2407000, 0}},
    {"RTX PRO 6000", {188, 120, 64, 2617000, 0}},
};

/* Each kernel that is the fastest on this card for any number of requests has a
 * row: of those that share a key, and of the others. */
static void winners_are_measured(const char *name, const warprsa_gpu *gpu,
                                 const warprsa_kernel_timings *candidates,
                                 const warprsa_kernel_timings *timings,
                                 warprsa_size_class size, size_t count)
{
    for (int shared = 0; shared < 2; shared++) {
        const warprsa_kernel *best = NULL;
        double best_ms = 0, ms;

        for (size_t i = 0; i < candidates->count; i++) {
            const warprsa_kernel_timing *row = &candidates->row[i];

            if (row->size != size || (row->kernel->shares_key && !shared))
                continue;
            assert_true(
                run_on_card((void *)gpu, size, row->kernel, count, &ms));
            if (best == NULL || ms < best_ms) {
                best = row->kernel;
                best_ms = ms;
            }
        }
        if (best != NULL &&
            warprsa_kernel_timing_of(timings, size, best) == NULL)
            fail_msg("%s: RSA-%d: %s is the fastest for %zu and not measured",
                     name, 1024 * ((int)size + 1), best->name, count);
    }
}

/* A kernel that is not measured is not chosen, so there must be time for all.
 * The A100 wants the longest, 3.7 s: it has most kernels to choose from. */
TEST(calibration_has_time_for_each_card)
{
    for (size_t i = 0; i < sizeof(cards) / sizeof(cards[0]); i++) {
        warprsa_gpu gpu = cards[i].gpu;
        const bool int32_keys =
            warprsa_prefers_int32_keys(warprsa_all_kernels(), &gpu);
        warprsa_kernel_timings candidates, timings;

        warprsa_candidates(&candidates, &gpu, int32_keys);
        assert_true(candidates.count > 0);
        if (!warprsa_calibrate(&timings, &candidates, 8192, run_on_card, &gpu))
            fail_msg("%s: %zu rows of %zu, and no time left", cards[i].name,
                     timings.count, candidates.count);
        for (int size = 0; size < WARPRSA_CLASS_LARGE; size++)
            for (size_t count = 1; count <= WARPRSA_UNDER_WAY_MAX; count *= 2) {
                winners_are_measured(cards[i].name, &gpu, &candidates, &timings,
                                     (warprsa_size_class)size, count);
                winners_are_measured(cards[i].name, &gpu, &candidates, &timings,
                                     (warprsa_size_class)size, count * 99 / 64);
            }
    }
}

/* A batch that is a multiple of the granularity has full items, or full parts
 * of them, of each fold. */
TEST(folds_have_the_granularity)
{
    int folds = 0;

    for (int size = 0; size < WARPRSA_CLASS_LARGE; size++)
        for (int i = 0; i < WARPRSA_KERNELS; i++) {
            const warprsa_fold_kernel *fold = warprsa_kernels[i]->fold[size];
            const unsigned granularity = warprsa_engine_cuda()->granularity;

            if (fold == NULL)
                continue;
            assert_true(granularity % fold->item_max == 0 ||
                        fold->item_max % granularity == 0);
            folds++;
        }
    /* "int32_fold", of RSA-2048 to RSA-4096, and the two for few GPUs unless
     * they are not built. One for 9.0 is not without the other. */
    if (warprsa_kernel_fold.fold[WARPRSA_CLASS_2048] != NULL)
        assert_non_null(warprsa_kernel_narrow_fold.fold[WARPRSA_CLASS_2048]);
    assert_int_equal(
        folds,
        3 + 3 * (warprsa_kernel_fold.fold[WARPRSA_CLASS_2048] != NULL) +
            3 * (warprsa_kernel_narrow_fold.fold[WARPRSA_CLASS_2048] != NULL));
}

/* Blocks of the kernel "thread" are as small as let all of them run at once,
 * and the tables of all of their threads have room. */
TEST(threads_have_tables)
{
    static const uint32_t sms[] = {132, 114, 1};
    const uint32_t step = WARPRSA_THREAD_BLOCK_STEP;

    for (int i = 0; i < WARPRSA_CLASS_LARGE; i++) {
        const warprsa_size_class size = (warprsa_size_class)i;
        const warprsa_kernel *kernel = &warprsa_kernel_thread;
        const uint32_t most = 2 * kernel->at_once(size);
        const size_t region = sizeof(double) * most * (WARPRSA_TABLE_SIZE + 1) *
                              (size_t)warprsa_shape_of(size).limbs;

        for (size_t j = 0; j < sizeof(sms) / sizeof(sms[0]); j++)
            for (uint32_t count = 1; count <= 3 * sms[j] * most / 2; count++) {
                const uint32_t block =
                    warprsa_thread_block(count, sms[j], most);
                const size_t blocks = (2 * count + block - 1) / block;
                const size_t regions = (blocks * block + most - 1) / most;

                assert_true(block % step == 0 && block > 0 && block <= most);
                assert_true(block == most || blocks <= sms[j]);
                assert_true(block == step ||
                            2 * count > (block - step) * sms[j]);
                assert_true(regions * region <=
                            kernel->table_bytes(size, count));
                assert_true((2 * count / most + 2) * region >=
                            kernel->table_bytes(size, count));
            }
    }
}

RUN_TESTS(NULL, NULL)
