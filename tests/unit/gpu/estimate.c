/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which kernels suit which card, by the attributes that CUDA gives of it. No
 * GPU is asked.
 */
#include "tests/unit/support/unit_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gpu/select/estimate.h"
#include "gpu/select/selection.h"

#define WIDE  "cooperative thread low_latency "
#define FOLDS "fold narrow_fold "
#define MHZ   1000
#define MIB   (1024 * 1024)

static const struct {
    const char *name;
    warprsa_gpu gpu;
    const char *suit;       /* the kernels that suit it */
    const char *many, *one; /* the fastest with many keys, and with one */
} cards[] = {
    {"A100",
     {108, 80, 2, 1410 * MHZ, 40 * MIB},
     WIDE "narrow_fold int32_fold ",
     "thread",
     "int32_fold"},
    {"H100", {132, 90, 2, 1980 * MHZ, 50 * MIB}, WIDE FOLDS, "thread", "fold"},
    {"H200", {132, 90, 2, 1980 * MHZ, 60 * MIB}, WIDE FOLDS, "thread", "fold"},
    {"H100 without CUDA's ratio",
     {132, 90, 0, 1980 * MHZ, 50 * MIB},
     WIDE FOLDS,
     "thread",
     "fold"},
    {"H20",
     {78, 90, 64, 1980 * MHZ, 60 * MIB},
     "int32 int32_fold ",
     "int32",
     "int32_fold"},
    {"B200",
     {148, 100, 2, 1965 * MHZ, 126 * MIB},
     WIDE "narrow_fold int32_fold ",
     "thread",
     "int32_fold"},
    {"B300", {148, 103, 64, 1965 * MHZ, 126 * MIB}, "int32 ", "int32", "int32"},
    {"L4",
     {58, 89, 64, 2040 * MHZ, 48 * MIB},
     "int32 int32_fold ",
     "int32",
     "int32_fold"},
    {"L40S",
     {142, 89, 64, 2520 * MHZ, 96 * MIB},
     "int32 int32_fold ",
     "int32",
     "int32_fold"},
    {"A10",
     {72, 86, 64, 1695 * MHZ, 6 * MIB},
     "int32 int32_fold ",
     "int32",
     "int32_fold"},
    {"Orin",
     {16, 87, 64, 1300 * MHZ, 4 * MIB},
     "int32 int32_fold ",
     "int32",
     "int32_fold"},
    {"Thor",
     {20, 110, 64, 1575 * MHZ, 32 * MIB},
     "int32 int32_fold ",
     "int32",
     "int32_fold"},
    {"RTX 4090",
     {128, 89, 64, 2520 * MHZ, 72 * MIB},
     "int32 int32_fold ",
     "int32",
     "int32_fold"},
    {"RTX 5090",
     {170, 120, 64, 2407 * MHZ, 96 * MIB},
     "int32 int32_fold ",
     "int32",
     "int32_fold"},
    {"RTX PRO 6000",
     {188, 120, 64, 2617 * MHZ, 128 * MIB},
     "int32 int32_fold ",
     "int32",
     "int32_fold"},
    {"GB10",
     {48, 121, 64, 2418 * MHZ, 24 * MIB},
     "int32 int32_fold ",
     "int32",
     "int32_fold"},
    {"a newer one for double precision",
     {160, 140, 2, 2000 * MHZ, 0},
     WIDE,
     "thread",
     "thread"},
    {"a newer one for other work",
     {160, 140, 64, 2000 * MHZ, 0},
     "int32 ",
     "int32",
     "int32"},
    {"one that tells nothing", {160, 140, 0, 0, 0}, "int32 ", "int32", "int32"},
};

#define CARDS (sizeof(cards) / sizeof(cards[0]))

static warprsa_kernel_list listed;

static int make_list(void **state)
{
    (void)state;
    listed = warprsa_all_kernels();
    return 0;
}

