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

#include "gpu/engine.h"

enum {
    WARPRSA_COUNTERS_VERSION = 6,
    WARPRSA_HISTOGRAM_BINS = 17, /* batch sizes 1, 2, 3-4, 5-8, ... 65536 */
    WARPRSA_TIME_BINS = 22,      /* see warprsa_time_bin() */
    WARPRSA_TIME_BIN_SHIFT = 13, /* the first bin: up to 8192 ns */
    /* With room for the longest name of a device, what is said about it, and a
     * reason with a path and advice. */
    WARPRSA_COUNTERS_TEXT = 256,
    WARPRSA_COUNTERS_LINE = 16384, /* holds any formatted line */
    WARPRSA_COUNTERS_DEVICES = 16,
};

/* Why an operation ran on the CPU. */
typedef enum warprsa_cpu_reason {
    WARPRSA_CPU_ROUTE,           /* route = cpu, or auto chose it */
    WARPRSA_CPU_UNSUPPORTED_KEY, /* multi-prime, no CRT, size out of range */
    WARPRSA_CPU_STARTING,        /* devices not open yet */
    WARPRSA_CPU_NO_DEVICE,       /* none there or all lost */
    WARPRSA_CPU_QUEUE_FULL,      /* no free request slot for this owner */
    WARPRSA_CPU_DEADLINE,        /* no answer in time */
    WARPRSA_CPU_CHECK_FAILED,    /* the result failed its check */
    WARPRSA_CPU_ERROR,           /* launch, memory, randomness, fork, ... */
    WARPRSA_CPU_KEY_CACHE_FULL,  /* all keys on the device are in use */
    WARPRSA_CPU_OVERFLOW,        /* auto: devices have too much to do */
    WARPRSA_CPU_KEY_RATE,        /* the user has too many new keys */
    WARPRSA_CPU_NO_THREADS,      /* the process may not start any */
    WARPRSA_CPU_WRONG_KEY,       /* its numbers give wrong results */
    WARPRSA_CPU_REASONS
} warprsa_cpu_reason;

/* How many times were how long: a bin for each power of two. */
typedef _Atomic uint64_t warprsa_times[WARPRSA_TIME_BINS];

/* A text that ends with a zero. Bytes are written one by one: a reader may see
 * a mix of two texts, but nothing else. */
typedef _Atomic char warprsa_counters_text[WARPRSA_COUNTERS_TEXT];

/* Of one device, by its number among the devices in use. */
typedef struct warprsa_device_counters {
    _Atomic uint64_t ready;   /* 1: takes requests, 0: doesn't */
    _Atomic uint64_t gpu;     /* operations answered, whatever the engine */
    _Atomic uint64_t running; /* operations under way now */
    _Atomic uint64_t batches;
    _Atomic uint64_t compute_ns; /* summed over batches, which overlap */
    warprsa_times compute_times;
    _Atomic uint64_t losses;
    _Atomic uint64_t checks_failed; /* results, whoever is to blame */
    _Atomic uint64_t wrong;         /* how often out of use for wrong results */
    _Atomic uint64_t keys;          /* on it now */
    _Atomic uint64_t failovers;     /* operations that went to another device */
    _Atomic uint64_t traffic[WARPRSA_TRAFFIC_KINDS]; /* of another host */
} warprsa_device_counters;

/* How each block begins: it tells one from other memory of a process. */
enum {
    WARPRSA_COUNTERS_MAGIC = 16,
};
extern const char warprsa_counters_magic[WARPRSA_COUNTERS_MAGIC];

typedef struct warprsa_counters {
    char magic[WARPRSA_COUNTERS_MAGIC]; /* warprsa_counters_magic */
    uint64_t version;                   /* WARPRSA_COUNTERS_VERSION */
    uint64_t pid;
    /* warprsa_clock_ns() when the block was made: with the pid it tells a block
     * from all others since the machine has started. */
    uint64_t created_ns;
    _Atomic uint64_t serving_pid; /* counts here for `pid`; 0: `pid` does */
    warprsa_counters_text device; /* first in use, or why there is none */
    /* Of each device, as its engine describes it; empty: not in use yet. */
    warprsa_counters_text device_names[WARPRSA_COUNTERS_DEVICES];
    /* From here on there are counters alone. */
    _Atomic uint64_t gpu[WARPRSA_CLASSES];     /* answered by a device */
    _Atomic uint64_t ifma[WARPRSA_CLASSES];    /* by the CPUs' vector units */
    _Atomic uint64_t cpu[WARPRSA_CLASSES + 1]; /* last: no class */
    _Atomic uint64_t cpu_reason[WARPRSA_CPU_REASONS];
    _Atomic uint64_t batches;
    _Atomic uint64_t batch_max; /* requests in the largest batch so far */
    _Atomic uint64_t batch_sizes[WARPRSA_HISTOGRAM_BINS];
    /* Sums, and how often it was how long. Of each operation: from submission
     * until a batch took it, and from then to the end of that batch. Of each
     * batch: from its launch to its end, as `compute`. */
    _Atomic uint64_t batch_operations; /* operations in all batches */
    _Atomic uint64_t wait_ns, batch_ns, compute_ns;
    warprsa_times wait_times, batch_times, compute_times;
    _Atomic uint64_t checks_failed;
    _Atomic uint64_t device_losses;
    _Atomic uint64_t devices;      /* in use now */
    _Atomic uint64_t keys;         /* held now, host side */
    _Atomic uint64_t keys_loaded;  /* uploads, ever */
    _Atomic uint64_t keys_wiped;   /* uploaded copies wiped again */
    _Atomic uint64_t keys_evicted; /* wiped to make room for others */
    _Atomic uint64_t keys_wrong;   /* whose numbers give wrong results, ever */
    _Atomic uint64_t slots;        /* requests in flight at most */
    _Atomic uint64_t slots_bytes;  /* host memory for them, all of it */
    _Atomic uint64_t clients;      /* of the daemon: connected now */
    warprsa_device_counters device_of[WARPRSA_COUNTERS_DEVICES];
} warprsa_counters;

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

/* The name of a reason's counter, such as "cpu_route". A constant. */
const char *warprsa_cpu_reason_name(warprsa_cpu_reason reason);

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
