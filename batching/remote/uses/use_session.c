/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The sessions of a connection to a GPU host, by its own thread; see
 * use_connection.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/base/clock.h"
#include "batching/base/create_thread.h"
#include "batching/remote/uses/use_connection.h"

enum {
    FLIGHT_MAX = 16384, /* uses that one host has, whatever it grants */
    LOOK_MS = 500,      /* at least so often it looks whether it is to go on */
    /* A connection that is not the first ends when it has had nothing to do for
     * so long. */
    UNUSED_MS = 60000,
    /* Uses that each connection has on average before one more is made: two
     * full messages, so that more connections do not make short ones. */
    MANY = 512,
};

static bool is_first(const warprsa_use_connection *c)
{
    return c->number == 0;
}

/* With the lock held: until there is a session, the host has room for no use,
 * and an answer is to none. */
static void take_room_away(warprsa_use_connection *c)
{
    free(c->flight);
    free(c->free_ids);
    c->flight = NULL;
    c->free_ids = NULL;
    c->room = 0;
}

/* With the lock held: makes room for as many uses as the host grants. False: no
 * memory. */
static bool make_room(warprsa_use_connection *c,
                      const warprsa_remote_welcome *welcome)
{
    const uint32_t room = welcome->operations_max < FLIGHT_MAX
                              ? welcome->operations_max
                              : FLIGHT_MAX;

    c->flight = calloc(room + 1, sizeof(*c->flight));
    c->free_ids = calloc(room + 1, sizeof(*c->free_ids));
    if (c->flight == NULL || c->free_ids == NULL) {
        take_room_away(c);
        return false;
    }
    for (uint32_t i = 0; i < room; i++)
        c->free_ids[i] = i;
    c->room = room;
    c->keys_max = welcome->keys_max;
    if (is_first(c))
        warprsa_use_host_set_room(c->host, room);
    return true;
}

/* With the lock held: nothing of the session before is left. */
static void begin_anew(warprsa_use_connection *c)
{
    c->lost = c->draining = c->wrong = c->answered = false;
    c->took_ns = c->heard_ns = c->answered_ns = c->silent_ns = 0;
    c->removed_ns = 0;
    c->used_ns = warprsa_clock_ns();
    atomic_store(&c->told, 0);
    if (!is_first(c))
        return;
    c->host->refused = c->host->is_unnumbered_said = false;
    c->host->unnumbered[0] = '\0';
}

/* With the lock held: whether the host has a session with the first connection,
 * if this is another one. */
static bool has_first(const warprsa_use_connection *c)
{
    const warprsa_use_connection *first = &c->host->connections[0];

    return is_first(c) || (first->link != NULL && !first->lost);
}

/* With the lock held: whether the host has lied since the first connection had
 * its last session, if this is that one. */
static bool has_lied(const warprsa_use_connection *c)
{
    return is_first(c) && c->host->lie[0] != '\0';
}

/* With the lock held: whether the host takes as many keys by a connection as by
 * the first one. What it takes there decides whether it can have a key. */
static bool has_keys(const warprsa_use_connection *c,
                     const warprsa_remote_welcome *welcome)
{
    return is_first(c) || welcome->keys_max >= c->host->connections[0].keys_max;
}

/* With the lock held: the first connection has a new session, in which the host
 * may take more keys than by others. They are made anew. */
static void lose_others(warprsa_use_host *host)
{
    for (unsigned i = 1; i < WARPRSA_USE_CONNECTIONS; i++) {
        warprsa_use_connection *other = &host->connections[i];

        if (other->link != NULL &&
            other->keys_max < host->connections[0].keys_max)
            warprsa_use_connection_lose(other, "it takes more keys now");
    }
}

