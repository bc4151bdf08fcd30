/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What others ask of a GPU host; see use_host.h.
 */
#include "batching/remote/uses/use_host.h"

#include <stdlib.h>

#include "batching/base/clock.h"
#include "batching/base/create_thread.h"
#include "batching/remote/uses/use_connection.h"

/* Both conditions of a connection; the first is waited for by the clock. */
static bool init_conditions(warprsa_use_connection *c)
{
    pthread_condattr_t attributes;
    bool done = false;

    if (pthread_condattr_init(&attributes) != 0)
        return false;
    done = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
           pthread_cond_init(&c->changed, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    if (done && pthread_cond_init(&c->written, NULL) == 0)
        return true;
    if (done)
        pthread_cond_destroy(&c->changed);
    return false;
}

/* Frees a host of which so many connections are there. */
static void free_host(warprsa_use_host *host, unsigned connections)
{
    for (unsigned i = 0; i < connections; i++) {
        pthread_cond_destroy(&host->connections[i].changed);
        pthread_cond_destroy(&host->connections[i].written);
    }
    free(host);
}

static bool init_connection(warprsa_use_host *host, unsigned number)
{
    warprsa_use_connection *c = &host->connections[number];

    c->host = host;
    c->core = host->core;
    c->number = number;
    c->bit = UINT32_C(1) << (host->place * WARPRSA_USE_CONNECTIONS + number);
    TAILQ_INIT(&c->sent);
    return init_conditions(c);
}

warprsa_use_host *warprsa_use_host_start(warprsa_uses_core *core,
                                         unsigned place)
{
    warprsa_use_host *host = calloc(1, sizeof(*host));
    warprsa_use_connection *first = NULL;
    unsigned made = 0;

    if (host == NULL)
        return NULL;
    host->core = core;
    host->place = place;
    while (made < WARPRSA_USE_CONNECTIONS && init_connection(host, made))
        made++;
    first = &host->connections[0];
    if (made == WARPRSA_USE_CONNECTIONS &&
        warprsa_create_thread(&first->thread, warprsa_use_connection_run,
                              first) == 0) {
        first->has_thread = true;
        return host;
    }
    free_host(host, made);
    return NULL;
}

void warprsa_use_host_stop(warprsa_use_host *host)
{
    if (host == NULL)
        return;
    pthread_mutex_lock(&host->core->lock);
    warprsa_use_host_look(host);
    pthread_mutex_unlock(&host->core->lock);
    /* The first one may still start others, but not when it has ended. */
    for (unsigned i = 0; i < WARPRSA_USE_CONNECTIONS; i++)
        if (host->connections[i].has_thread)
            pthread_join(host->connections[i].thread, NULL);
    /* The threads of other hosts go on, and may still wake this one. */
    pthread_mutex_lock(&host->core->lock);
    host->core->hosts[host->place] = NULL;
    pthread_mutex_unlock(&host->core->lock);
    free_host(host, WARPRSA_USE_CONNECTIONS);
}

void warprsa_use_host_look(warprsa_use_host *host)
{
    for (unsigned i = 0; i < WARPRSA_USE_CONNECTIONS; i++)
        pthread_cond_signal(&host->connections[i].changed);
}

static bool takes_more(const warprsa_use_host *host)
{
    for (unsigned i = 0; i < WARPRSA_USE_CONNECTIONS; i++)
        if (warprsa_use_connection_takes_more(&host->connections[i]))
            return true;
    return false;
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

/* Whether the host goes on by another connection: it has answered a use there
 * that it got after one by this connection. A host that is slow answers what it
 * got before. */
static bool goes_on(const warprsa_use_connection *c, uint64_t sent_ns)
{
    for (unsigned i = 0; i < WARPRSA_USE_CONNECTIONS; i++) {
        const warprsa_use_connection *other = &c->host->connections[i];

        if (other != c && other->answered_ns > sent_ns &&
            warprsa_use_connection_takes_more(other))
            return true;
    }
    return false;
}

/* Lets the task of a use that the host has wait again, as a use of its own: the
 * host's may still be answered. Hosts in the places of bits do not get it. */
static void copy_back(warprsa_use_connection *c, warprsa_remote_use *use,
                      uint32_t refused)
{
    warprsa_uses_core *core = c->core;
    warprsa_remote_use *copy =
        warprsa_remote_use_new(&core->waiting, use->owner->id);

    if (copy == NULL)
        return;
    copy->task = use->task;
    copy->key = use->key;
    copy->key->uses++;
    copy->deadline_ns = use->deadline_ns;
    copy->refused = use->refused | refused;
    copy->lacks = use->lacks;
    TAILQ_INSERT_BEFORE(use, copy, all);
    TAILQ_REMOVE(&core->all, use, all);
    use->task = NULL;
    warprsa_use_connection_send_back(c, copy);
}

/* Whether uses of a connection wait again now. */
static bool take_back(warprsa_use_connection *c, uint32_t others,
                      uint64_t now_ns, uint64_t patience_ns)
{
    /* A host that is slow, but answers, gets more time; others keep some. */
    const uint64_t slow_ns =
        c->took_ns < 2 * patience_ns ? c->took_ns : 2 * patience_ns;
    warprsa_remote_use *use = NULL;
    bool took_back = false;

    TAILQ_FOREACH (use, &c->sent, link) {
        if (now_ns - use->sent_ns <= patience_ns + slow_ns)
            break;
        if (use->task == NULL || use->is_held)
            continue;
        if ((others & ~use->refused) != 0)
            copy_back(c, use, UINT32_C(1) << c->host->place);
        else if (goes_on(c, use->sent_ns))
            copy_back(c, use, 0);
        else
            continue;
        c->silent_ns = use->sent_ns;
        took_back = true;
    }
    return took_back;
}

void warprsa_use_host_take_back(warprsa_use_host *host, uint64_t now_ns,
                                uint64_t patience_ns)
{
    const uint32_t others = others_of(host);
    bool took_back = false;

    for (unsigned i = 0; i < WARPRSA_USE_CONNECTIONS; i++)
        took_back |=
            take_back(&host->connections[i], others, now_ns, patience_ns);
    if (took_back)
        warprsa_use_hosts_wake_all(host->core);
}

void warprsa_use_host_unload(warprsa_use_host *host, warprsa_use_key *key)
{
    for (unsigned i = 0; i < WARPRSA_USE_CONNECTIONS; i++)
        warprsa_use_connection_unload(&host->connections[i], key);
}
