/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The states of a device, by tables: every event in every state, the pauses
 * after failures, and when a device is beyond help.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/base/clock.h"
#include "batching/queue/device_states.h"

#define SEC          WARPRSA_NS_PER_SEC
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* A row for each state, a letter for each event, in their order: found, opened,
 * not opened, overdue, failed, left, test passed, test failed, given up. The
 * letter is the first one of the state that follows. */
TEST(every_event_in_every_state)
{
    static const char letters[] = "AORSLG";
    static const char *const table[WARPRSA_DEVICE_STATES] = {
        [WARPRSA_DEVICE_ABSENT] = "OAAAAAAAG",
        [WARPRSA_DEVICE_OPENING] = "ORLOOOOOG",
        [WARPRSA_DEVICE_READY] = "RRRSLLRRG",
        [WARPRSA_DEVICE_SUSPECT] = "SSSSLLRLG",
        [WARPRSA_DEVICE_LOST] = "LRLLLLLLG",
        [WARPRSA_DEVICE_GONE] = "GGGGGGGGG",
    };

    for (int s = 0; s < WARPRSA_DEVICE_STATES; s++)
        for (int e = 0; e < WARPRSA_DEVICE_EVENTS; e++)
            assert_int_equal(
                letters[warprsa_device_next_state((warprsa_device_state)s,
                                                  (warprsa_device_event)e)],
                table[s][e]);
}

TEST(pauses_double_up_to_a_limit)
{
    static const struct {
        unsigned failures, deadline_ms;
        bool is_host;
        unsigned ms;
    } table[] = {
        {0, 1000, false, 0},      {1, 1000, false, 100},
        {2, 1000, false, 200},    {10, 1000, false, 51200},
        {11, 1000, false, 60000}, {4000000000, 1000, false, 60000},
        {6, 1000, true, 3200},    {7, 1000, true, 5000},
        {1, 30, false, 30},       {3, 30, false, 120},
        {12, 30, false, 60000},   {9, 30, true, 5000},
    };

    for (size_t t = 0; t < COUNT(table); t++)
        assert_int_equal(warprsa_device_backoff_ms(table[t].failures,
                                                   table[t].deadline_ms,
                                                   table[t].is_host),
                         table[t].ms);
}

/* Times in seconds. */
TEST(out_of_use_for_too_long)
{
    static const struct {
        warprsa_device_state state;
        bool was_in_use, reopening_failed;
        unsigned out, opening, pause_until, now;
        bool beyond_help;
    } table[] = {
        {WARPRSA_DEVICE_SUSPECT, true, false, 10, 0, 0, 11, false},
        {WARPRSA_DEVICE_SUSPECT, true, false, 10, 0, 0, 12, true},
        {WARPRSA_DEVICE_LOST, true, false, 10, 0, 0, 12, true},
        /* It was never in use, or is. */
        {WARPRSA_DEVICE_LOST, false, false, 10, 0, 0, 99, false},
        {WARPRSA_DEVICE_READY, true, false, 10, 0, 0, 99, false},
        {WARPRSA_DEVICE_OPENING, true, false, 10, 0, 0, 99, false},
        {WARPRSA_DEVICE_GONE, true, true, 10, 0, 0, 99, false},
        /* It pauses because of wrong results. */
        {WARPRSA_DEVICE_LOST, true, false, 10, 0, 20, 21, false},
        {WARPRSA_DEVICE_LOST, true, false, 10, 0, 20, 22, true},
        {WARPRSA_DEVICE_LOST, true, false, 30, 0, 20, 31, false},
        /* It is being opened, which takes longer. */
        {WARPRSA_DEVICE_LOST, true, false, 10, 15, 0, 44, false},
        {WARPRSA_DEVICE_LOST, true, false, 10, 15, 0, 45, true},
        /* That has failed already. */
        {WARPRSA_DEVICE_LOST, true, true, 10, 0, 0, 10, true},
        {WARPRSA_DEVICE_LOST, false, true, 10, 0, 0, 10, false},
    };

    for (size_t t = 0; t < COUNT(table); t++) {
        const warprsa_device_history history = {
            .was_in_use = table[t].was_in_use,
            .reopening_failed = table[t].reopening_failed,
            .out_ns = table[t].out * SEC,
            .opening_ns = table[t].opening * SEC,
        };

        assert_int_equal(warprsa_device_is_beyond_help(
                             table[t].state, &history,
                             table[t].pause_until * SEC, table[t].now * SEC),
                         table[t].beyond_help);
    }
}

/* Times in seconds. */
TEST(opening_for_long)
{
    static const struct {
        unsigned opening, now;
        bool slow;
    } table[] = {{0, 99, false}, {15, 24, false}, {15, 25, true}};

    for (size_t t = 0; t < COUNT(table); t++) {
        const warprsa_device_history history = {.opening_ns =
                                                    table[t].opening * SEC};

        assert_int_equal(
            warprsa_device_opens_slowly(&history, table[t].now * SEC),
            table[t].slow);
    }
}

/* Times in seconds, but for the deadline. */
TEST(calls_that_hang)
{
    static const struct {
        unsigned since, deadline_ms, now;
        bool hangs;
    } table[] = {{0, 2000, 99, false},       {15, 2000, 17, false},
                 {15, 2000, 18, true},       {15, 5000, 20, false},
                 {15, 5000, 21, true},       {15, UINT32_MAX, 99, false},
                 {15, UINT32_MAX, 15, false}};

    for (size_t t = 0; t < COUNT(table); t++)
        assert_int_equal(warprsa_device_call_hangs(table[t].since * SEC,
                                                   table[t].deadline_ms,
                                                   table[t].now * SEC),
                         table[t].hangs);
}

RUN_TESTS(NULL, NULL)
