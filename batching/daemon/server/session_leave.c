/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a closed session had is given back; see session_leave.h.
 */
#include "batching/daemon/server/session_leave.h"

#include "batching/daemon/server/session_vault.h"
#include "batching/daemon/server/use_threads.h"

enum {
    /* Keys, notifiers and requests of a closed session: about 1 us each. */
    GIVEN_BACK_AT_ONCE = 64,
};

/* Withdraws requests that no batch has yet, since nobody waits for their
 * answers. Looks at `most` requests under way; returns how many fewer there
 * were. */
static unsigned withdraw_requests(warprsa_session *s, unsigned most)
{
    for (; s->withdrawn_end < s->shm.slots && s->in_flight > 0 && most > 0;
         s->withdrawn_end++) {
        warprsa_pending *p = &s->pending[s->withdrawn_end];

        if (atomic_load(&p->stage) == WARPRSA_STAGE_NONE)
            continue;
        most--;
        /* If another thread takes the request at this moment, the queue has
         * answered it, and withdraw() returns false for its ticket. */
        if (atomic_load(&p->stage) != WARPRSA_STAGE_QUEUED ||
            !warprsa_queue_withdraw(s->context->config.queue, p->ticket))
            continue;
        warprsa_session_use_free(p->use);
        p->use = NULL;
        atomic_store(&p->stage, WARPRSA_STAGE_NONE);
        s->in_flight--;
    }
    return most;
}

/* Gives back a part of a closed session's keys, notifiers and requests. Numbers
 * that were never used cost nothing. True: only requests with answers to come
 * are left. */
static bool give_back(warprsa_session *s)
{
    unsigned left = withdraw_requests(s, GIVEN_BACK_AT_ONCE);

    for (; s->keys_end > 0 && left > 0; left--)
        warprsa_session_drop_key(s, &s->keys[--s->keys_end]);
    for (; s->notifiers_end > 0 && left > 0; left--)
        warprsa_session_close_notifier(s, &s->notifiers[--s->notifiers_end]);
    return left > 0;
}

void warprsa_session_leave(warprsa_session *s)
{
    warprsa_rounds_remove(&s->host->ready, &s->ready);
    if (!give_back(s) || s->answered != NULL) {
        warprsa_session_make_ready(s);
    } else if (s->has_handed_over && !s->is_leaving) {
        s->is_leaving = true;
        TAILQ_INSERT_TAIL(&s->host->leaving, s, link);
    } else if (!s->has_handed_over && s->in_flight == 0) {
        TAILQ_INSERT_TAIL(&s->host->over, s, link);
    }
}

bool warprsa_session_is_left(warprsa_session *s)
{
    const warprsa_use_threads *threads = s->context->use_threads;

    if (s->in_flight != 0 || s->answered != NULL)
        return false;
    if (!s->is_passing)
        warprsa_use_threads_note(threads, s->seen);
    s->is_passing = true;
    return warprsa_use_threads_passed(threads, s->seen);
}
