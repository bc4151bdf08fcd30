/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sums of the vault's keys; see key_sums.h.
 */
#include "batching/stat/key_sums.h"

#include <stdlib.h>
#include <string.h>

#include "batching/stat/process.h"

/* A text that its process may still write to, or has made up. */
static void copy_text(char *to, const char *from, size_t size)
{
    memcpy(to, from, size);
    to[size - 1] = '\0';
    warprsa_clean_name(to);
}

bool warprsa_key_sum_read(const warprsa_key_accounts *accounts, unsigned row,
                          const warprsa_user_seat *user, warprsa_key_sum *sum)
{
    const warprsa_key_account *from = &accounts->rows[row];
    uint64_t any;

    if (atomic_load_explicit(&from->whole, memory_order_acquire) == 0)
        return false;
    memset(sum, 0, sizeof(*sum));
    sum->user = user;
    copy_text(sum->key, from->key, sizeof(sum->key));
    copy_text(sum->by, from->by, sizeof(sum->by));
    sum->uses = any = atomic_load(&from->uses);
    for (unsigned i = WARPRSA_DENIED_NO_KEY; i < WARPRSA_DENIALS; i++)
        any |= sum->denials[i] = atomic_load(&from->denials[i]);
    return any != 0;
}

static warprsa_key_sum *add(warprsa_key_sums *sums)
{
    if (sums->count == sums->size) {
        size_t size = sums->size == 0 ? 64 : 2 * sums->size;
        warprsa_key_sum *list = reallocarray(sums->list, size, sizeof(*list));

        if (list == NULL)
            return NULL;
        sums->list = list;
        sums->size = size;
    }
    return &sums->list[sums->count];
}

bool warprsa_key_sums_add(warprsa_key_sums *sums,
                          const warprsa_key_accounts *accounts,
                          const warprsa_user_seat *user)
{
    for (unsigned i = 0; i <= WARPRSA_KEY_ACCOUNTS_MAX; i++) {
        warprsa_key_sum *sum = add(sums);

        if (sum == NULL)
            return false;
        sums->count += warprsa_key_sum_read(accounts, i, user, sum);
    }
    return true;
}

static int compare(const void *left, const void *right)
{
    const warprsa_key_sum *l = left, *r = right;
    int order;

    if (l->user != r->user)
        return l->user < r->user ? -1 : 1;
    order = strcmp(l->key, r->key);
    return order != 0 ? order : strcmp(l->by, r->by);
}

void warprsa_key_sums_merge(warprsa_key_sums *sums)
{
    size_t kept = 0;

    if (sums->count > 0)
        qsort(sums->list, sums->count, sizeof(*sums->list), compare);
    for (size_t i = 0; i < sums->count; i++) {
        const warprsa_key_sum *sum = &sums->list[i];
        warprsa_key_sum *last = kept > 0 ? &sums->list[kept - 1] : NULL;

        if (last == NULL || compare(last, sum) != 0) {
            sums->list[kept++] = *sum;
            continue;
        }
        last->uses += sum->uses;
        for (unsigned d = 0; d < WARPRSA_DENIALS; d++)
            last->denials[d] += sum->denials[d];
    }
    sums->count = kept;
}

void warprsa_key_sums_free(warprsa_key_sums *sums)
{
    free(sums->list);
    *sums = (warprsa_key_sums){0};
}
