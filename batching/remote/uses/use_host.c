/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sessions with a GPU host, and what others ask of it; see use_host.h.
 */
#include "batching/remote/uses/use_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/base/clock.h"
#include "batching/base/create_thread.h"
#include "batching/remote/uses/use_host_state.h"

enum {
    FLIGHT_MAX = 16384, /* uses that one host has, whatever it grants */
    LOOK_MS = 500,      /* at least so often it looks whether it is to go on */
};

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
    host->unnumbered[0] = '\0';
    host->is_unnumbered_said = false;
    atomic_store(&host->told, 0);
    pthread_mutex_unlock(&core->lock);
    if (!warprsa_trust_open(&host->trust, &core->config.tls, why, why_size))
        return false;
    link = warprsa_link_open(&host->trust.tls, &host->address,
                             &warprsa_use_host_handlers, host, &welcome, why,
                             why_size);
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
        warprsa_use_host_take_out(host, use);
        if (use->task == NULL)
            warprsa_uses_forget(use);
        else
            warprsa_use_host_send_back(host, use);
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

/* With the lock held, but for the line itself: says once in a session that the
 * host takes too few keys. Whether there was that to say. */
static bool say_unnumbered(warprsa_use_host *host)
{
    if (host->unnumbered[0] == '\0' || host->is_unnumbered_said)
        return false;
    host->is_unnumbered_said = true;
    pthread_mutex_unlock(&host->core->lock);
    warprsa_uses_say_about(host->core, host->place, 0,
                           "key %s: host %s takes only %u keys, which others "
                           "have: neither this key nor later ones go there",
                           host->unnumbered, host->name, host->keys_max);
    pthread_mutex_lock(&host->core->lock);
    return true;
}

/* Has the host work until the session is over. */
static void serve(warprsa_use_host *host)
{
    bool sent = false;

    pthread_mutex_lock(&host->core->lock);
    while (goes_on(host)) {
        sent = warprsa_use_host_send(host);
        /* What has come during the line has woken nobody. */
        if (say_unnumbered(host) || sent)
            continue;
        host->is_idle = true;
        sleep_for(host, warprsa_clock_ns() < host->paused_until_ns
                            ? WARPRSA_USE_HOST_PAUSE_MS
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
            warprsa_use_host_takes_more(core->hosts[i]))
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
    warprsa_use_host_send_back(host, copy);
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