/* With the lock held: takes a link into use, or says why not. */
static bool take_link(warprsa_use_connection *c, warprsa_link *link,
                      const warprsa_remote_welcome *welcome, char *why,
                      size_t why_size)
{
    snprintf(why, why_size, "the first connection is lost");
    if (!has_first(c))
        return false;
    snprintf(why, why_size, "%s", c->host->lie);
    if (has_lied(c))
        return false;
    snprintf(why, why_size, "it takes fewer keys than by the first connection");
    if (!has_keys(c, welcome))
        return false;
    snprintf(why, why_size, "no memory");
    if (!make_room(c, welcome))
        return false;
    warprsa_use_keys_forget(&c->core->keys, c->bit,
                            is_first(c) ? UINT32_C(1) << c->host->place : 0);
    c->link = link;
    if (!is_first(c))
        return true;
    c->heard_ns = warprsa_clock_ns(); /* whatever hangs was sent before */
    lose_others(c->host);
    return true;
}

/* Connects. False: `why` says why not, and nothing is left. */
static bool open_session(warprsa_use_connection *c, char *why, size_t why_size)
{
    warprsa_uses_core *core = c->core;
    warprsa_remote_welcome welcome;
    warprsa_link *link = NULL;
    bool is_open = false;

    pthread_mutex_lock(&core->lock);
    begin_anew(c);
    pthread_mutex_unlock(&core->lock);
    if (!warprsa_trust_open(&c->trust, &core->config.tls, why, why_size))
        return false;
    link = warprsa_link_open(&c->trust.tls, &c->address, !is_first(c),
                             &warprsa_use_connection_handlers, c, &welcome, why,
                             why_size);
    if (link != NULL) {
        pthread_mutex_lock(&core->lock);
        is_open = take_link(c, link, &welcome, why, why_size);
        pthread_mutex_unlock(&core->lock);
        if (is_open)
            return true;
        warprsa_link_close(link);
    }
    warprsa_tls_leave(&c->trust.tls);
    warprsa_trust_close(&c->trust);
    return false;
}

/* Ends the session. All that the host has not answered waits for another. */
static void close_session(warprsa_use_connection *c)
{
    warprsa_uses_core *core = c->core;
    warprsa_link *link = NULL;
    warprsa_remote_use *use = NULL;

    pthread_mutex_lock(&core->lock);
    link = c->link;
    c->link = NULL;
    pthread_mutex_unlock(&core->lock);
    warprsa_link_close(link);
    warprsa_tls_leave(&c->trust.tls);
    warprsa_trust_close(&c->trust);
    pthread_mutex_lock(&core->lock);
    while ((use = TAILQ_FIRST(&c->sent)) != NULL) {
        warprsa_use_connection_take_out(c, use);
        if (use->task == NULL)
            warprsa_uses_forget(use);
        else
            warprsa_use_connection_send_back(c, use);
    }
    take_room_away(c);
    c->silent_ns = 0; /* nothing is left that it could answer */
    warprsa_use_hosts_wake_all(core);
    pthread_mutex_unlock(&core->lock);
}

static bool is_same(const warprsa_address *a, const warprsa_address *b)
{
    return strcmp(a->host, b->host) == 0 && strcmp(a->port, b->port) == 0;
}

/* With the lock held: whether the connection is not the first, and has had
 * nothing to do for long. */
static bool is_unused(const warprsa_use_connection *c, uint64_t now_ns)
{
    return !is_first(c) && c->count == 0 &&
           now_ns - c->used_ns > UNUSED_MS * WARPRSA_NS_PER_MS;
}

/* With the lock held: whether the session goes on. A host that was removed may
 * answer what it has, but not for long: another host may have its place, and
 * what it withholds waits for another host. */
static bool goes_on(warprsa_use_connection *c)
{
    const uint64_t now_ns = warprsa_clock_ns();
    warprsa_address now;

    if (c->removed_ns == 0 &&
        (!warprsa_remote_hosts_get(c->host->place, &now) ||
         !is_same(&now, &c->address))) {
        c->draining = true;
        c->removed_ns = now_ns;
    }
    if (c->core->stopping || c->lost || is_unused(c, now_ns))
        return false;
    return c->removed_ns == 0 ||
           (c->count > 0 &&
            now_ns - c->removed_ns < warprsa_uses_patience_ns(c->core));
}

