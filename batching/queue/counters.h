/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Counters: what happened to the private operations of this process. One
 * plain block of 64-bit words in a memory file ("memfd:warprsa-counters"), so
 * that warprsa-stat can read the counters of any live process.
 */
#ifndef WARPRSA_BATCHING_QUEUE_COUNTERS_H
#define WARPRSA_BATCHING_QUEUE_COUNTERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batching/queue/counter_table.h"
#include "gpu/engine.h"

enum {
    WARPRSA_HISTOGRAM_BINS = 17, /* batch sizes 1, 2, 3-4, 5-8, ... 65536 */
    WARPRSA_TIME_BINS = 22,      /* see warprsa_time_bin() */
    WARPRSA_TIME_BIN_SHIFT = 13, /* the first bin: up to 8192 ns */
    /* With room for the longest name of a device, what is said about it, and a
     * reason with a path and advice. */
    WARPRSA_COUNTERS_TEXT = 256,
    WARPRSA_COUNTERS_LINE = 16384, /* holds any formatted line */
    WARPRSA_COUNTERS_DEVICES = 16,
};

typedef enum warprsa_counter_kind { /* see counter_table.h */
    WARPRSA_COUNTER,
    WARPRSA_GAUGE,
    WARPRSA_PEAK,
} warprsa_counter_kind;

/* How many times were how long: a bin for each power of two. */
typedef _Atomic uint64_t warprsa_times[WARPRSA_TIME_BINS];

/* A text that ends with a zero. Bytes are written one by one: a reader may see
 * a mix of two texts, but nothing else. */
typedef _Atomic char warprsa_counters_text[WARPRSA_COUNTERS_TEXT];

/* What is counted of one device, by its number among the devices in use. */
typedef struct warprsa_device_counters {
#define WORD(name, ...) _Atomic uint64_t name;
    WARPRSA_EACH_DEVICE_COUNTER(WORD)
    warprsa_times compute_times;
} warprsa_device_counters;

/* How each block begins: it tells one from other memory of a process. */
enum {
    WARPRSA_COUNTERS_MAGIC = 16,
};
extern const char warprsa_counters_magic[WARPRSA_COUNTERS_MAGIC];

typedef struct warprsa_counters {
    char magic[WARPRSA_COUNTERS_MAGIC]; /* warprsa_counters_magic */
    uint64_t version;                   /* warprsa_counters_version() */
    uint64_t pid;
    /* warprsa_clock_ns() when the block was made: with the pid it tells a block
     * from all others since the machine has started. */
    uint64_t created_ns;
    _Atomic uint64_t serving_pid; /* counts here for `pid`; 0: `pid` does */
    warprsa_counters_text device; /* first in use, or why there is none */
    /* The name of each device, as its engine describes it; empty: not in use
     * yet. */
    warprsa_counters_text device_names[WARPRSA_COUNTERS_DEVICES];
    /* From here on there are counters alone. */
#define ROUTE(name, kind, words, ...) _Atomic uint64_t name[words];
    WARPRSA_EACH_ROUTE(ROUTE)
    _Atomic uint64_t cpu_reason[WARPRSA_CPU_REASONS];
    WARPRSA_EACH_COUNTER(WORD)
#define HISTOGRAM(name, bins, ...) _Atomic uint64_t name[bins];
    WARPRSA_EACH_HISTOGRAM(HISTOGRAM)
    warprsa_device_counters device_of[WARPRSA_COUNTERS_DEVICES];
} warprsa_counters;
#undef WORD
#undef ROUTE
#undef HISTOGRAM

/* A row of counter_table.h, for those who show counters. */
typedef struct warprsa_counter {
    const char *name; /* of the field; cpu_route for a reason */
    warprsa_counter_kind kind;
    size_t offset;  /* in warprsa_counters, or warprsa_device_counters */
    unsigned words; /* more than one: of each size of the modulus */
} warprsa_counter;

enum {
#define ONE(...) +1
    WARPRSA_ROUTES = 0 WARPRSA_EACH_ROUTE(ONE),
    WARPRSA_COUNTERS =
        WARPRSA_ROUTES + WARPRSA_CPU_REASONS WARPRSA_EACH_COUNTER(ONE),
    WARPRSA_DEVICE_COUNTERS = 0 WARPRSA_EACH_DEVICE_COUNTER(ONE),
#undef ONE
};

/* Routes, reasons and all others, in this order; those of a device. */
extern const warprsa_counter warprsa_counter_table[WARPRSA_COUNTERS];
extern const warprsa_counter
    warprsa_device_counter_table[WARPRSA_DEVICE_COUNTERS];

