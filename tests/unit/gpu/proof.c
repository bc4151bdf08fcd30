/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of a device whose kernels or streams fail the known-answer test.
 * No device is asked: a kernel here computes as the test says.
 */
#include "tests/unit/support/unit_test.h"

#include "gpu/select/proof.h"

static const warprsa_kernel base = {.name = "base"}, other = {.name = "other"},
                            fold = {.name = "fold", .shares_key = true},
                            narrow = {.name = "narrow", .shares_key = true};

/* What computes a class without rows. */
static const warprsa_kernel unnamed = {.name = "unnamed"};

static const warprsa_kernel_timings all = {
    9,
    {{WARPRSA_CLASS_2048, &base, 100, 1, 2, 4},
     {WARPRSA_CLASS_3072, &base, 100, 1, 2, 4},
     {WARPRSA_CLASS_2048, &fold, 100, 1, 2, 4},
     {WARPRSA_CLASS_3072, &fold, 100, 1, 2, 4},
     {WARPRSA_CLASS_2048, &narrow, 100, 1, 2, 4},
     {WARPRSA_CLASS_3072, &narrow, 100, 1, 2, 4},
     {WARPRSA_CLASS_2048, &other, 100, 1, 2, 4},
     {WARPRSA_CLASS_1024, &base, 100, 1, 2, 4},
     {WARPRSA_CLASS_4096, &base, 100, 1, 2, 4}}};

static const warprsa_kernel_timings none = {0};

/* What is played: what a kernel does with one class, or a stream with any. */
typedef struct fault {
    const warprsa_kernel *kernel; /* NULL: the stream's */
    warprsa_size_class size;
    unsigned stream;
    warprsa_status status;
} fault;

typedef struct played {
    unsigned fault_count;
    fault faults[2];
    unsigned runs, tests;
    unsigned of_stream[WARPRSA_STREAMS_MAX];
    /* By a kernel that the test names; by another one. */
    unsigned of_size[WARPRSA_CLASS_LARGE][2];
} played;

static const warprsa_kernel *kernel_of(const warprsa_kernel_test *test)
{
    return test->kernel != NULL ? test->kernel : &unnamed;
}

static warprsa_status status_of(const played *p,
                                const warprsa_kernel_test *test)
{
    for (unsigned i = 0; i < p->fault_count; i++) {
        const fault *f = &p->faults[i];

        if (f->kernel == NULL
                ? f->stream == test->stream
                : f->kernel == kernel_of(test) && f->size == test->size)
            return f->status;
    }
    return WARPRSA_OK;
}

static void run(void *arg, warprsa_kernel_test *tests, size_t count)
{
    played *p = arg;

    p->runs++;
    p->tests += (unsigned)count;
    for (size_t i = 0; i < count; i++) {
        p->of_stream[tests[i].stream]++;
        p->of_size[tests[i].size][tests[i].kernel == NULL]++;
        tests[i].status = status_of(p, &tests[i]);
    }
}

/* With one stream, some, as many as there are kernels, and more: each kernel is
 * tested once, each stream at least once, all at once. */
TEST(all_are_right)
{
    static const unsigned streams[] = {1, 4, 9, 24, WARPRSA_STREAMS_MAX};

    for (unsigned i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        warprsa_kernel_timings timings = all;
        const unsigned s = streams[i];
        warprsa_proof proof;
        played p = {0};

        assert_int_equal(
            warprsa_prove_kernels(&timings, NULL, s, run, &p, &proof),
            WARPRSA_OK);
        assert_int_equal(proof.wrong_count, 0);
        assert_int_equal(timings.count, all.count);
        assert_int_equal(p.runs, 1);
        assert_int_equal(p.tests, s < all.count ? all.count : s);
        for (unsigned k = 0; k < s; k++)
            assert_in_range(p.of_stream[k], all.count / s,
                            (all.count + s - 1) / s);
    }
}

