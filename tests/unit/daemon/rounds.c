/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Turns by owner, and a user's part of what all users share.
 */
#include "tests/unit/support/unit_test.h"

#include <string.h>

#include "batching/daemon/process/rounds.h"
#include "batching/daemon/server/user_quota.h"

enum {
    MANY = 700,
    HONEST = 1,
    HOSTILE = 2,
};

static warprsa_rounds rounds;
static warprsa_rounds_entry crowd[MANY], honest;

static void start(void)
{
    memset(crowd, 0, sizeof(crowd));
    honest = (warprsa_rounds_entry){0};
    warprsa_rounds_init(&rounds);
}

/* One owner's hundreds of things are always ready: the other one's single thing
 * has a turn in each round, and never waits for more than one of them. */
TEST(one_turn_each)
{
    unsigned turns_of_hostile = 0, turns_of_honest = 0;

    start();
    for (unsigned i = 0; i < MANY; i++)
        warprsa_rounds_add(&rounds, &crowd[i], HOSTILE);
    for (unsigned round = 0; round < 2 * MANY; round++) {
        warprsa_rounds_entry *entry;

        warprsa_rounds_add(&rounds, &honest, HONEST);
        warprsa_rounds_begin(&rounds);
        while ((entry = warprsa_rounds_next(&rounds)) != NULL) {
            turns_of_honest += entry == &honest;
            turns_of_hostile += entry != &honest;
            if (entry != &honest) /* more to do, at once */
                warprsa_rounds_add(&rounds, entry, HOSTILE);
        }
        assert_int_equal(turns_of_honest, round + 1);
        assert_int_equal(turns_of_hostile, round + 1);
    }
    assert_int_equal(rounds.count, MANY);
}

/* All things of an owner come in turn. */
TEST(in_order)
{
    start();
    for (unsigned i = 0; i < 5; i++)
        warprsa_rounds_add(&rounds, &crowd[i], HOSTILE);
    warprsa_rounds_add(&rounds, &crowd[0], HOSTILE); /* it is there already */
    assert_int_equal(rounds.count, 5);
    for (unsigned i = 0; i < 5; i++) {
        warprsa_rounds_begin(&rounds);
        assert_ptr_equal(warprsa_rounds_next(&rounds), &crowd[i]);
        assert_null(warprsa_rounds_next(&rounds));
    }
    assert_int_equal(rounds.count, 0);
    warprsa_rounds_begin(&rounds);
    assert_null(warprsa_rounds_next(&rounds));
}

/* Things go within a round, the next one too. */
TEST(removed_within)
{
    start();
    for (unsigned i = 0; i < 4; i++)
        warprsa_rounds_add(&rounds, &crowd[i], i);
    warprsa_rounds_begin(&rounds);
    assert_ptr_equal(warprsa_rounds_next(&rounds), &crowd[0]);
    warprsa_rounds_remove(&rounds, &crowd[1]);
    warprsa_rounds_remove(&rounds, &crowd[1]);
    assert_ptr_equal(warprsa_rounds_next(&rounds), &crowd[2]);
    warprsa_rounds_remove(&rounds, &crowd[3]);
    assert_null(warprsa_rounds_next(&rounds));
    assert_int_equal(rounds.count, 0);
}

/* What comes within a round has its turn in the next one, whoever's it is. */
TEST(added_within)
{
    start();
    warprsa_rounds_add(&rounds, &crowd[0], HOSTILE);
    warprsa_rounds_begin(&rounds);
    assert_ptr_equal(warprsa_rounds_next(&rounds), &crowd[0]);
    warprsa_rounds_add(&rounds, &crowd[1], HOSTILE);
    warprsa_rounds_add(&rounds, &honest, HONEST);
    assert_null(warprsa_rounds_next(&rounds));
    warprsa_rounds_begin(&rounds);
    assert_ptr_equal(warprsa_rounds_next(&rounds), &crowd[1]);
    assert_ptr_equal(warprsa_rounds_next(&rounds), &honest);
    assert_null(warprsa_rounds_next(&rounds));
}

/* An owner's first thing goes, or one of the others: the rest keeps its order
 * and the owner its turn in this round. */
TEST(removed_of_one_owner)
{
    start();
    warprsa_rounds_add(&rounds, &honest, HONEST);
    for (unsigned i = 0; i < 5; i++)
        warprsa_rounds_add(&rounds, &crowd[i], HOSTILE);
    warprsa_rounds_begin(&rounds);
    assert_ptr_equal(warprsa_rounds_next(&rounds), &honest);
    warprsa_rounds_remove(&rounds, &crowd[0]);
    warprsa_rounds_remove(&rounds, &crowd[2]);
    warprsa_rounds_remove(&rounds, &crowd[4]);
    assert_int_equal(rounds.count, 2);
    assert_ptr_equal(warprsa_rounds_next(&rounds), &crowd[1]);
    assert_null(warprsa_rounds_next(&rounds));
    warprsa_rounds_begin(&rounds);
    assert_ptr_equal(warprsa_rounds_next(&rounds), &crowd[3]);
    assert_int_equal(rounds.count, 0);
}

/* All owners have a turn in each round, however many there are. */
TEST(many_owners)
{
    unsigned turns = 0;

    start();
    for (unsigned i = 0; i < MANY; i++)
        warprsa_rounds_add(&rounds, &crowd[i], i / 2);
    warprsa_rounds_begin(&rounds);
    while (warprsa_rounds_next(&rounds) != NULL)
        turns++;
    assert_int_equal(turns, MANY / 2);
    assert_int_equal(rounds.count, MANY / 2);
    warprsa_rounds_begin(&rounds);
    assert_ptr_equal(warprsa_rounds_next(&rounds), &crowd[1]);
}

/* Whoever takes all that it gets leaves as much for others, and these again. */
TEST(a_part_is_left)
{
    warprsa_user_quota quota;

    assert_true(warprsa_user_quota_init(&quota));
    for (unsigned user = 0; user < 5; user++) {
        unsigned taken = 0;

        while (warprsa_user_quota_take(&quota, user, 1, 1024) == NULL)
            taken++;
        assert_int_equal(taken, 512 >> user);
    }
    warprsa_user_quota_give(&quota, 0, 512);
    assert_null(warprsa_user_quota_take(&quota, 7, 256, 1024));
    assert_non_null(warprsa_user_quota_take(&quota, 8, 1025, 1024));
    warprsa_user_quota_give(&quota, 7, 256);
    for (unsigned user = 1; user < 5; user++)
        warprsa_user_quota_give(&quota, user, 512 >> user);
    assert_int_equal(warprsa_user_quota_count(&quota), 0);
    warprsa_user_quota_free(&quota);
}

RUN_TESTS(NULL, NULL)
