/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The memory that one client process shares with the daemon: request slots, a
 * ring of the numbers of slots that hold new requests, and a few words.
 *
 * The daemon trusts nothing in it. It keeps its own place in the ring, copies
 * a request out before it looks at it, and remembers for itself which slots
 * are under way. The client trusts the daemon, which has its keys.
 *
 * A slot is the client's until it is put into the ring, and then the daemon's
 * until `answered` is the request's `generation`. No slot is used again before: an
 * answer can't meet a later request.
 */
#ifndef WARPRSA_BATCHING_IPC_SHM_H
#define WARPRSA_BATCHING_IPC_SHM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "batching/base/ring.h"
#include "batching/counters.h"
#include "gpu/engine.h"

/* What the eventfd is about, bits of `notify_flags`. */
enum {
    WARPRSA_NOTIFY_RING = 1,
    WARPRSA_NOTIFY_MESSAGE = 2, /* one that no request need refer to */
};

typedef struct warprsa_shm_head {
    /* By the daemon. */
    _Atomic uint32_t state;   /* warprsa_queue_state, a futex */
    _Atomic uint32_t depth;   /* of the daemon's queue, for the router */
    _Atomic uint32_t devices; /* in use */
    _Atomic char device[WARPRSA_COUNTERS_TEXT];
    /* When it last came round, of CLOCK_MONOTONIC: at least twice a second. */
    _Atomic uint64_t heartbeat_ns;
    /* Not 0: the daemon has been told by the eventfd to look there, and has not
     * begun to. */
    _Alignas(64) _Atomic uint32_t notify_flags;
} warprsa_shm_head;

typedef struct warprsa_shm_request {
    uint32_t generation; /* not 0; another one for each use of the slot */
    uint32_t key;
    uint32_t key_generation;
    uint32_t
        notifier; /* to be rung at the answer; 0: somebody may sleep on it */
    uint32_t notifier_generation;
    uint32_t bytes; /* of the modulus */
    uint8_t input[WARPRSA_MODULUS_BYTES_MAX];
} warprsa_shm_request;

typedef struct warprsa_shm_slot {
    _Alignas(64) warprsa_shm_request request;
    _Alignas(
        64) _Atomic uint32_t answered; /* a generation; a futex; set last */
    uint32_t answer;                   /* warprsa_answer */
    uint32_t reason;                   /* warprsa_cpu_reason */
    uint64_t took_ns; /* from when the daemon had it; if DONE */
    uint8_t output[WARPRSA_MODULUS_BYTES_MAX];
} warprsa_shm_slot;

typedef struct warprsa_shm {
    warprsa_shm_head *head;
    warprsa_shm_slot *slot;
    warprsa_ring_cell *cell; /* a warprsa_ring's */
    uint32_t slots;
    uint32_t mask; /* of the ring */
    size_t size;
} warprsa_shm;

/*
 * Makes and maps a shm for the daemon; *fd is what the client gets, and the
 * caller's to close. All its memory is allocated now and can't be taken away:
 * the file has its size for ever. False: no memory or descriptor, see errno.
 */
bool warprsa_shm_create(warprsa_shm *shm, uint32_t slots, int *fd);

/* Once the client has mapped it too: no holes are punched into the file and no
 * more mappings made that can write. False: see errno. */
bool warprsa_shm_seal(int fd);

/* Maps it in the client; not in its forked children. False: see errno. */
bool warprsa_shm_map(warprsa_shm *shm, uint32_t slots, int fd);

void warprsa_shm_unmap(warprsa_shm *shm);

/* The daemon's: the number in the ring at `*ring_offset`, which goes on by one.
 * False: there is none. What the number says is the client's claim. */
bool warprsa_shm_dequeue(const warprsa_shm *shm, uint32_t *ring_offset,
                         uint32_t *slot);

/* The daemon's: copies a request, once. */
void warprsa_shm_copy(const warprsa_shm *shm, uint32_t slot,
                      warprsa_shm_request *request);

/* Sleeps while *word is `value`, at most until until_ns (warprsa_clock_ns());
 * wakes all who sleep. The word may be in a shm. */
void warprsa_shm_sleep(_Atomic uint32_t *word, uint32_t value,
                       uint64_t until_ns);
void warprsa_shm_wake(_Atomic uint32_t *word);

#endif
