/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which kernel a batch gets: the time foretold goes through the measured
 * points, and the choice follows it. No device is asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/cuda/selection.h"

static const warprsa_pace pace = {
    WARPRSA_CLASS_2048, "any", 1000, 2000, 3000, 7000};

static void at(size_t count, double ms)
{
    const double foretold = warprsa_foretell_ms(&pace, count);

    if (foretold < ms - 1e-6 || foretold > ms + 1e-6)
        fail_msg("%zu: %f ms, not %f", count, foretold, ms);
}

static void times_go_through_the_points(void **state)
{
    (void)state;
    at(500, 3);
    at(1000, 7);
    at(2000, 14);
    at(2500, 17);
    at(250, 2.5);
    at(750, 5);
    at(3750, 26);
}

static void more_operations_of_a_wave_never_take_less(void **state)
{
    (void)state;
    for (size_t count = 1; count < 1000; count++)
        assert_true(warprsa_foretell_ms(&pace, count) <=
                    warprsa_foretell_ms(&pace, count + 1) + 1e-9);
}

/* One thread a half wants the whole device; a batch just over a wave of it has
 * to wait for a second. */
static void choices(void **state)
{
    static const struct {
        warprsa_size_class size;
        size_t count;
        const char *variant;
    } wanted[] = {
        {WARPRSA_CLASS_2048, 1, "few"},      {WARPRSA_CLASS_2048, 100, "few"},
        {WARPRSA_CLASS_2048, 300, "many"},   {WARPRSA_CLASS_2048, 400, "many"},
        {WARPRSA_CLASS_2048, 401, "few"},    {WARPRSA_CLASS_2048, 800, "many"},
        {WARPRSA_CLASS_4096, 100000, "few"},
    };
    const warprsa_paces paces = {3,
                                 {{WARPRSA_CLASS_2048, "few", 100, 1, 2, 4},
                                  {WARPRSA_CLASS_2048, "many", 400, 8, 8, 10},
                                  {WARPRSA_CLASS_4096, "few", 100, 5, 6, 7}}};

    (void)state;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        const char *chosen =
            warprsa_fastest_variant(&paces, wanted[i].size, wanted[i].count);

        assert_non_null(chosen);
        if (strcmp(chosen, wanted[i].variant) != 0)
            fail_msg("%zu: %s, not %s", wanted[i].count, chosen,
                     wanted[i].variant);
    }
    assert_null(warprsa_fastest_variant(&paces, WARPRSA_CLASS_1024, 1));
}

/* Its paces are of requests of one key: no batch is given to it as it is. */
static void fold_is_for_parts(void **state)
{
    const warprsa_paces paces = {
        2,
        {{WARPRSA_CLASS_2048, WARPRSA_VARIANT_FOLD, 1000, 1, 1, 1},
         {WARPRSA_CLASS_2048, "any", 1000, 2000, 3000, 7000}}};

    (void)state;
    assert_string_equal(
        warprsa_fastest_variant(&paces, WARPRSA_CLASS_2048, 500), "any");
    assert_true(warprsa_fastest_ms(&paces, WARPRSA_CLASS_2048, 500) == 3.0);
    assert_true(warprsa_fastest_ms(&paces, WARPRSA_CLASS_2048, 0) == 0.0);
    assert_true(warprsa_fastest_ms(&paces, WARPRSA_CLASS_4096, 5) == 0.0);
}

/* Every device in the table: times in order, a kernel for every class. */
static void known_devices(void **state)
{
    static const char *const devices[] = {"NVIDIA H200"};
    warprsa_paces paces;

    (void)state;
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        assert_true(warprsa_paces_known(devices[i], &paces));
        assert_true(warprsa_paces_fit(&paces, &paces, SIZE_MAX));
    }
    assert_false(warprsa_paces_known("NVIDIA H200 MIG 1g.18gb", &paces));
    assert_int_equal(paces.count, 0);
}

static void paces_that_cannot_be(void **state)
{
    static const warprsa_pace bad[] = {
        {WARPRSA_CLASS_2048, "other", 1000, 1, 2, 3},
        {WARPRSA_CLASS_2048, "any", 999, 1, 2, 3},
        {WARPRSA_CLASS_2048, "any", 1000, 0, 2, 3},
        {WARPRSA_CLASS_2048, "any", 1000, 3, 2, 3},
        {WARPRSA_CLASS_2048, "any", 1000, 1, 4, 3},
        {WARPRSA_CLASS_2048, "any", 1000, 1, 2, WARPRSA_PACE_US_MAX + 1},
    };
    warprsa_paces candidates = {0}, paces = {0};

    (void)state;
    for (int size = 0; size < WARPRSA_CLASSES; size++) {
        candidates.row[candidates.count] = pace;
        candidates.row[candidates.count++].size = (warprsa_size_class)size;
    }
    paces = candidates;
    assert_true(warprsa_paces_fit(&paces, &candidates, 5000));
    assert_false(warprsa_paces_fit(&paces, &candidates, 500));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        paces.row[WARPRSA_CLASS_2048] = bad[i];
        assert_false(warprsa_paces_fit(&paces, &candidates, 5000));
    }
    /* A class that is left out. */
    paces = candidates;
    paces.count--;
    assert_false(warprsa_paces_fit(&paces, &candidates, 5000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_go_through_the_points),
        cmocka_unit_test(more_operations_of_a_wave_never_take_less),
        cmocka_unit_test(choices),
        cmocka_unit_test(fold_is_for_parts),
        cmocka_unit_test(known_devices),
        cmocka_unit_test(paces_that_cannot_be),
    };

    return cmocka_run_group_tests_name("gpu_selection", tests, NULL, NULL);
}
