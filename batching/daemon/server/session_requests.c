/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client's requests; see session_requests.h.
 */
#include "batching/daemon/server/session_requests.h"

#include <string.h>

#include "batching/daemon/server/session_answers.h"
#include "batching/daemon/server/session_messages.h"
#include "batching/daemon/server/session_uses.h"
#include "batching/daemon/server/use_threads.h"

enum {
    REQUESTS_AT_ONCE = 256, /* at most, in a turn */
    /* The wake-up of another thread takes about as long as fewer uses do, and
     * their clients would wait for it. */
    WORTH_A_WAKE_UP = 8,
};

/* The key that a request refers to, or NULL if the client has no such key. */
static warprsa_session_key *key_of(const warprsa_session *s,
                                   const warprsa_shm_request *request)
{
    warprsa_session_key *key;

    if (request->key >= s->keys_max)
        return NULL;
    key = &s->keys[request->key];
    return key->taken && key->generation == request->key_generation ? key
                                                                    : NULL;
}

/* False: the notifier that a request refers to is of another generation; a
 * message about it may not have been read yet. */
static bool has_notifier(const warprsa_session *s,
                         const warprsa_shm_request *request)
{
    return request->notifier == 0 || request->notifier > s->notifiers_max ||
           s->notifiers[request->notifier].generation ==
               request->notifier_generation;
}

static bool is_known(const warprsa_session *s,
                     const warprsa_shm_request *request)
{
    return key_of(s, request) != NULL && has_notifier(s, request);
}

/* Whether a request has to wait, in held_slot, for messages about its key or
 * notifier. These messages are in the memory by now. */
static bool must_wait(warprsa_session *s, const warprsa_shm_request *request)
{
    if (!is_known(s, request))
        warprsa_session_read_messages(s);
    s->holds = !s->closed && s->messages_left && s->awaited > 0 &&
               !is_known(s, request);
    return s->holds;
}

/* Why the queue has refused a request. */
static warprsa_cpu_reason reason_now(warprsa_server_context *context,
                                     const warprsa_key *key)
{
    switch (warprsa_queue_wait_ready(context->config.queue, 0)) {
    case WARPRSA_QUEUE_STARTING:
        return WARPRSA_CPU_STARTING;
    case WARPRSA_QUEUE_DOWN:
        return WARPRSA_CPU_NO_DEVICE;
    case WARPRSA_QUEUE_READY:
        break;
    }
    if (warprsa_queue_refuses_key(key))
        return WARPRSA_CPU_WRONG_KEY;
    return warprsa_queue_takes(context->config.queue, key)
               ? WARPRSA_CPU_QUEUE_FULL
               : WARPRSA_CPU_UNSUPPORTED_KEY;
}

/* Whether a request may go to the queue: its input must be as long as the
 * modulus and below it. */
static bool is_fit(const warprsa_session_key *key,
                   const warprsa_shm_request *request)
{
    return key != NULL && key->key != NULL && request->bytes == key->bytes &&
           memcmp(request->number, warprsa_key_modulus(key->key), key->bytes) <
               0;
}

/* Notes what a request says, for its answer. */
static void note(warprsa_session *s, warprsa_pending *p,
                 const warprsa_shm_request *request)
{
    p->session = s;
    p->generation = request->generation;
    p->notifier = request->notifier;
    p->notifier_generation = request->notifier_generation;
    p->begun_ns = s->now_ns;
    p->taker = &s->host->taker;
}

/* Submits or refuses a request with a key of the client's own. */
static void submit(warprsa_session *s, uint32_t slot,
                   const warprsa_shm_request *request,
                   const warprsa_session_key *key)
{
    warprsa_server_context *context = s->context;
    warprsa_pending *p = &s->pending[slot];
    warprsa_notify notify = {.wake = warprsa_session_queue_answered, .arg = p};
    warprsa_cpu_reason reason = WARPRSA_CPU_ERROR;
    warprsa_answer_to to;

    if (atomic_load(&context->stopping)) {
        reason = WARPRSA_CPU_NO_DEVICE;
    } else if (is_fit(key, request)) {
        p->bytes = request->bytes;
        if (warprsa_queue_submit(context->config.queue, key->key,
                                 request->number, notify,
                                 &p->ticket) == WARPRSA_DONE) {
            atomic_store(&p->stage, WARPRSA_STAGE_QUEUED);
            s->in_flight++;
            return;
        }
        reason = reason_now(context, key->key);
    } else if (key != NULL && key->bytes == 0) {
        reason = WARPRSA_CPU_UNSUPPORTED_KEY;
    } else if (key != NULL && key->key == NULL) {
        reason = WARPRSA_CPU_KEY_CACHE_FULL;
    }
    to = warprsa_session_answer_to(s, p);
    warprsa_session_answer(s, &to, WARPRSA_REFUSED, reason,
                           &s->host->answering);
}