/* With the lock held: sleeps until something changes, for so long at most. */
static void sleep_for(warprsa_use_connection *c, uint64_t ms)
{
    const struct timespec until =
        warprsa_timespec(warprsa_clock_ns() + ms * WARPRSA_NS_PER_MS);

    (void)pthread_cond_timedwait(&c->changed, &c->core->lock, &until);
}

/* With the lock held, but for the line itself: says once in a session that the
 * host takes too few keys. Whether there was that to say. */
static bool say_unnumbered(warprsa_use_connection *c)
{
    warprsa_use_host *host = c->host;
    char name[WARPRSA_KEY_NAME_SIZE];

    if (host->unnumbered[0] == '\0' || host->is_unnumbered_said)
        return false;
    host->is_unnumbered_said = true;
    strcpy(name, host->unnumbered);
    pthread_mutex_unlock(&c->core->lock);
    warprsa_uses_say_about(c->core, host->place, 0,
                           "key %s: host %s takes only %u keys, which others "
                           "have: neither this key nor later ones go there",
                           name, c->name, c->keys_max);
    pthread_mutex_lock(&c->core->lock);
    return true;
}

/* With the lock held: has a connection made by its thread. */
static void want(warprsa_use_connection *c)
{
    c->is_wanted = true;
    if (c->has_thread)
        pthread_cond_signal(&c->changed);
    else
        c->has_thread = c->is_wanted =
            warprsa_create_thread(&c->thread, warprsa_use_connection_run, c) ==
            0;
}

/* With the lock held: makes one more connection, if those that are there have
 * much to do. */
static void grow(warprsa_use_host *host)
{
    const warprsa_use_connection *first = &host->connections[0];
    unsigned wanted = 1;

    if (first->link == NULL || first->lost || first->draining)
        return;
    while (wanted < WARPRSA_USE_CONNECTIONS &&
           host->connections[wanted].is_wanted)
        wanted++;
    if (wanted < WARPRSA_USE_CONNECTIONS && host->count >= wanted * MANY &&
        warprsa_clock_ns() >= host->connections[wanted].not_before_ns)
        want(&host->connections[wanted]);
}

/* With the lock held: whether uses may wait for the end of a pause, which wakes
 * nobody. */
static bool may_wait_for_pause(const warprsa_use_connection *c)
{
    const uint64_t now_ns = warprsa_clock_ns();

    return now_ns < c->host->paused_until_ns ||
           now_ns < c->core->owners_paused_until_ns;
}

/* Has the host work until the session is over. */
static void serve(warprsa_use_connection *c)
{
    bool sent = false;

    pthread_mutex_lock(&c->core->lock);
    while (goes_on(c)) {
        sent = warprsa_use_connection_send(c);
        grow(c->host);
        /* What has come during the line has woken nobody. */
        if (say_unnumbered(c) || sent)
            continue;
        c->is_idle = true;
        sleep_for(c,
                  may_wait_for_pause(c) ? WARPRSA_USE_HOST_PAUSE_MS : LOOK_MS);
        c->is_idle = false;
    }
    pthread_mutex_unlock(&c->core->lock);
}

/* Says why there is no session, once for each reason. */
static void complain(warprsa_use_connection *c, const char *why)
{
    if (strcmp(why, c->complaint) != 0)
        warprsa_uses_say_about(c->core, c->host->place, is_first(c) ? 0 : 1,
                               is_first(c)
                                   ? "%s: no uses of its keys: %s"
                                   : "%s: one connection fewer for uses: %s",
                               c->name, why);
    snprintf(c->complaint, sizeof(c->complaint), "%s", why);
}