/* What a reader and the process that counts must agree on: a digest of all
 * counters' names and of the size of a block. */
uint32_t warprsa_counters_version(void);

/*
 * A fresh block, all zeros but for its head, in a memory file whose
 * descriptor (close-on-exec) stays open for warprsa-stat to find. Where no such
 * file can be had, as in a sandbox, it is in shared anonymous memory. Others
 * see that as a mapping of "/dev/zero", and no sandbox denies it. NULL: no
 * memory. A forked child that counts needs a block of its own: this one is
 * shared with its parent. Any thread.
 */
warprsa_counters *warprsa_counters_new(void);

/* This process goes on with the block of its parent, as others may have done
 * before it: what was true of them alone becomes zero, and what happened stays
 * counted. */
void warprsa_counters_restart(warprsa_counters *counters);

/* The process has ended: makes all zero that was true of it alone. */
void warprsa_counters_end(warprsa_counters *counters);

/* Gives a block back; NULL is allowed. Also right in a forked child for its
 * parent's block: only the child's own mapping and descriptor go. */
void warprsa_counters_free(warprsa_counters *counters);

/* Sets the device text, or the name of a device by its number. What does not
 * fit ends with "...". One thread at a time per block. */
void warprsa_counters_set_device(warprsa_counters *counters, const char *text);
void warprsa_counters_set_name(warprsa_counters *counters, unsigned device,
                               const char *text);

/* Reads it; control characters and quotes become '?'. Any thread. */
void warprsa_counters_device(const warprsa_counters *counters,
                             char text[WARPRSA_COUNTERS_TEXT]);
void warprsa_counters_name(const warprsa_counters *counters, unsigned device,
                           char text[WARPRSA_COUNTERS_TEXT]);

/* Calls `each` for every counter under its name, in the order of the line
 * below. Any thread; values are read one by one, not all of one moment. */
typedef void (*warprsa_counter_fn)(void *arg, const char *name, uint64_t value);
void warprsa_counters_each(const warprsa_counters *counters,
                           warprsa_counter_fn each, void *arg);

/*
 * Writes the counters as one line of name=value pairs, the device first and in
 * quotes, the histogram of batch sizes last (batches_to_8: of 5 to 8; only what
 * there is), with no newline; cut to size (WARPRSA_COUNTERS_LINE holds any) and
 * always ended by a zero when size > 0. Returns the length written. Any
 * thread.
 */
size_t warprsa_counters_format(const warprsa_counters *counters, char *line,
                               size_t size);

/* The name of a reason, such as "route", and words for it that go on with "3
 * operations on the CPU". Constants. */
const char *warprsa_cpu_reason_name(warprsa_cpu_reason reason);
const char *warprsa_cpu_reason_phrase(warprsa_cpu_reason reason);

/* The sum of so many words. Any thread. */
static inline uint64_t warprsa_counted(const _Atomic uint64_t *words,
                                       unsigned count)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < count; i++)
        sum += atomic_load_explicit(&words[i], memory_order_relaxed);
    return sum;
}

/* The words of a row, in a block or in a device's counters. */
static inline const _Atomic uint64_t *
warprsa_counter_words(const warprsa_counter *row, const void *block)
{
    return (const _Atomic uint64_t *)((const char *)block + row->offset);
}

/* The label of a size of the modulus, the last one being "other". */
extern const char *const warprsa_size_names[WARPRSA_CLASSES + 1];

/* The bin of a time: bin i holds those above half of 8192 << i ns and up to it,
 * the first one shorter times too, and the last one all that are longer. */
static inline unsigned warprsa_time_bin(uint64_t ns)
{
    uint64_t above = (ns - (ns > 0)) >> WARPRSA_TIME_BIN_SHIFT;
    unsigned bin = above == 0 ? 0 : 64 - (unsigned)__builtin_clzll(above);

    return bin < WARPRSA_TIME_BINS ? bin : WARPRSA_TIME_BINS - 1;
}

/* How long the quickest so many percent of these times were at most: the upper
 * end of a bin. 0: there are none. Any thread. */
uint64_t warprsa_times_quantile(const warprsa_times times, unsigned percent);

/* Whether this device has ever been in use. Any thread. */
bool warprsa_device_is_known(const warprsa_device_counters *device);

/* Adds n; relaxed, for numbers that order nothing. */
static inline void warprsa_count(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

#endif
