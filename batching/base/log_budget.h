/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How many lines of the log somebody may cause in a second. Each identity has a
 * budget of its own and strangers share one, so that no noise hides what others
 * do; and the log says how many lines it lacks.
 */
#ifndef WARPRSA_BATCHING_BASE_LOG_BUDGET_H
#define WARPRSA_BATCHING_BASE_LOG_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    WARPRSA_LOG_LINES_A_SECOND = 20,
};

/* Zeros to begin with. Any thread; a race costs or gives a line. */
typedef struct warprsa_log_budget {
    _Atomic uint64_t second; /* that `lines` counts */
    atomic_uint lines;
    _Atomic uint64_t left_out; /* since it was last said */
} warprsa_log_budget;

/* Whether another line may be written now; else it is counted as left out. */
bool warprsa_log_budget_take(warprsa_log_budget *budget, uint64_t now_ns);

/* How many lines were left out in seconds that are over; 0: none. They are not
 * told a second time. */
uint64_t warprsa_log_budget_left_out(warprsa_log_budget *budget,
                                     uint64_t now_ns);

#endif
