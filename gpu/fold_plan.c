/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gpu/fold_plan.h"

#include <stdbool.h>
#include <stdlib.h>

#include <openssl/bn.h>

#include "gpu/fold.h"
#include "gpu/prepared_key.h"

static BIGNUM *get(BN_CTX *ctx, const uint8_t *octets, size_t length)
{
    BIGNUM *x = BN_CTX_get(ctx);

    if (x == NULL || BN_bin2bn(octets, (int)length, x) == NULL)
        return NULL;
    BN_set_flags(x, BN_FLG_CONSTTIME);
    return x;
}

static bool has_length(const BIGNUM *prime, int rows)
{
    int bits = BN_num_bits(prime);

    return bits >= WARPRSA_FOLD_BITS_MIN(rows) &&
           bits <= WARPRSA_FOLD_BITS(rows);
}

/* The numbers are a key's, of lengths that fit. */
static bool fits(const warprsa_private_key *key, int rows, BN_CTX *ctx)
{
    BIGNUM *n = get(ctx, key->n, sizeof(key->n));
    BIGNUM *p = get(ctx, key->p, sizeof(key->p));
    BIGNUM *q = get(ctx, key->q, sizeof(key->q));
    BIGNUM *qinv = get(ctx, key->qinv, sizeof(key->qinv));
    BIGNUM *x = BN_CTX_get(ctx);
    bool good;

    if (n == NULL || p == NULL || q == NULL || qinv == NULL || x == NULL)
        return false;
    good = has_length(p, rows) && has_length(q, rows) && BN_mul(x, p, q, ctx) &&
           BN_cmp(x, n) == 0 && BN_mod_mul(x, q, qinv, p, ctx) && BN_is_one(x);
    BN_clear(p);
    BN_clear(q);
    BN_clear(qinv);
    BN_clear(x);
    return good;
}

int warprsa_fold_takes(const warprsa_private_key *key)
{
    int size = warprsa_key_class(key);
    bool good = false;
    BN_CTX *ctx = NULL;

    if (size <= WARPRSA_CLASS_1024)
        return 0;
    ctx = BN_CTX_secure_new();
    if (ctx == NULL)
        return 0;
    BN_CTX_start(ctx);
    good = fits(key, warprsa_shape_of((warprsa_size_class)size).rows, ctx);
    BN_CTX_end(ctx);
    BN_CTX_free(ctx);
    return good;
}

int warprsa_fold_plan_new(warprsa_fold_plan *plan, size_t batch_max,
                          size_t keys_max)
{
    plan->order = calloc(batch_max, sizeof(*plan->order));
    plan->places = calloc(keys_max, sizeof(*plan->places));
    return plan->order != NULL && plan->places != NULL;
}

void warprsa_fold_plan_free(warprsa_fold_plan *plan)
{
    free(plan->order);
    free(plan->places);
    plan->order = plan->places = NULL;
}

static void cut_items(warprsa_fold_plan *plan, warprsa_fold_item *items,
                      uint32_t first, uint32_t count, uint32_t most)
{
    for (uint32_t done = 0; done < count; done += most) {
        items[plan->items].first = first + done;
        items[plan->items++].count = count - done < most ? count - done : most;
    }
}

/* `places` holds each key's number of tasks; from here on, for keys that are
 * folded, the place of their next task plus one, else 0. */
static void assign_places(warprsa_fold_plan *plan, warprsa_fold_item *items,
                          const warprsa_task *tasks, size_t count,
                          const uint8_t *takes, const warprsa_fold_rule *rule)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t *place = &plan->places[tasks[i].key];
        /* Above count: this key has been here before. */
        uint32_t tasks_of_key = *place > count ? 0 : *place;

        if (tasks_of_key == 0)
            continue;
        if (tasks_of_key < rule->key_min || !takes[tasks[i].key]) {
            *place = 0;
            continue;
        }
        cut_items(plan, items, plan->folded, tasks_of_key, rule->item_most);
        *place = (uint32_t)count + 1 + plan->folded;
        plan->folded += tasks_of_key;
    }
}

void warprsa_fold_plan_make(warprsa_fold_plan *plan, warprsa_fold_item *items,
                            const warprsa_task *tasks, size_t count,
                            const uint8_t *takes, const warprsa_fold_rule *rule)
{
    const uint32_t offset = (uint32_t)count + 1;
    uint32_t rest;

    plan->folded = plan->items = 0;
    if (rule->requests_min != 0 && count >= rule->requests_min) {
        for (size_t i = 0; i < count; i++)
            plan->places[tasks[i].key]++;
        assign_places(plan, items, tasks, count, takes, rule);
    }
    if (plan->folded < rule->requests_min || plan->folded == 0) {
        for (size_t i = 0; i < count; i++)
            plan->places[tasks[i].key] = 0;
        plan->folded = plan->items = 0;
    }
    rest = plan->folded;
    for (size_t i = 0; i < count; i++) {
        uint32_t *place = &plan->places[tasks[i].key];

        plan->order[*place != 0 ? (*place)++ - offset : rest++] = (uint32_t)i;
    }
    for (size_t i = 0; i < count; i++)
        plan->places[tasks[i].key] = 0;
}
