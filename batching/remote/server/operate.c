/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One call of Operate as the server sees it; see operate.h.
 */
#include "batching/remote/server/operate.h"

#include <stdlib.h>
#include <string.h>

#include "batching/base/clock.h"
#include "batching/base/container_of.h"

/* Writes the gathered results. False: no memory. */
static bool write_results(warprsa_operate *s)
{
    warprsa_operate_results *r = &s->host->results;
    size_t room = WARPRSA_REMOTE_PREFIX + 64;
    uint8_t *to;

    if (r->count == 0)
        return true;
    for (size_t i = 0; i < r->count; i++)
        room += WARPRSA_REMOTE_RESULT_REST_MAX + r->result[i].bytes;
    to = s->stream != NULL ? warprsa_http2_reserve(s->stream, room) : NULL;
    if (to != NULL)
        warprsa_http2_sent(s->stream, warprsa_remote_write_results(
                                          to, room, r->result, r->count));
    for (size_t i = 0; i < r->count; i++)
        explicit_bzero(r->output[i], r->result[i].bytes);
    r->count = 0;
    return to != NULL || s->stream == NULL;
}

/* The place of the next result; writes the gathered results if it needs room.
 * NULL: no memory. */
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
        .deadline_ms = s->session.deadline_ms,
    };
    uint8_t bytes[64];

    send_small(s, bytes,
               warprsa_remote_write_welcome(bytes, sizeof(bytes), &limits));
}

static void drop_held(warprsa_operate *s)
{
    warprsa_operate_held *held = STAILQ_FIRST(&s->held);

    STAILQ_REMOVE_HEAD(&s->held, link);
    explicit_bzero(held, sizeof(*held) + held->size);
    free(held);
    if (!STAILQ_EMPTY(&s->held))
        return;
    s->host->holding--;
    if (s->stream != NULL)
        warprsa_http2_hold(s->stream->connection, false);
}

/* Keeps a message for later. NULL, or what is wrong. */
static const char *hold(warprsa_operate *s, const uint8_t *bytes, size_t size)
{
    warprsa_operate_held *held = malloc(sizeof(*held) + size);

    if (held == NULL)
        return "no memory";
    held->size = size;
    memcpy(held->bytes, bytes, size);
    if (STAILQ_EMPTY(&s->held)) {
        s->host->holding++;
        warprsa_http2_hold(s->stream->connection, true);
    }
    STAILQ_INSERT_TAIL(&s->held, held, link);
    return NULL;
}

/* Ends a session: no operation is under way any more, and its keys are gone. */
static void end_session(warprsa_operate *s)
{
    warprsa_upstream_session_close(&s->session);
    while (!STAILQ_EMPTY(&s->held))
        drop_held(s);
    for (; s->in_flight > 0; s->in_flight--)
        warprsa_identity_end_operation(s->identity);
}

static void key_loaded(warprsa_operate *s, uint32_t number,
                       warprsa_remote_status status)
{
    uint8_t bytes[32];

    send_small(
        s, bytes,
        warprsa_remote_write_key_loaded(bytes, sizeof(bytes), number, status));
}

/* Names a key of the vault to warprsad, which says at each use whether it has
 * the key. */
static warprsa_remote_status name_key(warprsa_operate *s,
                                      warprsa_operate_key *key,
                                      const warprsa_remote_request *request)
{
    key->is_vaults = true;
    if (!warprsa_upstream_has_uses(&s->session))
        return WARPRSA_REMOTE_UNSUPPORTED;
    warprsa_upstream_name_key(&s->session, request->key, request->spki_sha256);
    return WARPRSA_REMOTE_OK;
}

/* Sends a key to warprsad under this number. warprsad refuses operations with a
 * key that it can't have, and their results say so. */
static warprsa_remote_status add_key(warprsa_operate *s,
                                     warprsa_operate_key *key, uint32_t number,
                                     const warprsa_private_key *k)
{
    if (warprsa_key_class(k) < 0)
        return WARPRSA_REMOTE_UNSUPPORTED;
    key->bytes = k->modulus_bytes;
    key->modulus = malloc(key->bytes);
    if (key->modulus == NULL)
        return WARPRSA_REMOTE_THROTTLED;
    memcpy(key->modulus, k->n + sizeof(k->n) - key->bytes, key->bytes);
    warprsa_upstream_load_key(&s->session, number, k);
    return WARPRSA_REMOTE_OK;
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
    key->status = request->kind == WARPRSA_REMOTE_LOAD_KEY
                      ? add_key(s, key, request->key, &request->private_key)
                      : name_key(s, key, request);
    key_loaded(s, request->key, key->status);
    return NULL;
}

