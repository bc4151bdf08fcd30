/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The memory of the request slots and the moves of their words: see
 * request_pool.h, and request.h for the states.
 */
#include "batching/queue/request_pool.h"

#include <stdlib.h>
#include <string.h>

#include "batching/base/futex.h"
#include "batching/base/secret_memory.h"

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
            warprsa_slots_release(slots, index);
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
            warprsa_slots_release(slots, index);
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
            warprsa_slots_release(slots, index);
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

    atomic_store_explicit(&slots->looked_ns, now_ns, memory_order_relaxed);
    for (uint32_t i = 0; i < used; i++)
        notify_if_expired(slots, i, now_ns);
}

void warprsa_slots_look(warprsa_slots *slots)
{
    if (warprsa_clock_is_due(&slots->looked_ns, slots->deadline_ns))
        warprsa_slots_notify_expired(slots);
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
    warprsa_slots_release(slots, ticket.slot);
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
