/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The request slots and the moves of their words: see request_pool.h, and
 * request.h for the states.
 */
#include "batching/queue/request_pool.h"

#include <stdlib.h>
#include <string.h>

#include "batching/base/futex.h"
#include "batching/base/secret_memory.h"

enum {
    RECLAIM_STEP = 64, /* slots looked at for one submission */
};

static size_t memory_size(unsigned count)
{
    return (size_t)count * sizeof(warprsa_slot);
}

bool warprsa_slots_init(warprsa_slots *slots, unsigned count,
                        unsigned deadline_ms)
{
    memset(slots, 0, sizeof(*slots));
    slots->count = count;
    slots->deadline_ns = deadline_ms * WARPRSA_NS_PER_MS;
    slots->slot = warprsa_secret_map(memory_size(count));
    slots->request = calloc(count, sizeof(*slots->request));
    if (slots->slot != NULL && slots->request != NULL)
        return true;
    warprsa_slots_free(slots);
    return false;
}

void warprsa_slots_free(warprsa_slots *slots)
{
    warprsa_secret_unmap(slots->slot, memory_size(slots->count));
    free(slots->request);
}

size_t warprsa_slots_bytes(const warprsa_slots *slots)
{
    return memory_size(slots->count) + slots->count * sizeof(*slots->request);
}

static uint64_t submitted_ns(const warprsa_slot *s)
{
    return atomic_load_explicit(&s->submitted_ns, memory_order_relaxed);
}

/* A stack's word after a change: one change more, and another top entry. */
static uint64_t next_top(uint64_t top, uint32_t entry)
{
    return (((top >> 32) + 1) << 32) | entry;
}

/* Stacks, and not a ring: in a ring a thread that is preempted while it puts
 * its slot back hides those put back after it, and the queue looks full. */
static void push_free(warprsa_slots *slots, uint32_t index)
{
    _Atomic uint64_t *stack = &slots->free[warprsa_thread_shard()].top;
    _Atomic uint32_t *next = &slots->request[index].next_free;
    uint64_t top = atomic_load_explicit(stack, memory_order_relaxed);

    do
        atomic_store_explicit(next, (uint32_t)top, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(
        stack, &top, next_top(top, index + 1), memory_order_release,
        memory_order_relaxed));
}

static bool pop_from(warprsa_slots *slots, _Atomic uint64_t *stack,
                     uint32_t *index)
{
    uint64_t top = atomic_load_explicit(stack, memory_order_acquire);

    while ((uint32_t)top != 0) {
        uint32_t next;

        *index = (uint32_t)top - 1;
        /* Stale if the slot was taken meanwhile. Then the count of changes has
         * moved, and the compare-and-swap fails. */
        next = atomic_load_explicit(&slots->request[*index].next_free,
                                    memory_order_relaxed);
        if (atomic_compare_exchange_weak_explicit(
                stack, &top, next_top(top, next), memory_order_acquire,
                memory_order_acquire))
            return true;
    }
    return false;
}

/* A slot that this thread has put back, or a thread of the same shard. */
static bool pop_own(warprsa_slots *slots, uint32_t *index)
{
    return pop_from(slots, &slots->free[warprsa_thread_shard()].top, index);
}

static bool pop_any(warprsa_slots *slots, uint32_t *index)
{
    unsigned first = warprsa_thread_shard();

    for (unsigned i = 0; i < WARPRSA_THREAD_SHARDS; i++)
        if (pop_from(slots,
                     &slots->free[(first + i) % WARPRSA_THREAD_SHARDS].top,
                     index))
            return true;
    return false;
}

/* Wipes and frees a slot. By its owner, once no ring holds it. */
static void free_slot(warprsa_slots *slots, uint32_t index)
{
    warprsa_slot *s = &slots->slot[index];
    uint32_t word = atomic_load_explicit(&s->word, memory_order_relaxed);

    explicit_bzero(s->number, s->bytes);
    explicit_bzero(warprsa_slot_output(s), s->bytes);
    atomic_store_explicit(&s->word,
                          (word & WARPRSA_SLOT_GENERATION) | WARPRSA_SLOT_FREE,
                          memory_order_release);
    push_free(slots, index);
}

/* Begins a new use of a slot. The first generation is not 0: in a forked child
 * the slots read as zeros, and no ticket of the parent must fit. */
static void begin_use(warprsa_slot *s, uint32_t word)
{
    uint32_t use = (word & WARPRSA_SLOT_GENERATION) + WARPRSA_SLOT_USE;

    if (use == 0)
        use = WARPRSA_SLOT_USE;
    atomic_store_explicit(&s->word, use | WARPRSA_SLOT_FILLING,
                          memory_order_relaxed);
}

