/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How long a thread sleeps that waits for a batch.
 */
#include "tests/unit/support/unit_test.h"

#include "gpu/select/eta.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

static uint64_t sleep_of(const warprsa_eta *d, size_t count)
{
    return warprsa_eta_sleep(d, WARPRSA_CLASS_2048, count);
}

static void note(warprsa_eta *d, size_t count, uint64_t ns)
{
    warprsa_eta_note(d, WARPRSA_CLASS_2048, count, ns);
}

TEST(nothing_is_known)
{
    warprsa_eta d = {0};

    assert_int_equal(sleep_of(&d, 1), 0);
    note(&d, 1, 3 * MS);
    assert_int_equal(sleep_of(&d, 100), 0); /* none of so many is known */
    assert_int_equal(warprsa_eta_sleep(&d, WARPRSA_CLASS_4096, 1), 0);
}

/* Each number of requests that there can be has its own time; far too many have
 * the last one's. */
TEST(each_size_has_its_own)
{
    warprsa_eta d = {0};

    for (size_t count = 1; count <= 65536; count *= 2)
        note(&d, count, count * MS);
    for (size_t count = 1; count <= 65536; count *= 2) {
        assert_in_range(sleep_of(&d, count), count * MS / 10 * 8, count * MS);
        assert_in_range(sleep_of(&d, count * 2 - 1), count * MS / 10 * 8,
                        count * MS);
    }
    assert_in_range(sleep_of(&d, SIZE_MAX), 65536 * MS / 10 * 8, 65536 * MS);
}

/* A batch takes 3 ms, then 1 ms. The thread that sleeps never sees less than
 * its own sleep, and still it finds out. */
TEST(faster_ones_are_found_out)
{
    warprsa_eta d = {0};

    note(&d, 1, 3 * MS);
    for (unsigned i = 0; i < 12; i++) {
        uint64_t slept = sleep_of(&d, 1);

        note(&d, 1, slept > 1 * MS ? slept + 60 * US : 1 * MS);
    }
    assert_in_range(sleep_of(&d, 1), 1 * MS / 2, 1 * MS);
}

/* Now and then a batch waits for others on the device. The sleep then grows
 * only little. */
TEST(slower_ones_count_little)
{
    warprsa_eta d = {0};

    for (unsigned i = 0; i < 10; i++)
        note(&d, 1, i % 10 == 9 ? 6 * MS : 3 * MS);
    assert_in_range(sleep_of(&d, 1), 2 * MS, 3 * MS);
    note(&d, 1, 10000 * MS);
    assert_in_range(sleep_of(&d, 1), 2 * MS, 3 * MS);
    for (unsigned i = 0; i < 100; i++)
        note(&d, 1, 6 * MS);
    assert_in_range(sleep_of(&d, 1), 5 * MS, 6 * MS);
}

/* There is no sleep for a batch that takes no longer than a sleep is late. */
TEST(short_ones_are_not_slept_for)
{
    warprsa_eta d = {0};

    note(&d, 1, 80 * US);
    assert_int_equal(sleep_of(&d, 1), 0);
}

TEST(asked_more_seldom_the_longer_it_takes)
{
    assert_in_range(warprsa_eta_pause(0), 1 * US, 50 * US);
    assert_in_range(warprsa_eta_pause(10 * MS), 100 * US, 200 * US);
    assert_in_range(warprsa_eta_pause(10000 * MS), 1 * MS, 1 * MS);
}

RUN_TESTS(NULL, NULL)