/* A batch that no thread has; NULL: they have enough of this session. */
static warprsa_use_batch *free_batch(warprsa_session *s)
{
    for (unsigned i = 0; i < WARPRSA_USE_BATCHES; i++)
        if (!atomic_load(&s->batches[i].is_away))
            return &s->batches[i];
    return NULL;
}

/* Hands the uses that were taken over to other threads. False: these have
 * enough of this session, or they sleep and the uses are few. */
static bool hand_over(warprsa_session *s)
{
    warprsa_use_threads *threads = s->context->use_threads;
    warprsa_use_batch *batch = NULL;

    if (threads == NULL || (s->taken.count < WORTH_A_WAKE_UP &&
                            !warprsa_use_threads_are_awake(threads)))
        return false;
    if (s->newest != NULL &&
        warprsa_use_threads_add(threads, s->newest, &s->taken))
        return true;
    batch = free_batch(s);
    if (batch == NULL)
        return false;
    batch->session = s;
    batch->first = s->taken.first;
    batch->last = s->taken.last;
    batch->count = s->taken.count;
    atomic_store(&batch->is_away, true);
    s->newest = batch;
    s->has_handed_over = true;
    warprsa_use_threads_begin(threads, batch);
    return true;
}

/* Has the uses that were taken begun. */
static void begin_uses(warprsa_session *s)
{
    if (!hand_over(s))
        warprsa_session_begin_uses(s->taken.first, &s->host->taker,
                                   &s->host->answering);
    s->taken = (warprsa_use_batch){.count = 0};
}

/* Takes a use, and has a full batch of them begun. */
static void take_use(warprsa_session *s, warprsa_pending *p,
                     warprsa_session_key *key)
{
    if (!warprsa_session_take_use(s, p, key))
        return;
    p->next = NULL;
    if (s->taken.count++ == 0)
        s->taken.first = p;
    else
        s->taken.last->next = p;
    s->taken.last = p;
    if (s->taken.count == WARPRSA_USE_BATCH)
        begin_uses(s);
}

/* Serves a request, which is a copy of the slot. */
static void serve(warprsa_session *s, uint32_t slot,
                  const warprsa_shm_request *request)
{
    warprsa_session_key *key = key_of(s, request);

    note(s, &s->pending[slot], request);
    if (key != NULL && key->vault != NULL)
        take_use(s, &s->pending[slot], key);
    else
        submit(s, slot, request, key);
}

/* Takes the next request's slot out of the ring, or the one that was held. */
static bool next_request(warprsa_session *s, uint32_t *slot)
{
    if (s->holds) {
        *slot = s->held_slot;
        return true;
    }
    s->awaited = WARPRSA_SHM_MESSAGES;
    return warprsa_shm_dequeue(&s->shm, &s->ring_offset, slot);
}

/* Serves the next request in the ring. False: there is none, the request has to
 * wait, or the session was closed. */
static bool read_request(warprsa_session *s)
{
    warprsa_shm_request request;
    uint32_t slot;
    bool waits;

    if (!next_request(s, &slot))
        return false;
    if (slot >= s->shm.slots ||
        atomic_load(&s->pending[slot].stage) != WARPRSA_STAGE_NONE) {
        warprsa_session_end(s, "it broke the protocol: a slot that is not its "
                               "own to submit");
        return false;
    }
    warprsa_shm_copy(&s->shm, slot, &request);
    waits = must_wait(s, &request);
    s->held_slot = slot;
    if (!waits && !s->closed)
        serve(s, slot, &request);
    explicit_bzero(request.number, sizeof(request.number));
    return !waits && !s->closed;
}

/* Returns whether there may be more. */
static bool read_requests(warprsa_session *s)
{
    for (unsigned i = 0; i < REQUESTS_AT_ONCE; i++) {
        if (!read_request(s))
            return s->holds;
        if (!warprsa_session_may_go_on(s))
            break;
    }
    return true;
}

bool warprsa_session_read_ring(warprsa_session *s)
{
    const bool more = read_requests(s);

    if (s->taken.count > 0)
        begin_uses(s);
    atomic_store_explicit(&s->shm.head->depth,
                          warprsa_queue_depth(s->context->config.queue),
                          memory_order_relaxed);
    return more;
}