static bool take_fresh(warprsa_slots *slots, uint32_t *index)
{
    uint32_t fresh = atomic_load_explicit(&slots->fresh, memory_order_relaxed);

    while (fresh < slots->count) {
        if (atomic_compare_exchange_weak_explicit(
                &slots->fresh, &fresh, fresh + 1, memory_order_relaxed,
                memory_order_relaxed)) {
            *index = fresh;
            return true;
        }
    }
    return false;
}

/* Frees the slot if its answer has waited too long to be collected. */
static bool reclaim_slot(warprsa_slots *slots, uint32_t index, uint64_t now_ns)
{
    warprsa_slot *s = &slots->slot[index];
    uint32_t word = atomic_load_explicit(&s->word, memory_order_acquire);

    if ((word & WARPRSA_SLOT_STATE) != WARPRSA_SLOT_DONE ||
        now_ns < submitted_ns(s) + 2 * slots->deadline_ns + WARPRSA_MARGIN_NS)
        return false;
    if (!atomic_compare_exchange_strong_explicit(
            &s->word, &word,
            (word & WARPRSA_SLOT_GENERATION) | WARPRSA_SLOT_COLLECTING,
            memory_order_acquire, memory_order_relaxed))
        return false;
    free_slot(slots, index);
    return true;
}

/* Looks at the next few slots only. The submissions that find no free slot
 * share the search through all of them. */
static bool reclaim(warprsa_slots *slots, uint64_t now_ns)
{
    unsigned step = slots->count < RECLAIM_STEP ? slots->count : RECLAIM_STEP;
    uint32_t first =
        atomic_fetch_add_explicit(&slots->reclaim, step, memory_order_relaxed);
    bool some = false;

    for (unsigned i = 0; i < step; i++)
        some |= reclaim_slot(slots, (first + i) % slots->count, now_ns);
    return some;
}

bool warprsa_slots_acquire(warprsa_slots *slots, uint64_t now_ns,
                           uint32_t *index)
{
    warprsa_slot *s;

    /* First a slot of this thread's own stack: few callers then stay within few
     * cache lines. Another thread's stack last: its owner would have to go and
     * take from somebody else's in turn. */
    if (!pop_own(slots, index) && !take_fresh(slots, index) &&
        !pop_any(slots, index)) {
        if (!reclaim(slots, now_ns) || !pop_any(slots, index))
            return false;
    }
    s = &slots->slot[*index];
    begin_use(s, atomic_load_explicit(&s->word, memory_order_acquire));
    return true;
}

warprsa_ticket warprsa_slots_ticket(const warprsa_slots *slots, uint32_t index)
{
    uint32_t word =
        atomic_load_explicit(&slots->slot[index].word, memory_order_relaxed);
    warprsa_ticket ticket = {index, word & WARPRSA_SLOT_GENERATION};

    return ticket;
}

bool warprsa_slots_claim(warprsa_slots *slots, uint32_t index,
                         warprsa_key **key)
{
    warprsa_slot *s = &slots->slot[index];
    uint32_t word = atomic_load_explicit(&s->word, memory_order_acquire);

    *key = slots->request[index].key;
    for (;;) {
        if ((word & WARPRSA_SLOT_STATE) == WARPRSA_SLOT_ABANDONED) {
            free_slot(slots, index);
            return false;
        }
        /* The other bits stay. */
        if (atomic_compare_exchange_weak_explicit(
                &s->word, &word,
                (word & ~WARPRSA_SLOT_STATE) | WARPRSA_SLOT_RUNNING,
                memory_order_acquire, memory_order_acquire))
            return true;
    }
}

bool warprsa_slots_requeue(warprsa_slots *slots, uint32_t index)
{
    warprsa_slot *s = &slots->slot[index];
    uint32_t word = atomic_load_explicit(&s->word, memory_order_acquire);

    do {
        if ((word & WARPRSA_SLOT_STATE) == WARPRSA_SLOT_ABANDONED) {
            free_slot(slots, index);
            return false;
        }
        /* The other bits stay. */
    } while (!atomic_compare_exchange_weak_explicit(
        &s->word, &word, (word & ~WARPRSA_SLOT_STATE) | WARPRSA_SLOT_QUEUED,
        memory_order_acq_rel, memory_order_acquire));
    return true;
}

bool warprsa_slots_cancel(warprsa_slots *slots, warprsa_ticket ticket)
{
    uint32_t word = ticket.generation | WARPRSA_SLOT_QUEUED;

    return atomic_compare_exchange_strong_explicit(
        &slots->slot[ticket.slot].word, &word,
        ticket.generation | WARPRSA_SLOT_ABANDONED, memory_order_release,
        memory_order_relaxed);
}

