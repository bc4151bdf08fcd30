/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How long requests take lately on the CPUs of this machine and on its other
 * devices, and so which of both would answer the next one sooner. For a queue
 * that has other hosts, and no router to ask: a daemon's. Its CPUs help where a
 * host is saturated or far away.
 *
 * It looks only at what was measured. A host with more to do answers later, and
 * then the CPUs take some; that makes it answer sooner again, until both take
 * equally long. What was measured a while ago says nothing any more: then other
 * devices come first, and a request goes there that measures them.
 */
#ifndef WARPRSA_BATCHING_QUEUE_COMPLETION_TIMES_H
#define WARPRSA_BATCHING_QUEUE_COMPLETION_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/engine.h"

/* An average, and when it was last measured. */
typedef struct warprsa_answer_time {
    _Atomic uint64_t ns, at_ns;
} warprsa_answer_time;

/* Zeros to begin with. Written by any thread without locks: a race may lose a
 * measurement. */
typedef struct warprsa_answer_times {
    warprsa_answer_time others[WARPRSA_CLASSES], cpus[WARPRSA_CLASSES];
} warprsa_answer_times;

/* Requests were answered at now_ns: by a device other than the CPUs, ns after
 * their submission; or by the CPUs, in a batch that took ns. Times of
 * warprsa_clock_ns(). Any thread. */
void warprsa_answer_times_note(warprsa_answer_times *times, bool on_cpus,
                               warprsa_size_class size, uint64_t ns,
                               uint64_t now_ns);

/* Whether the CPUs would answer a request sooner than the other devices.
 * `contended`: when the CPUs last computed a batch, other threads kept them
 * waiting. Then they take nothing for a second, and try again. Any thread. */
bool warprsa_answer_times_cpus_are_sooner(const warprsa_answer_times *times,
                                          warprsa_size_class size,
                                          bool contended, uint64_t now_ns);

#endif
