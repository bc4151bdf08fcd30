/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A GPU host and its uses; see use_host.h.
 *
 * Two threads: this module's own connects, sends and ends sessions; the link's
 * reads. What both need is under the lock of the uses. A use that is being
 * judged is the reading thread's alone.
 */
#include "batching/remote/uses/use_host.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/base/clock.h"
#include "batching/base/create_thread.h"
#include "batching/queue/counters.h"
#include "batching/remote/engine/link.h"
#include "batching/remote/engine/trust.h"
#include "batching/remote/uses/use_pause.h"
#include "batching/remote/uses/use_results.h"

enum {
    FLIGHT_MAX = 16384, /* uses that one host has, whatever it grants */
    LOOK_MS = 500,      /* at least so often it looks whether it is to go on */
    PAUSE_MS = 20,      /* of a host that has no room or no device just now */
    NAME_SIZE = WARPRSA_ADDRESS_HOST + WARPRSA_ADDRESS_PORT + 2,
};

struct warprsa_use_host {
    warprsa_uses_core *core;
    unsigned place;
    pthread_t thread;
    /* Its own thread's. */
    warprsa_trust trust;
    warprsa_address address;
    char name[NAME_SIZE];
    char complaint[WARPRSA_TLS_WHY]; /* the last reason for no session */
    warprsa_use_pause pause;
    uint64_t removed_ns; /* when the list had it no more; 0: it has it */
    /* Under the lock. */
    pthread_cond_t changed;
    warprsa_link *link; /* NULL: no session */
    bool is_idle;       /* the thread waits for work */
    bool lost, draining, wrong;
    bool refused; /* to sign what is valid; the reading thread's in a session */
    bool silent;  /* others get its uses, until it answers something */
    bool answered; /* something in this session */
    /* Keys that it was told of and has not said anything about yet; the reading
     * thread looks without the lock. */
    atomic_uint told;
    char why[WARPRSA_TLS_WHY];
    uint64_t took_ns; /* the last answer in this session */
    uint64_t paused_until_ns;
    uint32_t keys_max, room; /* uses it may have at once */
    unsigned count;          /* that it has */
    struct warprsa_remote_use_list sent;
    warprsa_remote_use **flight; /* by id; NULL: free */
    uint32_t *free_ids;          /* `room` - `count` of them */
};

/* ---- What is sent; with the lock held ---- */

static bool takes_more(const warprsa_use_host *host)
{
    return host->link != NULL && !host->lost && !host->draining &&
           !host->silent && host->count < host->room &&
           warprsa_clock_ns() >= host->paused_until_ns;
}

/* Tells the host of a key, before the first operation with it. False: it knows
 * no such number, or there is no memory. */
static bool tell_key(warprsa_use_host *host, warprsa_use_key *key)
{
    enum {
        ROOM = 64
    };
    const uint32_t bit = UINT32_C(1) << host->place;
    uint8_t *to = NULL;

    if ((key->told & bit) != 0)
        return true;
    if (key->number >= host->keys_max)
        return false;
    to = warprsa_link_begin(host->link, ROOM);
    if (to == NULL)
        return false;
    atomic_fetch_add(&host->told, 1);
    warprsa_link_end(host->link, warprsa_remote_write_load_key_by_spki(
                                     to, ROOM, key->number,
                                     warprsa_vault_key_spki_sha256(key->key)));
    key->told |= bit;
    return true;
}

static void send_back(warprsa_use_host *host, warprsa_remote_use *use)
{
    warprsa_count(&host->core->config.daemon.counters->vault_remote_moved, 1);
    warprsa_waiting_uses_add_again(&host->core->waiting, use);
}

/* Takes up to `most` uses that wait, and gives them numbers. */
static unsigned take(warprsa_use_host *host, warprsa_remote_use **uses,
                     unsigned most)
{
    const uint64_t now_ns = warprsa_clock_ns();
    unsigned count = 0;

    while (count < most && host->count < host->room) {
        warprsa_remote_use *use =
            warprsa_waiting_uses_take(&host->core->waiting, host->place);

        if (use == NULL)
            break;
        if (!tell_key(host, use->key)) {
            use->refused |= UINT32_C(1) << host->place;
            send_back(host, use);
            continue;
        }
        use->sent_ns = now_ns;
        use->is_sent = true;
        use->id = host->free_ids[host->room - ++host->count];
        host->flight[use->id] = use;
        TAILQ_INSERT_TAIL(&host->sent, use, link);
        uses[count++] = use;
    }
    return count;
}