static const char *unload_key(warprsa_operate *s, uint32_t number)
{
    warprsa_operate_key *key;

    if (number >= s->keys_max || !s->keys[number].taken)
        return "there is no key of this number";
    key = &s->keys[number];
    if (key->status == WARPRSA_REMOTE_OK)
        warprsa_upstream_free_key(&s->session, number);
    free(key->modulus);
    memset(key, 0, sizeof(*key));
    return NULL;
}

static bool submit_upstream(warprsa_operate *s,
                            const warprsa_remote_operation *o, uint64_t now_ns,
                            warprsa_ticket *ticket)
{
    if (o->use != NULL)
        return warprsa_upstream_submit_use(&s->session, o->key, o->use,
                                           o->input, now_ns, ticket);
    return warprsa_upstream_submit(&s->session, o->key, o->input, o->bytes,
                                   now_ns, ticket);
}

/* Submits an operation with a key that warprsad has been told of; an input of a
 * client's own key is valid. OK: warprsad will answer it. */
static warprsa_remote_status
submit(warprsa_operate *s, const warprsa_remote_operation *o, uint64_t now_ns)
{
    warprsa_operate_pending *p = &s->pending[s->in_flight];

    if (s->host->draining)
        return WARPRSA_REMOTE_UNAVAILABLE;
    if (s->in_flight == s->operations_max ||
        !warprsa_identity_begin_operation(s->identity, now_ns))
        return WARPRSA_REMOTE_THROTTLED;
    if (!submit_upstream(s, o, now_ns, &p->ticket)) {
        warprsa_identity_end_operation(s->identity);
        return WARPRSA_REMOTE_THROTTLED;
    }
    p->id = o->id;
    p->bytes = o->use != NULL ? 0 : o->bytes;
    s->in_flight++;
    s->operations++;
    return WARPRSA_REMOTE_OK;
}

/* A use is for keys of the vault alone, and they are for nothing else. */
static warprsa_remote_status
serve(warprsa_operate *s, const warprsa_remote_operation *o, uint64_t now_ns)
{
    const warprsa_operate_key *key;

    if (o->key >= s->keys_max || !s->keys[o->key].taken)
        return WARPRSA_REMOTE_INVALID;
    key = &s->keys[o->key];
    if (key->status != WARPRSA_REMOTE_OK)
        return key->status;
    if (key->is_vaults != (o->use != NULL))
        return WARPRSA_REMOTE_INVALID;
    if (!key->is_vaults && (o->bytes != key->bytes ||
                            memcmp(o->input, key->modulus, key->bytes) >= 0))
        return WARPRSA_REMOTE_INVALID;
    return submit(s, o, now_ns);
}

static const char *serve_all(warprsa_operate *s,
                             const warprsa_remote_request *request)
{
    const uint64_t now_ns = warprsa_clock_ns();
    bool done = true;

    for (size_t i = 0; i < request->count && done; i++) {
        const warprsa_remote_operation *o = &request->operation[i];
        warprsa_remote_status status = serve(s, o, now_ns);
        warprsa_remote_result *result = NULL;

        if (status == WARPRSA_REMOTE_OK)
            continue;
        result = next_result(s);
        done = result != NULL;
        if (done)
            *result = (warprsa_remote_result){.id = o->id, .status = status};
    }
    warprsa_upstream_announce(&s->session);
    return done && write_results(s) ? NULL : "no memory";
}

/* Whether a message can be served now: there is a session, and room for a
 * message about a key. */
static bool can_serve(warprsa_operate *s, const warprsa_remote_request *request)
{
    return s->session.is_open && (request->kind == WARPRSA_REMOTE_OPERATIONS ||
                                  warprsa_upstream_has_room(&s->session));
}

/* Serves a message. NULL, or what is wrong with it. *served is false if it has
 * to wait. */
static const char *serve_message(warprsa_operate *s, const uint8_t *bytes,
                                 size_t size, bool *served)
{
    warprsa_remote_request *request = &s->host->request;
    const char *wrong = warprsa_remote_read_request(bytes, size, request);

    *served = wrong != NULL || can_serve(s, request);
    if (*served && wrong == NULL)
        wrong = request->kind == WARPRSA_REMOTE_OPERATIONS
                    ? serve_all(s, request)
                : request->kind == WARPRSA_REMOTE_UNLOAD_KEY
                    ? unload_key(s, request->key)
                    : load_key(s, request);
    explicit_bzero(&request->private_key, sizeof(request->private_key));
    return wrong;
}

const char *warprsa_operate_message(warprsa_operate *s, const uint8_t *bytes,
                                    size_t size)
{
    const char *wrong;
    bool served = false;

    if (STAILQ_EMPTY(&s->held)) {
        wrong = serve_message(s, bytes, size, &served);
        if (served)
            return wrong;
    }
    return hold(s, bytes, size);
}

