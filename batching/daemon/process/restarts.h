/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How soon another serving process is started when one ends: a rule without a
 * clock and without a process.
 *
 * Clients wait for the next one, which alone can compute with the keys of the
 * vault. So it starts at once. Whether the last one was ready makes no
 * difference: it serves before its devices are open, by libcrypto.
 *
 * A loop is slowed down. It may be a client's that guesses addresses by
 * crashes, since each serving process has its supervisor's (Bittau et al.,
 * "Hacking Blind", IEEE S&P 2014, which takes thousands of them): it has some
 * ten tries a minute. And where no process comes to serve, another start does
 * not help.
 *
 * systemd's StartLimitBurst= bounds the same, and then gives up; the daemon
 * goes on in longer steps, since its programs depend on it.
 */
#ifndef WARPRSA_BATCHING_DAEMON_PROCESS_RESTARTS_H
#define WARPRSA_BATCHING_DAEMON_PROCESS_RESTARTS_H

#include <stdint.h>

enum {
    /* A process that was ready for so long ends no loop, and those before it
     * count no more. */
    WARPRSA_RESTARTS_HEALTHY_MS = 60000,
    /* So many in a row are each followed at once. */
    WARPRSA_RESTARTS_AT_ONCE = 10,
    WARPRSA_RESTARTS_PAUSE_MAX_S = 30,
};

/* Zeros: none has ended. */
typedef struct warprsa_restarts {
    unsigned ends; /* since one was healthy */
} warprsa_restarts;

/* A serving process has ended that was ready for so long; 0: it never was.
 * Returns after how many seconds the next one is to be started. */
unsigned warprsa_restarts_pause_s(warprsa_restarts *restarts,
                                  uint64_t ready_ms);

#endif