/* What a message with these uses may need. */
static size_t room_for(warprsa_remote_use *const *uses, unsigned count)
{
    size_t room = WARPRSA_REMOTE_PREFIX + 64;

    for (unsigned i = 0; i < count; i++)
        room += WARPRSA_REMOTE_USE_MAX - WARPRSA_VAULT_MODULUS_BYTES_MAX +
                uses[i]->task->use->input_bytes;
    return room;
}

/* Sends uses in one message. False: no memory. */
static bool send_uses(warprsa_use_host *host, warprsa_remote_use *const *uses,
                      unsigned count)
{
    warprsa_remote_operation operations[WARPRSA_REMOTE_BATCH_MAX];
    const size_t room = room_for(uses, count);
    uint8_t *to = warprsa_link_begin(host->link, room);

    if (to == NULL)
        return false;
    for (unsigned i = 0; i < count; i++) {
        const warprsa_use_task *task = uses[i]->task;

        operations[i] = (warprsa_remote_operation){
            .id = uses[i]->id,
            .key = uses[i]->key->number,
            .bytes = task->use->input_bytes,
            .input = task->input,
            .use = task->use,
        };
    }
    warprsa_link_end(host->link, warprsa_remote_write_operations(
                                     to, room, operations, count));
    return true;
}

/* Sends what waits, one message at most. Whether there was something. */
static bool send_some(warprsa_use_host *host)
{
    warprsa_remote_use *uses[WARPRSA_REMOTE_BATCH_MAX];
    const unsigned count =
        takes_more(host) ? take(host, uses, WARPRSA_REMOTE_BATCH_MAX) : 0;

    if (count == 0)
        return false;
    if (!send_uses(host, uses, count)) {
        host->lost = true; /* all of its uses wait again */
        snprintf(host->why, sizeof(host->why), "no memory");
    }
    if (host->core->waiting.count > 0)
        warprsa_use_hosts_wake(host->core);
    return true;
}

void warprsa_use_host_unload(warprsa_use_host *host, const warprsa_use_key *key)
{
    enum {
        ROOM = 32
    };
    uint8_t *to = NULL;

    if (host->link == NULL || (key->told & UINT32_C(1) << host->place) == 0)
        return;
    to = warprsa_link_begin(host->link, ROOM);
    if (to != NULL)
        warprsa_link_end(
            host->link, warprsa_remote_write_unload_key(to, ROOM, key->number));
}

/* ---- What the host sends; by the link's thread ---- */

/* With the lock held: takes a use out of those that the host has. */
static void take_out(warprsa_use_host *host, warprsa_remote_use *use)
{
    use->is_sent = false;
    host->flight[use->id] = NULL;
    host->free_ids[host->room - host->count--] = use->id;
    TAILQ_REMOVE(&host->sent, use, link);
}

/* With the lock held: the uses that a message answers, without those that
 * nobody waits for any more. NULL, or what is wrong with the message. */
static const char *find_uses(warprsa_use_host *host,
                             const warprsa_remote_response *r,
                             warprsa_judged_use *judged, size_t *count)
{
    const uint64_t now_ns = warprsa_clock_ns();

    *count = 0;
    host->silent = false;
    for (size_t i = 0; i < r->count; i++) {
        const uint32_t id = r->result[i].id;
        warprsa_remote_use *use = id < host->room ? host->flight[id] : NULL;

        if (use == NULL)
            return "a result that nobody waits for";
        take_out(host, use);
        host->took_ns = now_ns - use->sent_ns;
        if (use->task == NULL) {
            warprsa_uses_forget(use);
            continue;
        }
        use->is_judged = true;
        judged[(*count)++] =
            (warprsa_judged_use){.use = use, .result = &r->result[i]};
    }
    return NULL;
}

