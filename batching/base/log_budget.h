/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How many lines of the log one owner may cause in a second. Each user and each
 * identity of the network has a budget, and strangers share one. So no owner's
 * noise hides what others do. The log says how many lines were left out.
 */
#ifndef WARPRSA_BATCHING_BASE_LOG_BUDGET_H
#define WARPRSA_BATCHING_BASE_LOG_BUDGET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    WARPRSA_LOG_LINES_A_SECOND = 20, /* that one may cause */
    /* Users that have a budget of their own within one second, and as many
     * identities of the network. Further users share one budget, and so do
     * further identities. */
    WARPRSA_LOG_USERS_MAX = 64,
    WARPRSA_LOG_OWNERS_MAX = 2 * WARPRSA_LOG_USERS_MAX,
};

/* Owners that share one budget, as warprsa_log_budgets_left_out() names
 * them. */
#define WARPRSA_LOG_OTHER_USERS      (UINT64_MAX - 1)
#define WARPRSA_LOG_OTHER_IDENTITIES (UINT64_MAX - 2)

/* All zeros to begin with. Any thread; a race may lose or add one line. */
typedef struct warprsa_log_budget {
    _Atomic uint64_t second; /* that `lines` counts */
    atomic_uint lines;
    _Atomic uint64_t left_out; /* since it was last said */
} warprsa_log_budget;

/* Whether another line may be written now, with at most `most` in a second. If
 * not, the line is counted as left out. */
bool warprsa_log_budget_take(warprsa_log_budget *budget, unsigned most,
                             uint64_t now_ns);

/* How many lines were left out in seconds that are over; 0: none. Each line is
 * reported once. */
uint64_t warprsa_log_budget_left_out(warprsa_log_budget *budget,
                                     uint64_t now_ns);

/* Budgets by owner. An owner is a user id, or a number of more than 32 bits for
 * an identity. Made-up identities take no user's budget. An owner has its entry
 * from its first line in a second until that second is over and the lines left
 * out are reported. */
typedef struct warprsa_log_budgets {
    pthread_mutex_t lock;
    struct warprsa_log_owner {
        uint64_t owner;
        bool used;
        warprsa_log_budget budget;
    } of[WARPRSA_LOG_OWNERS_MAX];
    warprsa_log_budget other_users, other_identities;
    unsigned most; /* lines of each in a second */
} warprsa_log_budgets;

/* All bytes must be zero. False: no lock can be had. */
bool warprsa_log_budgets_init(warprsa_log_budgets *budgets, unsigned most);
void warprsa_log_budgets_free(warprsa_log_budgets *budgets);

/* Whether another line about this owner may be written now. If not, the line is
 * counted as left out. Any thread. */
bool warprsa_log_budgets_take(warprsa_log_budgets *budgets, uint64_t owner,
                              uint64_t now_ns);

/* The next owner with lines left out in seconds that are over, and how many.
 * Each line is reported once. False: there is none. Call this until it returns
 * false before a line is taken: only this frees entries for other owners. Any
 * thread. */
bool warprsa_log_budgets_left_out(warprsa_log_budgets *budgets, uint64_t now_ns,
                                  uint64_t *owner, uint64_t *lines);

#endif
