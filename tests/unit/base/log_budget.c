/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lines of the log: whoever causes too many loses its own alone, and the log
 * says how many.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/base/log_budget.h"

#include "batching/base/clock.h"

enum {
    MOST = 20,
    FLOOD = 100000,
    MANY = 1000, /* owners, more than have an entry */
    NOISY = 1000,
    QUIET = 1001,
};

#define IDENTITIES (UINT64_C(1) << 63)

static const uint64_t second = WARPRSA_NS_PER_SEC;
static warprsa_log_budgets budgets;

static int setup(void **state)
{
    budgets = (warprsa_log_budgets){0};
    return warprsa_log_budgets_init(&budgets, MOST) ? 0 : -1;
}

static int teardown(void **state)
{
    warprsa_log_budgets_free(&budgets);
    return 0;
}

TEST(one_budget)
{
    warprsa_log_budget one = {0}, other = {0};
    unsigned taken = 0;

    for (int i = 0; i < 100; i++)
        taken += warprsa_log_budget_take(&one, MOST, 5 * second + (unsigned)i);
    assert_int_equal(taken, MOST);
    assert_true(warprsa_log_budget_take(&other, MOST, 5 * second));
    /* Said once, when the second is over. */
    assert_int_equal(warprsa_log_budget_left_out(&one, 5 * second + 100), 0);
    assert_int_equal(warprsa_log_budget_left_out(&one, 6 * second), 100 - MOST);
    assert_int_equal(warprsa_log_budget_left_out(&one, 7 * second), 0);
    assert_int_equal(warprsa_log_budget_left_out(&other, 7 * second), 0);
    assert_true(warprsa_log_budget_take(&one, MOST, 7 * second));
}

/* How many of so many lines are written. */
static unsigned take(uint64_t owner, unsigned lines, uint64_t now_ns)
{
    unsigned taken = 0;

    for (unsigned i = 0; i < lines; i++)
        taken += warprsa_log_budgets_take(&budgets, owner, now_ns);
    return taken;
}

static void nothing_was_left_out(uint64_t now_ns)
{
    uint64_t owner, lines;

    assert_false(
        warprsa_log_budgets_left_out(&budgets, now_ns, &owner, &lines));
}

static void was_left_out(uint64_t now_ns, uint64_t owner, uint64_t lines)
{
    uint64_t is_owner, is_lines;

    assert_true(
        warprsa_log_budgets_left_out(&budgets, now_ns, &is_owner, &is_lines));
    assert_int_equal(is_owner, owner);
    assert_int_equal(is_lines, lines);
}

TEST_IN(a_flood_beside_others, setup, teardown)
{
    for (uint64_t at = second; at < 5 * second; at += second) {
        assert_int_equal(take(NOISY, FLOOD, at), MOST);
        assert_int_equal(take(QUIET, 1, at), 1);
        assert_int_equal(take(0, 1, at), 1); /* root */
        nothing_was_left_out(at + second - 1);
        was_left_out(at + second, NOISY, FLOOD - MOST);
        nothing_was_left_out(at + second);
    }
}

/* Lines that were left out stay counted until they are told. */
TEST_IN(told_late, setup, teardown)
{
    assert_int_equal(take(NOISY, 30, second), MOST);
    assert_int_equal(take(NOISY, 30, 2 * second), MOST);
    was_left_out(9 * second, NOISY, 2 * (30 - MOST));
    nothing_was_left_out(9 * second);
}

/* Who had an entry before the crowd came keeps its lines, what the crowd costs
 * is bounded, and a second later there is room for everybody. */
static void a_crowd(uint64_t quiet, uint64_t first, uint64_t others)
{
    unsigned taken = 0;

    assert_int_equal(take(quiet, 1, second), 1);
    for (unsigned i = 0; i < MANY; i++)
        taken += take(first + i, 2, second);
    assert_int_equal(taken, 2 * (WARPRSA_LOG_USERS_MAX - 1) + MOST);
    assert_int_equal(take(quiet, 100, second), MOST - 1);
    was_left_out(2 * second, quiet, 101 - MOST);
    was_left_out(2 * second, others, 2 * MANY - taken);
    nothing_was_left_out(2 * second);
    assert_int_equal(take(first, 100, 2 * second), MOST);
}

TEST_IN(more_users_than_entries, setup, teardown)
{
    a_crowd(QUIET, 2 * MANY, WARPRSA_LOG_OTHER_USERS);
}

TEST_IN(more_identities_than_entries, setup, teardown)
{
    a_crowd(IDENTITIES, IDENTITIES + MANY, WARPRSA_LOG_OTHER_IDENTITIES);
}

/* A gateway can make up as many as it likes. */
TEST_IN(identities_beside_users, setup, teardown)
{
    for (unsigned i = 0; i < MANY; i++)
        take(IDENTITIES + i, MOST, second);
    for (unsigned i = 0; i < WARPRSA_LOG_USERS_MAX; i++)
        assert_int_equal(take(i, 100, second), MOST);
}

/* An entry that has something to tell is not given away. */
TEST_IN(what_is_owed, setup, teardown)
{
    for (unsigned i = 0; i < WARPRSA_LOG_USERS_MAX; i++)
        take(i, MOST + 1, second);
    assert_int_equal(take(NOISY, 100, 2 * second), MOST);
    for (unsigned i = 0; i < WARPRSA_LOG_USERS_MAX; i++)
        was_left_out(2 * second, i, 1);
    nothing_was_left_out(2 * second);
    was_left_out(3 * second, WARPRSA_LOG_OTHER_USERS, 100 - MOST);
}

RUN_TESTS(NULL, NULL)