/* With the lock held: a use that this host has not done waits for another; or
 * ends, if none of the list has its key. */
static void move(warprsa_use_host *host, warprsa_judged_use *one,
                 uint32_t hosts)
{
    warprsa_remote_use *use = one->use;

    if (one->verdict == WARPRSA_USE_MOVES)
        host->paused_until_ns =
            warprsa_clock_ns() + PAUSE_MS * WARPRSA_NS_PER_MS;
    else
        use->refused |= UINT32_C(1) << host->place;
    if (one->verdict == WARPRSA_USE_NO_KEY)
        use->lacks |= UINT32_C(1) << host->place;
    if (warprsa_use_lacks_key(use, hosts)) {
        use->task->denial = WARPRSA_DENIED_NO_KEY;
        one->verdict = WARPRSA_USE_ENDS;
        return;
    }
    use->is_judged = false;
    send_back(host, use);
}

/* With the lock held: what the verdicts mean for the host. NULL, or why the
 * session ends. */
static const char *settle(warprsa_use_host *host, warprsa_judged_use *judged,
                          size_t count)
{
    warprsa_counters *counters = host->core->config.daemon.counters;
    const uint32_t hosts = warprsa_use_hosts_listed();
    const char *wrong = NULL;
    size_t moved = 0;

    for (size_t i = 0; i < count; i++) {
        if (judged[i].verdict == WARPRSA_USE_ENDS) {
            host->answered = true;
            continue;
        }
        moved++;
        if (judged[i].verdict == WARPRSA_USE_WRONG) {
            host->wrong = true;
            warprsa_count(&counters->vault_remote_wrong, 1);
            wrong = "a signature is wrong";
        } else if (judged[i].verdict == WARPRSA_USE_BREACH) {
            wrong = "a result of the wrong length";
        }
        move(host, &judged[i], hosts);
    }
    if (moved > 0)
        warprsa_use_hosts_wake_all(host->core);
    return wrong;
}

/* Once in a session. */
static void say_no_key(warprsa_use_host *host, const warprsa_judged_use *one)
{
    const uint32_t bit = UINT32_C(1) << host->place;
    warprsa_use_key *key = one->use->key;

    if ((atomic_fetch_or(&key->lacks, bit) & bit) == 0)
        warprsa_uses_say_about(host->core, host->place, 0, "key %s: host %s %s",
                               warprsa_vault_key_name(key->key), host->name,
                               one->result->status == WARPRSA_REMOTE_UNSUPPORTED
                                   ? "takes no uses of keys of its own"
                                   : "does not have it");
}

/* Once in a session. */
static void say_refused(warprsa_use_host *host, const warprsa_judged_use *one)
{
    if (!host->refused)
        warprsa_uses_say_about(
            host->core, host->place, 0,
            "key %s: host %s refuses to sign, as invalid, what is valid here; "
            "others are asked",
            warprsa_vault_key_name(one->use->key->key), host->name);
    host->refused = true;
}

static void say_denial(const warprsa_use_host *host,
                       const warprsa_judged_use *one)
{
    const warprsa_use_task *task = one->use->task;
    warprsa_uses_core *core = host->core;

    if (warprsa_log_budgets_take(&core->budgets, task->owner,
                                 warprsa_clock_ns()))
        warprsa_uses_say(
            core, 0,
            "key %s: denied by host %s: %s, padding %s, digest %s: there %s",
            warprsa_vault_key_name(task->key), host->name,
            warprsa_use_operation_name(task->use->operation),
            warprsa_use_padding_name(task->use->padding),
            warprsa_use_digest_name(task->use->digest),
            warprsa_denial_text(task->denial));
}

/* Ends uses that have been judged. */
static void end_uses(warprsa_use_host *host, warprsa_judged_use *judged,
                     size_t count)
{
    warprsa_use_task *tasks[WARPRSA_REMOTE_BATCH_MAX];
    size_t ended = 0;

    pthread_mutex_lock(&host->core->lock);
    for (size_t i = 0; i < count; i++)
        if (judged[i].verdict == WARPRSA_USE_ENDS) {
            tasks[ended++] = judged[i].use->task;
            TAILQ_REMOVE(&host->core->all, judged[i].use, all);
            warprsa_uses_forget(judged[i].use);
        }
    pthread_mutex_unlock(&host->core->lock);
    for (size_t i = 0; i < ended; i++)
        tasks[i]->done(tasks[i]);
}

