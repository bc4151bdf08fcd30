/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Planning which requests are folded; plan.h describes the functions.
 */
#include "gpu/kernels/fold/plan.h"

#include <stdbool.h>
#include <stdlib.h>

#include <openssl/bn.h>

#include "gpu/arith/prepared_key.h"
#include "gpu/kernels/fold/fold.h"

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

/* The numbers are a key's, of lengths that fit. */
static bool fits(const warprsa_private_key *key, int limbs, BN_CTX *ctx)
{
    BIGNUM *n = get(ctx, key->n, sizeof(key->n));
    BIGNUM *p = get(ctx, key->p, sizeof(key->p));
    BIGNUM *q = get(ctx, key->q, sizeof(key->q));
    BIGNUM *qinv = get(ctx, key->qinv, sizeof(key->qinv));
    BIGNUM *x = BN_CTX_get(ctx);
    bool good;

    if (n == NULL || p == NULL || q == NULL || qinv == NULL || x == NULL)
        return false;
    good = has_length(p, limbs) && has_length(q, limbs) &&
           BN_mul(x, p, q, ctx) && BN_cmp(x, n) == 0 &&
           BN_mod_mul(x, q, qinv, p, ctx) && BN_is_one(x);
    BN_clear(p);
    BN_clear(q);
    BN_clear(qinv);
    BN_clear(x);
    return good;
}

int warprsa_fold_accepts_key(const warprsa_private_key *key)
{
    int size = warprsa_key_class(key);
    bool good = false;
    BN_CTX *ctx = NULL;

    if (size <= WARPRSA_CLASS_1024 || size >= WARPRSA_CLASS_LARGE)
        return 0;
    ctx = BN_CTX_secure_new();
    if (ctx == NULL)
        return 0;
    BN_CTX_start(ctx);
    good = fits(key, warprsa_shape_of((warprsa_size_class)size).limbs, ctx);
    BN_CTX_end(ctx);
    BN_CTX_free(ctx);
    return good;
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

static void count_tasks(warprsa_fold_plan *plan, lengths *items,
                        const warprsa_task *tasks, size_t count,
                        const uint8_t *accepts, uint32_t most)
{
    for (size_t i = 0; i < count; i++)
        plan->share[tasks[i].key].tasks = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t *of_key = &plan->share[tasks[i].key].tasks;
        const uint32_t begun = *of_key % most;

        if (!accepts[tasks[i].key])
            continue;
        items->of[begun]--; /* of length 0: never looked at */
        items->of[begun + 1]++;
        ++*of_key;
    }
}

static choice choose(const lengths *items, size_t count,
                     const warprsa_fold_rule *rule)
{
    choice best = {rule->item_max, 0, rule->predict(rule->arg, 0, count)};
    size_t folded = 0, rest = count;

    for (uint32_t l = rule->item_max; l >= rule->item_min; l--)
        for (uint32_t i = 1; i <= items->of[l]; i++) {
            double time;

            rest -= l;
            time = rule->predict(rule->arg, ++folded, rest);
            if (time < best.time)
                best = (choice){l, i, time};
        }
    return best;
}

/* The best choice of all rules, whose index is *chosen; -1 if there is none
 * that folds. */
static choice choose_rule(warprsa_fold_plan *plan, const warprsa_task *tasks,
                          size_t count, const uint8_t *accepts,
                          const warprsa_fold_rule *rules, size_t rule_count,
                          int *chosen)
{
    choice best = {0, 0, 0};

    *chosen = -1;
    for (size_t i = 0; i < rule_count; i++) {
        lengths of = {{0}};
        choice one;

        if (rules[i].item_max == 0 ||
            (rules[i].items_max != 0 &&
             count > (size_t)rules[i].item_max * rules[i].items_max))
            continue;
        count_tasks(plan, &of, tasks, count, accepts, rules[i].item_max);
        one = choose(&of, count, &rules[i]);
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

/* Cuts the tasks of a key into items when its first task is met; their
 * positions are the next ones. */
static void cut(warprsa_fold_plan *plan, warprsa_fold_item *items,
                warprsa_fold_share *share, choice *left, uint32_t most)
{
    if (share->tasks == 0)
        return;
    share->next = plan->folded;
    while (share->tasks > 0) {
        const uint32_t length = share->tasks < most ? share->tasks : most;

        share->tasks -= length;
        if (!take(left, length))
            continue;
        items[plan->items++] = (warprsa_fold_item){plan->folded, length};
        plan->folded += length;
    }
    share->left = plan->folded - share->next;
}

void warprsa_fold_plan_make(warprsa_fold_plan *plan, warprsa_fold_item *items,
                            const warprsa_task *tasks, size_t count,
                            const uint8_t *accepts,
                            const warprsa_fold_rule *rules, size_t rule_count)
{
    uint32_t rest;
    int chosen;
    choice left =
        choose_rule(plan, tasks, count, accepts, rules, rule_count, &chosen);

    plan->folded = plan->items = 0;
    if (chosen >= 0) {
        plan->rule = (size_t)chosen;
        for (size_t i = 0; i < count; i++)
            cut(plan, items, &plan->share[tasks[i].key], &left,
                rules[chosen].item_max);
    }
    rest = plan->folded;
    for (size_t i = 0; i < count; i++) {
        warprsa_fold_share *share = &plan->share[tasks[i].key];

        if (share->left > 0) {
            share->left--;
            plan->order[share->next++] = (uint32_t)i;
        } else {
            plan->order[rest++] = (uint32_t)i;
        }
    }
    for (size_t i = 0; i < count; i++)
        plan->share[tasks[i].key] = (warprsa_fold_share){0, 0, 0};
}
