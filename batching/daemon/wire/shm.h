/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The memory that one client process shares with the daemon: request slots, a
 * ring of the numbers of slots that hold new requests, a ring of messages of
 * the client's, and a few words.
 *
 * The daemon trusts nothing in it. It keeps its own offsets in the rings,
 * copies a request or a message out before it looks at it, and remembers for
 * itself which slots are under way. The client trusts the daemon, which has its
 * keys.
 *
 * A slot is the client's until its number is put into the ring. It is then the
 * daemon's until `answered` equals the request's `generation`. The client does
 * not reuse the slot before, so an answer can't meet a later request.
 */
#ifndef WARPRSA_BATCHING_DAEMON_WIRE_SHM_H
#define WARPRSA_BATCHING_DAEMON_WIRE_SHM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "batching/base/ring.h"
#include "batching/daemon/wire/protocol.h"
#include "batching/queue/counters.h"

/* What the client notifies the daemon of, bits of `notify_flags`. */
enum {
    WARPRSA_NOTIFY_RING = 1,    /* a request in the ring */
    WARPRSA_NOTIFY_MESSAGE = 2, /* a message that no request need refer to */
};

typedef struct warprsa_shm_head {
    /* Written by the daemon. */
    _Atomic uint32_t state;   /* warprsa_queue_state, a futex */
    _Atomic uint32_t depth;   /* of the daemon's queue, for the router */
    _Atomic uint32_t devices; /* in use */
    _Atomic char device[WARPRSA_COUNTERS_TEXT];
    /* The last heartbeat of the client's event loop, in nanoseconds of
     * CLOCK_MONOTONIC. There are at least two a second. */
    _Atomic uint64_t heartbeat_ns;
    /* The devices are the CPUs of this machine. */
    _Atomic uint32_t on_cpus;
    /* Both sides write this. Not 0: the client has notified the daemon by the
     * eventfd, and the daemon has not begun to look. */
    _Alignas(64) _Atomic uint32_t notify_flags;
} warprsa_shm_head;

typedef struct warprsa_shm_request {
    uint32_t generation; /* of the slot: not 0, another one for each request */
    uint32_t key;        /* its number */
    uint32_t key_generation;
    uint32_t notifier; /* its number; 0: a thread may sleep on `answered` */
    uint32_t notifier_generation;
    uint32_t bytes; /* of the modulus; 0: of a use */
    /* The input; replaced by the output of an answer that is DONE. */
    uint8_t number[WARPRSA_MODULUS_BYTES_MAX];
} warprsa_shm_request;

typedef struct warprsa_shm_slot {
    _Alignas(64) warprsa_shm_request request;
    /* The generation of the last request answered; a futex; written last. */
    _Alignas(64) _Atomic uint32_t answered;
    uint32_t answer;  /* warprsa_answer */
    uint32_t reason;  /* warprsa_cpu_reason; if not DONE */
    uint32_t on_cpus; /* not 0: as in warprsa_outcome; if DONE */
    uint64_t took_ns; /* from when the daemon had the request; if DONE */
    /* Of a use alone. */
    uint32_t use_answer;       /* warprsa_use_answer */
    uint32_t denial;           /* warprsa_denial; if DENIED */
    uint32_t bytes;            /* of the output; if DONE */
    uint32_t by_libcrypto;     /* not 0: computed by the daemon's libcrypto */
    warprsa_use_errors errors; /* if FAILED */
} warprsa_shm_slot;

/* What a slot has more for a use of a key of the vault. */
typedef struct warprsa_shm_use {
    _Alignas(64) warprsa_key_use header;
    /* The input; replaced by the output of an answer that is DONE. SECRET. */
    uint8_t number[WARPRSA_VAULT_MODULUS_BYTES_MAX];
} warprsa_shm_use;

enum {
    WARPRSA_SHM_MESSAGES = 64, /* on their way at once; a power of 2 */
};

/* `sequence` is the offset of the message that the client may put here, or that
 * plus 1 when the daemon may take it. */