static const char *take_results(warprsa_use_host *host,
                                const warprsa_remote_response *r)
{
    warprsa_uses_core *core = host->core;
    warprsa_judged_use judged[WARPRSA_REMOTE_BATCH_MAX];
    const char *strange = NULL, *wrong = NULL;
    size_t count = 0;

    pthread_mutex_lock(&core->lock);
    strange = find_uses(host, r, judged, &count);
    pthread_cond_signal(&host->changed); /* there is room */
    pthread_mutex_unlock(&core->lock);
    warprsa_use_results_judge(judged, count, core->config.verify);
    for (size_t i = 0; i < count; i++)
        if (judged[i].verdict == WARPRSA_USE_NO_KEY)
            say_no_key(host, &judged[i]);
        else if (judged[i].verdict == WARPRSA_USE_LEAVES &&
                 judged[i].result->status == WARPRSA_REMOTE_INVALID)
            say_refused(host, &judged[i]);
        else if (judged[i].verdict == WARPRSA_USE_ENDS &&
                 judged[i].use->task->denial != WARPRSA_ALLOWED)
            say_denial(host, &judged[i]);
    pthread_mutex_lock(&core->lock);
    wrong = settle(host, judged, count);
    pthread_mutex_unlock(&core->lock);
    end_uses(host, judged, count);
    return strange != NULL ? strange : wrong;
}

/* A host that has no room for a key just now is told of it again with the next
 * use. What else is wrong with a key shows in the operations. It says one thing
 * of each key that it was told of: more would be work for everybody who needs
 * the lock. NULL, or what is wrong. */
static const char *take_key_loaded(warprsa_use_host *host,
                                   const warprsa_remote_response *r)
{
    warprsa_use_key *key = NULL;

    if (atomic_load(&host->told) == 0)
        return "it speaks of a key that it was not told of";
    atomic_fetch_sub(&host->told, 1);
    if (r->status != WARPRSA_REMOTE_THROTTLED)
        return NULL;
    pthread_mutex_lock(&host->core->lock);
    key = warprsa_use_keys_number(&host->core->keys, r->key);
    if (key != NULL) {
        warprsa_use_host_unload(host, key);
        key->told &= ~(UINT32_C(1) << host->place);
    }
    pthread_mutex_unlock(&host->core->lock);
    return NULL;
}

static const char *take_response(void *arg, const warprsa_remote_response *r)
{
    warprsa_use_host *host = arg;

    if (r->kind == WARPRSA_REMOTE_RESULTS)
        return take_results(host, r);
    if (r->kind == WARPRSA_REMOTE_KEY_LOADED)
        return take_key_loaded(host, r);
    if (r->kind == WARPRSA_REMOTE_DRAINING) {
        pthread_mutex_lock(&host->core->lock);
        host->draining = true;
        pthread_mutex_unlock(&host->core->lock);
    }
    return NULL;
}

static void lose(void *arg, const char *why)
{
    warprsa_use_host *host = arg;

    pthread_mutex_lock(&host->core->lock);
    host->lost = true;
    snprintf(host->why, sizeof(host->why), "%s", why);
    pthread_cond_signal(&host->changed);
    pthread_mutex_unlock(&host->core->lock);
}

static bool is_trusted(void *arg, SSL *ssl, char why[WARPRSA_TLS_WHY])
{
    warprsa_use_host *host = arg;
    const warprsa_network_daemon *daemon = &host->core->config.daemon;

    return warprsa_trust_holds(&host->trust, ssl, daemon->log, daemon->log_arg,
                               why);
}

static void take_traffic(void *arg, uint64_t sent, uint64_t received)
{
    (void)arg, (void)sent, (void)received;
}

static const warprsa_link_handlers handlers = {take_response, lose, is_trusted,
                                               take_traffic};

/* ---- Sessions; by the host's own thread ---- */

