/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of a device whose kernels fail the known-answer test. No device
 * is asked: a kernel here computes as the test says.
 */
#include "tests/unit/support/unit_test.h"

#include "gpu/select/proof.h"

static const warprsa_kernel base = {.name = "base"}, other = {.name = "other"},
                            fold = {.name = "fold", .shares_key = true},
                            narrow = {.name = "narrow", .shares_key = true};

static const warprsa_kernel_timings all = {
    7,
    {{WARPRSA_CLASS_2048, &base, 100, 1, 2, 4},
     {WARPRSA_CLASS_3072, &base, 100, 1, 2, 4},
     {WARPRSA_CLASS_2048, &fold, 100, 1, 2, 4},
     {WARPRSA_CLASS_3072, &fold, 100, 1, 2, 4},
     {WARPRSA_CLASS_2048, &narrow, 100, 1, 2, 4},
     {WARPRSA_CLASS_3072, &narrow, 100, 1, 2, 4},
     {WARPRSA_CLASS_2048, &other, 100, 1, 2, 4}}};

/* What a kernel is played to do with one class. */
typedef struct fault {
    const warprsa_kernel *kernel;
    warprsa_size_class size;
    warprsa_status status;
} fault;

typedef struct played {
    unsigned fault_count;
    fault faults[2];
    unsigned tests;
} played;

static warprsa_status test(void *arg, warprsa_size_class size,
                           const warprsa_kernel *kernel)
{
    played *p = arg;

    p->tests++;
    for (unsigned i = 0; i < p->fault_count; i++)
        if (p->faults[i].kernel == kernel && p->faults[i].size == size)
            return p->faults[i].status;
    return WARPRSA_OK;
}

TEST(all_are_right)
{
    warprsa_kernel_timings timings = all;
    warprsa_wrong_kernels wrong;
    played p = {0};

    assert_int_equal(warprsa_prove_kernels(&timings, test, &p, &wrong),
                     WARPRSA_OK);
    assert_int_equal(wrong.count, 0);
    assert_int_equal(timings.count, all.count);
    assert_int_equal(p.tests, all.count);
}

/* With its first class or its last one: its rows of all classes go, and each
 * other kernel is tested. */
TEST(a_fold_is_left_out)
{
    for (int i = 0; i < 2; i++) {
        warprsa_kernel_timings timings = all;
        warprsa_wrong_kernels wrong;
        played p = {1,
                    {{&fold, i == 0 ? WARPRSA_CLASS_2048 : WARPRSA_CLASS_3072,
                      WARPRSA_CHECK_FAILED}},
                    0};

        assert_int_equal(warprsa_prove_kernels(&timings, test, &p, &wrong),
                         WARPRSA_OK);
        assert_int_equal(wrong.count, 1);
        assert_ptr_equal(wrong.kernel[0], &fold);
        assert_int_equal(timings.count, all.count - 2);
        assert_int_equal(p.tests, all.count - (i == 0));
        assert_null(
            warprsa_kernel_timing_of(&timings, WARPRSA_CLASS_2048, &fold));
        assert_null(
            warprsa_kernel_timing_of(&timings, WARPRSA_CLASS_3072, &fold));
        assert_non_null(
            warprsa_kernel_timing_of(&timings, WARPRSA_CLASS_3072, &narrow));
    }
}

TEST(all_folds_are_left_out)
{
    warprsa_kernel_timings timings = all;
    warprsa_wrong_kernels wrong;
    played p = {2,
                {{&narrow, WARPRSA_CLASS_3072, WARPRSA_CHECK_FAILED},
                 {&fold, WARPRSA_CLASS_3072, WARPRSA_CHECK_FAILED}},
                0};

    assert_int_equal(warprsa_prove_kernels(&timings, test, &p, &wrong),
                     WARPRSA_OK);
    assert_int_equal(wrong.count, 2);
    assert_int_equal(timings.count, 3);
    assert_ptr_equal(warprsa_fastest_kernel(&timings, WARPRSA_CLASS_2048, 1),
                     &base);
}

/* The control: a device whose other kernels are wrong is refused, wherever they
 * stand, also beside a fold that is. */
TEST(another_kernel_is_not)
{
    static const warprsa_kernel *const kernels[] = {&base, &other};

    for (int i = 0; i < 2; i++) {
        warprsa_kernel_timings timings = all;
        warprsa_wrong_kernels wrong;
        played p = {2,
                    {{kernels[i], WARPRSA_CLASS_2048, WARPRSA_CHECK_FAILED},
                     {&fold, WARPRSA_CLASS_2048, WARPRSA_CHECK_FAILED}},
                    0};

        assert_int_equal(warprsa_prove_kernels(&timings, test, &p, &wrong),
                         WARPRSA_CHECK_FAILED);
    }
}

/* Nor is a device on which a fold does not fail its test, but the device. */
TEST(errors_of_the_device)
{
    warprsa_kernel_timings timings = all;
    warprsa_wrong_kernels wrong;
    played p = {1, {{&fold, WARPRSA_CLASS_2048, WARPRSA_DEVICE_ERROR}}, 0};

    assert_int_equal(warprsa_prove_kernels(&timings, test, &p, &wrong),
                     WARPRSA_DEVICE_ERROR);
    assert_int_equal(wrong.count, 0);
    assert_int_equal(timings.count, all.count);
}

RUN_TESTS(NULL, NULL)
