/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Uses of keys of the vault; see session_uses.h.
 *
 * A client learns no more of a use that fails than libcrypto would have told
 * it: that there is no result. Whom no rule of a key names learns no more than
 * if the vault did not have it.
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

static void answer(warprsa_session *s, const warprsa_answer_to *whom,
                   const ending *end, warprsa_answering *answering)
{
    warprsa_shm_slot *to = &s->shm.slot[whom->slot];

    to->use_answer = end->answer;
    to->denial = end->denial;
    to->errors = end->errors;
    if (end->answer == WARPRSA_USE_DENIED)
        warprsa_count(&s->context->config.counters->vault_denials, 1);
    warprsa_session_answer(s, whom,
                           end->answer == WARPRSA_USE_DONE ? WARPRSA_DONE
                                                           : WARPRSA_REFUSED,
                           WARPRSA_CPU_ERROR, answering);
}

/* A client can ask for any digest at all. The vault logs all other denials. */
static ending no_key(const warprsa_session *s, const warprsa_session_key *key)
{
    const uint8_t *of = key->vault->spki_sha256;

    warprsa_server_log_about(
        s->context, s->user.owner, 0,
        "process %d (user %u)%s%s is denied a use of a key that the vault has "
        "not: spki_sha256 %02x%02x%02x%02x...",
        (int)s->peer.by.pid, (unsigned)s->peer.by.uid, WARPRSA_SESSION_FOR(s),
        of[0], of[1], of[2], of[3]);
    return denied(WARPRSA_DENIED_NO_KEY);
}

/* Finds a key again that the vault has removed meanwhile: a reload may have
 * given it another name, or made it a key of GPU hosts. False: the vault has
 * not removed it, or does not have it any more. */
static bool find_again(const warprsa_session *s, warprsa_pending *p)
{
    warprsa_vault_key *found = NULL;

    if (!warprsa_vault_key_is_removed(p->vault_key))
        return false;
    found = warprsa_vault_find(s->context->config.vault,
                               warprsa_vault_key_spki_sha256(p->vault_key));
    if (found == NULL)
        return false;
    warprsa_vault_key_release(p->vault_key);
    p->vault_key = found;
    /* The queue's key has the same numbers, but a GPU host's key is none for
     * this queue. */
    if (warprsa_vault_key_is_remote(found)) {
        warprsa_key_release(p->key);
        p->key = NULL;
    }
    return true;
}

/* Whether this user may have the use of p's key. The vault may remove the key
 * just before it is asked, and have it under another name. */
static warprsa_denial may(const warprsa_session *s, warprsa_pending *p,
                          const warprsa_vault_user *user,
                          const warprsa_key_use *header,
                          warprsa_vault_paid *paid)
{
    warprsa_denial denial;

    do
        denial = warprsa_vault_may(p->vault_key, user, header, paid);
    while (denial == WARPRSA_DENIED_NO_KEY && find_again(s, p));
    return denial;
}

/* What the client is told of a denial that the vault has counted and logged. */
static ending told(warprsa_denial denial)
{
    return denied(denial == WARPRSA_DENIED_USER ? WARPRSA_DENIED_NO_KEY
                                                : denial);
}

/* Whether the client may have this use: PENDING, and p->use is filled in; or
 * how it ends. */
static ending begin(warprsa_pending *p)
{
    const warprsa_session *s = p->session;
    const uint32_t slot = (uint32_t)(p - s->pending);
    warprsa_vault_user user;
    warprsa_key_use header;
    warprsa_vault_paid paid;
    warprsa_denial denial;

    if (s->closed || atomic_load(&s->context->stopping))
        return later;
    warprsa_shm_copy_header(&s->shm, slot, &header);
    warprsa_peer_user(&s->peer, s->user.identity, &user);
    (void)find_again(s, p);
    if (warprsa_key_use_fault(
            &header, warprsa_vault_key_modulus_bytes(p->vault_key)) != NULL)
        return warprsa_vault_may_know(p->vault_key, &user)
                   ? failed
                   : denied(WARPRSA_DENIED_NO_KEY);
    denial = may(s, p, &user, &header, &paid);
    if (denial != WARPRSA_ALLOWED)
        return told(denial);
    p->use = warprsa_session_use_new(p->vault_key, &header);
    if (p->use == NULL) {
        warprsa_vault_give_back(p->vault_key, &user, &paid);
        return later;
    }
    p->use->pending = p;
    p->use->paid = paid;
    warprsa_shm_copy_input(&s->shm, slot, p->use->input, header.input_bytes);
    return pending;
}

/* Whether GPU hosts take what is to be signed, or to be decrypted without a
 * padding: an error costs no way to them, and none that they then claim is
 * believed. What encode() makes is compared with their answer, but for PSS,
 * whose salt they choose: nobody needs the number. */
static bool check_for_hosts(const warprsa_session *s, warprsa_session_use *use)
{
    uint8_t *number =
        use->header.padding == WARPRSA_PADDING_PSS ? NULL : use->power;

    return !warprsa_use_is_checkable(&use->header) ||
           s->context->config.uses->encode(use->key, &use->header, use->input,
                                           number, &use->task.errors);
}

