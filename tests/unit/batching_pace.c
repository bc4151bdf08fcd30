/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * When a device's next batch is taken, at times the test makes up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "batching/pace.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

enum {
    MOST = 16384,  /* requests in a batch */
    MANY = 8192,   /* a batch that keeps a device busy, */
    REQUEST = 1000 /* ns for each of its requests */
};

static warprsa_pace pace;
static uint64_t again;

static int reset(void **state)
{
    (void)state;
    pace = (warprsa_pace){0};
    return 0;
}

static bool may_start(uint32_t waiting, uint64_t now_ns)
{
    return warprsa_pace_may_start(&pace, waiting, MOST, now_ns, &again);
}

/* Teaches what a request of a large batch takes: on the device, and before. */
static void learn(void)
{
    for (unsigned i = 0; i < 30; i++) {
        uint64_t taken = 1000 * MS * i;
        uint64_t started = taken + MANY * 100;

        warprsa_pace_taken(&pace, WARPRSA_CLASS_2048, MANY, taken);
        warprsa_pace_started(&pace, MANY, taken, started);
        warprsa_pace_ended(&pace, WARPRSA_CLASS_2048, MANY, started,
                           started + MANY * REQUEST);
    }
}

static void an_idle_device_starts_at_once(void **state)
{
    (void)state;
    assert_false(may_start(0, 5 * MS));
    assert_int_equal(again, UINT64_MAX);
    assert_true(may_start(1, 5 * MS));
    learn();
    assert_true(may_start(1, 40000 * MS));
    assert_int_equal(warprsa_pace_wake_at(&pace, MOST), 1);
}

/* A few requests leave room for more beside them. */
static void so_does_one_with_little_to_do(void **state)
{
    (void)state;
    learn();
    warprsa_pace_taken(&pace, WARPRSA_CLASS_2048, 100, 40000 * MS);
    assert_true(may_start(1, 40000 * MS));
    warprsa_pace_taken(&pace, WARPRSA_CLASS_2048, 1900, 40000 * MS);
    assert_true(may_start(1, 40000 * MS));
    assert_int_equal(warprsa_pace_wake_at(&pace, MOST), 1);
    warprsa_pace_taken(&pace, WARPRSA_CLASS_2048, 100, 40000 * MS);
    assert_false(may_start(1, 40000 * MS));
    assert_int_equal(warprsa_pace_wake_at(&pace, MOST), MOST);
}

/* A busy one: just in time for the next batch to be there when it is free, and
 * a full batch at once. */
static void a_busy_one_collects_until_it_is_nearly_free(void **state)
{
    uint64_t start = 40000 * MS, end = start + MANY * REQUEST, next;

    (void)state;
    learn();
    warprsa_pace_taken(&pace, WARPRSA_CLASS_2048, MANY, start);
    assert_false(may_start(4000, start + 1 * MS));
    /* Four thousand requests take 0.4 ms to get there, and something more. */
    assert_in_range(again, end - 1500 * US, end - 400 * US);
    next = again;
    assert_false(may_start(4000, next - 1));
    assert_true(may_start(4000, next));
    assert_true(may_start(MOST, start + 1 * MS));
    /* With the next one taken, it is the one after that which waits. */
    warprsa_pace_taken(&pace, WARPRSA_CLASS_2048, 4000, next);
    assert_false(may_start(100, end - 100 * US));
    assert_in_range(again, end + 3 * MS, end + 4 * MS);
    /* The first has ended sooner than thought: everything moves. */
    warprsa_pace_ended(&pace, WARPRSA_CLASS_2048, MANY, start, end - 2 * MS);
    assert_false(may_start(100, end - 2 * MS));
    assert_in_range(again, end + 1 * MS, end + 2 * MS);
    warprsa_pace_ended(&pace, WARPRSA_CLASS_2048, 4000, start, end);
    assert_true(may_start(1, end));
}

/* As long as nothing is known of large batches, none waits for another. */
static void without_measurements_it_does_not_wait(void **state)
{
    (void)state;
    warprsa_pace_taken(&pace, WARPRSA_CLASS_4096, MANY, 40000 * MS);
    assert_true(may_start(100, 40000 * MS));
}

/* A prediction that was wrong, or a device that hangs, holds up nobody: past
 * it, all may start. */
static void a_missed_prediction(void **state)
{
    (void)state;
    learn();
    warprsa_pace_taken(&pace, WARPRSA_CLASS_2048, MANY, 40000 * MS);
    assert_false(may_start(1, 40001 * MS));
    assert_true(may_start(1, 40100 * MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_idle_device_starts_at_once, reset),
        cmocka_unit_test_setup(so_does_one_with_little_to_do, reset),
        cmocka_unit_test_setup(a_busy_one_collects_until_it_is_nearly_free,
                               reset),
        cmocka_unit_test_setup(without_measurements_it_does_not_wait, reset),
        cmocka_unit_test_setup(a_missed_prediction, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
