/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * gpu/kernels/fold_common/plan.h: which keys may be folded, and where the
 * requests of a batch are put.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support/unit_test.h"

#include "gpu/kernels/fold_common/plan.h"
#include "gpu/known_answer.h"
#include "tests/unit/support/gpu_keys.h"
#include "tests/unit/support/module_context.h"
#include "tests/unit/support/random_keys.h"

enum {
    BATCH_MAX = 3000,
    KEYS = 40,
    BATCHES = 200,
};

static warprsa_fold_plan plan;
static warprsa_fold_item items[BATCH_MAX];
static warprsa_task tasks[BATCH_MAX];
static uint8_t accepts[KEYS];

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

/* Times as the kernels have them: a wave of items takes as long as it takes
 * however few they are, what is left is done ten at a time. */
typedef struct times {
    size_t wave;
    double wave_time, rest_time;
} times;

static double predict(const void *arg, double items_folded, size_t rest)
{
    const times *t = arg;
    const double waves = ceil(items_folded / (double)t->wave);

    return waves * t->wave_time + (double)((rest + 9) / 10) * t->rest_time;
}

/* Every task has one position; those of a key come in their order. */
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

/* The items are the folded requests, each of one key, and none too long. They
 * are in the order of their positions, unless the full ones come first. */
static void check_items(const warprsa_fold_rule *rule)
{
    static bool is_in_item[BATCH_MAX];
    uint32_t folded = 0;

    memset(is_in_item, 0, sizeof(is_in_item));
    for (uint32_t i = 0; i < plan.items; i++) {
        const uint32_t first = items[i].first;

        if (!rule->full_first)
            assert_int_equal(folded, first);
        else if (i > 0 && items[i].count == rule->item_max)
            assert_int_equal(items[i - 1].count, rule->item_max);
        assert_in_range(items[i].count, 1, rule->item_max);
        for (uint32_t j = 0; j < items[i].count; j++) {
            assert_true(first + j < plan.folded && !is_in_item[first + j]);
            is_in_item[first + j] = true;
            assert_int_equal(tasks[plan.order[first]].key,
                             tasks[plan.order[first + j]].key);
        }
        folded += items[i].count;
    }
    assert_int_equal(plan.folded, folded);
}

/* Lengths of all items that there could be, by how many there are of each. */
static void count_lengths(unsigned of[WARPRSA_FOLD_ITEM_MAX + 1], size_t count,
                          const warprsa_fold_rule *rule)
{
    memset(of, 0, (WARPRSA_FOLD_ITEM_MAX + 1) * sizeof(*of));
    for (uint32_t key = 0; key < KEYS; key++) {
        unsigned left = accepts[key] ? tasks_of(key, count) : 0;

        of[rule->item_max] += left / rule->item_max;
        of[left % rule->item_max]++;
    }
}

/* What the items of the plan count as. */
static double folded_of_plan(const warprsa_fold_rule *rule)
{
    double folded = 0;

    for (uint32_t i = 0; i < plan.items; i++)
        folded += items[i].count <= rule->short_max ? rule->short_share : 1;
    return folded;
}

/* Folded are the longest items, and with one more or fewer of them it would
 * take no less. */
static void check_choice(size_t count, const warprsa_fold_rule *rule)
{
    unsigned of[WARPRSA_FOLD_ITEM_MAX + 1];
    size_t rest = count, number = 0, as_long = 0;
    double time, folded = 0;

    if (rule->item_max == 0) {
        assert_int_equal(0, plan.folded);
        return;
    }
    time = predict(rule->arg, folded_of_plan(rule), count - plan.folded);
    count_lengths(of, count, rule);
    assert_true(time <= predict(rule->arg, 0, count));
    for (uint32_t l = rule->item_max; l >= rule->item_min; l--)
        for (unsigned i = 0; i < of[l]; i++) {
            rest -= l;
            folded += l <= rule->short_max ? rule->short_share : 1;
            number++;
            assert_true(time <= predict(rule->arg, folded, rest));
            as_long += number == plan.items && rest == count - plan.folded;
        }
    assert_true(plan.items == 0 || as_long == 1);
    for (uint32_t i = 0; i < plan.items; i++)
        assert_true(items[i].count >= rule->item_min &&
                    accepts[tasks[plan.order[items[i].first]].key]);
}

/* A batch of so many keys, of which some have many tasks. */
static void make_batch(size_t count, unsigned keys, random_stream *stream)
{
    for (uint32_t key = 0; key < KEYS; key++)
        accepts[key] = random_below(stream, 4) != 0;
    for (size_t i = 0; i < count; i++) {
        unsigned a = random_below(stream, keys);
        unsigned b = random_below(stream, keys);

        tasks[i].key = a < b ? a : b;
    }
}