/* A call whose client sends no more is not done before its session has come:
 * another one would only add to what warprsad has to do. */
static void end_if_done(warprsa_operate *s)
{
    if (s->stream == NULL || s->in_flight != 0 || !STAILQ_EMPTY(&s->held))
        return;
    if (s->half_closed && s->session.is_open)
        warprsa_http2_finish(s->stream, WARPRSA_GRPC_OK, "");
    else if (s->told)
        warprsa_http2_finish(s->stream, WARPRSA_GRPC_UNAVAILABLE,
                             "the server stops");
}

/* Serves held messages. */
static void resume(warprsa_operate *s)
{
    while (!STAILQ_EMPTY(&s->held) && s->stream != NULL) {
        warprsa_operate_held *held = STAILQ_FIRST(&s->held);
        bool served;
        const char *wrong = serve_message(s, held->bytes, held->size, &served);

        if (!served)
            return;
        drop_held(s);
        if (wrong == NULL)
            continue;
        s->host->refuse(s, WARPRSA_GRPC_INVALID_ARGUMENT, wrong);
        while (!STAILQ_EMPTY(&s->held))
            drop_held(s);
    }
    end_if_done(s);
}

static warprsa_remote_status status_of(warprsa_cpu_reason reason)
{
    switch (reason) {
    case WARPRSA_CPU_DEADLINE:
        return WARPRSA_REMOTE_DEADLINE;
    case WARPRSA_CPU_CHECK_FAILED:
    case WARPRSA_CPU_WRONG_KEY:
        return WARPRSA_REMOTE_FAILED;
    case WARPRSA_CPU_UNSUPPORTED_KEY:
        return WARPRSA_REMOTE_UNSUPPORTED;
    case WARPRSA_CPU_KEY_RATE:
    case WARPRSA_CPU_KEY_CACHE_FULL:
    case WARPRSA_CPU_QUEUE_FULL:
        return WARPRSA_REMOTE_THROTTLED;
    default:
        return WARPRSA_REMOTE_UNAVAILABLE;
    }
}

/* The result of a use, whose output is at `to`. LATER does not say whether the
 * vault's threads have too much to do or warprsad stops. */
static void end_use(warprsa_remote_result *result,
                    const warprsa_connection_answer *how, const uint8_t *to)
{
    switch (how->use) {
    case WARPRSA_USE_DONE:
        result->status = WARPRSA_REMOTE_OK;
        result->bytes = how->bytes;
        result->output = to;
        break;
    case WARPRSA_USE_DENIED:
        result->status = WARPRSA_REMOTE_DENIED;
        result->denial = how->denial;
        break;
    case WARPRSA_USE_FAILED:
        result->status = WARPRSA_REMOTE_INVALID;
        result->errors = how->errors;
        break;
    default:
        result->status = how->reason == WARPRSA_CPU_DEADLINE
                             ? WARPRSA_REMOTE_DEADLINE
                             : WARPRSA_REMOTE_UNAVAILABLE;
    }
}

/* The result of an operation with a client's own key. */
static void end_operation(warprsa_remote_result *result, bool is_done,
                          warprsa_cpu_reason reason, uint32_t bytes,
                          const uint8_t *to)
{
    if (!is_done) {
        result->status = status_of(reason);
        return;
    }
    result->status = WARPRSA_REMOTE_OK;
    result->bytes = bytes;
    result->output = to;
}

/* Takes the answer to operation `i` under way, if there is one. Another
 * operation then has its place. */
static bool collect(warprsa_operate *s, unsigned i)
{
    warprsa_operate_results *r = &s->host->results;
    warprsa_operate_pending *p = &s->pending[i];
    warprsa_remote_result *result = &r->result[r->count];
    uint8_t *to = r->output[r->count];
    warprsa_connection_answer how;
    warprsa_answer answer =
        warprsa_upstream_collect(&s->session, p->ticket, to, &how);

    if (answer == WARPRSA_PENDING)
        return false;
    *result = (warprsa_remote_result){.id = p->id};
    if (p->bytes == 0)
        end_use(result, &how, to);
    else
        end_operation(result, answer == WARPRSA_DONE, how.reason, p->bytes, to);
    r->count++;
    *p = s->pending[--s->in_flight];
    warprsa_identity_end_operation(s->identity);
    return true;
}

/* Sends the available results in as few messages as possible. `all`: also of
 * operations that have waited for too long; otherwise those without an answer
 * cost no more than a look, as there may be thousands. */
