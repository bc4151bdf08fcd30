/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One call of Operate as the server sees it; see operate.h.
 */
#include "batching/remote/operate.h"

#include <stdlib.h>
#include <string.h>

#include "batching/base/clock.h"

/* Writes what has gathered. False: no memory. */
static bool write_results(warprsa_operate *s)
{
    warprsa_operate_results *r = &s->host->results;
    const size_t room =
        WARPRSA_REMOTE_PREFIX + 64 + r->count * WARPRSA_REMOTE_OPERATION_MAX;
    uint8_t *to;

    if (r->count == 0)
        return true;
    to = s->stream != NULL ? warprsa_http2_reserve(s->stream, room) : NULL;
    if (to != NULL)
        warprsa_http2_sent(s->stream, warprsa_remote_write_results(
                                          to, room, r->result, r->count));
    explicit_bzero(r->output, r->count * sizeof(r->output[0]));
    r->count = 0;
    return to != NULL || s->stream == NULL;
}

/* Where the next result goes; what has gathered is written if need be. NULL: no
 * memory. */
static warprsa_remote_result *next_result(warprsa_operate *s)
{
    warprsa_operate_results *r = &s->host->results;

    if (r->count == WARPRSA_REMOTE_BATCH_MAX && !write_results(s))
        return NULL;
    return &r->result[r->count++];
}

static void send_small(warprsa_operate *s, const uint8_t *bytes, size_t size)
{
    uint8_t *to = warprsa_http2_reserve(s->stream, size);

    if (to == NULL) {
        warprsa_http2_finish(s->stream, WARPRSA_GRPC_RESOURCE_EXHAUSTED,
                             "no memory");
        return;
    }
    memcpy(to, bytes, size);
    warprsa_http2_sent(s->stream, size);
}

static void welcome(warprsa_operate *s)
{
    const warprsa_remote_welcome limits = {
        .keys_max = s->keys_max,
        .operations_max = s->operations_max,
        .batch_max = WARPRSA_REMOTE_BATCH_MAX,
        .rate_max = atomic_load(&s->identity->rate_max),
        .deadline_ms = s->host->deadline_ms,
    };
    uint8_t bytes[64];

    send_small(s, bytes,
               warprsa_remote_write_welcome(bytes, sizeof(bytes), &limits));
}

warprsa_operate *warprsa_operate_new(warprsa_operate_host *host,
                                     warprsa_http2_stream *stream,
                                     warprsa_identity *identity)
{
    warprsa_operate *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    s->host = host;
    s->stream = stream;
    s->identity = identity;
    s->keys_max = atomic_load(&identity->keys_max);
    s->operations_max = atomic_load(&identity->operations_max);
    s->keys = calloc(s->keys_max, sizeof(*s->keys));
    s->pending = calloc(s->operations_max, sizeof(*s->pending));
    if (s->keys == NULL || s->pending == NULL) {
        warprsa_operate_free(s);
        return NULL;
    }
    stream->message_max = WARPRSA_REMOTE_MESSAGE_MAX;
    welcome(s);
    return s;
}

void warprsa_operate_free(warprsa_operate *s)
{
    for (uint32_t i = 0; s->keys != NULL && i < s->keys_max; i++)
        warprsa_key_release(s->keys[i].key);
    free(s->keys);
    free(s->pending);
    free(s);
}

static void key_loaded(warprsa_operate *s, uint32_t number,
                       warprsa_remote_status status)
{
    uint8_t bytes[32];

    send_small(
        s, bytes,
        warprsa_remote_write_key_loaded(bytes, sizeof(bytes), number, status));
}

/* Gives a key that is to be under this number to the queue. */
static warprsa_remote_status add_key(warprsa_operate *s,
                                     warprsa_operate_key *key,
                                     const warprsa_remote_request *request)
{
    const warprsa_private_key *k = &request->private_key;
    uint8_t id[WARPRSA_KEY_ID_BYTES];

    if (request->kind != WARPRSA_REMOTE_LOAD_KEY || warprsa_key_class(k) < 0)
        return WARPRSA_REMOTE_UNSUPPORTED;
    key->bytes = k->modulus_bytes;
    if (s->host->key_id(k, id))
        key->key = warprsa_queue_key(s->host->queue, s->identity->owner, id, k);
    explicit_bzero(id, sizeof(id));
    return key->key != NULL ? WARPRSA_REMOTE_OK : WARPRSA_REMOTE_THROTTLED;
}