typedef struct warprsa_shm_message_cell {
    _Alignas(64) _Atomic uint32_t sequence;
    warprsa_shm_message message; /* SECRET; zero when it was taken */
} warprsa_shm_message_cell;

/* The memory as mapped in this process. */
typedef struct warprsa_shm {
    warprsa_shm_head *head;
    warprsa_shm_slot *slot;
    warprsa_ring_cell *cell; /* a warprsa_ring's */
    warprsa_shm_message_cell *message;
    warprsa_shm_use *use; /* one for each slot; NULL: there are no uses */
    uint32_t slots;
    uint32_t mask; /* of the ring */
    size_t size;
} warprsa_shm;

/*
 * For the daemon: makes the memory and maps it. *fd is its file, for the
 * client; the caller closes it. The file can neither shrink nor grow. If it is
 * not `allocated` here, the client allocates its pages, all but the first: it
 * may keep the file for ever, and what it keeps is then its own memory, not the
 * daemon's. False: no memory or descriptor, see errno.
 */
bool warprsa_shm_create(warprsa_shm *shm, uint32_t slots, bool uses,
                        bool allocated, int *fd);

/* For the daemon, once the client has mapped the memory: from now on nobody can
 * punch holes into the file or make another writable mapping, so nothing that
 * the client does later can make the daemon's accesses fail. The daemon does
 * not use the memory between giving its file to the client and this call.
 * False: see errno; EPROTO, the client has not allocated all of it. */
bool warprsa_shm_seal(int fd);

/* For the client: allocates the memory if the daemon has not, maps it and
 * begins its rings; forked children will not have it. False: see errno. */
bool warprsa_shm_map(warprsa_shm *shm, uint32_t slots, bool uses, int fd);

/* Does nothing a second time. */
void warprsa_shm_unmap(warprsa_shm *shm);

/* For the daemon: takes the number at *ring_offset out of the ring, which
 * advances by one. False: there is none. The number is whatever the client has
 * written, and may be of no slot. */
bool warprsa_shm_dequeue(const warprsa_shm *shm, uint32_t *ring_offset,
                         uint32_t *slot);

/* For the client: puts a copy of a message into the memory, at *offset, which
 * advances by one. False: the daemon has too many messages to read. One thread
 * at a time. */
bool warprsa_shm_send(const warprsa_shm *shm, uint32_t *offset,
                      const warprsa_shm_message *message);

/* For the client: whether send() would find room at this offset. */
bool warprsa_shm_has_room(const warprsa_shm *shm, uint32_t offset);

/* For the daemon: takes the message at *offset, which advances by one, reading
 * each byte once, and wipes it in the memory. False: there is none. The caller
 * wipes a KEY. */
bool warprsa_shm_receive(const warprsa_shm *shm, uint32_t *offset,
                         warprsa_shm_message *message);

/* For the daemon: copies a request out of a slot, reading each byte once, and
 * of `number` no more than `bytes`. What was checked in the copy can't change
 * after the check. */
void warprsa_shm_copy(const warprsa_shm *shm, uint32_t slot,
                      warprsa_shm_request *request);

/* For the daemon, of memory that has uses: copies a use's header out of a slot,
 * and so many bytes of its input, at most WARPRSA_VAULT_MODULUS_BYTES_MAX, in
 * the same way. */
void warprsa_shm_copy_header(const warprsa_shm *shm, uint32_t slot,
                             warprsa_key_use *header);
void warprsa_shm_copy_input(const warprsa_shm *shm, uint32_t slot,
                            uint8_t *input, size_t bytes);

/* Sleep: while *word is `value`, at most until until_ns (a time of
 * warprsa_clock_ns()). Wake: wakes all sleepers. The word may be shared between
 * processes. */
void warprsa_shm_sleep(_Atomic uint32_t *word, uint32_t value,
                       uint64_t until_ns);
void warprsa_shm_wake(_Atomic uint32_t *word);

#endif