/* With the lock held: until there is a session, the host has room for no use,
 * and an answer is to none. */
static void take_room_away(warprsa_use_host *host)
{
    free(host->flight);
    free(host->free_ids);
    host->flight = NULL;
    host->free_ids = NULL;
    host->room = 0;
}

/* With the lock held: makes room for as many uses as the host grants. False: no
 * memory. */
static bool make_room(warprsa_use_host *host,
                      const warprsa_remote_welcome *welcome)
{
    const uint32_t room = welcome->operations_max < FLIGHT_MAX
                              ? welcome->operations_max
                              : FLIGHT_MAX;

    host->flight = calloc(room + 1, sizeof(*host->flight));
    host->free_ids = calloc(room + 1, sizeof(*host->free_ids));
    if (host->flight == NULL || host->free_ids == NULL) {
        take_room_away(host);
        return false;
    }
    for (uint32_t i = 0; i < room; i++)
        host->free_ids[i] = i;
    host->room = room;
    host->keys_max = welcome->keys_max;
    return true;
}

/* Connects. False: `why` says why not, and nothing is left. */
static bool open_session(warprsa_use_host *host, char *why, size_t why_size)
{
    warprsa_uses_core *core = host->core;
    warprsa_remote_welcome welcome;
    warprsa_link *link = NULL;

    pthread_mutex_lock(&core->lock);
    host->lost = host->draining = host->wrong = false;
    host->silent = host->answered = host->refused = false;
    host->took_ns = host->removed_ns = 0;
    atomic_store(&host->told, 0);
    pthread_mutex_unlock(&core->lock);
    if (!warprsa_trust_open(&host->trust, &core->config.tls, why, why_size))
        return false;
    link = warprsa_link_open(&host->trust.tls, &host->address, &handlers, host,
                             &welcome, why, why_size);
    pthread_mutex_lock(&core->lock);
    if (link != NULL && make_room(host, &welcome)) {
        warprsa_use_keys_forget(&core->keys, host->place);
        host->link = link;
        pthread_mutex_unlock(&core->lock);
        return true;
    }
    pthread_mutex_unlock(&core->lock);
    if (link != NULL) {
        snprintf(why, why_size, "no memory");
        warprsa_link_close(link);
    }
    warprsa_tls_leave(&host->trust.tls);
    warprsa_trust_close(&host->trust);
    return false;
}

/* Ends the session. All that the host has not answered waits for another. */
static void close_session(warprsa_use_host *host)
{
    warprsa_uses_core *core = host->core;
    warprsa_link *link = NULL;
    warprsa_remote_use *use = NULL;

    pthread_mutex_lock(&core->lock);
    link = host->link;
    host->link = NULL;
    pthread_mutex_unlock(&core->lock);
    warprsa_link_close(link);
    warprsa_tls_leave(&host->trust.tls);
    warprsa_trust_close(&host->trust);
    pthread_mutex_lock(&core->lock);
    while ((use = TAILQ_FIRST(&host->sent)) != NULL) {
        take_out(host, use);
        if (use->task == NULL)
            warprsa_uses_forget(use);
        else
            send_back(host, use);
    }
    take_room_away(host);
    warprsa_use_hosts_wake_all(core);
    pthread_mutex_unlock(&core->lock);
}

static bool is_same(const warprsa_address *a, const warprsa_address *b)
{
    return strcmp(a->host, b->host) == 0 && strcmp(a->port, b->port) == 0;
}

/* With the lock held: whether the session goes on. A host that was removed may
 * answer what it has, but not for long: another host may have its place, and
 * what it withholds waits for another host. */
static bool goes_on(warprsa_use_host *host)
{
    const uint64_t now_ns = warprsa_clock_ns();
    warprsa_address now;

    if (host->removed_ns == 0 &&
        (!warprsa_remote_hosts_get(host->place, &now) ||
         !is_same(&now, &host->address))) {
        host->draining = true;
        host->removed_ns = now_ns;
    }
    if (host->core->stopping || host->lost)
        return false;
    return host->removed_ns == 0 ||
           (host->count > 0 &&
            now_ns - host->removed_ns < warprsa_uses_patience_ns(host->core));
}