TEST(batches)
{
    random_stream stream = {7};
    unsigned all = 0, some = 0, none = 0;

    (void)state;
    /* At every scale, or some of the outcomes below would not come up. */
    for (unsigned turn = 0; turn < BATCHES; turn++) {
        const size_t count = 1 + random_below(&stream, BATCH_MAX);
        const times t = {1 + random_below(&stream, 30),
                         1 + random_below(&stream, 100),
                         0.1 * (1 + random_below(&stream, 20))};
        const unsigned most = 1 + random_below(&stream, WARPRSA_FOLD_ITEM_MAX);
        const warprsa_fold_rule rule = {turn % 7 == 0 ? 0 : most,
                                        1 + random_below(&stream, most),
                                        turn % 2 == 0 ? 0 : most / 2,
                                        0.6875,
                                        predict,
                                        &t,
                                        0,
                                        false,
                                        turn % 3 == 0};

        make_batch(count, 1 + random_below(&stream, KEYS), &stream);
        warprsa_fold_plan_make(&plan, items, tasks, count, accepts, &rule, 1);
        check_order(count);
        check_items(&rule);
        check_choice(count, &rule);
        all += plan.folded == count;
        some += plan.folded != 0 && plan.folded < count;
        none += plan.folded == 0;
    }
    assert_true(all > 0 && some > 0 && none > 0);
}

/* What one more wave would cost is left to others: 17 keys in a batch that
 * fills a wave but for their odd ends. */
TEST(odd_ends)
{
    static const times t = {264, 9.2, 1};
    static const warprsa_fold_rule rule = {10, 1, 0,     1,    predict,
                                           &t, 0, false, false};
    const size_t count = 2640;

    (void)state;
    memset(accepts, 1, sizeof(accepts));
    for (size_t i = 0; i < count; i++)
        tasks[i].key = (uint32_t)(i % 17);
    warprsa_fold_plan_make(&plan, items, tasks, count, accepts, &rule, 1);
    assert_int_equal(264, plan.items);
    check_order(count);
    check_items(&rule);
    /* 155 or 156 of each: 255 full ones, and 9 of the others. */
    assert_in_range(count - plan.folded, 8 * 5, 8 * 6);
}

/* Short items are folded where they take less than full ones and than others:
 * 20 keys of eleven tasks, three of which make a short item. */
TEST(short_items)
{
    static const times t = {1, 5, 10};
    const size_t count = 220;

    (void)state;
    memset(accepts, 1, sizeof(accepts));
    for (size_t i = 0; i < count; i++)
        tasks[i].key = (uint32_t)(i % 20);
    for (int cheap = 0; cheap < 2; cheap++) {
        const warprsa_fold_rule rule = {
            8, 1, cheap ? 3 : 2, 0.5, predict, &t, 0, false, cheap == 1};

        warprsa_fold_plan_make(&plan, items, tasks, count, accepts, &rule, 1);
        assert_int_equal(cheap ? 40 : 20, plan.items);
        check_order(count);
        check_items(&rule);
        check_choice(count, &rule);
    }
}

/* Of two rules, the one whose choice is faster is taken, unless the batch has
 * more requests than its items may. */
TEST(rules)
{
    static const times slow = {10, 5, 1}, fast = {1, 2, 1};
    const size_t count = 64;

    (void)state;
    memset(accepts, 1, sizeof(accepts));
    for (size_t i = 0; i < count; i++)
        tasks[i].key = 0;
    for (uint32_t most = 0; most < 3; most++) {
        const warprsa_fold_rule both[] = {
            {64, 1, 0, 1, predict, &slow, 0, false, false},
            {32, 1, 0, 1, predict, &fast, most, false, false}};
        const size_t taken = most == 1 ? 0 : 1; /* 1: 32 requests alone */

        warprsa_fold_plan_make(&plan, items, tasks, count, accepts, both, 2);
        assert_int_equal(taken, plan.part[0].rule);
        assert_int_equal(0, plan.part[1].items);
        check_order(count);
        check_items(&both[taken]);
        check_choice(count, &both[taken]);
        assert_int_equal(count, plan.folded);
    }
}

/* Odd ends that one rule leaves to others go to another rule if that is
 * faster. 8 keys of 70 tasks: a full item of each and six tasks more. */
TEST(two_rules)
{
    static const times wide = {8, 4, 1}, narrow = {100, 2, 1},
                       slow = {100, 9, 1};
    const size_t count = 560;

    (void)state;
    memset(accepts, 1, sizeof(accepts));
    for (size_t i = 0; i < count; i++)
        tasks[i].key = (uint32_t)(i % 8);
    for (int with_second = 0; with_second < 2; with_second++) {
        const warprsa_fold_rule both[] = {
            {64, 16, 0, 1, predict, &wide, 0, false, false},
            {4, 2, 0, 1, predict, with_second ? &narrow : &slow, 100, false,
             false}};
        uint32_t next = 0;

        warprsa_fold_plan_make(&plan, items, tasks, count, accepts, both, 2);
        assert_int_equal(0, plan.part[0].rule);
        assert_int_equal(8, plan.part[0].items);
        assert_int_equal(with_second ? 16 : 0, plan.part[1].items);
        assert_int_equal(with_second ? 24 : 8, plan.items);
        assert_int_equal(with_second ? count : 512, plan.folded);
        for (uint32_t i = 0; i < plan.items; i++) {
            assert_int_equal(next, items[i].first);
            assert_int_equal(i < 8 ? 64 : i % 2 == 0 ? 4 : 2, items[i].count);
            next += items[i].count;
        }
        check_order(count);
    }
    assert_int_equal(1, plan.part[1].rule);
}

