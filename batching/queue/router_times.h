/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How long operations take: on the CPU, and on the devices by the number of
 * requests before it. Averages of what was measured, and a guess where nothing
 * was. It reads no clock. Written by any thread without locks: a race may lose
 * a measurement.
 */
#ifndef WARPRSA_BATCHING_QUEUE_ROUTER_TIMES_H
#define WARPRSA_BATCHING_QUEUE_ROUTER_TIMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpu/engine.h"

enum {
    WARPRSA_ROUTER_BINS = 18, /* requests before one's own: 0, 1, 2-3, 4-7... */
};

/* What was measured so long ago says nothing any more. */
#define WARPRSA_ROUTER_RENEW_NS UINT64_C(10000000000)

/* Zeros to begin with. */
typedef struct warprsa_router_times {
    /* The CPU time of an operation, and the response time of the devices by
     * the number of requests before it; 0: not measured. */
    _Atomic uint64_t op_cpu_ns[WARPRSA_CLASSES];
    _Atomic uint64_t op_device_ns[WARPRSA_CLASSES][WARPRSA_ROUTER_BINS];
    _Atomic uint64_t calibrated_ns[WARPRSA_CLASSES];  /* by calibrate(), or 0 */
    _Atomic uint64_t response_at_ns[WARPRSA_CLASSES]; /* time of the last one */
} warprsa_router_times;

/* An operation has taken so much time of a CPU. */
void warprsa_router_times_computed(warprsa_router_times *times,
                                   warprsa_size_class size, uint64_t ns);

/* How much it is expected to take; 0: not measured. */
static inline uint64_t
warprsa_router_times_cpu(const warprsa_router_times *times,
                         warprsa_size_class size)
{
    return atomic_load_explicit(&times->op_cpu_ns[size], memory_order_relaxed);
}

/* How long a device is expected to take with `before` requests before it. */
uint64_t warprsa_router_times_device(const warprsa_router_times *times,
                                     warprsa_size_class size, unsigned before);

/* A device has answered at now_ns, response_ns after the submission. */
void warprsa_router_times_answered(warprsa_router_times *times,
                                   warprsa_size_class size, unsigned before,
                                   uint64_t response_ns, uint64_t now_ns);

/* An idle device, of GPUs or CPUs, has needed test_ns for one operation of each
 * class but the large ones: what to expect until something is measured. */
void warprsa_router_times_calibrate(warprsa_router_times *times,
                                    uint64_t test_ns, bool on_cpus);

/* Forgets what devices took; and of those that have not been used for
 * WARPRSA_ROUTER_RENEW_NS: it is no reason not to use them now. */
void warprsa_router_times_forget(warprsa_router_times *times);
void warprsa_router_times_forget_old(warprsa_router_times *times,
                                     uint64_t now_ns);

#endif