/* With the lock held: sleeps until something changes, for so long at most. */
static void sleep_for(warprsa_use_host *host, uint64_t ms)
{
    const struct timespec until =
        warprsa_timespec(warprsa_clock_ns() + ms * WARPRSA_NS_PER_MS);

    (void)pthread_cond_timedwait(&host->changed, &host->core->lock, &until);
}

/* Has the host work until the session is over. */
static void serve(warprsa_use_host *host)
{
    pthread_mutex_lock(&host->core->lock);
    while (goes_on(host)) {
        if (send_some(host))
            continue;
        host->is_idle = true;
        sleep_for(host, warprsa_clock_ns() < host->paused_until_ns ? PAUSE_MS
                                                                   : LOOK_MS);
        host->is_idle = false;
    }
    pthread_mutex_unlock(&host->core->lock);
}

/* Says why there is no session, once for each reason. */
static void complain(warprsa_use_host *host, const char *why)
{
    if (strcmp(why, host->complaint) != 0)
        warprsa_uses_say_about(host->core, host->place, 0,
                               "%s: no uses of its keys: %s", host->name, why);
    snprintf(host->complaint, sizeof(host->complaint), "%s", why);
}

/* A session, from its beginning to its end. How many milliseconds to wait
 * before the next one. */
static unsigned run_session(warprsa_use_host *host)
{
    warprsa_use_session session = {0};
    char why[WARPRSA_TLS_WHY];
    uint64_t begin_ns = 0;

    snprintf(host->name, sizeof(host->name), "%s:%s", host->address.host,
             host->address.port);
    if (!open_session(host, why, sizeof(why))) {
        complain(host, why);
        return warprsa_use_pause_after(&host->pause, &session);
    }
    begin_ns = warprsa_clock_ns();
    warprsa_uses_say_about(host->core, host->place, 1,
                           "%s: ready for uses of its keys", host->name);
    host->complaint[0] = '\0';
    serve(host);
    close_session(host);
    if (host->lost)
        complain(host, host->why);
    if (host->removed_ns != 0)
        return 0;
    session = (warprsa_use_session){.answered = host->answered,
                                    .wrong = host->wrong,
                                    .lasted_ns = warprsa_clock_ns() - begin_ns};
    return warprsa_use_pause_after(&host->pause, &session);
}

/* With the lock held: the host that the list has in this place now. Another one
 * than before has no pauses of that one. False: there is none. */
static bool find_address(warprsa_use_host *host)
{
    warprsa_address now;

    if (!warprsa_remote_hosts_get(host->place, &now))
        return false;
    if (!is_same(&now, &host->address))
        host->pause = (warprsa_use_pause){0};
    host->address = now;
    return true;
}

static void *run(void *arg)
{
    warprsa_use_host *host = arg;
    unsigned ms = 0;

    pthread_mutex_lock(&host->core->lock);
    while (!host->core->stopping) {
        if (ms > 0)
            sleep_for(host, ms);
        ms = LOOK_MS;
        if (host->core->stopping || !find_address(host))
            continue;
        pthread_mutex_unlock(&host->core->lock);
        ms = run_session(host);
        pthread_mutex_lock(&host->core->lock);
    }
    pthread_mutex_unlock(&host->core->lock);
    return NULL;
}

/* ---- For others ---- */

static bool init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    bool done = false;

    if (pthread_condattr_init(&attributes) != 0)
        return false;
    done = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
           pthread_cond_init(condition, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return done;
}

warprsa_use_host *warprsa_use_host_start(warprsa_uses_core *core,
                                         unsigned place)
{
    warprsa_use_host *host = calloc(1, sizeof(*host));

    if (host == NULL)
        return NULL;
    host->core = core;
    host->place = place;
    TAILQ_INIT(&host->sent);
    if (!init_condition(&host->changed)) {
        free(host);
        return NULL;
    }
    if (warprsa_create_thread(&host->thread, run, host) == 0)
        return host;
    pthread_cond_destroy(&host->changed);
    free(host);
    return NULL;
}

