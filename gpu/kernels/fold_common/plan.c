/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Planning which requests are folded; plan.h describes the functions.
 */
#include "gpu/kernels/fold_common/plan.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bn.h>

#include "gpu/arith/prepared_key.h"

static BIGNUM *get(BN_CTX *ctx, const uint8_t *bytes, size_t length)
{
    BIGNUM *x = BN_CTX_get(ctx);

    if (x == NULL || BN_bin2bn(bytes, (int)length, x) == NULL)
        return NULL;
    BN_set_flags(x, BN_FLG_CONSTTIME);
    return x;
}

static bool has_length(const BIGNUM *prime, int limbs)
{
    int bits = BN_num_bits(prime);

    return bits >= WARPRSA_FOLD_BITS_MIN(limbs) &&
           bits <= WARPRSA_FOLD_BITS(limbs);
}

/* Whether a prime has the length that the fold in integers is made for, and is
 * not so near to its end that the upper 16 bits are ones. */
static bool suits_integers(const BIGNUM *prime, const uint8_t *bytes, int limbs)
{
    const uint8_t *top =
        bytes + WARPRSA_PRIME_BYTES_MAX - WARPRSA_FOLD_BITS(limbs) / 8;

    return BN_num_bits(prime) == WARPRSA_FOLD_BITS(limbs) &&
           (top[0] != 0xFF || top[1] != 0xFF);
}

/* The ways in which a key may be folded: its numbers are a key's, and its
 * primes fit. */
static int ways_of(const warprsa_private_key *key, int limbs, BN_CTX *ctx)
{
    BIGNUM *n = get(ctx, key->n, sizeof(key->n));
    BIGNUM *p = get(ctx, key->p, sizeof(key->p));
    BIGNUM *q = get(ctx, key->q, sizeof(key->q));
    BIGNUM *qinv = get(ctx, key->qinv, sizeof(key->qinv));
    BIGNUM *x = BN_CTX_get(ctx);
    int ways = 0;

    if (n == NULL || p == NULL || q == NULL || qinv == NULL || x == NULL)
        return 0;
    if (has_length(p, limbs) && has_length(q, limbs))
        ways |= WARPRSA_FOLD_IN_DOUBLES;
    if (suits_integers(p, key->p, limbs) && suits_integers(q, key->q, limbs))
        ways |= WARPRSA_FOLD_IN_INTEGERS;
    if (!BN_mul(x, p, q, ctx) || BN_cmp(x, n) != 0 ||
        !BN_mod_mul(x, q, qinv, p, ctx) || !BN_is_one(x))
        ways = 0;
    BN_clear(p);
    BN_clear(q);
    BN_clear(qinv);
    BN_clear(x);
    return ways;
}

int warprsa_fold_accepts_key(const warprsa_private_key *key)
{
    int size = warprsa_key_class(key);
    int ways;
    BN_CTX *ctx = NULL;

    if (size <= WARPRSA_CLASS_1024 || size >= WARPRSA_CLASS_LARGE)
        return 0;
    ctx = BN_CTX_new();
    if (ctx == NULL)
        return 0;
    BN_CTX_start(ctx);
    ways = ways_of(key, warprsa_shape_of((warprsa_size_class)size).limbs, ctx);
    BN_CTX_end(ctx);
    BN_CTX_free(ctx);
    return ways;
}

int warprsa_fold_plan_new(warprsa_fold_plan *plan, size_t batch_max,
                          size_t keys_max)
{
    plan->order = calloc(batch_max, sizeof(*plan->order));
    plan->share = calloc(keys_max, sizeof(*plan->share));
    return plan->order != NULL && plan->share != NULL;
}

void warprsa_fold_plan_free(warprsa_fold_plan *plan)
{
    free(plan->order);
    free(plan->share);
    plan->order = NULL;
    plan->share = NULL;
}

/* How many items of each length there are if all is folded that may be. */
typedef struct lengths {
    uint32_t of[WARPRSA_FOLD_ITEM_MAX + 1];
} lengths;

/* The choice: all items longer than `shortest`, and this many of these. */
typedef struct choice {
    uint32_t shortest, of_shortest;
    double time;
} choice;

static void count_tasks(warprsa_fold_plan *plan, const warprsa_task *tasks,
                        size_t count, const uint8_t *accepts)
{
    for (size_t i = 0; i < count; i++)
        if (accepts[tasks[i].key]) {
            plan->share[tasks[i].key].tasks++;
            plan->share[tasks[i].key].accepts = accepts[tasks[i].key];
        }
}

/* Whether a rule is for the tasks of a key. */
static bool is_for(const warprsa_fold_rule *rule,
                   const warprsa_fold_share *share)
{
    return (share->accepts & (rule->in_integers ? WARPRSA_FOLD_IN_INTEGERS
                                                : WARPRSA_FOLD_IN_DOUBLES)) !=
           0;
}

/* Whether this is the first call for a key in a pass over the tasks. */
static bool is_first(warprsa_fold_plan *plan, warprsa_fold_share *share)
{
    const bool first = share->pass != plan->pass;

    share->pass = plan->pass;
    return first;
}

/* The lengths of items that a rule may make, of what is not folded yet. */
static void count_lengths(warprsa_fold_plan *plan, lengths *items,
                          const warprsa_task *tasks, size_t count,
                          const warprsa_fold_rule *rule)
{
    const uint32_t most = rule->item_max;

    plan->pass++;
    for (size_t i = 0; i < count; i++) {
        warprsa_fold_share *share = &plan->share[tasks[i].key];

        if (!is_first(plan, share) || !is_for(rule, share))
            continue;
        items->of[most] += share->tasks / most;
        items->of[share->tasks % most]++; /* of length 0: never looked at */
    }
}

