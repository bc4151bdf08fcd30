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

#include "batching/queue/counter_table.h"
#include "bench/load/options.h"

enum {
#define ONE(...) +1
    LOAD_COUNTERS = 0 WARPRSA_EACH_ROUTE(ONE) WARPRSA_EACH_REASON(ONE)
        WARPRSA_EACH_COUNTER(ONE),
#undef ONE
};

/* The provider's counters, by their names and in the table's order. */
typedef union load_counters {
    struct {
#define WORD(name, ...)       uint64_t name;
#define REASON(id, name, ...) uint64_t cpu_##name;
        WARPRSA_EACH_ROUTE(WORD)
        WARPRSA_EACH_REASON(REASON)
        WARPRSA_EACH_COUNTER(WORD)
#undef WORD
#undef REASON
    };
    uint64_t value[LOAD_COUNTERS];
} load_counters;

/* Their names, and whether one is a number of events, whose difference between
 * two points in time says something. */
typedef struct load_counter {
    const char *name;
    bool is_sum;
} load_counter;
extern const load_counter load_counter_table[LOAD_COUNTERS];

/* What was counted from one point in time to another, and those that count no
 * events as they were at a third. */
load_counters load_counters_between(const load_counters *from,
                                    const load_counters *to,
                                    const load_counters *now);

/* How many operations devices have answered, whatever their engine. */
static inline uint64_t load_on_device(const load_counters *counters)
{
    return counters->gpu + counters->ifma;
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
