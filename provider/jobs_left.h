/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Async jobs that a program has left: it has freed the wait ctx of a job that
 * was paused, as a server does whose client goes away in a handshake. libcrypto
 * has no call that ends such a job. It keeps the job's stack, 32 KiB of address
 * space of which 10 to 20 are in use, for as long as the process lives.
 */
#ifndef WARPRSA_PROVIDER_JOBS_LEFT_H
#define WARPRSA_PROVIDER_JOBS_LEFT_H

#include "batching/queue/counters.h"

/* Takes a note of one. At the end of a wait ctx there may be no counters any
 * more, so the next operation counts it. Any thread. */
void warprsa_jobs_left_note(void);

/* Counts those that were noted since the last call. Any thread. */
void warprsa_jobs_left_count(warprsa_counters *counters);

#endif