/* A rule takes the tasks of keys that accept its way of folding, and no
 * others. */
TEST(rules_take_their_keys)
{
    static const uint8_t ways[] = {
        0, WARPRSA_FOLD_IN_DOUBLES, WARPRSA_FOLD_IN_INTEGERS,
        WARPRSA_FOLD_IN_DOUBLES | WARPRSA_FOLD_IN_INTEGERS};
    const times t = {1, 1, 1000};

    (void)state;
    for (uint32_t i = 0; i < 40; i++)
        tasks[i].key = i % 4;
    memcpy(accepts, ways, sizeof(ways));
    for (int in_integers = 0; in_integers < 2; in_integers++) {
        const warprsa_fold_rule rule = {8,  1, 0,           1,    predict,
                                        &t, 0, in_integers, false};

        warprsa_fold_plan_make(&plan, items, tasks, 40, accepts, &rule, 1);
        assert_int_equal(20, plan.folded);
        assert_int_equal(4, plan.items);
        for (uint32_t i = 0; i < plan.items; i++)
            assert_true(accepts[tasks[plan.order[items[i].first]].key] &
                        (in_integers ? WARPRSA_FOLD_IN_INTEGERS
                                     : WARPRSA_FOLD_IN_DOUBLES));
        check_order(40);
    }
}

static int accepts_of(const key_recipe *recipe)
{
    made_key made;
    int answer;

    assert_true(made_key_new(&made, recipe));
    answer = warprsa_fold_accepts_key(&made.key);
    made_key_free(&made);
    return answer;
}

/* Lengths at both ends of what the bounds allow, and beyond. */
TEST(lengths_of_primes)
{
    enum {
        doubles = WARPRSA_FOLD_IN_DOUBLES,
        both = WARPRSA_FOLD_IN_DOUBLES | WARPRSA_FOLD_IN_INTEGERS
    };
    static const struct {
        key_recipe recipe;
        int answer;
    } cases[] = {
        {{{PRIME_RANDOM, 512}, {PRIME_DOWN, 512}, 65537}, 0},
        {{{PRIME_DOWN, 1024}, {PRIME_UP, 1024}, 65537}, doubles},
        {{{PRIME_STRIPES, 1024}, {PRIME_UP, 1024}, 65537}, both},
        {{{PRIME_UP, 1024}, {PRIME_DOWN, 1024}, 65537}, doubles},
        {{{PRIME_UP, 1024}, {PRIME_UP, 1023}, 65537}, doubles},
        {{{PRIME_DOWN, 1024}, {PRIME_UP, 1000}, 65537}, doubles},
        {{{PRIME_UP, 1000}, {PRIME_DOWN, 1000}, 3}, doubles},
        {{{PRIME_UP, 1025}, {PRIME_DOWN, 1024}, 65537}, 0},
        {{{PRIME_DOWN, 1024}, {PRIME_DOWN, 999}, 65537}, 0},
        {{{PRIME_DOWN, 1536}, {PRIME_UP, 1536}, 65537}, doubles},
        {{{PRIME_STRIPES, 1536}, {PRIME_ZEROS, 1536}, 65537}, both},
        {{{PRIME_DOWN, 1537}, {PRIME_UP, 1536}, 65537}, 0},
        {{{PRIME_DOWN, 2048}, {PRIME_UP, 2048}, 3}, doubles},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(cases[i].answer, accepts_of(&cases[i].recipe));
}

/* A key whose n is not p q, or whose qinv is not q's inverse, would pass a
 * check modulo the primes. */
TEST(keys_that_lie)
{
    static const key_recipe recipe = {
        {PRIME_DOWN, 1024}, {PRIME_ONES, 1024}, 65537};
    made_key made;

    (void)state;
    assert_true(made_key_new(&made, &recipe));
    assert_int_equal(WARPRSA_FOLD_IN_DOUBLES,
                     warprsa_fold_accepts_key(&made.key));
    made.key.n[sizeof(made.key.n) - 20] ^= 1;
    assert_int_equal(0, warprsa_fold_accepts_key(&made.key));
    made.key.n[sizeof(made.key.n) - 20] ^= 1;
    made.key.qinv[sizeof(made.key.qinv) - 20] ^= 1;
    assert_int_equal(0, warprsa_fold_accepts_key(&made.key));
    made_key_free(&made);
}

/* A device folds the keys of its known-answer test, or it would be given out as
 * tested though no fold was. */
TEST(known_answers_are_folded)
{
    warprsa_private_key key;

    (void)state;
    for (int size = WARPRSA_CLASS_2048; size < WARPRSA_CLASS_LARGE; size++) {
        warprsa_known_answer_key(&key, (warprsa_size_class)size);
        assert_int_equal(WARPRSA_FOLD_IN_DOUBLES | WARPRSA_FOLD_IN_INTEGERS,
                         warprsa_fold_accepts_key(&key));
    }
}

RUN_TESTS(set_up, tear_down)
