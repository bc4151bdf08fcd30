/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whether the CPUs answer sooner than other devices, by times that the test
 * makes up.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/base/clock.h"
#include "batching/queue/completion_times.h"

#define MS WARPRSA_NS_PER_MS

static const warprsa_size_class size = WARPRSA_CLASS_2048;

static bool sooner(const warprsa_answer_times *times, bool contended,
                   uint64_t now_ns)
{
    return warprsa_answer_times_cpus_are_sooner(times, size, contended, now_ns);
}

TEST(other_devices_come_first)
{
    warprsa_answer_times times = {0};

    assert_false(sooner(&times, false, 1 * MS));
    warprsa_answer_times_note(&times, true, size, 1, 1 * MS);
    assert_false(sooner(&times, false, 2 * MS));
}

TEST(the_shorter_time_wins)
{
    warprsa_answer_times times = {0};

    warprsa_answer_times_note(&times, false, size, 2 * MS, 5 * MS);
    assert_true(sooner(&times, false, 6 * MS)); /* to be measured */
    warprsa_answer_times_note(&times, true, size, 3 * MS, 7 * MS);
    assert_false(sooner(&times, false, 8 * MS));
    warprsa_answer_times_note(&times, false, size, 10 * MS, 9 * MS);
    assert_true(sooner(&times, false, 9 * MS)); /* the average is 4 */
    assert_false(warprsa_answer_times_cpus_are_sooner(
        &times, WARPRSA_CLASS_4096, false, 9 * MS));
    /* A host is left alone for a while, then measured again. */
    assert_true(sooner(&times, false, 108 * MS));
    assert_false(sooner(&times, false, 109 * MS));
    warprsa_answer_times_note(&times, false, size, 1 * MS, 110 * MS);
    assert_false(sooner(&times, false, 111 * MS));
}

TEST(contended_cpus_are_left_alone)
{
    warprsa_answer_times times = {0};

    warprsa_answer_times_note(&times, true, size, 1 * MS, 10 * MS);
    warprsa_answer_times_note(&times, false, size, 9 * MS, 990 * MS);
    assert_true(sooner(&times, false, 1000 * MS));
    assert_false(sooner(&times, true, 1000 * MS));
    /* A second later they are tried again. */
    warprsa_answer_times_note(&times, false, size, 9 * MS, 1010 * MS);
    assert_true(sooner(&times, true, 1010 * MS));
}

RUN_TESTS(NULL, NULL)