/* One kernel computes all: each class that is not large, and each stream. */
TEST(no_timings)
{
    static const unsigned streams[] = {1, 3, 24};

    for (unsigned i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        warprsa_kernel_timings timings = none;
        warprsa_proof proof;
        played p = {0};

        assert_int_equal(
            warprsa_prove_kernels(&timings, NULL, streams[i], run, &p, &proof),
            WARPRSA_OK);
        assert_int_equal(p.tests, streams[i] < WARPRSA_CLASS_LARGE
                                      ? WARPRSA_CLASS_LARGE
                                      : streams[i]);
        for (unsigned k = 0; k < streams[i]; k++)
            assert_true(p.of_stream[k] > 0);
    }
}

/* A class that only a fold has a row of, or none at all, is tested by what the
 * device computes it by; wrong, that is the device's fault. */
TEST(classes_without_rows)
{
    static const warprsa_kernel_timings some = {
        3,
        {{WARPRSA_CLASS_2048, &base, 100, 1, 2, 4},
         {WARPRSA_CLASS_3072, &base, 100, 1, 2, 4},
         {WARPRSA_CLASS_1024, &fold, 100, 1, 2, 4}}};

    for (unsigned streams = 1; streams <= 24; streams++) {
        warprsa_kernel_timings timings = some;
        warprsa_proof proof;
        played p = {0};

        assert_int_equal(
            warprsa_prove_kernels(&timings, NULL, streams, run, &p, &proof),
            WARPRSA_OK);
        assert_int_equal(p.of_size[WARPRSA_CLASS_1024][0], 1);
        assert_true(p.of_size[WARPRSA_CLASS_1024][1] > 0);
        assert_true(p.of_size[WARPRSA_CLASS_4096][1] > 0);
        assert_int_equal(p.tests, streams < 5 ? 5 : streams);
        p = (played){.fault_count = 1,
                     .faults = {{&unnamed, WARPRSA_CLASS_4096, 0,
                                 WARPRSA_CHECK_FAILED}}};
        assert_int_equal(
            warprsa_prove_kernels(&timings, NULL, streams, run, &p, &proof),
            WARPRSA_CHECK_FAILED);
        assert_int_equal(proof.failed.size, WARPRSA_CLASS_4096);
        assert_null(proof.failed.kernel);
    }
}

/* A fold computes all batches as far as it can. What computes the rest is
 * tested with each class, too. */
TEST(the_rest_of_a_fold)
{
    for (unsigned streams = 1; streams <= 24; streams++) {
        warprsa_kernel_timings timings = none;
        warprsa_proof proof;
        played p = {0};

        assert_int_equal(
            warprsa_prove_kernels(&timings, &base, streams, run, &p, &proof),
            WARPRSA_OK);
        assert_int_equal(p.tests, streams < 2 * WARPRSA_CLASS_LARGE
                                      ? 2 * WARPRSA_CLASS_LARGE
                                      : streams);
        for (int i = 0; i < WARPRSA_CLASS_LARGE; i++)
            assert_int_equal(p.of_size[i][0], 1);
        p = (played){
            .fault_count = 1,
            .faults = {{&base, WARPRSA_CLASS_4096, 0, WARPRSA_CHECK_FAILED}}};
        assert_int_equal(
            warprsa_prove_kernels(&timings, &base, streams, run, &p, &proof),
            WARPRSA_CHECK_FAILED);
        assert_ptr_equal(proof.failed.kernel, &base);
    }
}

/* With its first class or its last one: its rows of all classes go, and its
 * stream is tested by another kernel. */
TEST(a_fold_is_left_out)
{
    for (int i = 0; i < 2; i++) {
        warprsa_kernel_timings timings = all;
        warprsa_proof proof;
        played p = {
            .fault_count = 1,
            .faults = {{&fold, i == 0 ? WARPRSA_CLASS_2048 : WARPRSA_CLASS_3072,
                        0, WARPRSA_CHECK_FAILED}}};

        assert_int_equal(
            warprsa_prove_kernels(&timings, NULL, 24, run, &p, &proof),
            WARPRSA_OK);
        assert_int_equal(proof.wrong_count, 1);
        assert_ptr_equal(proof.wrong[0], &fold);
        assert_int_equal(timings.count, all.count - 2);
        assert_int_equal(p.tests, 24 + 1);
        assert_int_equal(p.of_stream[i == 0 ? 2 : 3], 2);
        assert_null(
            warprsa_kernel_timing_of(&timings, WARPRSA_CLASS_2048, &fold));
        assert_null(
            warprsa_kernel_timing_of(&timings, WARPRSA_CLASS_3072, &fold));
        assert_non_null(
            warprsa_kernel_timing_of(&timings, WARPRSA_CLASS_3072, &narrow));
    }
}

