/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The pauses of CPUs in the background, at times that the test makes up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "batching/base/clock.h"
#include "batching/queue/starvation.h"

#define SEC WARPRSA_NS_PER_SEC

static void a_pause_ends_by_itself(void **state)
{
    warprsa_starvation s = {0};

    (void)state;
    assert_false(warprsa_starvation_is_paused(&s, 5 * SEC));
    assert_int_equal(warprsa_starvation_note(&s, 5 * SEC), SEC);
    assert_true(warprsa_starvation_is_paused(&s, 5 * SEC));
    assert_true(warprsa_starvation_is_paused(&s, 6 * SEC - 1));
    assert_false(warprsa_starvation_is_paused(&s, 6 * SEC));
}

/* Batches of other threads that began before the pause find no CPU either. */
static void one_stall_is_one_pause(void **state)
{
    warprsa_starvation s = {0};

    (void)state;
    assert_int_equal(warprsa_starvation_note(&s, 5 * SEC), SEC);
    assert_int_equal(warprsa_starvation_note(&s, 5 * SEC + SEC / 2), 0);
    assert_false(warprsa_starvation_is_paused(&s, 6 * SEC));
}

static void pauses_grow_up_to_a_minute(void **state)
{
    static const unsigned expected[] = {1, 2, 4, 8, 16, 32, 64, 64};
    warprsa_starvation s = {0};
    uint64_t now_ns = SEC;

    (void)state;
    for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_int_equal(warprsa_starvation_note(&s, now_ns),
                         expected[i] * SEC);
        now_ns += expected[i] * SEC + SEC / 10;
    }
}

static void a_long_time_without_one_forgets(void **state)
{
    warprsa_starvation s = {0};

    (void)state;
    assert_int_equal(warprsa_starvation_note(&s, 10 * SEC), 1 * SEC);
    assert_int_equal(warprsa_starvation_note(&s, 11 * SEC), 2 * SEC);
    /* The second one ends at 13 s. */
    assert_int_equal(warprsa_starvation_note(&s, 29 * SEC - 1), 4 * SEC);
    assert_int_equal(warprsa_starvation_note(&s, 65 * SEC), 1 * SEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pause_ends_by_itself),
        cmocka_unit_test(one_stall_is_one_pause),
        cmocka_unit_test(pauses_grow_up_to_a_minute),
        cmocka_unit_test(a_long_time_without_one_forgets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
