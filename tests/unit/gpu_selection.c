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

#include <cmocka.h>

#include "gpu/cuda/selection.h"

enum {
    H200 = 132, /* multiprocessors */
};

static const warprsa_pace pace = {1000, 2.0f, 3.0f, 7.0f};

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

static const char *choice(warprsa_size_class size, size_t count,
                          unsigned multiprocessors)
{
    const warprsa_variant *variant =
        warprsa_fastest_variant(size, count, multiprocessors);

    assert_non_null(variant->launch[size]);
    return variant->name;
}

/* One thread a half wants the whole device; a batch just over a wave of it has
 * to wait for a second. */
static void choices(void **state)
{
    (void)state;
    for (int size = 0; size < WARPRSA_CLASSES; size++) {
        assert_string_equal("lanes", choice((warprsa_size_class)size, 1, H200));
        assert_string_equal("lanes",
                            choice((warprsa_size_class)size, 4096, H200));
    }
    assert_string_equal("thread", choice(WARPRSA_CLASS_2048, 25344, H200));
    assert_string_equal("lanes", choice(WARPRSA_CLASS_2048, 25600, H200));
    assert_string_equal("thread", choice(WARPRSA_CLASS_4096, 16896, H200));
    /* A device of half the size has waves of half the size. */
    assert_string_equal("thread", choice(WARPRSA_CLASS_2048, 12672, H200 / 2));
    assert_string_equal("lanes", choice(WARPRSA_CLASS_2048, 12672, H200));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_go_through_the_points),
        cmocka_unit_test(more_operations_of_a_wave_never_take_less),
        cmocka_unit_test(choices),
    };

    return cmocka_run_group_tests_name("gpu_selection", tests, NULL, NULL);
}
