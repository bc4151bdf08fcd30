/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client process's connection to the daemon; see connection.h.
 */
#include "batching/ipc/connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/ipc/control_connection.h"
#include "batching/ipc/message.h"

/* States of a slot, the word's remainder by STATES. */
enum {
    FREE,      /* or being filled in: no other thread knows of it */
    SUBMITTED, /* the answer is the caller's to collect */
    GIVEN_UP,  /* the caller has gone; the daemon may still write to it */
    STATES = 4,
};

enum {
    RECLAIM_STEP = 64, /* slots examined for one submission */
    /* Without a heartbeat for so long; 6 times the daemon's slowest, 500 ms. */
    SILENT_MS = 3000,
    /* For a daemon that has been silent: a second, in which 2 heartbeats
     * come. */
    NAP_NS = 10000000,
    NAPS = 100,
};

static uint64_t word_of(uint32_t generation, unsigned state)
{
    return (uint64_t)generation * STATES + state;
}

static void free_memory(warprsa_connection *c)
{
    warprsa_shm_unmap(&c->shm);
    warprsa_id_pool_free(&c->free_slots);
    warprsa_id_pool_free(&c->free_keys);
    warprsa_id_pool_free(&c->free_notifiers);
    free(c->key_generation);
    free(c->notifier_generation);
    free(c->notifier);
    free(c->slot);
    free(c);
}

static bool allocate(warprsa_connection *c, const warprsa_message *welcome)
{
    c->slot = calloc(welcome->slots, sizeof(*c->slot));
    c->key_generation = calloc(welcome->keys, sizeof(*c->key_generation));
    c->notifier = calloc(welcome->notifiers + 1, sizeof(*c->notifier));
    c->notifier_generation =
        calloc(welcome->notifiers + 1, sizeof(*c->notifier_generation));
    c->notifiers = welcome->notifiers;
    c->keys = welcome->keys;
    return c->slot != NULL && c->key_generation != NULL &&
           c->notifier != NULL && c->notifier_generation != NULL &&
           warprsa_id_pool_init(&c->free_slots, 0, welcome->slots) &&
           warprsa_id_pool_init(&c->free_keys, 0, welcome->keys) &&
           warprsa_id_pool_init(&c->free_notifiers, 1, welcome->notifiers);
}

static bool is_sensible(const warprsa_message *welcome)
{
    return welcome->type == WARPRSA_MESSAGE_WELCOME && welcome->slots >= 1 &&
           welcome->slots <= WARPRSA_CLIENT_SLOTS_MAX && welcome->keys >= 1 &&
           welcome->keys <= WARPRSA_CLIENT_KEYS_MAX &&
           welcome->notifiers <= WARPRSA_CLIENT_NOTIFIERS_MAX;
}

/* Sets flags. The daemon sets the word to 0 before it looks. A word that was
 * not 0 therefore means that the daemon has been notified and is yet to look:
 * it will see what the caller has put there, and needs no system call. */
static void notify(warprsa_connection *c, uint32_t what)
{
    static const uint64_t one = 1;

    if (atomic_fetch_or(&c->shm.head->notify_flags, what) == 0)
        (void)!write(c->eventfd, &one, sizeof(one));
}

void warprsa_connection_notify_message(warprsa_connection *c)
{
    notify(c, WARPRSA_NOTIFY_MESSAGE);
}

static bool attach(warprsa_connection *c, const warprsa_message *welcome,
                   int memory)
{
    warprsa_message attached = {.type = WARPRSA_MESSAGE_ATTACHED};
    struct stat st;

    if (fstat(c->socket, &st) != 0 || !allocate(c, welcome) ||
        !warprsa_shm_map(&c->shm, welcome->slots, memory))
        return false;
    c->socket_dev = st.st_dev;
    c->socket_ino = st.st_ino;
    c->ring.cells = c->shm.cell;
    c->ring.mask = c->shm.mask;
    if (!warprsa_message_send(c->socket, &attached, NULL, 0))
        return false;
    warprsa_connection_notify_message(c);
    return true;
}

