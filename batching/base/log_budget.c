/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lines of the log that somebody may cause; see log_budget.h.
 */
#include "batching/base/log_budget.h"

#include "batching/base/clock.h"

bool warprsa_log_budget_take(warprsa_log_budget *budget, unsigned most,
                             uint64_t now_ns)
{
    const uint64_t second = now_ns / WARPRSA_NS_PER_SEC;

    if (atomic_exchange(&budget->second, second) != second)
        atomic_store(&budget->lines, 0);
    if (atomic_fetch_add(&budget->lines, 1) < most)
        return true;
    atomic_fetch_add(&budget->left_out, 1);
    return false;
}

uint64_t warprsa_log_budget_left_out(warprsa_log_budget *budget,
                                     uint64_t now_ns)
{
    if (atomic_load(&budget->second) == now_ns / WARPRSA_NS_PER_SEC)
        return 0;
    return atomic_exchange(&budget->left_out, 0);
}

bool warprsa_log_budgets_init(warprsa_log_budgets *budgets, unsigned most)
{
    budgets->most = most;
    return pthread_mutex_init(&budgets->lock, NULL) == 0;
}

void warprsa_log_budgets_free(warprsa_log_budgets *budgets)
{
    pthread_mutex_destroy(&budgets->lock);
}

/* Whether the entry can be reused: no count in it is still needed. */
static bool is_free(const struct warprsa_log_owner *entry, uint64_t now_ns)
{
    const warprsa_log_budget *budget = &entry->budget;

    return !entry->used ||
           (atomic_load(&budget->second) != now_ns / WARPRSA_NS_PER_SEC &&
            atomic_load(&budget->left_out) == 0);
}

/* With the lock held: returns the budget that this owner uses. */
static warprsa_log_budget *budget_of(warprsa_log_budgets *budgets,
                                     uint64_t owner, uint64_t now_ns)
{
    const bool is_user = owner <= UINT32_MAX;
    const unsigned first = is_user ? 0 : WARPRSA_LOG_USERS_MAX;
    struct warprsa_log_owner *found = NULL;

    for (unsigned i = 0; i < WARPRSA_LOG_USERS_MAX; i++) {
        struct warprsa_log_owner *entry = &budgets->of[first + i];

        if (entry->used && entry->owner == owner)
            return &entry->budget;
        if (found == NULL && is_free(entry, now_ns))
            found = entry;
    }
    if (found == NULL)
        return is_user ? &budgets->other_users : &budgets->other_identities;
    found->used = true;
    found->owner = owner;
    atomic_store(&found->budget.lines, 0);
    return &found->budget;
}

bool warprsa_log_budgets_take(warprsa_log_budgets *budgets, uint64_t owner,
                              uint64_t now_ns)
{
    bool taken;

    pthread_mutex_lock(&budgets->lock);
    taken = warprsa_log_budget_take(budget_of(budgets, owner, now_ns),
                                    budgets->most, now_ns);
    pthread_mutex_unlock(&budgets->lock);
    return taken;
}

bool warprsa_log_budgets_left_out(warprsa_log_budgets *budgets, uint64_t now_ns,
                                  uint64_t *owner, uint64_t *lines)
{
    *lines = 0;
    pthread_mutex_lock(&budgets->lock);
    for (unsigned i = 0; i < WARPRSA_LOG_OWNERS_MAX && *lines == 0; i++) {
        *owner = budgets->of[i].owner;
        *lines = warprsa_log_budget_left_out(&budgets->of[i].budget, now_ns);
    }
    if (*lines == 0) {
        *owner = WARPRSA_LOG_OTHER_USERS;
        *lines = warprsa_log_budget_left_out(&budgets->other_users, now_ns);
    }
    if (*lines == 0) {
        *owner = WARPRSA_LOG_OTHER_IDENTITIES;
        *lines =
            warprsa_log_budget_left_out(&budgets->other_identities, now_ns);
    }
    pthread_mutex_unlock(&budgets->lock);
    return *lines != 0;
}
