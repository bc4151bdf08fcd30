/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Uses of keys of the vault; see session_uses.h.
 *
 * A client learns no more of a use that fails than libcrypto would have told
 * it: that there is no result.
 */
#include "batching/daemon/server/session_uses.h"

#include <string.h>

#include "batching/base/container_of.h"
#include "batching/daemon/server/session_answers.h"

/* How a use ended. */
typedef struct ending {
    warprsa_use_answer answer;
    warprsa_denial denial;
    warprsa_use_errors errors; /* if it has failed */
} ending;

static const ending pending = {.answer = WARPRSA_USE_PENDING};
static const ending later = {.answer = WARPRSA_USE_LATER};
static const ending failed = {.answer = WARPRSA_USE_FAILED};

static ending denied(warprsa_denial denial)
{
    return (ending){.answer = WARPRSA_USE_DENIED, .denial = denial};
}

static void answer(warprsa_session *s, uint32_t slot, uint32_t generation,
                   uint32_t notifier, const ending *end)
{
    warprsa_shm_slot *to = &s->shm.slot[slot];

    to->use_answer = end->answer;
    to->denial = end->denial;
    to->errors = end->errors;
    if (end->answer == WARPRSA_USE_DENIED)
        warprsa_count(&s->context->config.counters->vault_denials, 1);
    warprsa_session_answer(s, slot, generation, notifier,
                           end->answer == WARPRSA_USE_DONE ? WARPRSA_DONE
                                                           : WARPRSA_REFUSED,
                           WARPRSA_CPU_ERROR);
}

/* A client can ask for any digest at all. The vault logs all other denials. */
static ending no_key(const warprsa_session *s, const warprsa_session_key *key)
{
    const uint8_t *of = key->vault->spki_sha256;

    warprsa_server_log_about(
        s->context, s->user.owner, 0,
        "process %d (user %d)%s%s is denied a use of a key that the vault has "
        "not: spki_sha256 %02x%02x%02x%02x...",
        (int)s->peer.by.pid, (int)s->peer.by.uid, WARPRSA_SESSION_FOR(s), of[0],
        of[1], of[2], of[3]);
    return denied(WARPRSA_DENIED_NO_KEY);
}

/* Whether the client may have this use: PENDING, and *use is filled in; or how
 * it ends. */
static ending begin(warprsa_session *s, uint32_t slot, warprsa_session_key *key,
                    warprsa_session_use **use)
{
    const warprsa_vault *vault = s->context->config.vault;
    /* After a start the keys may come later than the clients. */
    const bool has_all = vault == NULL || warprsa_vault_is_filled(vault);
    warprsa_vault_key *of = NULL;
    warprsa_vault_user user;
    warprsa_key_use header;
    warprsa_vault_paid paid;
    warprsa_denial denial;

    of = warprsa_session_find_key(s, key);
    if (of == NULL)
        return has_all ? no_key(s, key) : later;
    warprsa_shm_copy_header(&s->shm, slot, &header);
    if (warprsa_key_use_fault(&header, key->bytes) != NULL)
        return failed;
    warprsa_peer_user(&s->peer, s->user.identity, &user);
    denial = warprsa_vault_may(of, &user, &header, &paid);
    if (denial != WARPRSA_ALLOWED)
        return denied(denial);
    *use = warprsa_session_use_new(of, &header);
    if (*use == NULL) {
        warprsa_vault_give_back(of, &user, &paid);
        return later;
    }
    (*use)->paid = paid;
    warprsa_shm_copy_input(&s->shm, slot, (*use)->input, header.input_bytes);
    return pending;
}

/* Whether GPU hosts take what is to be signed: an error costs no way to them,
 * and none that they then claim is believed. What encode() makes is compared
 * with their answer, but for PSS, whose salt they choose. */
static bool check_for_hosts(const warprsa_session *s, warprsa_session_use *use)
{
    return use->header.operation != WARPRSA_USE_SIGN ||
           s->context->config.uses->encode(use->key, &use->header, use->input,
                                           use->power, &use->task.errors);
}

/* Pads what is to be signed. From then on the use is one of the number that
 * this has made. */
static bool pad(const warprsa_session *s, warprsa_session_use *use)
{
    warprsa_key_use *header = &use->header;

    if (warprsa_vault_key_is_remote(use->key))
        return check_for_hosts(s, use);
    if (header->operation != WARPRSA_USE_SIGN ||
        header->padding == WARPRSA_PADDING_NONE)
        return true;
    if (!s->context->config.uses->encode(use->key, header, use->input,
                                         use->power, &use->task.errors))
        return false;
    memcpy(use->input, use->power, use->size);
    *header = (warprsa_key_use){.operation = WARPRSA_USE_SIGN,
                                .padding = WARPRSA_PADDING_NONE,
                                .input_bytes = (uint16_t)use->size};
    return true;
}

/* Called by a thread of the vault. */
static void computed(warprsa_use_task *task)
{
    warprsa_session_use *use =
        WARPRSA_CONTAINER_OF(task, warprsa_session_use, task);
    warprsa_session_host *host = use->pending->session->host;

    host->push_answered(host, use->pending);
}

/* Has a thread of the vault compute the use, or a GPU host that has the key; of
 * one that an engine has computed, what is to be done then. False: they have
 * too much to do. */