static void suit(const warprsa_gpu *gpu, const char *name, const char *wanted)
{
    const bool int32_keys = warprsa_prefers_int32_keys(listed, gpu);
    const warprsa_kernel *only = warprsa_only_kernel(listed, gpu, int32_keys);
    char found[200] = "", one[40] = "";

    for (int i = 0; i < listed.count; i++)
        if (warprsa_kernel_suits(listed.kernel[i], gpu, int32_keys))
            sprintf(found + strlen(found), "%s ", listed.kernel[i]->name);
    if (strcmp(found, wanted) != 0)
        fail_msg("%s: %s, not %s", name, found, wanted);
    if (only != NULL)
        snprintf(one, sizeof(one), "%s ", only->name);
    assert_true(only == NULL ? strchr(wanted, ' ')[1] != '\0'
                             : strcmp(one, wanted) == 0);
}

TEST(each_card_has_its_kernels)
{
    for (size_t i = 0; i < CARDS; i++)
        suit(&cards[i].gpu, cards[i].name, cards[i].suit);
}

static const char *fastest(const warprsa_gpu *gpu, warprsa_size_class size,
                           bool one_key)
{
    const bool int32_keys = warprsa_prefers_int32_keys(listed, gpu);
    const char *name = NULL;
    double most = 0;

    for (int i = 0; i < listed.count; i++) {
        const warprsa_kernel *kernel = listed.kernel[i];
        const double rate = warprsa_estimate(kernel, gpu, size);

        if (warprsa_kernel_suits(kernel, gpu, int32_keys) &&
            (one_key || !kernel->shares_key) && rate > most) {
            name = kernel->name;
            most = rate;
        }
    }
    return name;
}

/* Of many requests, by the estimate. For RSA-1024 the first two are too close
 * for it. */
TEST(each_card_has_its_fastest)
{
    for (size_t i = 0; i < CARDS; i++)
        for (int c = WARPRSA_CLASS_2048; c < WARPRSA_CLASS_LARGE; c++) {
            const warprsa_size_class size = (warprsa_size_class)c;

            if (cards[i].gpu.clock_khz == 0)
                continue;
            assert_string_equal(fastest(&cards[i].gpu, size, false),
                                cards[i].many);
            assert_string_equal(fastest(&cards[i].gpu, size, true),
                                cards[i].one);
        }
}

/* What was measured on them is used as it is: no kernel of which there are
 * timings is left out, and no other is added. */
TEST(measured_cards_keep_their_timings)
{
    static const char *const models[] = {"NVIDIA H100 80GB HBM3",
                                         "NVIDIA H200"};
    static const warprsa_gpu gpu = {132, 90, 2, 1980 * MHZ, 50 * MIB};

    assert_false(warprsa_prefers_int32_keys(listed, &gpu));
    for (size_t i = 0; i < 2; i++) {
        warprsa_kernel_timings timings;

        assert_true(warprsa_kernel_timings_known(models[i], &timings));
        /* Five kernels of four classes, less the folds of RSA-1024. */
        assert_int_equal(timings.count, 5 * WARPRSA_CLASS_LARGE - 2);
        for (size_t j = 0; j < timings.count; j++)
            assert_true(
                warprsa_kernel_suits(timings.row[j].kernel, &gpu, false));
    }
}

/* The estimate of the card that the kernels were measured on is the
 * measurement. */
TEST(estimates_are_of_the_h200)
{
    static const warprsa_gpu h200 = {132, 90, 2, 1980 * MHZ, 60 * MIB};
    warprsa_kernel_timings timings;

    assert_true(warprsa_kernel_timings_known("NVIDIA H200", &timings));
    for (size_t i = 0; i < timings.count; i++) {
        const warprsa_kernel_timing *row = &timings.row[i];

        assert_true(fabs(warprsa_estimate(row->kernel, &h200, row->size) /
                             (1e6 * row->wave / row->wave_us) -
                         1) < 1e-9);
    }
    for (int i = 0; i < listed.count; i++) {
        assert_true(fabs(warprsa_slowdown(listed.kernel[i], &h200) - 1) < 1e-9);
        assert_true(
            warprsa_estimate(listed.kernel[i], &h200, WARPRSA_CLASS_2048) > 0);
        assert_true(
            warprsa_estimate(listed.kernel[i], &h200, WARPRSA_CLASS_8192) == 0);
    }
}

