/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a GPU host sends, by the link's thread: what results mean for its uses
 * and for the host; see use_connection.h.
 */
#include <stdio.h>

#include "batching/base/clock.h"
#include "batching/queue/counters.h"
#include "batching/remote/uses/use_connection.h"
#include "batching/remote/uses/use_results.h"

/* With the lock held: the use of a number. The thread that has sent it may not
 * have let go of it yet. NULL: there is none. */
static warprsa_remote_use *find_use(warprsa_use_connection *c, uint32_t id)
{
    warprsa_remote_use *use = id < c->room ? c->flight[id] : NULL;

    while (use != NULL && use->is_held)
        pthread_cond_wait(&c->written, &c->core->lock);
    return use;
}

/* With the lock held: the uses that a message answers, without those that
 * nobody waits for any more. NULL, or what is wrong with the message. */
static const char *find_uses(warprsa_use_connection *c,
                             const warprsa_remote_response *r,
                             warprsa_judged_use *judged, size_t *count)
{
    const uint64_t now_ns = warprsa_clock_ns();

    *count = 0;
    c->silent_ns = 0;
    c->heard_ns = now_ns;
    for (size_t i = 0; i < r->count; i++) {
        warprsa_remote_use *use = find_use(c, r->result[i].id);

        if (use == NULL)
            return "a result that nobody waits for";
        warprsa_use_connection_take_out(c, use);
        c->took_ns = now_ns - use->sent_ns;
        warprsa_use_host_pace(c->host, use, c->took_ns);
        if (use->sent_ns > c->answered_ns)
            c->answered_ns = use->sent_ns;
        if (use->task == NULL) {
            warprsa_uses_forget(use);
            continue;
        }
        use->is_held = true;
        judged[(*count)++] =
            (warprsa_judged_use){.use = use, .result = &r->result[i]};
    }
    return NULL;
}

/* Whether a host that gives a use back for now may take those of other owners.
 * UNAVAILABLE: its vault's threads have too much to do, as with a key that its
 * GPU does not take; or nothing can be computed there, which each owner finds
 * out. THROTTLED: over a limit that all owners here share; but of a key for
 * which there was no room, this key alone. */
static bool takes_others(const warprsa_use_connection *c,
                         const warprsa_judged_use *one)
{
    return one->result->status == WARPRSA_REMOTE_UNAVAILABLE ||
           (one->result->status == WARPRSA_REMOTE_THROTTLED &&
            (one->use->key->no_room & c->bit) != 0);
}

/* With the lock held: a host gets nothing for a while, or nothing of the owner
 * of a use that it has given back. */
static void pause_for(warprsa_use_connection *c, const warprsa_judged_use *one)
{
    const uint64_t until_ns =
        warprsa_clock_ns() + WARPRSA_USE_HOST_PAUSE_MS * WARPRSA_NS_PER_MS;

    if (!takes_others(c, one)) {
        c->host->paused_until_ns = until_ns;
        return;
    }
    one->use->owner->paused_until_ns[c->host->place] = until_ns;
    c->core->owners_paused_until_ns = until_ns;
}

/* With the lock held: a use that this host has not done waits for another; or
 * ends, if none of the list has its key. */
static void move(warprsa_use_connection *c, warprsa_judged_use *one,
                 uint32_t hosts)
{
    warprsa_remote_use *use = one->use;

    if (one->verdict == WARPRSA_USE_MOVES)
        pause_for(c, one);
    else
        use->refused |= UINT32_C(1) << c->host->place;
    if (one->verdict == WARPRSA_USE_NO_KEY)
        use->lacks |= UINT32_C(1) << c->host->place;
    if (warprsa_use_lacks_key(use, hosts)) {
        use->task->denial = WARPRSA_DENIED_NO_KEY;
        one->verdict = WARPRSA_USE_ENDS;
        return;
    }
    use->is_held = false;
    warprsa_use_connection_send_back(c, use);
}

