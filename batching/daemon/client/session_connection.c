/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client process's connection to the daemon; see session_connection.h.
 */
#include "batching/daemon/client/session_connection.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "batching/base/clock.h"
#include "batching/daemon/client/busy.h"
#include "batching/daemon/client/control_connection.h"

/* States of a slot, the word's remainder by STATES. */
enum {
    FREE,      /* or being filled in: no other thread knows of it */
    SUBMITTED, /* the answer is the caller's to collect */
    GIVEN_UP,  /* the caller has gone; the daemon may still write to it */
    STATES = 4,
};

enum {
    RECLAIM_STEP = 64, /* slots examined for one submission */
    /* Without a heartbeat for so long the daemon is asked for a sign of life; 6
     * times its slowest, 500 ms. */
    SILENT_MS = 3000,
    ASK_NAP_NS = 500000,
    ASK_NAPS = 10,
    /* A thread that sleeps for its answer notifies the daemon once more after
     * SLICE_MS. If the daemon then does not look while the thread takes so many
     * naps, it hangs. Naps rather than a time: on a machine with too much to do
     * they take longer, for the same reason that the daemon does. */
    SLICE_MS = 20,
    NAP_MS = 2,
    NAPS = 100,
    /* Callers that do not sleep go by the time since the daemon was notified.
     * The whole machine may have stood still, with the daemon and this process
     * on it; so a daemon is given up only when it was found to hang so many
     * times, at least so far apart. */
    UNSEEN_MS = 500,
    TICKS = 10,
    TICK_MS = 100,
};

static uint64_t word_of(uint32_t generation, unsigned state)
{
    return (uint64_t)generation * STATES + state;
}

static void free_parts(warprsa_connection *c)
{
    warprsa_shm_unmap(&c->shm);
    warprsa_id_pool_free(&c->free_slots);
    warprsa_id_pool_free(&c->free_keys);
    warprsa_id_pool_free(&c->free_notifiers);
    free(c->key_generation);
    free(c->freed);
    free(c->notifier_generation);
    free(c->notifier);
    free(c->slot);
}

static bool allocate(warprsa_connection *c, const warprsa_message *welcome)
{
    c->slot = calloc(welcome->slots, sizeof(*c->slot));
    c->key_generation = calloc(welcome->keys, sizeof(*c->key_generation));
    c->freed = calloc(welcome->keys, sizeof(*c->freed));
    c->notifier = calloc(welcome->notifiers + 1, sizeof(*c->notifier));
    for (uint32_t i = 0; c->notifier != NULL && i <= welcome->notifiers; i++)
        c->notifier[i] = WARPRSA_NO_FD;
    c->notifier_generation =
        calloc(welcome->notifiers + 1, sizeof(*c->notifier_generation));
    c->notifiers = welcome->notifiers;
    c->keys = welcome->keys;
    return c->slot != NULL && c->key_generation != NULL && c->freed != NULL &&
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

/* Whether the daemon has yet to look since it was last notified. */
static bool is_unseen(const warprsa_connection *c)
{
    return atomic_load_explicit(&c->shm.head->notify_flags,
                                memory_order_relaxed) != 0;
}

/* Sets flags. The daemon sets the word to 0 before it looks. So a word that was
 * not 0 means that the daemon has been notified and has yet to look. It will
 * see the caller's data without another system call. */
static void notify(warprsa_connection *c, uint32_t what)
{
    if (!is_unseen(c))
        atomic_store_explicit(&c->notified_ns, warprsa_clock_ns(),
                              memory_order_relaxed);
    if (atomic_fetch_or(&c->shm.head->notify_flags, what) == 0 &&
        !warprsa_marked_eventfd_notify(c->eventfd))
        atomic_store(&c->dead, true); /* the program has closed it */
}

void warprsa_connection_notify_message(warprsa_connection *c)
{
    notify(c, WARPRSA_NOTIFY_MESSAGE);
}

bool warprsa_connection_send(warprsa_connection *c)
{
    if (warprsa_shm_send(&c->shm, &c->messages_offset, &c->message))
        return true;
    warprsa_connection_notify_message(c);
    return false;
}

static bool attach(warprsa_connection *c, const warprsa_message *welcome,
                   int memory)
{
    if (!allocate(c, welcome) ||
        !warprsa_shm_map(&c->shm, welcome->slots, welcome->uses != 0, memory))
        return false;
    c->ring.cells = c->shm.cell;
    c->ring.mask = c->shm.mask;
    return true;
}

/* Takes over the socket and the eventfd. The daemon sends all three: the kernel
 * leaves out those that this process has no room for. */
static bool take(warprsa_connection *c, int fds[WARPRSA_MESSAGE_FDS])
{
    bool taken;

    if (fds[0] < 0 || fds[1] < 0 || fds[2] < 0) {
        errno = EMFILE;
        return false;
    }
    taken = warprsa_own_fd_take(&c->socket, fds[0]);
    fds[0] = -1;
    taken = warprsa_marked_fd_take(&c->eventfd, fds[2]) && taken;
    fds[2] = -1;
    return taken;
}

/* The program may have closed the descriptors. */
static void close_descriptors(warprsa_connection *c)
{
    for (uint32_t i = 0; i < c->ready_count; i++)
        warprsa_own_fd_close(&c->notifier[c->ready[i]]);
    warprsa_own_fd_close(&c->socket);
    warprsa_marked_fd_close(&c->eventfd);
}

warprsa_connection *warprsa_connection_new(const warprsa_message *welcome,
                                           int fds[WARPRSA_MESSAGE_FDS],
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
        atomic_init(&c->names, 1);
        c->serial = serial;
        c->socket = WARPRSA_NO_FD;
        c->eventfd = WARPRSA_NO_MARKED;
        done =
            is_sensible(welcome) && take(c, fds) && attach(c, welcome, fds[1]);
    }
    if (!done)
        snprintf(why, why_size, "no connection to warprsad: %s",
                 strerror(errno));
    warprsa_message_close_fds(fds);
    if (done)
        return c;
    if (c != NULL) {
        close_descriptors(c);
        free_parts(c);
        free(c);
    }
    return NULL;
}

