/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whether a device computes right: what is decided, at times that the test
 * makes up.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/base/clock.h"
#include "batching/queue/device_health.h"

#define SEC WARPRSA_NS_PER_SEC

/* When results were wrong, in seconds and ascending, and after which of them
 * the device has to go; 0: after none. */
TEST(too_many_in_a_short_time)
{
    static const struct {
        unsigned count, at[6], out_after;
    } table[] = {
        {2, {5, 5}, 0},
        {3, {5, 5, 5}, 3},
        {3, {5, 10, 15}, 3},
        {3, {5, 10, 16}, 0},
        {6, {5, 11, 17, 23, 29, 35}, 0},
        {6, {5, 11, 17, 18, 19, 20}, 4},
        {4, {5, 5, 16, 16}, 0},
        {5, {5, 5, 16, 16, 26}, 5},
        {5, {5, 5, 16, 16, 27}, 0},
    };

    for (size_t t = 0; t < sizeof(table) / sizeof(table[0]); t++) {
        warprsa_device_health h = {0};
        unsigned out_after = 0;

        for (unsigned i = 0; i < table[t].count && out_after == 0; i++)
            if (warprsa_device_health_wrong(&h, WARPRSA_CLASS_2048,
                                            table[t].at[i] * SEC))
                out_after = i + 1;
        assert_int_equal(out_after, table[t].out_after);
    }
}

/* Three wrong results at once. Returns the length of the pause. */
static uint64_t wrong(warprsa_device_health *h, uint64_t now_ns)
{
    assert_false(warprsa_device_health_wrong(h, WARPRSA_CLASS_1024, now_ns));
    assert_false(warprsa_device_health_wrong(h, WARPRSA_CLASS_4096, now_ns));
    assert_true(warprsa_device_health_wrong(h, WARPRSA_CLASS_4096, now_ns));
    assert_int_equal(h->classes,
                     1u << WARPRSA_CLASS_1024 | 1u << WARPRSA_CLASS_4096);
    return h->until_ns - now_ns;
}

TEST(pauses_grow_up_to_a_minute)
{
    static const unsigned expected[] = {1, 2, 4, 8, 16, 32, 64, 64};
    warprsa_device_health h = {0};
    uint64_t now_ns = SEC;

    for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_int_equal(wrong(&h, now_ns), expected[i] * SEC);
        now_ns = h.until_ns;
        warprsa_device_health_in_use(&h, now_ns);
        assert_int_equal(h.classes, 0);
        now_ns += SEC / 10;
    }
}

TEST(a_failed_test_is_another_pause)
{
    warprsa_device_health h = {0};

    assert_int_equal(wrong(&h, 5 * SEC), SEC);
    warprsa_device_health_failed_test(&h, 6 * SEC);
    assert_int_equal(h.until_ns, 8 * SEC);
    /* However late that is: it has not been in use. */
    warprsa_device_health_failed_test(&h, 900 * SEC);
    assert_int_equal(h.until_ns, 904 * SEC);
    assert_int_not_equal(h.classes, 0);
}

TEST(a_long_time_in_use_forgets)
{
    warprsa_device_health h = {0};

    assert_int_equal(wrong(&h, 10 * SEC), 1 * SEC);
    warprsa_device_health_in_use(&h, 11 * SEC);
    assert_int_equal(wrong(&h, 19 * SEC - 1), 2 * SEC);
    warprsa_device_health_in_use(&h, 22 * SEC);
    assert_int_equal(wrong(&h, 38 * SEC), 1 * SEC);
}

/* What came before the device was last opened is not held against it. */
TEST(in_use_again_begins_anew)
{
    warprsa_device_health h = {0};

    (void)warprsa_device_health_wrong(&h, WARPRSA_CLASS_2048, SEC);
    (void)warprsa_device_health_wrong(&h, WARPRSA_CLASS_2048, SEC);
    warprsa_device_health_in_use(&h, 2 * SEC);
    assert_int_equal(wrong(&h, 2 * SEC), SEC);
}

/* One thread at a time, for a tenth of the time, and 0.1 s in advance. */
TEST(looking_at_results_is_bounded)
{
    warprsa_device_health h = {0};

    assert_true(warprsa_device_health_judge(&h, 100 * SEC));
    assert_false(warprsa_device_health_judge(&h, 100 * SEC));
    warprsa_device_health_judged(&h, SEC / 10, 100 * SEC);
    assert_true(warprsa_device_health_judge(&h, 100 * SEC));
    warprsa_device_health_judged(&h, SEC / 10, 100 * SEC);
    assert_false(warprsa_device_health_judge(&h, 101 * SEC - 1));
    assert_true(warprsa_device_health_judge(&h, 101 * SEC));
    /* What was not used is not saved. */
    warprsa_device_health_judged(&h, 0, 900 * SEC);
    assert_true(warprsa_device_health_judge(&h, 900 * SEC));
    warprsa_device_health_judged(&h, SEC, 900 * SEC);
    assert_false(warprsa_device_health_judge(&h, 909 * SEC - 1));
    assert_true(warprsa_device_health_judge(&h, 909 * SEC));
}

RUN_TESTS(NULL, NULL)