/* With the lock held: what the verdicts mean for the host. NULL, or why the
 * sessions with it end, and whether it lies. */
static const char *settle(warprsa_use_connection *c, warprsa_judged_use *judged,
                          size_t count, bool *is_wrong)
{
    warprsa_counters *counters = c->core->config.daemon.counters;
    const uint32_t hosts = warprsa_use_hosts_listed();
    const char *wrong = NULL;
    size_t moved = 0;

    for (size_t i = 0; i < count; i++) {
        if (judged[i].verdict == WARPRSA_USE_ENDS) {
            c->answered = true;
            continue;
        }
        moved++;
        if (judged[i].verdict == WARPRSA_USE_WRONG) {
            *is_wrong = true;
            warprsa_count(&counters->vault_remote_wrong, 1);
            wrong = judged[i].use->task->use->operation == WARPRSA_USE_SIGN
                        ? "a signature is wrong"
                        : "a decryption without padding is wrong";
        } else if (judged[i].verdict == WARPRSA_USE_BREACH) {
            wrong = "a result of the wrong length";
        }
        move(c, &judged[i], hosts);
    }
    if (moved > 0)
        warprsa_use_hosts_wake_all(c->core);
    return wrong;
}

/* Once in a session. */
static void say_no_key(warprsa_use_connection *c, const warprsa_judged_use *one)
{
    const uint32_t bit = UINT32_C(1) << c->host->place;
    warprsa_use_key *key = one->use->key;

    if ((atomic_fetch_or(&key->lacks, bit) & bit) == 0)
        warprsa_uses_say_about(
            c->core, c->host->place, 0, "key %s: host %s %s",
            warprsa_vault_key_name(key->key), c->name,
            one->result->status == WARPRSA_REMOTE_UNSUPPORTED
                ? "takes no uses of keys of its own"
                : "does not have it, or allows this host nothing");
}

/* Once in a session. */
static void say_refused(warprsa_use_connection *c,
                        const warprsa_judged_use *one)
{
    if (!atomic_exchange(&c->host->refused, true))
        warprsa_uses_say_about(
            c->core, c->host->place, 0,
            "key %s: host %s refuses to %s, as invalid, what is valid here; "
            "others are asked",
            warprsa_vault_key_name(one->use->key->key), c->name,
            warprsa_use_operation_name(one->use->task->use->operation));
}

static void say_denial(const warprsa_use_connection *c,
                       const warprsa_judged_use *one)
{
    const warprsa_use_task *task = one->use->task;
    warprsa_uses_core *core = c->core;

    if (warprsa_log_budgets_take(&core->budgets, task->owner,
                                 warprsa_clock_ns()))
        warprsa_uses_say(
            core, 0,
            "key %s: denied by host %s: %s, padding %s, digest %s: there %s",
            warprsa_vault_key_name(task->key), c->name,
            warprsa_use_operation_name(task->use->operation),
            warprsa_use_padding_name(task->use->padding),
            warprsa_use_digest_name(task->use->digest),
            warprsa_denial_text(task->denial));
}

/* With the lock held: frees uses that end. How many tasks have had them. */
static size_t end_uses(warprsa_use_connection *c,
                       const warprsa_judged_use *judged, size_t count,
                       warprsa_use_task *tasks[WARPRSA_REMOTE_BATCH_MAX])
{
    size_t ended = 0;

    for (size_t i = 0; i < count; i++)
        if (judged[i].verdict == WARPRSA_USE_ENDS) {
            tasks[ended++] = judged[i].use->task;
            TAILQ_REMOVE(&c->core->all, judged[i].use, all);
            warprsa_uses_forget(judged[i].use);
        }
    return ended;
}