void warprsa_connection_reference(warprsa_connection *c)
{
    atomic_fetch_add_explicit(&c->references, 1, memory_order_relaxed);
}

void warprsa_connection_drop(warprsa_connection *c)
{
    if (c == NULL ||
        atomic_fetch_sub_explicit(&c->references, 1, memory_order_acq_rel) != 1)
        return;
    close_descriptors(c);
    free_parts(c);
    warprsa_connection_forget(c);
}

void warprsa_connection_remember(warprsa_connection *c)
{
    atomic_fetch_add_explicit(&c->names, 1, memory_order_relaxed);
}

void warprsa_connection_forget(warprsa_connection *c)
{
    if (atomic_fetch_sub_explicit(&c->names, 1, memory_order_acq_rel) == 1)
        free(c);
}

bool warprsa_connection_recall(warprsa_connection *c)
{
    uint32_t count = atomic_load_explicit(&c->references, memory_order_relaxed);

    while (count != 0)
        if (atomic_compare_exchange_weak_explicit(
                &c->references, &count, count + 1, memory_order_acquire,
                memory_order_relaxed))
            return true;
    return false;
}

void warprsa_connection_abandon(warprsa_connection *c)
{
    close_descriptors(c);
}

bool warprsa_connection_alive(warprsa_connection *c)
{
    struct pollfd end = {.fd = c->socket.fd};

    if (atomic_load_explicit(&c->dead, memory_order_relaxed) ||
        !warprsa_own_fd_is_there(&c->socket))
        return false;
    return poll(&end, 1, 0) <= 0;
}

bool warprsa_connection_alive_lately(warprsa_connection *c, uint64_t now_ns)
{
    if (now_ns < atomic_load_explicit(&c->asked_ns, memory_order_relaxed) +
                     WARPRSA_NS_PER_MS)
        return !atomic_load_explicit(&c->dead, memory_order_relaxed);
    if (!warprsa_connection_alive(c))
        return false;
    atomic_store_explicit(&c->asked_ns, now_ns, memory_order_relaxed);
    return true;
}

static bool is_silent(const warprsa_connection *c, uint64_t now_ns)
{
    return now_ns >= atomic_load_explicit(&c->shm.head->heartbeat_ns,
                                          memory_order_relaxed) +
                         SILENT_MS * WARPRSA_NS_PER_MS;
}

/* The daemon does not look. */
static warprsa_connection_health found_hanging(warprsa_connection *c,
                                               uint64_t now_ns)
{
    uint64_t last_ns = atomic_load(&c->hang_tick_ns);

    atomic_store(&c->hangs, true);
    if (now_ns >= last_ns + TICK_MS * WARPRSA_NS_PER_MS &&
        atomic_compare_exchange_strong(&c->hang_tick_ns, &last_ns, now_ns))
        atomic_fetch_add(&c->hang_ticks, 1);
    return atomic_load(&c->hang_ticks) > TICKS ? WARPRSA_CONNECTION_GONE
                                               : WARPRSA_CONNECTION_HANGS;
}