void warprsa_slots_set_notify(warprsa_slots *slots, uint32_t index,
                              warprsa_notify notify)
{
    warprsa_request *request = &slots->request[index];

    atomic_store_explicit(&request->wake, notify.wake, memory_order_release);
    atomic_store_explicit(&request->drop, notify.drop, memory_order_release);
    atomic_store_explicit(&request->arg, notify.arg, memory_order_release);
}

/*
 * Whom to tell. A thread that doesn't own the slot reads this before it moves
 * the word by a compare-and-swap. Had it read what a later use of the slot has
 * stored, it would see that use's word, too, and the swap would fail.
 */
static warprsa_notify notify_of(warprsa_slots *slots, uint32_t index)
{
    warprsa_request *request = &slots->request[index];

    return (warprsa_notify){
        .wake = atomic_load_explicit(&request->wake, memory_order_acquire),
        .drop = atomic_load_explicit(&request->drop, memory_order_acquire),
        .arg = atomic_load_explicit(&request->arg, memory_order_acquire)};
}

static void wake_sleeper(warprsa_slot *s, uint32_t old_word)
{
    /* The slot may have another owner by now. Then a thread of that use wakes
     * for nothing, and looks again. */
    if (old_word & WARPRSA_SLOT_SLEEPER)
        warprsa_futex_wake(&s->word, 1);
}

warprsa_notify warprsa_slots_complete(warprsa_slots *slots, uint32_t index,
                                      warprsa_answer answer,
                                      warprsa_outcome outcome)
{
    warprsa_slot *s = &slots->slot[index];
    warprsa_notify notify = notify_of(slots, index);
    uint32_t word = atomic_load_explicit(&s->word, memory_order_acquire);

    s->answer = (uint32_t)answer;
    s->reason = (uint16_t)outcome.reason;
    s->on_cpus = outcome.on_cpus;
    do {
        if ((word & WARPRSA_SLOT_STATE) == WARPRSA_SLOT_ABANDONED) {
            free_slot(slots, index);
            return (warprsa_notify){0};
        }
    } while (!atomic_compare_exchange_weak_explicit(
        &s->word, &word, (word & WARPRSA_SLOT_GENERATION) | WARPRSA_SLOT_DONE,
        memory_order_acq_rel, memory_order_acquire));
    wake_sleeper(s, word);
    return word & WARPRSA_SLOT_NOTIFIED ? (warprsa_notify){0} : notify;
}

static void notify_if_expired(warprsa_slots *slots, uint32_t index,
                              uint64_t now_ns)
{
    warprsa_slot *s = &slots->slot[index];
    uint32_t word = atomic_load_explicit(&s->word, memory_order_acquire);
    uint32_t state = word & WARPRSA_SLOT_STATE;
    warprsa_notify notify;

    if ((state != WARPRSA_SLOT_QUEUED && state != WARPRSA_SLOT_RUNNING) ||
        (word & WARPRSA_SLOT_NOTIFIED) ||
        now_ns < submitted_ns(s) + slots->deadline_ns)
        return;
    notify = notify_of(slots, index);
    if (atomic_compare_exchange_strong_explicit(
            &s->word, &word, word | WARPRSA_SLOT_NOTIFIED, memory_order_acq_rel,
            memory_order_relaxed) &&
        notify.wake != NULL)
        notify.wake(notify.arg);
}

void warprsa_slots_notify_expired(warprsa_slots *slots)
{
    uint64_t now_ns = warprsa_clock_ns();
    uint32_t used = atomic_load_explicit(&slots->fresh, memory_order_relaxed);

    for (uint32_t i = 0; i < used; i++)
        notify_if_expired(slots, i, now_ns);
}

/* Takes a DONE answer out of its slot. False: a submitter has reclaimed it. */
static bool take_answer(warprsa_slots *slots, warprsa_ticket ticket,
                        uint8_t *output, warprsa_answer *answer,
                        warprsa_size_class *size, warprsa_outcome *outcome)
{
    warprsa_slot *s = &slots->slot[ticket.slot];
    uint32_t word = ticket.generation | WARPRSA_SLOT_DONE;

    if (!atomic_compare_exchange_strong_explicit(
            &s->word, &word, ticket.generation | WARPRSA_SLOT_COLLECTING,
            memory_order_acquire, memory_order_relaxed))
        return false;
    *answer = (warprsa_answer)s->answer;
    *size = (warprsa_size_class)s->size;
    outcome->reason = (warprsa_cpu_reason)s->reason;
    outcome->on_cpus = s->on_cpus != 0;
    if (*answer == WARPRSA_DONE)
        memcpy(output, warprsa_slot_output(s), s->bytes);
    free_slot(slots, ticket.slot);
    return true;
}