static const char *load_key(warprsa_operate *s,
                            const warprsa_remote_request *request)
{
    warprsa_operate_key *key;

    if (request->key >= s->keys_max)
        return "the number of a key is not below keys_max";
    key = &s->keys[request->key];
    if (key->taken)
        return "the number of a key is taken";
    key->taken = true;
    key->status = add_key(s, key, request);
    key_loaded(s, request->key, key->status);
    return NULL;
}

static const char *unload_key(warprsa_operate *s, uint32_t number)
{
    warprsa_operate_key *key;

    if (number >= s->keys_max || !s->keys[number].taken)
        return "there is no key of this number";
    /* The queue keeps what it needs for operations under way. */
    key = &s->keys[number];
    warprsa_key_release(key->key);
    memset(key, 0, sizeof(*key));
    return NULL;
}

/* A worker of the queue has answered. */
static void queue_answered(void *arg)
{
    warprsa_operate_pending *pending = arg;
    warprsa_operate_host *host = pending->session->host;

    host->push_answered(host, pending);
}

static warprsa_operate_pending *new_pending(warprsa_operate *s)
{
    warprsa_operate_pending *p = s->unused;

    if (p != NULL) {
        s->unused = p->next;
        return p;
    }
    /* None has been given back: those not used yet follow one another. */
    return s->in_flight < s->operations_max ? &s->pending[s->in_flight] : NULL;
}

/* Why the queue has not taken an operation. */
static warprsa_remote_status why_not_queued(const warprsa_operate *s,
                                            const warprsa_key *key)
{
    if (warprsa_queue_refuses_key(key))
        return WARPRSA_REMOTE_FAILED;
    return warprsa_queue_wait_ready(s->host->queue, 0) == WARPRSA_QUEUE_READY
               ? WARPRSA_REMOTE_THROTTLED
               : WARPRSA_REMOTE_UNAVAILABLE;
}

/* Submits an operation whose input is good. OK: it will be answered. */
static warprsa_remote_status submit(warprsa_operate *s,
                                    const warprsa_remote_operation *o,
                                    warprsa_key *key, uint64_t now_ns)
{
    warprsa_operate_pending *p;

    if (s->host->draining)
        return WARPRSA_REMOTE_UNAVAILABLE;
    p = new_pending(s);
    if (p == NULL || !warprsa_identity_begin_operation(s->identity, now_ns)) {
        if (p != NULL) {
            p->next = s->unused;
            s->unused = p;
        }
        return WARPRSA_REMOTE_THROTTLED;
    }
    p->session = s;
    p->id = o->id;
    p->bytes = o->bytes;
    if (warprsa_queue_submit(s->host->queue, key, o->input,
                             (warprsa_notify){.wake = queue_answered, .arg = p},
                             &p->ticket) == WARPRSA_DONE) {
        p->busy = true;
        s->in_flight++;
        s->operations++;
        return WARPRSA_REMOTE_OK;
    }
    warprsa_identity_end_operation(s->identity);
    p->next = s->unused;
    s->unused = p;
    return why_not_queued(s, key);
}

static warprsa_remote_status
serve(warprsa_operate *s, const warprsa_remote_operation *o, uint64_t now_ns)
{
    const warprsa_operate_key *key;

    if (o->padding != 0)
        return WARPRSA_REMOTE_UNSUPPORTED;
    if (o->key >= s->keys_max || !s->keys[o->key].taken)
        return WARPRSA_REMOTE_INVALID;
    key = &s->keys[o->key];
    if (key->key == NULL)
        return key->status;
    if (o->bytes != key->bytes ||
        memcmp(o->input, warprsa_key_modulus(key->key), key->bytes) >= 0)
        return WARPRSA_REMOTE_INVALID;
    return submit(s, o, key->key, now_ns);
}

static const char *serve_all(warprsa_operate *s,
                             const warprsa_remote_request *request)
{
    const uint64_t now_ns = warprsa_clock_ns();

    for (size_t i = 0; i < request->count; i++) {
        const warprsa_remote_operation *o = &request->operation[i];
        warprsa_remote_status status = serve(s, o, now_ns);
        warprsa_remote_result *result;

        if (status == WARPRSA_REMOTE_OK)
            continue;
        result = next_result(s);
        if (result == NULL)
            return "no memory";
        *result = (warprsa_remote_result){.id = o->id, .status = status};
    }
    return write_results(s) ? NULL : "no memory";
}

