/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rules by which the router decides, by tables.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/queue/router_rules.h"
#include "batching/queue/router_times.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define MS           UINT64_C(1000000)

/* Four CPUs: six computations keep them busy, and 16 are too many beside
 * devices that are saturated. */
TEST(where_it_is_done_sooner)
{
    static const struct {
        uint32_t computing;
        uint64_t cpu_ns, device_ns;
        bool saturated;
        warprsa_router_choice expected;
    } table[] = {
        {0, 10, 11, false, WARPRSA_RUN_CPU},
        {0, 10, 10, false, WARPRSA_RUN_CPU},
        {0, 11, 10, false, WARPRSA_RUN_DEVICE},
        {5, 10, 11, true, WARPRSA_RUN_CPU},
        {5, 11, 10, true, WARPRSA_RUN_DEVICE},
        {6, 10, 11, false, WARPRSA_RUN_DEVICE},
        {6, 11, 10, true, WARPRSA_RUN_DEVICE},
        {6, 10, 10, true, WARPRSA_RUN_DEVICE},
        {6, 10, 11, true, WARPRSA_RUN_CPU_OVERFLOW},
        {15, 10, 11, true, WARPRSA_RUN_CPU_OVERFLOW},
        {16, 10, 11, true, WARPRSA_RUN_DEVICE},
    };

    for (size_t t = 0; t < COUNT(table); t++) {
        const warprsa_router_facts facts = {4, table[t].computing,
                                            table[t].cpu_ns, table[t].device_ns,
                                            table[t].saturated};

        assert_int_equal(warprsa_router_decide(&facts), table[t].expected);
    }
}

TEST(three_times_as_late_is_not_saturated_yet)
{
    assert_false(warprsa_router_is_saturated(30, 10));
    assert_true(warprsa_router_is_saturated(31, 10));
    assert_false(warprsa_router_is_saturated(0, 0));
}

/* Answers, and then what is expected with so many requests before. */
TEST(times_of_devices)
{
    static const struct {
        struct {
            unsigned before;
            uint64_t ms; /* 0: there is no such answer */
        } answers[3];
        unsigned before;
        uint64_t ms; /* 0: a guess */
    } table[] = {
        {{{0}}, 0, 0},
        {{{0, 3}}, 0, 3},
        /* Not measured: as with fewer requests, else as with more. */
        {{{0, 3}}, 1000, 3},
        {{{8, 5}}, 0, 5},
        /* 2 and 3 share a bin. */
        {{{0, 3}, {2, 5}}, 3, 5},
        {{{0, 3}, {2, 5}}, 1, 3},
        /* With fewer before it no answer takes longer. */
        {{{0, 5}, {8, 3}}, 0, 3},
        {{{0, 5}, {8, 3}}, 8, 3},
        /* The third quarter of an average is what was known before. */
        {{{0, 4}, {0, 8}}, 0, 5},
        /* No more counts than four times what was expected. */
        {{{0, 4}, {0, 1000}}, 0, 7},
    };

    for (size_t t = 0; t < COUNT(table); t++) {
        warprsa_router_times times = {0};
        uint64_t guess =
            warprsa_router_times_device(&times, WARPRSA_CLASS_2048, 0);

        for (unsigned i = 0; i < 3 && table[t].answers[i].ms != 0; i++)
            warprsa_router_times_answered(&times, WARPRSA_CLASS_2048,
                                          table[t].answers[i].before,
                                          table[t].answers[i].ms * MS, 1);
        assert_int_equal(warprsa_router_times_device(&times, WARPRSA_CLASS_2048,
                                                     table[t].before),
                         table[t].ms != 0 ? table[t].ms * MS : guess);
    }
}

TEST(old_times_are_forgotten)
{
    const warprsa_size_class size = WARPRSA_CLASS_2048;
    warprsa_router_times times = {0};
    uint64_t guess = warprsa_router_times_device(&times, size, 0);
    uint64_t calibrated;

    warprsa_router_times_answered(&times, size, 0, 3 * MS, 5);
    warprsa_router_times_forget_old(&times, 4); /* read before the answer */
    assert_int_equal(warprsa_router_times_device(&times, size, 0), 3 * MS);
    warprsa_router_times_forget_old(&times, 4 + WARPRSA_ROUTER_RENEW_NS);
    assert_int_equal(warprsa_router_times_device(&times, size, 0), 3 * MS);
    warprsa_router_times_forget_old(&times, 5 + WARPRSA_ROUTER_RENEW_NS);
    assert_int_equal(warprsa_router_times_device(&times, size, 0), guess);
    warprsa_router_times_calibrate(&times, 1000 * MS, false);
    calibrated = warprsa_router_times_device(&times, size, 0);
    assert_int_not_equal(calibrated, guess);
    warprsa_router_times_answered(&times, size, 0, 3 * MS, 5);
    warprsa_router_times_forget(&times);
    assert_int_equal(warprsa_router_times_device(&times, size, 0), calibrated);
}

RUN_TESTS(NULL, NULL)