/* By the caller, of a request that has no answer yet: whatever becomes of it,
 * nobody is told any more. False: *word, the slot's, has moved meanwhile. */
static bool give_up(warprsa_slots *slots, warprsa_ticket ticket, uint32_t *word)
{
    warprsa_notify notify = notify_of(slots, ticket.slot);

    if (!atomic_compare_exchange_strong_explicit(
            &slots->slot[ticket.slot].word, word,
            ticket.generation | WARPRSA_SLOT_ABANDONED, memory_order_release,
            memory_order_acquire))
        return false;
    if (!(*word & WARPRSA_SLOT_NOTIFIED) && notify.drop != NULL)
        notify.drop(notify.arg);
    return true;
}

bool warprsa_slots_withdraw(warprsa_slots *slots, warprsa_ticket ticket)
{
    uint32_t word = atomic_load_explicit(&slots->slot[ticket.slot].word,
                                         memory_order_acquire);

    while ((word & WARPRSA_SLOT_GENERATION) == ticket.generation &&
           !(word & WARPRSA_SLOT_NOTIFIED) &&
           ((word & WARPRSA_SLOT_STATE) == WARPRSA_SLOT_QUEUED ||
            (word & WARPRSA_SLOT_STATE) == WARPRSA_SLOT_RUNNING))
        if (give_up(slots, ticket, &word))
            return true;
    return false;
}

/* Asks once for the answer to a request. If there is none `give_up_ns` after
 * the submission, the request is abandoned. *word: the slot's word that was
 * seen, to sleep on. */
static warprsa_answer poll_answer(warprsa_slots *slots, warprsa_ticket ticket,
                                  uint64_t give_up_ns, uint8_t *output,
                                  warprsa_size_class *size,
                                  warprsa_outcome *outcome, uint32_t *word)
{
    warprsa_slot *s = &slots->slot[ticket.slot];

    *outcome = (warprsa_outcome){.reason = WARPRSA_CPU_DEADLINE};
    *word = 0;
    if (ticket.slot >= slots->count)
        return WARPRSA_REFUSED;
    *word = atomic_load_explicit(&s->word, memory_order_acquire);
    for (;;) {
        uint32_t state = *word & WARPRSA_SLOT_STATE;
        warprsa_answer answer;

        if ((*word & WARPRSA_SLOT_GENERATION) != ticket.generation)
            return WARPRSA_REFUSED;
        if (state == WARPRSA_SLOT_DONE)
            return take_answer(slots, ticket, output, &answer, size, outcome)
                       ? answer
                       : WARPRSA_REFUSED;
        if (state != WARPRSA_SLOT_QUEUED && state != WARPRSA_SLOT_RUNNING)
            return WARPRSA_REFUSED; /* reclaimed */
        if (warprsa_clock_ns() < submitted_ns(s) + give_up_ns)
            return WARPRSA_PENDING;
        /* A worker may move the word at the same moment. Look again instead of
         * PENDING: a caller that was notified of its expired deadline is not
         * notified a second time. */
        if (give_up(slots, ticket, word))
            return WARPRSA_REFUSED;
    }
}

warprsa_answer warprsa_slots_collect(warprsa_slots *slots,
                                     warprsa_ticket ticket, uint8_t *output,
                                     warprsa_size_class *size,
                                     warprsa_outcome *outcome)
{
    uint32_t word;

    return poll_answer(slots, ticket, slots->deadline_ns, output, size, outcome,
                       &word);
}

/* Does not spin before it sleeps: an answer takes more than a millisecond, and
 * waking up at most a thirtieth of that. */
warprsa_answer warprsa_slots_wait(warprsa_slots *slots, warprsa_ticket ticket,
                                  uint8_t *output, warprsa_size_class *size,
                                  warprsa_outcome *outcome)
{
    warprsa_slot *s = &slots->slot[ticket.slot];
    uint64_t give_up_ns = slots->deadline_ns + WARPRSA_MARGIN_NS;

    for (;;) {
        uint32_t word;
        warprsa_answer answer = poll_answer(slots, ticket, give_up_ns, output,
                                            size, outcome, &word);

        if (answer != WARPRSA_PENDING)
            return answer;
        if (!(word & WARPRSA_SLOT_SLEEPER) &&
            !atomic_compare_exchange_strong_explicit(
                &s->word, &word, word | WARPRSA_SLOT_SLEEPER,
                memory_order_relaxed, memory_order_relaxed))
            continue;
        warprsa_futex_wait(&s->word, word | WARPRSA_SLOT_SLEEPER,
                           submitted_ns(s) + give_up_ns);
    }
}