/* A stream that has passed another test is not tested again. */
TEST(all_folds_are_left_out)
{
    for (unsigned streams = 1; streams <= 24; streams += 23) {
        warprsa_kernel_timings timings = all;
        warprsa_proof proof;
        played p = {
            .fault_count = 2,
            .faults = {{&narrow, WARPRSA_CLASS_3072, 0, WARPRSA_CHECK_FAILED},
                       {&fold, WARPRSA_CLASS_3072, 0, WARPRSA_CHECK_FAILED}}};

        assert_int_equal(
            warprsa_prove_kernels(&timings, NULL, streams, run, &p, &proof),
            WARPRSA_OK);
        assert_int_equal(proof.wrong_count, 2);
        assert_ptr_equal(proof.wrong[0], &fold); /* in the order of rows */
        assert_ptr_equal(proof.wrong[1], &narrow);
        assert_int_equal(timings.count, all.count - 4);
        assert_int_equal(p.tests, streams == 1 ? all.count : 24 + 2);
        assert_ptr_equal(
            warprsa_fastest_kernel(&timings, WARPRSA_CLASS_2048, 1), &base);
    }
}

/* The control: a device whose other kernels are wrong is refused, wherever they
 * stand, also beside a fold that is. */
TEST(another_kernel_is_not)
{
    static const warprsa_kernel *const kernels[] = {&base, &other};

    for (int i = 0; i < 2; i++) {
        warprsa_kernel_timings timings = all;
        warprsa_proof proof;
        played p = {
            .fault_count = 2,
            .faults = {
                {kernels[i], WARPRSA_CLASS_2048, 0, WARPRSA_CHECK_FAILED},
                {&fold, WARPRSA_CLASS_2048, 0, WARPRSA_CHECK_FAILED}}};

        assert_int_equal(
            warprsa_prove_kernels(&timings, NULL, 24, run, &p, &proof),
            WARPRSA_CHECK_FAILED);
        assert_ptr_equal(proof.failed.kernel, kernels[i]);
        assert_int_equal(proof.failed.size, WARPRSA_CLASS_2048);
        assert_int_equal(proof.failed.stream, i == 0 ? 0 : 6);
    }
}

/* Nor is a device with a wrong stream, also if that had a fold to test. */
TEST(a_wrong_stream)
{
    for (unsigned s = 0; s < 24; s++) {
        warprsa_kernel_timings timings = all;
        warprsa_proof proof;
        played p = {.fault_count = 1,
                    .faults = {{NULL, 0, s, WARPRSA_CHECK_FAILED}}};

        assert_int_equal(
            warprsa_prove_kernels(&timings, NULL, 24, run, &p, &proof),
            WARPRSA_CHECK_FAILED);
        assert_int_equal(proof.failed.stream, s);
        assert_false(proof.failed.kernel->shares_key);
    }
}

/* Nor is a device on which a fold does not fail its test, but the device. */
TEST(errors_of_the_device)
{
    warprsa_kernel_timings timings = all;
    warprsa_proof proof;
    played p = {
        .fault_count = 1,
        .faults = {{&fold, WARPRSA_CLASS_2048, 0, WARPRSA_DEVICE_ERROR}}};

    assert_int_equal(warprsa_prove_kernels(&timings, NULL, 24, run, &p, &proof),
                     WARPRSA_DEVICE_ERROR);
    assert_int_equal(proof.wrong_count, 0);
    assert_int_equal(timings.count, all.count);
}

RUN_TESTS(NULL, NULL)
