/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A subject of measurements: a library context with the default provider alone,
 * or one that prefers the module to it, and the module's counters.
 */
#ifndef WARPRSA_LOAD_SUBJECT_H
#define WARPRSA_LOAD_SUBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include <openssl/provider.h>

#include "bench/load/options.h"

/* The counters that are reported; their names are in load_counter_names. */
typedef enum load_counter {
    LOAD_COUNT_GPU,
    LOAD_COUNT_IFMA,
    LOAD_COUNT_CPU,
    LOAD_COUNT_CPU_ROUTE,
    LOAD_COUNT_CPU_UNSUPPORTED_KEY,
    LOAD_COUNT_CPU_STARTING,
    LOAD_COUNT_CPU_NO_DEVICE,
    LOAD_COUNT_CPU_QUEUE_FULL,
    LOAD_COUNT_CPU_DEADLINE,
    LOAD_COUNT_CPU_CHECK_FAILED,
    LOAD_COUNT_CPU_ERROR,
    LOAD_COUNT_CPU_KEY_CACHE_FULL,
    LOAD_COUNT_CPU_OVERFLOW,
    LOAD_COUNT_CPU_KEY_RATE,
    LOAD_COUNT_CPU_WRONG_KEY,
    LOAD_COUNT_BATCHES,
    LOAD_COUNT_WAIT_NS,    /* for a batch, of all operations together */
    LOAD_COUNT_COMPUTE_NS, /* of all batches together */
    LOAD_COUNT_KEYS_LOADED,
    LOAD_COUNT_KEYS_EVICTED,
    LOAD_COUNT_CHECKS_FAILED,
    LOAD_COUNT_DEVICE_LOSSES,
    LOAD_COUNT_DEVICES,
    LOAD_COUNTERS
} load_counter;

/* The names of the provider's parameters. */
extern const char *const load_counter_names[LOAD_COUNTERS];

typedef struct load_counters {
    uint64_t value[LOAD_COUNTERS];
} load_counters;

/* How many operations devices have answered, whatever their engine. */
static inline uint64_t load_on_device(const load_counters *counters)
{
    return counters->value[LOAD_COUNT_GPU] + counters->value[LOAD_COUNT_IFMA];
}

typedef struct load_subject {
    const load_subject_options *options;
    OSSL_LIB_CTX *libctx;
    OSSL_PROVIDER *provider; /* the module, or the default provider */
} load_subject;

/* Opens a subject; load_fail() if the provider refuses its settings. */
void load_subject_open(load_subject *subject, const load_options *options,
                       const load_subject_options *which);
void load_subject_close(load_subject *subject);

/* Reads the counters; all are zeros for the default provider. Any thread. */
load_counters load_subject_counters(const load_subject *subject);

/* Whether the settings mean that devices are used. */
bool load_subject_uses_devices(const load_subject *subject);

#endif