warprsa_connection *warprsa_connection_new(int socket,
                                           const warprsa_message *welcome,
                                           const int fds[WARPRSA_MESSAGE_FDS],
                                           uint32_t serial, char *why,
                                           size_t why_size)
{
    warprsa_connection *c =
        aligned_alloc(_Alignof(warprsa_connection), sizeof(*c));
    bool done = false;

    errno = EPROTO;
    if (c != NULL) {
        memset(c, 0, sizeof(*c));
        atomic_init(&c->references, 1);
        c->serial = serial;
        c->socket = socket;
        c->eventfd = fds[1];
        done = is_sensible(welcome) && fds[0] >= 0 && fds[1] >= 0 &&
               attach(c, welcome, fds[0]);
    }
    if (!done)
        snprintf(why, why_size, "no connection to warprsad: %s",
                 strerror(errno));
    if (fds[0] >= 0)
        close(fds[0]);
    if (done)
        return c;
    close(socket);
    if (fds[1] >= 0)
        close(fds[1]);
    if (c != NULL)
        free_memory(c);
    return NULL;
}

void warprsa_connection_reference(warprsa_connection *c)
{
    atomic_fetch_add_explicit(&c->references, 1, memory_order_relaxed);
}

static void close_descriptors(warprsa_connection *c)
{
    /* Both came at the same time: a program that closes descriptors it did not
     * open closes both. */
    if (warprsa_is_same_file(c->socket, c->socket_dev, c->socket_ino)) {
        close(c->socket);
        close(c->eventfd);
    }
}

void warprsa_connection_drop(warprsa_connection *c)
{
    if (c == NULL ||
        atomic_fetch_sub_explicit(&c->references, 1, memory_order_acq_rel) != 1)
        return;
    close_descriptors(c);
    free_memory(c);
}

void warprsa_connection_abandon(warprsa_connection *c)
{
    close_descriptors(c);
}

bool warprsa_connection_has_heartbeat(const warprsa_connection *c,
                                      uint64_t now_ns)
{
    uint64_t heartbeat_ns =
        atomic_load_explicit(&c->shm.head->heartbeat_ns, memory_order_relaxed);

    return now_ns < heartbeat_ns + SILENT_MS * WARPRSA_NS_PER_MS;
}

/* Silence alone proves nothing: the whole machine may have stood still, with
 * the daemon and this process on it. The naps take their time only while the
 * machine runs, and in that time a daemon that lives has a heartbeat. */
static bool awaits_heartbeat(const warprsa_connection *c)
{
    const struct timespec nap = {0, NAP_NS};

    for (unsigned i = 0; i < NAPS; i++) {
        if (warprsa_connection_has_heartbeat(c, warprsa_clock_ns()))
            return true;
        nanosleep(&nap, NULL);
    }
    return warprsa_connection_has_heartbeat(c, warprsa_clock_ns());
}

bool warprsa_connection_alive(warprsa_connection *c)
{
    char byte;
    ssize_t got;

    if (atomic_load_explicit(&c->dead, memory_order_relaxed) ||
        !warprsa_is_same_file(c->socket, c->socket_dev, c->socket_ino))
        return false;
    got = recv(c->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EINTR) &&
           awaits_heartbeat(c);
}

void warprsa_connection_shut(warprsa_connection *c)
{
    atomic_store(&c->dead, true);
    if (warprsa_is_same_file(c->socket, c->socket_dev, c->socket_ino))
        (void)shutdown(c->socket, SHUT_RDWR);
}

static bool is_answered(const warprsa_connection *c, uint32_t slot,
                        uint64_t word)
{
    return atomic_load_explicit(&c->shm.slot[slot].answered,
                                memory_order_acquire) ==
           (uint32_t)(word / STATES);
}

/* No input or output stays in a slot that is not in use. */
static void wipe(const warprsa_connection *c, uint32_t slot)
{
    warprsa_shm_slot *s = &c->shm.slot[slot];

    explicit_bzero(s->request.input, sizeof(s->request.input));
    explicit_bzero(s->output, sizeof(s->output));
}

/* Releases a slot that the daemon has answered and whose caller has given it
 * up, or has not collected the answer for too long. */
