/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Requests that the queue has answered; see session_completions.h.
 */
#include "batching/daemon/server/session_completions.h"

#include <string.h>

#include "batching/daemon/server/session_answers.h"
#include "batching/daemon/server/session_uses.h"

enum {
    ANSWERS_AT_ONCE = 256, /* at most, in a turn */
};

/* Gives the client the answer to a request with a key of its own. */
static void complete(warprsa_session *s, warprsa_pending *p)
{
    warprsa_server_context *context = s->context;
    uint32_t slot = (uint32_t)(p - s->pending);
    uint8_t output[WARPRSA_MODULUS_BYTES_MAX];
    warprsa_outcome outcome;
    warprsa_answer got;
    warprsa_answer_to to;

    /* Never PENDING: there is an answer, or the deadline has passed. */
    got = warprsa_queue_collect(context->config.queue, p->ticket, output,
                                &outcome);
    to = warprsa_session_answer_to(s, p);
    atomic_store(&p->stage, WARPRSA_STAGE_NONE);
    s->in_flight--;
    if (!s->closed) {
        if (got == WARPRSA_DONE)
            memcpy(s->shm.slot[slot].request.number, output, p->bytes);
        s->shm.slot[slot].took_ns = s->now_ns - p->begun_ns;
        s->shm.slot[slot].on_cpus = outcome.on_cpus;
        warprsa_session_answer(s, &to, got, outcome.reason,
                               &s->host->answering);
    }
    explicit_bzero(output, sizeof(output));
}

void warprsa_session_complete_some(warprsa_session *s)
{
    for (unsigned i = 0; i < ANSWERS_AT_ONCE && s->answered != NULL; i++) {
        warprsa_pending *p = s->answered;

        /* The client may use the slot again once it has the answer. */
        s->answered = p->next;
        if (p->use != NULL)
            warprsa_session_complete_use(p, s->now_ns, &s->host->answering);
        else
            complete(s, p);
        if (!warprsa_session_may_go_on(s))
            break;
    }
    warprsa_session_notify_all(&s->host->answering);
}
