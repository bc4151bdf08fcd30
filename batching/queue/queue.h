/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The queue: callers of any thread submit private operations, device workers
 * take whatever is queued the moment a stream is free, batch it by size class
 * and run it on an engine. No OpenSSL and no CUDA type appears here.
 */
#ifndef WARPRSA_BATCHING_QUEUE_QUEUE_H
#define WARPRSA_BATCHING_QUEUE_QUEUE_H

#include "batching/queue/queue_types.h"

/*
 * Allocates the request slots and starts the workers, which open the devices
 * on their own; returns at once. The caller owns the queue and gives it back
 * with warprsa_queue_close(). Fails (NULL, the reason in *reason, and in `why`
 * for a person) on a value out of range, or when memory or threads cannot be
 * had (RLIMIT_NPROC 0, for example); no device is touched then.
 */
warprsa_queue *warprsa_queue_open(const warprsa_queue_config *config,
                                  warprsa_cpu_reason *reason, char *why,
                                  size_t why_size);

/*
 * Takes no more requests, lets batches under way finish (up to the deadline),
 * answers everything still queued with WARPRSA_REFUSED so that its caller
 * computes it itself, joins the workers, wipes and frees. Keys and tickets
 * still held by callers stay valid: memory goes with the last key. One thread,
 * once; other threads may be inside any other function.
 *
 * False: a worker was still inside its device's driver 10 s after the
 * deadline. It was left behind; should it ever return it ends by itself, but
 * until then the counters, the engine's code and the callbacks' arguments must
 * stay.
 */
bool warprsa_queue_close(warprsa_queue *queue);

/*
 * In the child of a fork: forgets a queue of the parent, or NULL. Touches no
 * lock, no thread and no device. Wipes and frees nothing that the parent's
 * other threads may have left half changed.
 */
void warprsa_queue_abandon(warprsa_queue *queue);

/* Waits up to timeout_ms while the state is STARTING; returns the state. Any
 * thread. */
warprsa_queue_state warprsa_queue_wait_ready(warprsa_queue *queue,
                                             unsigned timeout_ms);

/*
 * Whether a device that was in use is lost to this process: opening it again
 * has failed, or a thread hangs in its driver. After a kernel that traps CUDA
 * refuses all further work of the process, also after cudaDeviceReset(), while
 * a new process can use the GPU at once. Any thread.
 */
bool warprsa_queue_has_lost_device(warprsa_queue *queue);

/* Asks engines whose devices come and go once more how many they have, and
 * starts the threads of those that are new, at most as many as a queue may
 * have. Not while the state is STARTING. One thread at a time, and not beside
 * warprsa_queue_close(). */
void warprsa_queue_add_devices(warprsa_queue *queue);

/* Whether only engines on the CPUs of this machine have devices that are ready.
 * Any thread. */
bool warprsa_queue_on_cpus(const warprsa_queue *queue);

/*
 * Notifies the callers whose deadline has passed, if nobody has looked for them
 * for a whole deadline. A worker that has nothing else to do looks, but all
 * workers may hang in their drivers, above all if there is only one. Takes a
 * device out of use if a worker has been in one call of its driver for a second
 * longer than the deadline. So a thread of the program has to call this now and
 * then; if none does, such callers are not notified, and more requests go to
 * such a device. Any thread.
 */
void warprsa_queue_tick(warprsa_queue *queue);

/* Traces how many lines about each owner's keys were left out in seconds that
 * are over. Any thread. */
void warprsa_queue_trace_left_out(warprsa_queue *queue);

/* Requests submitted and not answered yet: a hint for the router. Any thread.
 */
unsigned warprsa_queue_depth(const warprsa_queue *queue);

/*
 * The queue's own copy of a private key for `owner`, with one more reference: a
 * number, or WARPRSA_OWNER_SELF (queue_types.h). It is found again by `id` if
 * the owner has it already, since programs import the same key many times; else
 * it is made. The owner pays for requests with the key, and for loading it.
 * Owners that bring the same numbers have a key each, and a device has one copy
 * for all of them. warprsa_key_release() gives the reference back; the last one
 * wipes the owner's copy, and the last one of all owners those on the devices.
 * NULL: no memory, a size that no engine computes, or the owner, if it is a
 * number, has 16,384 keys. Any thread; never calls into an engine.
 */
warprsa_key *warprsa_queue_key(warprsa_queue *queue, uint64_t owner,
                               const uint8_t id[WARPRSA_KEY_ID_BYTES],
                               const warprsa_private_key *key);

/* Takes one more reference. Any thread. */
void warprsa_key_hold(warprsa_key *key);

/* Any thread; NULL is allowed. */
void warprsa_key_release(warprsa_key *key);

/* The modulus, as many bytes as the key was given with, without leading zeros;
 * the key's. Any thread. */
const uint8_t *warprsa_key_modulus(const warprsa_key *key);

/* In the child of a fork: gives back a key of the parent's queue, or NULL. */
void warprsa_key_abandon(warprsa_key *key);

/* Whether a device takes keys of this key's size class: one that is ready or,
 * while none is, one that was last. A hint. Any thread. */
bool warprsa_queue_takes(const warprsa_queue *queue, const warprsa_key *key);

/* Whether a key's numbers have given a wrong result: its requests are refused
 * (WARPRSA_CPU_WRONG_KEY). Any thread. */
bool warprsa_queue_refuses_key(const warprsa_key *key);

/*
 * Copies `input` (modulus_bytes of the key, big-endian, < n) into a free slot
 * and queues it. WARPRSA_DONE: queued, ticket filled. WARPRSA_REFUSED: no free
 * slot, or none for the key's owner, who would leave too few to others; no
 * device (yet), or none that takes the key's class; or closing; counted with
 * its reason. The key must be held until the answer is collected, and no
 * longer.
 *
 * Every ticket must be given to warprsa_queue_collect() or warprsa_queue_wait()
 * until one of them returns something other than PENDING, or be withdrawn. An
 * answer that nobody collects within twice the deadline may be thrown away to
 * reuse its slot; its ticket is then REFUSED. Any thread, any stack (no CUDA
 * call is made).
 */
warprsa_answer warprsa_queue_submit(warprsa_queue *queue, warprsa_key *key,
                                    const uint8_t *input, warprsa_notify notify,
                                    warprsa_ticket *ticket);

/*
 * Does not sleep. DONE: `output` (modulus_bytes of the key, big-endian) holds
 * the checked result. REFUSED: the request failed, or had no answer by the
 * deadline; counted with its reason. Both give the slot back, and tell more in
 * *outcome unless `outcome` is NULL. PENDING: not yet. Any thread, but one at a
 * time for each ticket.
 */
warprsa_answer warprsa_queue_collect(warprsa_queue *queue,
                                     warprsa_ticket ticket, uint8_t *output,
                                     warprsa_outcome *outcome);

/* Like warprsa_queue_collect(), but sleeps on the slot's own word (futex) until
 * the answer is there or the deadline has passed; never PENDING. */
warprsa_answer warprsa_queue_wait(warprsa_queue *queue, warprsa_ticket ticket,
                                  uint8_t *output);

/* Gives a request up, whose caller has gone: it is not computed any more unless
 * a batch has it. `drop` is called, if any. False: there is an answer, or wake
 * is being called, and the ticket must be given to warprsa_queue_collect(). Any
 * thread, but one at a time for each ticket. */
bool warprsa_queue_withdraw(warprsa_queue *queue, warprsa_ticket ticket);

#endif