void warprsa_use_host_stop(warprsa_use_host *host)
{
    if (host == NULL)
        return;
    pthread_mutex_lock(&host->core->lock);
    pthread_cond_signal(&host->changed);
    pthread_mutex_unlock(&host->core->lock);
    pthread_join(host->thread, NULL);
    /* The threads of other hosts go on, and may still wake this one. */
    pthread_mutex_lock(&host->core->lock);
    host->core->hosts[host->place] = NULL;
    pthread_mutex_unlock(&host->core->lock);
    pthread_cond_destroy(&host->changed);
    free(host);
}

static void wake(warprsa_use_host *host)
{
    host->is_idle = false;
    pthread_cond_signal(&host->changed);
}

void warprsa_use_hosts_wake(warprsa_uses_core *core)
{
    warprsa_use_host *least = NULL;

    for (unsigned i = 0; i < WARPRSA_REMOTE_HOSTS_MAX; i++) {
        warprsa_use_host *host = core->hosts[i];

        if (host != NULL && host->is_idle && takes_more(host) &&
            (least == NULL || host->count < least->count))
            least = host;
    }
    if (least != NULL)
        wake(least);
}

void warprsa_use_hosts_wake_all(warprsa_uses_core *core)
{
    for (unsigned i = 0; i < WARPRSA_REMOTE_HOSTS_MAX; i++)
        if (core->hosts[i] != NULL && core->hosts[i]->is_idle)
            wake(core->hosts[i]);
}

uint32_t warprsa_use_hosts_listed(void)
{
    warprsa_address address;
    uint32_t listed = 0;

    for (unsigned i = 0; i < WARPRSA_REMOTE_HOSTS_MAX; i++)
        if (warprsa_remote_hosts_get(i, &address))
            listed |= UINT32_C(1) << i;
    return listed;
}

bool warprsa_use_lacks_key(const warprsa_remote_use *use, uint32_t hosts)
{
    return use->lacks != 0 && (hosts & ~use->lacks) == 0;
}

void warprsa_use_host_look(warprsa_use_host *host)
{
    pthread_cond_signal(&host->changed);
}

/* A bit for the place of each other host that takes uses now. */
static uint32_t others_of(const warprsa_use_host *host)
{
    const warprsa_uses_core *core = host->core;
    uint32_t others = 0;

    for (unsigned i = 0; i < WARPRSA_REMOTE_HOSTS_MAX; i++)
        if (core->hosts[i] != NULL && core->hosts[i] != host &&
            takes_more(core->hosts[i]))
            others |= UINT32_C(1) << i;
    return others;
}

/* Lets the task of a use that the host has wait again, as a use of its own: the
 * host's may still be answered. */
static void copy_back(warprsa_use_host *host, warprsa_remote_use *use)
{
    warprsa_uses_core *core = host->core;
    warprsa_remote_use *copy =
        warprsa_remote_use_new(&core->waiting, use->owner->id);

    if (copy == NULL)
        return;
    copy->task = use->task;
    copy->key = use->key;
    copy->key->uses++;
    copy->deadline_ns = use->deadline_ns;
    copy->refused = use->refused | UINT32_C(1) << host->place;
    copy->lacks = use->lacks;
    TAILQ_INSERT_BEFORE(use, copy, all);
    TAILQ_REMOVE(&core->all, use, all);
    use->task = NULL;
    send_back(host, copy);
}

void warprsa_use_host_take_back(warprsa_use_host *host, uint64_t now_ns,
                                uint64_t patience_ns)
{
    const uint32_t others = others_of(host);
    /* A host that is slow, but answers, gets more time; others keep some. */
    const uint64_t slow_ns =
        host->took_ns < 2 * patience_ns ? host->took_ns : 2 * patience_ns;
    warprsa_remote_use *use = NULL;
    bool took_back = false;

    TAILQ_FOREACH (use, &host->sent, link) {
        if (now_ns - use->sent_ns <= patience_ns + slow_ns)
            break;
        if (use->task == NULL || (others & ~use->refused) == 0)
            continue;
        copy_back(host, use);
        took_back = true;
    }
    if (!took_back)
        return;
    host->silent = true;
    warprsa_use_hosts_wake_all(host->core);
}
