/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The plain types that a queue (queue.h) and its callers exchange, and that
 * every file of the queue uses.
 */
#ifndef WARPRSA_BATCHING_QUEUE_QUEUE_TYPES_H
#define WARPRSA_BATCHING_QUEUE_QUEUE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batching/queue/counter_table.h"
#include "gpu/engine.h"

typedef struct warprsa_counters warprsa_counters;
typedef struct warprsa_queue warprsa_queue;
typedef struct warprsa_key warprsa_key;
typedef struct warprsa_router warprsa_router;

enum {
    WARPRSA_KEY_ID_BYTES = 32, /* a SHA-256 over the whole private key */
    WARPRSA_DEVICES_MAX = 16,  /* of all engines together */
    WARPRSA_ENGINES_MAX = 3,
};

/* The owner of a key: a number for each user that shares the devices, and may
 * have a part of them; or the process itself, which shares them with nobody and
 * is not limited. */
#define WARPRSA_OWNER_SELF UINT64_MAX

/* An engine of a queue, and how its devices are used. */
typedef struct warprsa_queue_engine {
    const warprsa_engine *engine;
    uint32_t devices;   /* bit i: use device i; 0xffffffff: all */
    unsigned streams;   /* per device, 1..WARPRSA_STREAMS_MAX: a thread each */
    unsigned batch_max; /* requests per batch at most, 1..65536 */
    /* Its devices are the CPUs of this machine, which callers need as well. If
     * a device of another engine is ready, these take what the router assigns
     * to them. With other hosts and no router they take what they should answer
     * sooner. Their answers are counted as `ifma`. */
    bool on_cpus;
} warprsa_queue_engine;

typedef struct warprsa_queue_config {
    /* The engines whose devices serve this queue side by side, the preferred
     * one first: an idle worker of an earlier engine is notified of a request
     * before one of a later engine. */
    warprsa_queue_engine engines[WARPRSA_ENGINES_MAX];
    unsigned engine_count; /* 1..WARPRSA_ENGINES_MAX */
    unsigned slots;        /* requests in flight at most, 1..65536 */
    unsigned keys_max;     /* keys per device at most, 1 or more */
    unsigned deadline_ms;  /* from submission, 1 or more; then the request is
                             refused and the caller computes it itself */
    const char *calibration_file; /* as in warprsa_device_config; outlives the
                                     queue */
    bool direct_table_reads;      /* as in warprsa_device_config */
    warprsa_random_fn random;
    void *random_arg;
    warprsa_trace_fn trace; /* NULL: no tracing */
    void *trace_arg;
    /* Called by a worker that has opened a device: its driver has registered
     * its exit handlers by then. May be NULL. */
    void (*device_opened)(void);
    warprsa_counters *counters; /* outlives the queue and its keys */
    warprsa_router *router;     /* learns how long devices take; may be NULL,
                                   outlives the queue */
} warprsa_queue_config;

typedef enum warprsa_queue_state {
    WARPRSA_QUEUE_STARTING, /* workers are opening devices */
    WARPRSA_QUEUE_READY,    /* at least one device takes requests */
    WARPRSA_QUEUE_DOWN,     /* no device, for now or for good */
} warprsa_queue_state;

/*
 * How a caller that does not sleep in warprsa_queue_wait() is notified.
 *
 * From the moment warprsa_queue_submit() has queued the request, maybe before
 * it returns, `arg` belongs to the queue, until it calls one of the two
 * functions, once:
 *
 * wake: the answer can be collected, or the deadline has passed without one.
 *     From a worker's or another caller's thread, and no lock of the queue is
 *     held. The caller may have collected the answer already, since an answer
 *     can be taken before wake is called: `arg` must live until then.
 * drop: the caller has given up, in warprsa_queue_collect() or
 *     warprsa_queue_wait(), and wake was not called. From that thread. May be
 *     NULL.
 *
 * Neither may call the queue. In a forked child neither is called. A request
 * that was not queued leaves `arg` to the caller.
 */
typedef struct warprsa_notify {
    void (*wake)(void *arg); /* NULL: the caller uses warprsa_queue_wait() */
    void (*drop)(void *arg);
    void *arg;
} warprsa_notify;

/* One submitted request; a value, copied freely. */
typedef struct warprsa_ticket {
    uint32_t slot;
    uint32_t generation; /* of the slot: tells its uses apart */
} warprsa_ticket;

typedef enum warprsa_answer {
    WARPRSA_DONE,    /* output holds the checked result */
    WARPRSA_PENDING, /* not yet */
    WARPRSA_REFUSED, /* not computed; the caller computes it itself */
} warprsa_answer;

/* More about an answer. */
typedef struct warprsa_outcome {
    warprsa_cpu_reason reason; /* if REFUSED */
    bool on_cpus; /* if DONE: by an engine that is warprsa_queue_engine.on_cpus
                   */
} warprsa_outcome;

#endif