/* Says what the log is to have of answers. */
static void say_all(warprsa_use_connection *c, const warprsa_judged_use *judged,
                    size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (judged[i].verdict == WARPRSA_USE_NO_KEY)
            say_no_key(c, &judged[i]);
        else if (judged[i].verdict == WARPRSA_USE_LEAVES &&
                 judged[i].result->status == WARPRSA_REMOTE_INVALID)
            say_refused(c, &judged[i]);
        else if (judged[i].verdict == WARPRSA_USE_ENDS &&
                 judged[i].use->task->denial != WARPRSA_ALLOWED)
            say_denial(c, &judged[i]);
}

static const char *take_results(warprsa_use_connection *c,
                                const warprsa_remote_response *r)
{
    warprsa_uses_core *core = c->core;
    warprsa_judged_use judged[WARPRSA_REMOTE_BATCH_MAX];
    warprsa_use_task *tasks[WARPRSA_REMOTE_BATCH_MAX];
    const char *strange = NULL, *wrong = NULL;
    bool is_wrong = false;
    size_t count = 0, ended = 0;

    pthread_mutex_lock(&core->lock);
    strange = find_uses(c, r, judged, &count);
    pthread_cond_signal(&c->changed); /* there is room */
    pthread_mutex_unlock(&core->lock);
    warprsa_use_results_judge(judged, count, core->config.verify);
    say_all(c, judged, count);
    pthread_mutex_lock(&core->lock);
    wrong = settle(c, judged, count, &is_wrong);
    ended = end_uses(c, judged, count, tasks);
    wrong = strange != NULL ? strange : wrong;
    if (wrong != NULL)
        warprsa_use_host_give_up(c->host, is_wrong, wrong);
    pthread_mutex_unlock(&core->lock);
    for (size_t i = 0; i < ended; i++)
        tasks[i]->done(tasks[i]);
    return wrong;
}

/* A host that has no room for a key just now is told of it again with the next
 * use. What else is wrong with a key shows in the operations. It says one thing
 * of each key that it was told of: more would be work for everybody who needs
 * the lock. NULL, or what is wrong. */
static const char *take_key_loaded(warprsa_use_connection *c,
                                   const warprsa_remote_response *r)
{
    warprsa_use_key *key = NULL;

    if (atomic_load(&c->told) == 0)
        return "it speaks of a key that it was not told of";
    atomic_fetch_sub(&c->told, 1);
    pthread_mutex_lock(&c->core->lock);
    key = warprsa_use_keys_number(&c->core->keys, r->key);
    if (key != NULL && r->status == WARPRSA_REMOTE_THROTTLED) {
        key->no_room |= c->bit;
        warprsa_use_connection_unload(c, key);
    } else if (key != NULL) {
        key->no_room &= ~c->bit;
    }
    pthread_mutex_unlock(&c->core->lock);
    return NULL;
}

static const char *take_response(void *arg, const warprsa_remote_response *r)
{
    warprsa_use_connection *c = arg;

    if (r->kind == WARPRSA_REMOTE_RESULTS)
        return take_results(c, r);
    if (r->kind == WARPRSA_REMOTE_KEY_LOADED)
        return take_key_loaded(c, r);
    if (r->kind == WARPRSA_REMOTE_DRAINING) {
        pthread_mutex_lock(&c->core->lock);
        c->draining = true;
        pthread_mutex_unlock(&c->core->lock);
    }
    return NULL;
}

static void lose(void *arg, const char *why)
{
    warprsa_use_connection *c = arg;

    pthread_mutex_lock(&c->core->lock);
    warprsa_use_connection_lose(c, why);
    pthread_mutex_unlock(&c->core->lock);
}

static bool is_trusted(void *arg, SSL *ssl, char why[WARPRSA_TLS_WHY])
{
    warprsa_use_connection *c = arg;
    const warprsa_network_daemon *daemon = &c->core->config.daemon;

    return warprsa_trust_holds(&c->trust, ssl, daemon->log, daemon->log_arg,
                               why);
}

static void take_traffic(void *arg, uint64_t sent, uint64_t received)
{
    (void)arg, (void)sent, (void)received;
}

const warprsa_link_handlers warprsa_use_connection_handlers = {
    take_response, lose, is_trusted, take_traffic};
