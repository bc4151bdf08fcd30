/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How soon another serving process is started when one ends: a rule without a
 * clock and without a process.
 *
 * A serving process that was ready has served. Its clients wait for the next
 * one, so that starts at once. Two kinds of loops are slowed down:
 *
 * - Processes that end before they are ready. Another start does not help.
 * - Processes that are ready and soon end, again and again. Such a loop may be
 *   a client's that guesses addresses by crashes, since each serving process
 *   has its supervisor's (Bittau et al., "Hacking Blind", IEEE S&P 2014, which
 *   takes thousands of them). It has some ten tries a minute.
 *
 * systemd's StartLimitBurst= bounds the same, and then gives up; the daemon
 * goes on in longer steps, since its programs depend on it.
 */
#ifndef WARPRSA_BATCHING_DAEMON_PROCESS_RESTARTS_H
#define WARPRSA_BATCHING_DAEMON_PROCESS_RESTARTS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    /* A process that was ready for so long ends no loop, and those before it
     * count no more. */
    WARPRSA_RESTARTS_HEALTHY_MS = 60000,
    /* So many in a row that were ready are each followed at once. */
    WARPRSA_RESTARTS_AT_ONCE = 10,
    WARPRSA_RESTARTS_PAUSE_MAX_S = 30,
};

/* Zeros: none has ended. */
typedef struct warprsa_restarts {
    unsigned ends;    /* since one was healthy */
    unsigned unready; /* of them, the last ones in a row that never were */
} warprsa_restarts;

/* A serving process has ended that was ready for so long. Returns after how
 * many seconds the next one is to be started. */
unsigned warprsa_restarts_pause_s(warprsa_restarts *restarts, bool was_ready,
                                  uint64_t ready_ms);

#endif
