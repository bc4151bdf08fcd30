/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Answers to a client's requests; see session_answers.h.
 */
#include "batching/daemon/server/session_answers.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Writing never blocks. If the socket is full, the job can already read from
 * it. */
static void notify_job(warprsa_session *s, warprsa_session_notifier *notifier)
{
    notifier->listed = false;
    if (send(notifier->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
        errno != EAGAIN && errno != EINTR) /* its wait context has gone */
        warprsa_session_close_notifier(s, notifier);
}

void warprsa_session_notify_all(warprsa_session_host *host)
{
    for (unsigned i = 0; i < host->to_notify_count; i++) {
        warprsa_session *s = host->to_notify[i].session;
        warprsa_session_notifier *notifier =
            &s->notifiers[host->to_notify[i].notifier];

        /* Another notifier may have taken the number meanwhile. */
        if (notifier->is_open && notifier->listed)
            notify_job(s, notifier);
    }
    host->to_notify_count = host->unnotified = 0;
}

/* Wakes the thread that waits for an answer (0), or lists the job's notifier.
 * Many requests may share a notifier, as the gateway's do: one byte stands for
 * all answers before it. */
static void notify(warprsa_session *s, uint32_t notifier,
                   _Atomic uint32_t *answered)
{
    warprsa_session_host *host = s->host;

    if (notifier == 0) {
        warprsa_shm_wake(answered);
    } else if (notifier <= s->notifiers_max && s->notifiers[notifier].is_open) {
        if (!s->notifiers[notifier].listed)
            host->to_notify[host->to_notify_count++] =
                (struct warprsa_to_notify){s, notifier};
        s->notifiers[notifier].listed = true;
        if (++host->unnotified == WARPRSA_NOTIFY_ANSWERS)
            warprsa_session_notify_all(host);
    }
}

void warprsa_session_answer(warprsa_session *s, uint32_t slot,
                            uint32_t generation, uint32_t notifier,
                            warprsa_answer answer, warprsa_cpu_reason reason)
{
    warprsa_shm_slot *to = &s->shm.slot[slot];

    to->answer = (uint32_t)answer;
    to->reason = (uint32_t)reason;
    atomic_store_explicit(&to->answered, generation, memory_order_release);
    notify(s, notifier, &to->answered);
    s->answers += answer == WARPRSA_DONE;
}

void warprsa_session_queue_answered(void *arg)
{
    warprsa_pending *pending = arg;
    warprsa_session_host *host = pending->session->host;

    host->push_answered(host, pending);
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
