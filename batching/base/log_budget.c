/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lines of the log that somebody may cause; see log_budget.h.
 */
#include "batching/base/log_budget.h"

#include "batching/base/clock.h"

bool warprsa_log_budget_take(warprsa_log_budget *budget, uint64_t now_ns)
{
    const uint64_t second = now_ns / WARPRSA_NS_PER_SEC;

    if (atomic_exchange(&budget->second, second) != second)
        atomic_store(&budget->lines, 0);
    if (atomic_fetch_add(&budget->lines, 1) < WARPRSA_LOG_LINES_A_SECOND)
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