static bool reclaim_one(warprsa_connection *c, uint32_t slot, uint64_t now_ns,
                        uint64_t abandoned_ns)
{
    warprsa_client_slot *s = &c->slot[slot];
    uint64_t word = atomic_load_explicit(&s->word, memory_order_acquire);
    unsigned state = word % STATES;

    if (state == FREE || !is_answered(c, slot, word) ||
        (state == SUBMITTED && now_ns < s->submitted_ns + abandoned_ns) ||
        !atomic_compare_exchange_strong(&s->word, &word,
                                        word - word % STATES + FREE))
        return false;
    wipe(c, slot);
    warprsa_connection_release(c, slot);
    return true;
}

bool warprsa_connection_acquire(warprsa_connection *c, uint64_t now_ns,
                                uint64_t abandoned_ns, uint32_t *slot)
{
    uint32_t step = c->shm.slots < RECLAIM_STEP ? c->shm.slots : RECLAIM_STEP;

    if (warprsa_id_pool_available(&c->free_slots) == 0)
        for (uint32_t i = 0; i < step; i++)
            (void)reclaim_one(c, c->reclaim++ % c->shm.slots, now_ns,
                              abandoned_ns);
    return warprsa_id_pool_acquire(&c->free_slots, slot);
}

void warprsa_connection_release(warprsa_connection *c, uint32_t slot)
{
    warprsa_id_pool_release(&c->free_slots, slot);
}

void warprsa_connection_submit(warprsa_connection *c, uint32_t slot,
                               uint32_t generation)
{
    c->shm.slot[slot].request.generation = generation;
    atomic_store_explicit(&c->slot[slot].word, word_of(generation, SUBMITTED),
                          memory_order_release);
    warprsa_ring_put(&c->ring, slot);
    notify(c, WARPRSA_NOTIFY_RING);
}

static warprsa_answer take_answer(warprsa_connection *c, uint32_t slot,
                                  uint64_t word, uint8_t *output,
                                  warprsa_cpu_reason *reason, bool *owned)
{
    warprsa_shm_slot *s = &c->shm.slot[slot];
    warprsa_answer answer = WARPRSA_REFUSED;

    *reason = WARPRSA_CPU_DEADLINE;
    *owned = atomic_compare_exchange_strong(&c->slot[slot].word, &word,
                                            word - word % STATES + FREE);
    if (!*owned)
        return WARPRSA_REFUSED; /* reclaimed */
    if (s->answer == WARPRSA_DONE) {
        memcpy(output, s->output, c->slot[slot].bytes);
        answer = WARPRSA_DONE;
    }
    *reason = s->reason < WARPRSA_CPU_REASONS ? (warprsa_cpu_reason)s->reason
                                              : WARPRSA_CPU_ERROR;
    wipe(c, slot);
    return answer;
}

warprsa_answer warprsa_connection_poll(warprsa_connection *c,
                                       warprsa_ticket ticket,
                                       uint64_t deadline_ns, uint8_t *output,
                                       warprsa_cpu_reason *reason, bool *owned)
{
    uint64_t word = word_of(ticket.generation, SUBMITTED);
    uint64_t found;

    *owned = false;
    *reason = WARPRSA_CPU_NO_DEVICE;
    if (ticket.slot >= c->shm.slots)
        return WARPRSA_REFUSED;
    found =
        atomic_load_explicit(&c->slot[ticket.slot].word, memory_order_acquire);
    if (found != word) {
        /* Of an earlier connection, or reclaimed. */
        return WARPRSA_REFUSED;
    }
    if (is_answered(c, ticket.slot, word))
        return take_answer(c, ticket.slot, word, output, reason, owned);
    if (warprsa_clock_ns() < c->slot[ticket.slot].submitted_ns + deadline_ns)
        return WARPRSA_PENDING;
    *reason = WARPRSA_CPU_DEADLINE;
    atomic_compare_exchange_strong(&c->slot[ticket.slot].word, &word,
                                   word_of(ticket.generation, GIVEN_UP));
    return WARPRSA_REFUSED;
}
