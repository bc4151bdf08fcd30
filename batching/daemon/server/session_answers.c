/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Answers to a client's requests; see session_answers.h.
 */
#include "batching/daemon/server/session_answers.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Counts the calling thread as one that uses the notifier: it stays open
 * meanwhile. False: it is closed. */
static bool enter(warprsa_session_notifier *notifier)
{
    if (atomic_fetch_add(&notifier->state, 1) & WARPRSA_NOTIFIER_OPEN)
        return true;
    atomic_fetch_sub(&notifier->state, 1);
    return false;
}

/* Writing never blocks. If the socket is full, the job can already read from
 * it. Returns whether its wait context has gone. */
static bool write_byte(const warprsa_session_notifier *notifier)
{
    return send(notifier->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
           errno != EAGAIN && errno != EINTR;
}

/* Only the event loop closes a notifier. One that another thread finds to have
 * gone stays until the client takes the number again or leaves. */
static void notify_job(const struct warprsa_to_notify *one, bool is_loop)
{
    warprsa_session_notifier *notifier =
        &one->session->notifiers[one->notifier];
    bool has_gone = false;

    if (!enter(notifier))
        return;
    /* Another notifier may have taken the number meanwhile. */
    if (notifier->generation == one->generation)
        has_gone = write_byte(notifier);
    atomic_fetch_sub(&notifier->state, 1);
    if (has_gone && is_loop)
        warprsa_session_close_notifier(one->session, notifier);
}

void warprsa_session_notify_all(warprsa_answering *answering)
{
    for (unsigned i = 0; i < answering->count; i++)
        notify_job(&answering->of[i], answering->is_loop);
    answering->count = answering->unnotified = 0;
}

/* Lists a notifier, unless it is listed: many requests may share one, as the
 * gateway's do, and one byte stands for all answers before it. */
static void list(warprsa_answering *answering, const warprsa_session *s,
                 const warprsa_answer_to *to)
{
    for (unsigned i = answering->count; i-- > 0;)
        if (answering->of[i].session == s &&
            answering->of[i].notifier == to->notifier &&
            answering->of[i].generation == to->notifier_generation)
            return;
    answering->of[answering->count++] = (struct warprsa_to_notify){
        (warprsa_session *)s, to->notifier, to->notifier_generation};
}

/* Wakes the thread that waits for an answer (0), or lists the job's
 * notifier. */
static void notify(warprsa_session *s, const warprsa_answer_to *to,
                   warprsa_answering *answering)
{
    if (to->notifier == 0) {
        warprsa_shm_wake(&s->shm.slot[to->slot].answered);
    } else if (to->notifier <= s->notifiers_max) {
        list(answering, s, to);
        if (++answering->unnotified == WARPRSA_NOTIFY_ANSWERS)
            warprsa_session_notify_all(answering);
    }
}

warprsa_answer_to warprsa_session_answer_to(const warprsa_session *s,
                                            const warprsa_pending *p)
{
    return (warprsa_answer_to){.slot = (uint32_t)(p - s->pending),
                               .generation = p->generation,
                               .notifier = p->notifier,
                               .notifier_generation = p->notifier_generation};
}

void warprsa_session_answer(warprsa_session *s, const warprsa_answer_to *to,
                            warprsa_answer answer, warprsa_cpu_reason reason,
                            warprsa_answering *answering)
{
    warprsa_shm_slot *slot = &s->shm.slot[to->slot];

    slot->answer = (uint32_t)answer;
    slot->reason = (uint32_t)reason;
    atomic_store_explicit(&slot->answered, to->generation,
                          memory_order_release);
    notify(s, to, answering);
    if (answer == WARPRSA_DONE)
        atomic_fetch_add_explicit(&s->answers, 1, memory_order_relaxed);
}

void warprsa_session_queue_answered(void *arg)
{
    warprsa_pending *pending = arg;

    pending->taker->push(pending->taker, pending);
}

void warprsa_session_answered(warprsa_pending *p)
{
    warprsa_session *s = p->session;

    p->next = NULL;
    if (s->answered == NULL)
        s->answered = p;
    else
        s->last_answered->next = p;
    s->last_answered = p;
    warprsa_session_make_ready(s);
}