const char *warprsa_operate_message(warprsa_operate *s, const uint8_t *bytes,
                                    size_t size)
{
    warprsa_remote_request request;
    const char *wrong = warprsa_remote_read_request(bytes, size, &request);

    if (wrong == NULL && request.kind == WARPRSA_REMOTE_OPERATIONS)
        return serve_all(s, &request);
    if (wrong == NULL)
        wrong = request.kind == WARPRSA_REMOTE_UNLOAD_KEY
                    ? unload_key(s, request.key)
                    : load_key(s, &request);
    explicit_bzero(&request.private_key, sizeof(request.private_key));
    return wrong;
}

static warprsa_remote_status status_of(warprsa_cpu_reason reason)
{
    switch (reason) {
    case WARPRSA_CPU_DEADLINE:
        return WARPRSA_REMOTE_DEADLINE;
    case WARPRSA_CPU_CHECK_FAILED:
        return WARPRSA_REMOTE_FAILED;
    case WARPRSA_CPU_KEY_RATE:
    case WARPRSA_CPU_KEY_CACHE_FULL:
    case WARPRSA_CPU_QUEUE_FULL:
        return WARPRSA_REMOTE_THROTTLED;
    default:
        return WARPRSA_REMOTE_UNAVAILABLE;
    }
}

void warprsa_operate_answered(warprsa_operate_pending *p)
{
    p->next = p->session->answered;
    p->session->answered = p;
}

/* An operation is under way no longer. */
static void end_pending(warprsa_operate *s, warprsa_operate_pending *p)
{
    p->busy = false;
    p->next = s->unused;
    s->unused = p;
    s->in_flight--;
    warprsa_identity_end_operation(s->identity);
}

/* Collects the answer of one. False: no memory for its result. */
static bool collect(warprsa_operate *s, warprsa_operate_pending *p)
{
    warprsa_remote_result *result = next_result(s), nowhere;
    uint8_t output[WARPRSA_MODULUS_BYTES_MAX];
    warprsa_outcome outcome = {0};
    warprsa_operate_results *r = &s->host->results;
    uint8_t *to = result != NULL ? r->output[r->count - 1] : output;

    if (result == NULL)
        result = &nowhere;
    *result = (warprsa_remote_result){.id = p->id};
    /* Never PENDING: there is an answer, or the deadline has passed. */
    if (warprsa_queue_collect(s->host->queue, p->ticket, to, &outcome) ==
        WARPRSA_DONE) {
        result->bytes = p->bytes;
        result->output = to;
    } else {
        result->status = status_of(outcome.reason);
    }
    explicit_bzero(output, sizeof(output));
    end_pending(s, p);
    return result != &nowhere;
}

static void end_if_done(warprsa_operate *s)
{
    if (s->stream == NULL || s->in_flight != 0)
        return;
    if (s->half_closed)
        warprsa_http2_finish(s->stream, WARPRSA_GRPC_OK, "");
    else if (s->told)
        warprsa_http2_finish(s->stream, WARPRSA_GRPC_UNAVAILABLE,
                             "the server stops");
}

bool warprsa_operate_flush(warprsa_operate *s)
{
    bool done = true;

    while (s->answered != NULL) {
        warprsa_operate_pending *p = s->answered;

        s->answered = p->next;
        done = collect(s, p) && done;
    }
    done = write_results(s) && done;
    end_if_done(s);
    return done;
}

void warprsa_operate_half_closed(warprsa_operate *s)
{
    s->half_closed = true;
    end_if_done(s);
}

void warprsa_operate_closed(warprsa_operate *s)
{
    s->stream = NULL;
    for (uint32_t i = 0; i < s->operations_max && s->in_flight > 0; i++)
        if (s->pending[i].busy &&
            warprsa_queue_withdraw(s->host->queue, s->pending[i].ticket))
            end_pending(s, &s->pending[i]);
}

void warprsa_operate_drain(warprsa_operate *s)
{
    uint8_t bytes[16];

    if (!s->host->draining || s->stream == NULL)
        return;
    if (!s->told)
        send_small(s, bytes,
                   warprsa_remote_write_draining(bytes, sizeof(bytes)));
    s->told = true;
    end_if_done(s);
}