static warprsa_connection_health found_alive(warprsa_connection *c)
{
    if (atomic_load_explicit(&c->hang_ticks, memory_order_relaxed) != 0)
        atomic_store(&c->hang_ticks, 0);
    if (atomic_load_explicit(&c->hangs, memory_order_relaxed))
        atomic_store(&c->hangs, false);
    return WARPRSA_CONNECTION_LIVES;
}

/* Waits for the daemon to show that it lives, which takes microseconds. */
static bool shows_life(warprsa_connection *c)
{
    const struct timespec nap = {0, ASK_NAP_NS};

    notify(c, WARPRSA_NOTIFY_RING);
    for (unsigned i = 0; i < ASK_NAPS && is_unseen(c); i++)
        nanosleep(&nap, NULL);
    return !is_unseen(c);
}

warprsa_connection_health warprsa_connection_health_now(warprsa_connection *c,
                                                        uint64_t now_ns)
{
    if (is_unseen(c)) {
        uint64_t notified_ns =
            atomic_load_explicit(&c->notified_ns, memory_order_relaxed);

        return atomic_load_explicit(&c->hangs, memory_order_relaxed) ||
                       now_ns > notified_ns + UNSEEN_MS * WARPRSA_NS_PER_MS
                   ? found_hanging(c, now_ns)
                   : WARPRSA_CONNECTION_LIVES;
    }
    if (!is_silent(c, now_ns) || shows_life(c))
        return found_alive(c);
    return found_hanging(c, now_ns);
}

/* Sleeps until the slot is answered or the time is over. */
static void sleep_on(const warprsa_connection *c, warprsa_ticket ticket,
                     unsigned ms)
{
    _Atomic uint32_t *word = &c->shm.slot[ticket.slot].answered;
    uint32_t value = atomic_load_explicit(word, memory_order_acquire);

    if (value != ticket.generation)
        warprsa_shm_sleep(word, value,
                          warprsa_clock_ns() + ms * WARPRSA_NS_PER_MS);
}

bool warprsa_connection_sleep(warprsa_connection *c, warprsa_ticket ticket)
{
    const _Atomic uint32_t *word = &c->shm.slot[ticket.slot].answered;
    warprsa_busy daemon;

    sleep_on(c, ticket, SLICE_MS);
    if (atomic_load(word) == ticket.generation)
        return true;
    notify(c, WARPRSA_NOTIFY_RING);
    warprsa_busy_watch(&daemon, c->socket.fd);
    for (unsigned i = 0; i < NAPS; i++) {
        if (!is_unseen(c) || atomic_load(word) == ticket.generation)
            return true;
        sleep_on(c, ticket, NAP_MS);
    }
    if (!is_unseen(c) || (!is_silent(c, warprsa_clock_ns()) &&
                          warprsa_busy_now(&daemon, c->socket.fd)))
        return true;
    (void)found_hanging(c, warprsa_clock_ns());
    return false;
}

void warprsa_connection_shut(warprsa_connection *c)
{
    atomic_store(&c->dead, true);
    if (warprsa_own_fd_is_there(&c->socket))
        (void)shutdown(c->socket.fd, SHUT_RDWR);
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
    warprsa_shm_request *request = &c->shm.slot[slot].request;

    if (c->slot[slot].is_use)
        explicit_bzero(c->shm.use[slot].number, c->slot[slot].bytes);
    else
        explicit_bzero(request->number, sizeof(request->number));
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
    if (state == GIVEN_UP)
        atomic_fetch_sub(&c->given_up, 1);
    wipe(c, slot);
    warprsa_connection_release(c, slot);
    return true;
}

bool warprsa_connection_acquire(warprsa_connection *c, uint64_t now_ns,
                                uint64_t abandoned_ns, uint32_t *slot)
{
    uint32_t step = c->shm.slots < RECLAIM_STEP ? c->shm.slots : RECLAIM_STEP;

    /* What the daemon has answered too late may be a secret, so it is wiped
     * before the slot is needed. */
    if (warprsa_id_pool_available(&c->free_slots) == 0 ||
        atomic_load_explicit(&c->given_up, memory_order_relaxed) != 0)
        for (uint32_t i = 0; i < step; i++)
            (void)reclaim_one(c, c->reclaim++ % c->shm.slots, now_ns,
                              abandoned_ns);
    return warprsa_id_pool_acquire(&c->free_slots, slot);
}

void warprsa_connection_release(warprsa_connection *c, uint32_t slot)
{
    warprsa_id_pool_release(&c->free_slots, slot);
}