/* Pads what is to be signed; of keys of GPU hosts, checks the input. From then
 * on the use is one of the number that this has made. */
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

    warprsa_session_queue_answered(use->pending);
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

/* Has the queue compute the use, or else a thread of the vault, or a GPU host.
 * A key of GPU hosts has no numbers for the queue, so p->key is NULL. */
static bool submit(const warprsa_session *s, warprsa_pending *p)
{
    warprsa_key *key = p->key;
    const warprsa_notify notify = {.wake = warprsa_session_queue_answered,
                                   .arg = p};

    if (key == NULL ||
        memcmp(p->use->input, warprsa_key_modulus(key), p->use->size) >= 0 ||
        warprsa_queue_submit(s->context->config.queue, key, p->use->input,
                             notify, &p->ticket) != WARPRSA_DONE)
        return compute(s, p->use);
    /* The ticket is valid. Only this thread goes on with the use, later. */
    atomic_store(&p->stage, WARPRSA_STAGE_QUEUED);
    return true;
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

/* The slot may be the client's again as soon as the stage says so: nothing of
 * the request is looked at after that. The session stays, since the calling
 * thread is the event loop's, or one that this waits for. */
static void end_use(warprsa_pending *p, const ending *end,
                    warprsa_answering *answering)
{
    warprsa_session *s = p->session;
    const warprsa_answer_to to = warprsa_session_answer_to(s, p);

    if (end->answer == WARPRSA_USE_LATER && p->use != NULL)
        give_back(s, p->use);
    warprsa_session_use_free(p->use);
    p->use = NULL;
    atomic_store(&p->stage, WARPRSA_STAGE_NONE);
    if (!s->closed)
        answer(s, &to, end, answering);
    s->in_flight--;
}

/* Lets go of what the key of a use stands for. */
static void release(warprsa_pending *p)
{
    warprsa_vault_key_release(p->vault_key);
    warprsa_key_release(p->key);
    p->vault_key = NULL;
    p->key = NULL;
}

bool warprsa_session_take_use(warprsa_session *s, warprsa_pending *p,
                              warprsa_session_key *key)
{
    const warprsa_vault *vault = s->context->config.vault;
    /* After a start the keys may come later than the clients. */
    const bool has_all = vault == NULL || warprsa_vault_is_filled(vault);
    const warprsa_answer_to to = warprsa_session_answer_to(s, p);
    ending end = later;

    /* A client that asks again and again would have a use under way each time
     * that the loop looks whether it can end. */
    if (!atomic_load(&s->context->stopping)) {
        p->vault_key = warprsa_session_find_key(s, key);
        if (p->vault_key == NULL && has_all)
            end = no_key(s, key);
    }
    if (p->vault_key == NULL) {
        answer(s, &to, &end, &s->host->answering);
        return false;
    }
    warprsa_vault_key_hold(p->vault_key);
    p->key = key->key;
    if (p->key != NULL)
        warprsa_key_hold(p->key);
    atomic_store(&p->stage, WARPRSA_STAGE_TAKEN);
    s->in_flight++;
    return true;
}

static void begin_use(warprsa_pending *p, warprsa_taker *taker,
                      warprsa_answering *answering)
{
    const warprsa_session *s = p->session;
    ending end;

    p->taker = taker;
    end = begin(p);
    if (end.answer == WARPRSA_USE_PENDING && !pad(s, p->use))
        end = ending_of(p->use);
    if (end.answer == WARPRSA_USE_PENDING && !submit(s, p))
        end = later;
    release(p);
    if (end.answer != WARPRSA_USE_PENDING)
        end_use(p, &end, answering);
}

void warprsa_session_begin_uses(warprsa_pending *first, warprsa_taker *taker,
                                warprsa_answering *answering)
{
    const warprsa_use_operations *uses = first->session->context->config.uses;

    while (first != NULL) {
        warprsa_pending *p = first;

        first = p->next;
        begin_use(p, taker, answering);
    }
    if (uses->send != NULL)
        uses->send(uses->arg);
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
 * goes on with it. No GPU host does, so there is nothing to send(): the queue
 * has no key of GPU hosts (submit()). */
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
static void give(const warprsa_session *s, const warprsa_pending *p,
                 uint64_t now_ns)
{
    const uint32_t slot = (uint32_t)(p - s->pending);
    const warprsa_session_use *use = p->use;
    warprsa_shm_slot *to = &s->shm.slot[slot];

    memcpy(s->shm.use[slot].number, use->answer, use->task.length);
    to->bytes = use->task.length;
    to->took_ns = now_ns - p->begun_ns;
    to->on_cpus = use->on_cpus;
    to->by_libcrypto = is_by_libcrypto(use);
}

void warprsa_session_complete_use(warprsa_pending *p, uint64_t now_ns,
                                  warprsa_answering *answering)
{
    const warprsa_session *s = p->session;
    warprsa_counters *counters = s->context->config.counters;
    ending end;

    atomic_store(&p->stage, WARPRSA_STAGE_TAKEN);
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
            give(s, p, now_ns);
    }
    end_use(p, &end, answering);
}