/* Half the SMs or half the clock are half the rate; half the doubles are less
 * than twice the time, as not all of it is theirs. */
TEST(estimates_follow_the_attributes)
{
    const warprsa_gpu gpu = cards[0].gpu;
    warprsa_gpu other = gpu;
    const warprsa_kernel *kernel = &warprsa_kernel_thread;
    const double rate = warprsa_estimate(kernel, &gpu, WARPRSA_CLASS_2048);

    other.sms /= 2;
    assert_true(
        fabs(2 * warprsa_estimate(kernel, &other, WARPRSA_CLASS_2048) / rate -
             1) < 1e-9);
    other = gpu;
    other.clock_khz /= 2;
    assert_true(
        fabs(2 * warprsa_estimate(kernel, &other, WARPRSA_CLASS_2048) / rate -
             1) < 1e-9);
    other = gpu;
    other.singles_per_double *= 2;
    assert_true(warprsa_slowdown(kernel, &other) >
                warprsa_slowdown(kernel, &gpu));
    assert_true(warprsa_slowdown(kernel, &other) <
                2 * warprsa_slowdown(kernel, &gpu));
    /* A kernel for 9.0 alone runs nowhere else. */
    assert_true(
        warprsa_estimate(&warprsa_kernel_fold, &gpu, WARPRSA_CLASS_2048) == 0);
}

/* "narrow_fold" runs where a block may have its shared memory and double
 * precision is not rare, whatever CUDA says of that: on no other GPU is there
 * code of it, even if a configuration names it. */
TEST(narrow_fold_is_for_double_precision)
{
    static const struct {
        uint32_t capability;
        bool runs;
    } gpus[] = {
        {80, true},   {86, false},  {87, false},  {89, false},
        {90, true},   {100, true},  {103, false}, {110, false},
        {120, false}, {121, false}, {140, false},
    };
    const warprsa_kernel *kernel = &warprsa_kernel_narrow_fold;

    for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++) {
        const warprsa_gpu gpu = {100, gpus[i].capability, 2, 1000 * MHZ, 0};

        assert_int_equal(warprsa_kernel_runs(kernel, &gpu), gpus[i].runs);
        if (!gpus[i].runs)
            assert_false(warprsa_kernel_suits(kernel, &gpu, false));
    }
    /* Half the double precision of a Hopper's SM does not make it half as
     * fast: that is busy for two fifths of the time. */
    assert_true(warprsa_slowdown(kernel, &cards[0].gpu) > 1.4);
    assert_true(warprsa_slowdown(kernel, &cards[0].gpu) < 1.5);
}

TEST(machine_code_is_for_its_generation)
{
    static const uint32_t release[] = {80, 86, 89, 90, 100, 103, 120},
                          tegra[] = {87};
    static const struct {
        uint32_t capability;
        bool of_release, of_tegra;
    } gpus[] = {
        {80, true, false},  {86, true, false},   {87, false, true},
        {89, true, false},  {90, true, false},   {100, true, false},
        {103, true, false}, {110, false, false}, {120, true, false},
        {121, true, false}, {130, false, false},
    };

    for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++) {
        const uint32_t capability = gpus[i].capability;

        assert_int_equal(warprsa_runs_machine_code(capability, release, 7),
                         gpus[i].of_release);
        assert_int_equal(warprsa_runs_machine_code(capability, tegra, 1),
                         gpus[i].of_tegra);
        /* That of a later one of its generation does not run. */
        assert_int_equal(warprsa_runs_machine_code(capability, release + 1, 1),
                         capability == 86 || capability == 89);
    }
}

RUN_TESTS(make_list, NULL)