static bool compute(const warprsa_session *s, warprsa_session_use *use)
{
    const warprsa_use_operations *uses = s->context->config.uses;

    use->task = (warprsa_use_task){
        .owner = s->user.owner,
        .key = use->key,
        .use = &use->header,
        .input = use->input,
        .number = use->power,
        .power = use->by_engine ? use->power : NULL,
        .answer = use->answer,
        .done = computed,
    };
    use->is_computed = true;
    if (uses->compute(uses->arg, &use->task))
        return true;
    use->is_computed = false;
    return false;
}

/* Has the queue compute the use, or else a thread of the vault. */
static bool submit(const warprsa_session *s, warprsa_pending *p,
                   warprsa_key *key)
{
    const warprsa_notify notify = {.wake = warprsa_session_queue_answered,
                                   .arg = p};

    return (key != NULL &&
            memcmp(p->use->input, warprsa_key_modulus(key), p->use->size) < 0 &&
            warprsa_queue_submit(s->context->config.queue, key, p->use->input,
                                 notify, &p->ticket) == WARPRSA_DONE) ||
           compute(s, p->use);
}

/* How a use ended that was computed. */
static ending ending_of(const warprsa_session_use *use)
{
    if (use->task.is_late)
        return later;
    if (use->task.denial != WARPRSA_ALLOWED)
        return denied(use->task.denial);
    return (ending){.answer = use->task.has_answer ? WARPRSA_USE_DONE
                                                   : WARPRSA_USE_FAILED,
                    .errors = use->task.errors};
}

/* The client asks again, and its user does not pay twice for it. */
static void give_back(const warprsa_session *s, warprsa_session_use *use)
{
    warprsa_vault_user user;

    warprsa_peer_user(&s->peer, s->user.identity, &user);
    warprsa_vault_give_back(use->key, &user, &use->paid);
}

static void end_use(warprsa_session *s, warprsa_pending *p, const ending *end)
{
    if (end->answer == WARPRSA_USE_LATER)
        give_back(s, p->use);
    warprsa_session_use_free(p->use);
    p->use = NULL;
    p->busy = false;
    s->in_flight--;
    if (!s->closed)
        answer(s, (uint32_t)(p - s->pending), p->generation, p->notifier, end);
}

void warprsa_session_serve_use(warprsa_session *s, uint32_t slot,
                               const warprsa_shm_request *request,
                               warprsa_session_key *key)
{
    warprsa_pending *p = &s->pending[slot];
    ending end = later;

    if (!atomic_load(&s->context->stopping))
        end = begin(s, slot, key, &p->use);
    if (end.answer != WARPRSA_USE_PENDING) {
        answer(s, slot, request->generation, request->notifier, &end);
        return;
    }
    p->session = s;
    p->generation = request->generation;
    p->notifier = request->notifier;
    p->begun_ns = s->now_ns;
    p->busy = true;
    p->use->pending = p;
    s->in_flight++;
    if (!pad(s, p->use)) {
        end = ending_of(p->use);
        end_use(s, p, &end);
    } else if (!submit(s, p, key->key)) {
        end_use(s, p, &later);
    }
}

/* Takes the result of the private operation from the queue. False: the queue
 * has refused the request. */
static bool collect(const warprsa_session *s, warprsa_pending *p)
{
    warprsa_outcome outcome;

    /* Never PENDING: there is an answer, or the deadline has passed. */
    p->use->by_engine =
        warprsa_queue_collect(s->context->config.queue, p->ticket,
                              p->use->power, &outcome) == WARPRSA_DONE;
    p->use->on_cpus = outcome.on_cpus;
    return p->use->by_engine;
}

/* Goes on with a use that the queue has answered. False: a thread of the vault
 * goes on with it. */
static bool go_on(const warprsa_session *s, warprsa_pending *p, ending *end)
{
    const warprsa_use_operations *uses = s->context->config.uses;
    warprsa_session_use *use = p->use;

    *end = later;
    if (!collect(s, p))
        return s->closed || !compute(s, use);
    if (s->closed)
        return true;
    if (!uses->is_quick(&use->header) && compute(s, use))
        return false;
    use->task.has_answer =
        uses->finish(use->key, &use->header, use->input, use->power,
                     use->answer, &use->task.length, &use->task.errors);
    *end = ending_of(use);
    return true;
}

static bool is_by_libcrypto(const warprsa_session_use *use)
{
    return !use->by_engine && !warprsa_vault_key_is_remote(use->key);
}

/* Writes a result into the client's memory. */
static void give(const warprsa_session *s, const warprsa_pending *p)
{
    const uint32_t slot = (uint32_t)(p - s->pending);
    const warprsa_session_use *use = p->use;
    warprsa_shm_slot *to = &s->shm.slot[slot];

    memcpy(s->shm.use[slot].number, use->answer, use->task.length);
    to->bytes = use->task.length;
    to->took_ns = s->now_ns - p->begun_ns;
    to->on_cpus = use->on_cpus;
    to->by_libcrypto = is_by_libcrypto(use);
}

void warprsa_session_complete_use(warprsa_session *s, warprsa_pending *p)
{
    warprsa_counters *counters = s->context->config.counters;
    ending end;

    if (p->use->is_computed)
        end = ending_of(p->use);
    else if (!go_on(s, p, &end))
        return;
    if (end.answer == WARPRSA_USE_DONE) {
        warprsa_count(&counters->vault_uses, 1);
        if (is_by_libcrypto(p->use))
            warprsa_count(&counters->vault_libcrypto, 1);
        if (warprsa_vault_key_is_remote(p->use->key))
            warprsa_count(&counters->vault_remote, 1);
        if (!s->closed)
            give(s, p);
    }
    end_use(s, p, &end);
}