static choice choose(const lengths *items, size_t count,
                     const warprsa_fold_rule *rule)
{
    choice best = {rule->item_max, 0, rule->predict(rule->arg, 0, count)};
    double folded = 0;
    size_t rest = count;

    for (uint32_t l = rule->item_max; l >= rule->item_min; l--)
        for (uint32_t i = 1; i <= items->of[l]; i++) {
            double time;

            rest -= l;
            folded += l <= rule->short_max ? rule->short_share : 1;
            time = rule->predict(rule->arg, folded, rest);
            if (time < best.time)
                best = (choice){l, i, time};
        }
    return best;
}

/* The best choice, of what is not folded yet, of all rules but `except`; its
 * index is *chosen, -1 if there is none that folds. */
static choice choose_rule(warprsa_fold_plan *plan, const warprsa_task *tasks,
                          size_t count, const warprsa_fold_rule *rules,
                          size_t rule_count, int except, int *chosen)
{
    const size_t left = count - plan->folded;
    choice best = {0, 0, 0};

    *chosen = -1;
    for (size_t i = 0; i < rule_count; i++) {
        lengths of = {{0}};
        choice one;

        if (rules[i].item_max == 0 || (int)i == except ||
            (rules[i].items_max != 0 &&
             left > (size_t)rules[i].item_max * rules[i].items_max))
            continue;
        count_lengths(plan, &of, tasks, count, &rules[i]);
        one = choose(&of, left, &rules[i]);
        if (one.of_shortest != 0 && (*chosen < 0 || one.time < best.time)) {
            best = one;
            *chosen = (int)i;
        }
    }
    return best;
}

/* Whether one more item of this length belongs to the choice. */
static bool take(choice *left, uint32_t length)
{
    if (length != left->shortest || left->of_shortest == 0)
        return length > left->shortest;
    left->of_shortest--;
    return true;
}

/* Cuts the tasks of a key into items, whose positions are the next ones. Those
 * that have to wait for the full ones come before `late`, backwards. */
static void cut(warprsa_fold_plan *plan, warprsa_fold_item *items,
                warprsa_fold_item **late, warprsa_fold_share *share,
                choice *left, const warprsa_fold_rule *rule, int part)
{
    const uint32_t most = rule->item_max;
    uint32_t tasks = share->tasks;

    share->next[part] = plan->folded;
    while (tasks > 0) {
        const uint32_t length = tasks < most ? tasks : most;

        tasks -= length;
        if (!take(left, length))
            continue;
        *(rule->full_first && length < most ? --*late : &items[plan->items++]) =
            (warprsa_fold_item){plan->folded, length};
        plan->folded += length;
        share->tasks -= length;
    }
    share->left[part] = plan->folded - share->next[part];
}

/* Makes the items of a part by the best of all rules but `except`. Returns its
 * index, or -1 if there are none. */
static int fold_part(warprsa_fold_plan *plan, warprsa_fold_item *items,
                     const warprsa_task *tasks, size_t count,
                     const warprsa_fold_rule *rules, size_t rule_count,
                     int except, int part)
{
    /* Each item has a task of its own, so there is room for `count`. */
    warprsa_fold_item *const end = items + count, *late = end;
    int chosen;
    choice left =
        choose_rule(plan, tasks, count, rules, rule_count, except, &chosen);

    plan->pass++;
    for (size_t i = 0; chosen >= 0 && i < count; i++) {
        warprsa_fold_share *share = &plan->share[tasks[i].key];

        if (is_first(plan, share) && is_for(&rules[chosen], share))
            cut(plan, items, &late, share, &left, &rules[chosen], part);
    }
    memmove(&items[plan->items], late, (size_t)(end - late) * sizeof(*late));
    plan->items += (uint32_t)(end - late);
    return chosen;
}

void warprsa_fold_plan_make(warprsa_fold_plan *plan, warprsa_fold_item *items,
                            const warprsa_task *tasks, size_t count,
                            const uint8_t *accepts,
                            const warprsa_fold_rule *rules, size_t rule_count)
{
    int rule[WARPRSA_FOLD_PARTS] = {-1, -1};
    uint32_t rest;

    plan->folded = plan->items = plan->pass = 0;
    count_tasks(plan, tasks, count, accepts);
    for (int part = 0; part < WARPRSA_FOLD_PARTS; part++) {
        const uint32_t before = plan->items;

        if (part == 0 || rule[0] >= 0)
            rule[part] = fold_part(plan, items, tasks, count, rules, rule_count,
                                   rule[0], part);
        plan->part[part] = (warprsa_fold_part_of_plan){
            plan->items - before, rule[part] < 0 ? 0 : (size_t)rule[part]};
    }
    rest = plan->folded;
    for (size_t i = 0; i < count; i++) {
        warprsa_fold_share *share = &plan->share[tasks[i].key];
        const int part = share->left[0] > 0 ? 0 : 1;

        if (share->left[part] > 0) {
            share->left[part]--;
            plan->order[share->next[part]++] = (uint32_t)i;
        } else {
            plan->order[rest++] = (uint32_t)i;
        }
    }
    for (size_t i = 0; i < count; i++)
        plan->share[tasks[i].key] = (warprsa_fold_share){0};
}