/* Says that there is a session. */
static void say_ready(warprsa_use_connection *c)
{
    c->complaint[0] = '\0';
    if (is_first(c))
        warprsa_uses_say_about(c->core, c->host->place, 1,
                               "%s: ready for uses of its keys", c->name);
    else
        warprsa_uses_say_about(c->core, c->host->place, 1,
                               "%s: one more connection for uses of its keys",
                               c->name);
}

/* A session, from its beginning to its end. How many milliseconds to wait
 * before the next one. */
static unsigned run_session(warprsa_use_connection *c)
{
    /* A host that wants no more connections is not asked each second. */
    warprsa_use_session session = {.wrong = !is_first(c)};
    char why[WARPRSA_TLS_WHY];
    uint64_t begin_ns = 0;

    snprintf(c->name, sizeof(c->name), "%s:%s", c->address.host,
             c->address.port);
    if (!open_session(c, why, sizeof(why))) {
        complain(c, why);
        return warprsa_use_pause_after(&c->pause, &session);
    }
    begin_ns = warprsa_clock_ns();
    say_ready(c);
    serve(c);
    close_session(c);
    if (c->lost)
        complain(c, c->why);
    if (c->removed_ns != 0)
        return 0;
    session = (warprsa_use_session){.answered = c->answered,
                                    .wrong = c->wrong,
                                    .lasted_ns = warprsa_clock_ns() - begin_ns};
    return warprsa_use_pause_after(&c->pause, &session);
}

/* With the lock held: whether the host that had this place before still has
 * sessions. */
static bool is_left(const warprsa_use_host *host)
{
    for (unsigned i = 1; i < WARPRSA_USE_CONNECTIONS; i++)
        if (host->connections[i].link != NULL)
            return true;
    return false;
}

/* With the lock held: the host that the list has in this place now. Another one
 * than before has no pauses of that one. False: there is none, or the one
 * before it is still there. */
static bool find_address(warprsa_use_connection *c)
{
    warprsa_address now;

    if (!warprsa_remote_hosts_get(c->host->place, &now))
        return false;
    if (!is_same(&now, &c->address)) {
        if (is_first(c) && is_left(c->host))
            return false;
        c->pause = (warprsa_use_pause){0};
        if (is_first(c))
            c->host->lie[0] = '\0';
    }
    c->address = now;
    return true;
}

/* With the lock held: sleeps until there is to be a session. */
static void wait_for_turn(warprsa_use_connection *c, unsigned ms)
{
    if (is_first(c)) {
        if (ms > 0)
            sleep_for(c, ms);
        return;
    }
    while (!c->is_wanted && !c->core->stopping)
        pthread_cond_wait(&c->changed, &c->core->lock);
}

/* With the lock held, but for the session: the same as run_session(); or only
 * the pause after a lie, as if this connection had had the session with it. */
static unsigned run_turn(warprsa_use_connection *c)
{
    static const warprsa_use_session lie = {.wrong = true};
    const bool lied = has_lied(c);
    char why[WARPRSA_TLS_WHY];
    unsigned ms = 0;

    strcpy(why, c->host->lie);
    if (lied)
        c->host->lie[0] = '\0';
    pthread_mutex_unlock(&c->core->lock);
    if (lied) {
        complain(c, why);
        ms = warprsa_use_pause_after(&c->pause, &lie);
    } else {
        ms = run_session(c);
    }
    pthread_mutex_lock(&c->core->lock);
    return ms;
}

void *warprsa_use_connection_run(void *arg)
{
    warprsa_use_connection *c = arg;
    unsigned ms = 0;

    pthread_mutex_lock(&c->core->lock);
    while (!c->core->stopping) {
        wait_for_turn(c, ms);
        ms = LOOK_MS;
        if (!c->core->stopping && find_address(c))
            ms = run_turn(c);
        c->is_wanted = false;
        c->not_before_ns = warprsa_clock_ns() + ms * WARPRSA_NS_PER_MS;
    }
    pthread_mutex_unlock(&c->core->lock);
    return NULL;
}
