/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * gpu/fold_plan.h: which keys may be folded, and where the requests of a batch
 * are put.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/fold_plan.h"
#include "tests/unit/gpu_keys.h"
#include "tests/unit/module_context.h"
#include "tests/unit/random_keys.h"

enum {
    BATCH_MAX = 3000,
    KEYS = 40,
    BATCHES = 200,
};

static warprsa_fold_plan plan;
static warprsa_fold_item items[BATCH_MAX];
static warprsa_task tasks[BATCH_MAX];
static uint8_t takes[KEYS];

static int set_up(void **state)
{
    (void)state;
    return !warprsa_fold_plan_new(&plan, BATCH_MAX, KEYS);
}

static int tear_down(void **state)
{
    (void)state;
    warprsa_fold_plan_free(&plan);
    return 0;
}

static unsigned tasks_of(uint32_t key, size_t count)
{
    unsigned of = 0;

    for (size_t i = 0; i < count; i++)
        of += tasks[i].key == key;
    return of;
}

/* Every task has one place; those of a key come in their order. */
static void check_order(size_t count)
{
    static uint8_t seen[BATCH_MAX];
    uint32_t last[KEYS + 1];

    memset(seen, 0, sizeof(seen));
    memset(last, 0, sizeof(last));
    for (size_t i = 0; i < count; i++) {
        const uint32_t task = plan.order[i];
        uint32_t *before = &last[i < plan.folded ? tasks[task].key : KEYS];

        assert_true(task < count);
        assert_int_equal(0, seen[task]);
        seen[task] = 1;
        assert_true(task + 1 > *before);
        *before = task + 1;
    }
}

/* The items are the folded places, each of one key, and none too long. */
static void check_items(const warprsa_fold_rule *rule)
{
    uint32_t next = 0;

    for (uint32_t i = 0; i < plan.items; i++) {
        assert_int_equal(next, items[i].first);
        assert_in_range(items[i].count, 1, rule->item_most);
        for (uint32_t j = 0; j < items[i].count; j++)
            assert_int_equal(tasks[plan.order[next]].key,
                             tasks[plan.order[next + j]].key);
        next += items[i].count;
    }
    assert_int_equal(plan.folded, next);
}

/* Folded are the keys that may be and have enough, if all that are enough. */
static void check_choice(size_t count, const warprsa_fold_rule *rule)
{
    uint32_t expected = 0;

    for (uint32_t key = 0; key < KEYS; key++) {
        unsigned of = tasks_of(key, count);

        if (takes[key] && of >= rule->key_min)
            expected += of;
    }
    if (rule->requests_min == 0 || expected < rule->requests_min)
        expected = 0;
    assert_int_equal(expected, plan.folded);
    for (uint32_t i = 0; i < plan.folded; i++) {
        const uint32_t key = tasks[plan.order[i]].key;

        assert_true(takes[key]);
        assert_true(tasks_of(key, count) >= rule->key_min);
    }
}

static void batches(void **state)
{
    random_stream stream = {7};
    unsigned folded = 0, left = 0;

    (void)state;
    for (unsigned turn = 0; turn < module_context_scaled(BATCHES); turn++) {
        const size_t count = 1 + random_below(&stream, BATCH_MAX);
        const unsigned keys = 1 + random_below(&stream, KEYS);
        const warprsa_fold_rule rule = {
            1 + random_below(&stream, 128), 1 + random_below(&stream, 100),
            turn % 7 == 0 ? 0 : 1 + random_below(&stream, 2000)};

        for (uint32_t key = 0; key < KEYS; key++)
            takes[key] = random_below(&stream, 4) != 0;
        for (size_t i = 0; i < count; i++) {
            unsigned a = random_below(&stream, keys);
            unsigned b = random_below(&stream, keys);

            tasks[i].key = a < b ? a : b; /* some have many */
        }
        warprsa_fold_plan_make(&plan, items, tasks, count, takes, &rule);
        check_order(count);
        check_items(&rule);
        check_choice(count, &rule);
        folded += plan.folded != 0;
        left += plan.folded < count;
    }
    assert_true(folded > 0 && left > 0);
}

static int takes_of(const key_recipe *recipe)
{
    made_key made;
    int answer;

    assert_true(made_key_new(&made, recipe));
    answer = warprsa_fold_takes(&made.key);
    made_key_free(&made);
    return answer;
}

/* Lengths at both ends of what the bounds allow, and beyond. */
static void lengths_of_primes(void **state)
{
    static const struct {
        key_recipe recipe;
        int answer;
    } cases[] = {
        {{{PRIME_RANDOM, 512}, {PRIME_DOWN, 512}, 65537}, 0},
        {{{PRIME_DOWN, 1024}, {PRIME_UP, 1024}, 65537}, 1},
        {{{PRIME_DOWN, 1024}, {PRIME_UP, 1000}, 65537}, 1},
        {{{PRIME_UP, 1000}, {PRIME_DOWN, 1000}, 3}, 1},
        {{{PRIME_UP, 1025}, {PRIME_DOWN, 1024}, 65537}, 0},
        {{{PRIME_DOWN, 1024}, {PRIME_DOWN, 999}, 65537}, 0},
        {{{PRIME_DOWN, 1536}, {PRIME_UP, 1536}, 65537}, 1},
        {{{PRIME_DOWN, 1537}, {PRIME_UP, 1536}, 65537}, 0},
        {{{PRIME_DOWN, 2048}, {PRIME_UP, 2048}, 3}, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(cases[i].answer, takes_of(&cases[i].recipe));
}

/* A key whose n is not p q, or whose qinv is not q's inverse, would pass a
 * check modulo the primes. */
static void keys_that_lie(void **state)
{
    static const key_recipe recipe = {
        {PRIME_DOWN, 1024}, {PRIME_ONES, 1024}, 65537};
    made_key made;

    (void)state;
    assert_true(made_key_new(&made, &recipe));
    assert_int_equal(1, warprsa_fold_takes(&made.key));
    made.key.n[sizeof(made.key.n) - 20] ^= 1;
    assert_int_equal(0, warprsa_fold_takes(&made.key));
    made.key.n[sizeof(made.key.n) - 20] ^= 1;
    made.key.qinv[sizeof(made.key.qinv) - 20] ^= 1;
    assert_int_equal(0, warprsa_fold_takes(&made.key));
    made_key_free(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches),
        cmocka_unit_test(lengths_of_primes),
        cmocka_unit_test(keys_that_lie),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