void warprsa_connection_put(warprsa_connection *c, uint32_t slot,
                            uint32_t generation)
{
    c->shm.slot[slot].request.generation = generation;
    atomic_store_explicit(&c->slot[slot].word, word_of(generation, SUBMITTED),
                          memory_order_release);
    warprsa_ring_put(&c->ring, slot);
}

void warprsa_connection_announce(warprsa_connection *c)
{
    notify(c, WARPRSA_NOTIFY_RING);
}

void warprsa_connection_submit(warprsa_connection *c, uint32_t slot,
                               uint32_t generation)
{
    warprsa_connection_put(c, slot, generation);
    warprsa_connection_announce(c);
}

bool warprsa_connection_is_answered(const warprsa_connection *c,
                                    warprsa_ticket ticket)
{
    return atomic_load_explicit(&c->shm.slot[ticket.slot].answered,
                                memory_order_acquire) == ticket.generation;
}

/* Takes the output of a use. False: it is longer than its caller can take. */
static bool take_use(const warprsa_connection *c, uint32_t slot,
                     uint8_t *output, warprsa_connection_answer *how)
{
    const warprsa_shm_slot *s = &c->shm.slot[slot];

    how->use = s->use_answer < WARPRSA_USE_ANSWERS
                   ? (warprsa_use_answer)s->use_answer
                   : WARPRSA_USE_FAILED;
    how->denial = (warprsa_denial)s->denial;
    how->bytes = s->bytes;
    how->errors = s->errors;
    if (how->use != WARPRSA_USE_DONE)
        return true;
    if (how->bytes > c->slot[slot].bytes) {
        how->use = WARPRSA_USE_FAILED;
        return false;
    }
    memcpy(output, c->shm.use[slot].number, how->bytes);
    return true;
}

static warprsa_answer take_answer(warprsa_connection *c, uint32_t slot,
                                  uint64_t word, uint8_t *output,
                                  warprsa_connection_answer *how)
{
    warprsa_shm_slot *s = &c->shm.slot[slot];
    warprsa_answer answer = WARPRSA_REFUSED;

    how->reason = WARPRSA_CPU_DEADLINE;
    how->owned = atomic_compare_exchange_strong(&c->slot[slot].word, &word,
                                                word - word % STATES + FREE);
    if (!how->owned)
        return WARPRSA_REFUSED; /* reclaimed */
    if (s->answer == WARPRSA_DONE)
        answer = WARPRSA_DONE;
    how->reason = s->reason < WARPRSA_CPU_REASONS
                      ? (warprsa_cpu_reason)s->reason
                      : WARPRSA_CPU_ERROR;
    if (c->slot[slot].is_use) {
        if (!take_use(c, slot, output, how))
            answer = WARPRSA_REFUSED;
    } else if (answer == WARPRSA_DONE) {
        memcpy(output, s->request.number, c->slot[slot].bytes);
    }
    wipe(c, slot);
    return answer;
}

void warprsa_connection_give_up(warprsa_connection *c, warprsa_ticket ticket)
{
    uint64_t word = word_of(ticket.generation, SUBMITTED);

    if (ticket.slot < c->shm.slots &&
        atomic_compare_exchange_strong(&c->slot[ticket.slot].word, &word,
                                       word_of(ticket.generation, GIVEN_UP)))
        atomic_fetch_add(&c->given_up, 1);
}

warprsa_answer warprsa_connection_poll(warprsa_connection *c,
                                       warprsa_ticket ticket,
                                       uint64_t deadline_ns, uint8_t *output,
                                       warprsa_connection_answer *how)
{
    uint64_t word = word_of(ticket.generation, SUBMITTED);
    uint64_t found;

    *how = (warprsa_connection_answer){.reason = WARPRSA_CPU_NO_DEVICE,
                                       .use = WARPRSA_USE_LATER};
    if (ticket.slot >= c->shm.slots)
        return WARPRSA_REFUSED;
    found =
        atomic_load_explicit(&c->slot[ticket.slot].word, memory_order_acquire);
    if (found != word) {
        /* The ticket is of an earlier connection, or its slot was reclaimed. */
        return WARPRSA_REFUSED;
    }
    if (is_answered(c, ticket.slot, word))
        return take_answer(c, ticket.slot, word, output, how);
    if (warprsa_clock_ns() < c->slot[ticket.slot].submitted_ns + deadline_ns)
        return WARPRSA_PENDING;
    how->reason = WARPRSA_CPU_DEADLINE;
    warprsa_connection_give_up(c, ticket);
    return WARPRSA_REFUSED;
}