static void send_results(warprsa_operate *s, bool all)
{
    bool done = true;

    for (unsigned i = 0; done && i < s->in_flight;) {
        if ((!all && !warprsa_upstream_is_answered(&s->session,
                                                   s->pending[i].ticket)) ||
            !collect(s, i))
            i++;
        else if (s->host->results.count == WARPRSA_REMOTE_BATCH_MAX)
            done = write_results(s);
    }
    done = done && write_results(s);
    if (!done)
        warprsa_http2_finish(s->stream, WARPRSA_GRPC_RESOURCE_EXHAUSTED,
                             "no memory");
    end_if_done(s);
    s->host->written(s);
}

static warprsa_operate *owner_of(warprsa_upstream_session *session)
{
    return WARPRSA_CONTAINER_OF(session, warprsa_operate, session);
}

/* The tables are as large as the granted limits. */
static bool allocate(warprsa_operate *s)
{
    const warprsa_connection *c = s->session.connection;

    if (s->keys_max > c->keys)
        s->keys_max = c->keys;
    if (s->operations_max > c->shm.slots)
        s->operations_max = c->shm.slots;
    s->keys = calloc(s->keys_max, sizeof(*s->keys));
    s->pending = calloc(s->operations_max, sizeof(*s->pending));
    return s->keys != NULL && s->pending != NULL;
}

static void opened(warprsa_upstream_session *session)
{
    warprsa_operate *s = owner_of(session);

    if (allocate(s)) {
        welcome(s);
        resume(s);
    } else {
        end_session(s);
        warprsa_http2_finish(s->stream, WARPRSA_GRPC_RESOURCE_EXHAUSTED,
                             "no memory");
    }
    s->host->written(s);
}

static void answered(warprsa_upstream_session *session)
{
    send_results(owner_of(session), false);
}

static void lost(warprsa_upstream_session *session, const char *why)
{
    warprsa_operate *s = owner_of(session);

    end_session(s);
    s->host->refuse(s, WARPRSA_GRPC_UNAVAILABLE, why);
    s->host->written(s);
}

/* How many operations a session may have under way, if there is memory. */
static uint32_t operations_of(warprsa_identity *identity, bool is_further)
{
    const uint32_t all = atomic_load(&identity->operations_max);

    if (!is_further || all < WARPRSA_IDENTITY_FURTHER_PART)
        return all;
    return all / WARPRSA_IDENTITY_FURTHER_PART;
}

static const warprsa_upstream_handlers handlers = {
    .opened = opened,
    .answered = answered,
    .lost = lost,
};

warprsa_operate *warprsa_operate_new(warprsa_operate_host *host,
                                     warprsa_http2_stream *stream,
                                     warprsa_identity *identity,
                                     bool is_further)
{
    warprsa_operate *s = calloc(1, sizeof(*s));
    warprsa_message wanted = {.identity = identity->number, .uses = 1};
    char why[WARPRSA_UPSTREAM_WHY];

    if (s == NULL)
        return NULL;
    _Static_assert(sizeof(wanted.name) == sizeof(identity->name),
                   "a name that the map takes fits into a message");
    memcpy(wanted.name, identity->name, sizeof(wanted.name));
    s->host = host;
    s->stream = stream;
    s->identity = identity;
    STAILQ_INIT(&s->held);
    s->keys_max = wanted.keys = atomic_load(&identity->keys_max);
    s->is_further = is_further;
    s->operations_max = wanted.slots = operations_of(identity, is_further);
    stream->message_max = WARPRSA_REMOTE_MESSAGE_MAX;
    if (!warprsa_upstream_ask(&host->upstream, &s->session, &handlers, &wanted,
                              why))
        host->refuse(s, WARPRSA_GRPC_UNAVAILABLE, why);
    return s;
}

bool warprsa_operate_is_over(const warprsa_operate *s)
{
    return s->stream == NULL &&
           (warprsa_upstream_session_is_over(&s->session) || s->host->draining);
}

void warprsa_operate_free(warprsa_operate *s)
{
    warprsa_upstream_session_forget(&s->session);
    for (uint32_t i = 0; s->keys != NULL && i < s->keys_max; i++)
        free(s->keys[i].modulus);
    free(s->keys);
    free(s->pending);
    free(s);
}

void warprsa_operate_half_closed(warprsa_operate *s)
{
    s->half_closed = true;
    end_if_done(s);
}

void warprsa_operate_closed(warprsa_operate *s)
{
    end_session(s);
    s->stream = NULL;
}

void warprsa_operate_tick(warprsa_operate *s)
{
    if (s->stream == NULL || !s->session.is_open)
        return;
    if (!STAILQ_EMPTY(&s->held))
        resume(s);
    if (s->in_flight > 0)
        send_results(s, true);
    else
        s->host->written(s);
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
