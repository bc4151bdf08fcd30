/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The queue: callers of any thread submit private operations, device workers
 * take whatever is queued the moment a stream is free, batch it by size class
 * and run it on an engine. No OpenSSL and no CUDA type appears here.
 */
#ifndef WARPRSA_QUEUE_H
#define WARPRSA_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batching/counters.h"
#include "batching/router.h"
#include "gpu/engine.h"

typedef struct warprsa_queue warprsa_queue;
typedef struct warprsa_key warprsa_key;

enum {
    WARPRSA_KEY_ID_BYTES = 32, /* a SHA-256 over the whole private key */
    WARPRSA_DEVICES_MAX = 16,
};

typedef struct warprsa_queue_config {
    const warprsa_engine *engine;
    uint32_t devices;     /* bit i: use device i; 0xffffffff: all */
    unsigned slots;       /* requests in flight at most, 1..65536 */
    unsigned streams;     /* per device, 1..WARPRSA_STREAMS_MAX */
    unsigned batch_max;   /* requests per batch at most */
    unsigned keys_max;    /* keys per device at most */
    unsigned deadline_ms; /* from submission; then the caller helps himself */
    const char *calibration_file; /* as in warprsa_device_config; outlives the
                                     queue */
    bool direct_table_reads;
    warprsa_random_fn random;
    void *random_arg;
    warprsa_trace_fn trace;
    void *trace_arg;
    warprsa_counters *counters; /* outlives the queue and its keys */
    warprsa_router *router;     /* is told what devices take; may be NULL,
                                   outlives the queue */
} warprsa_queue_config;

/* Where a queue stands. */
typedef enum warprsa_queue_state {
    WARPRSA_QUEUE_STARTING, /* workers are opening devices */
    WARPRSA_QUEUE_READY,    /* at least one device takes requests */
    WARPRSA_QUEUE_DOWN,     /* no device, for now or for good */
} warprsa_queue_state;

/*
 * Allocates the request slots and starts the workers, which open the devices
 * on their own; returns at once. Fails (NULL, reason in why) when memory or
 * threads can't be had (RLIMIT_NPROC 0, say).
 */
warprsa_queue *warprsa_queue_open(const warprsa_queue_config *config, char *why,
                                  size_t why_size);

/*
 * Takes no more requests, lets batches under way finish (up to the deadline),
 * answers everything still queued with WARPRSA_NO_DEVICE so that its caller
 * computes it himself, joins the workers, wipes and frees. Keys and tickets
 * still held by callers stay valid: memory goes with the last key.
 *
 * False: a worker hangs in its device's driver, 10 s after the deadline. It was
 * left behind; should it ever wake it ends by itself, but until then the
 * counters, the engine's code and the callbacks' arguments must stay.
 */
bool warprsa_queue_close(warprsa_queue *queue);

/*
 * In the child of a fork: forgets a queue of the parent. Touches no lock, no
 * thread and no device; wipes and frees nothing that could be half changed.
 */
void warprsa_queue_abandon(warprsa_queue *queue);

/* Waits up to timeout_ms while STARTING. */
warprsa_queue_state warprsa_queue_wait_ready(warprsa_queue *queue,
                                             unsigned timeout_ms);

/* Requests submitted and not answered yet; a hint for the router. */
unsigned warprsa_queue_depth(const warprsa_queue *queue);

/*
 * The queue's own copy of a private key, found again by `id` if it is already
 * there (keys are imported many times), with one more reference; released by
 * warprsa_key_release(), which wipes host and device copies with the last
 * one. NULL: no memory. Any thread; never calls into an engine.
 */
warprsa_key *warprsa_queue_key(warprsa_queue *queue,
                               const uint8_t id[WARPRSA_KEY_ID_BYTES],
                               const warprsa_private_key *key);
void warprsa_key_release(warprsa_key *key);

/* In the child of a fork: gives back a key of the parent's queue. */
void warprsa_key_abandon(warprsa_key *key);

/*
 * How a caller that does not sleep is told. Called once, by a worker or by
 * another caller's thread, before the answer can be collected, or once the
 * deadline has passed without one: `wake` must neither block nor call the
 * queue, and `arg` must stay valid until warprsa_queue_collect() or _wait() has
 * said anything but WARPRSA_PENDING. It may come before submit() returns. A
 * caller woken before the answer is there (the worker is between the two)
 * calls collect again; collect itself waits out that short moment.
 */
typedef struct warprsa_notify {
    void (*wake)(void *arg); /* NULL: the caller uses warprsa_queue_wait() */
    void *arg;
} warprsa_notify;

/* One submitted request; a value, copied freely. */
typedef struct warprsa_ticket {
    uint32_t slot;
    uint32_t generation;
} warprsa_ticket;

typedef enum warprsa_answer {
    WARPRSA_DONE,    /* output holds the checked result */
    WARPRSA_PENDING, /* not yet */
    WARPRSA_REFUSED, /* not computed here; the caller computes it himself */
} warprsa_answer;

/*
 * Copies `input` (modulus_bytes of the key, < n) into a free slot and queues
 * it. WARPRSA_DONE: queued, ticket filled. WARPRSA_REFUSED: no free slot, no
 * device (yet) or closing; counted with its reason. The key must be held until
 * the answer is collected, and no longer: an answer nobody collects within
 * twice the deadline may be thrown away for its slot, and then its ticket is
 * REFUSED. Any thread, any stack (no CUDA call is made).
 */
warprsa_answer warprsa_queue_submit(warprsa_queue *queue, warprsa_key *key,
                                    const uint8_t *input, warprsa_notify notify,
                                    warprsa_ticket *ticket);

/* The answer if it is there; fills output (modulus_bytes of the key) and
 * gives the slot back unless PENDING. Past the deadline an answer that is not
 * there is REFUSED and counted. Any thread, once per ticket. */
warprsa_answer warprsa_queue_collect(warprsa_queue *queue,
                                     warprsa_ticket ticket, uint8_t *output);

/* Sleeps on the slot's own word (futex) until the answer is there or the
 * deadline has passed; never PENDING. */
warprsa_answer warprsa_queue_wait(warprsa_queue *queue, warprsa_ticket ticket,
                                  uint8_t *output);

#endif
