/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a connection to a GPU host has and takes; see use_connection.h.
 */
#include "batching/remote/uses/use_connection.h"

#include <stdio.h>

#include "batching/base/clock.h"
#include "batching/queue/counters.h"

enum {
    GOOD = 8, /* an answer that takes this part of the patience is in time */
};

/* A host that hangs does so by all connections. One that has nothing to answer
 * does not show it, unless it has answered since. */
static bool is_silent(const warprsa_use_connection *c)
{
    bool is = c->silent_ns != 0;

    for (unsigned i = 0; i < WARPRSA_USE_CONNECTIONS && !is; i++)
        is = c->count == 0 && c->host->connections[i].silent_ns > c->heard_ns;
    return is;
}

bool warprsa_use_connection_takes_more(const warprsa_use_connection *c)
{
    return c->link != NULL && !c->lost && !c->draining && !is_silent(c) &&
           c->count < c->room && c->host->count < c->host->window &&
           warprsa_clock_ns() >= c->host->paused_until_ns;
}

void warprsa_use_host_set_room(warprsa_use_host *host, uint32_t room)
{
    host->room = room;
    host->least_ns = UINT64_MAX / 2;
    host->window =
        room < WARPRSA_REMOTE_BATCH_MAX ? room : WARPRSA_REMOTE_BATCH_MAX;
}

/* The window grows by what was answered while at least half of it was in use,
 * so it goes no further than what the host has shown. What it has grown by
 * shows in later answers, when it may be twice as large: these are not too late
 * yet. A host that takes long for a single use answers more of them in that
 * time. */
void warprsa_use_host_pace(warprsa_use_host *host,
                           const warprsa_remote_use *use, uint64_t took_ns)
{
    uint64_t good_ns = warprsa_uses_patience_ns(host->core) / GOOD;

    if (took_ns < host->least_ns)
        host->least_ns = took_ns;
    if (good_ns < 2 * host->least_ns)
        good_ns = 2 * host->least_ns;
    if (took_ns > 2 * good_ns && host->window > WARPRSA_REMOTE_BATCH_MAX)
        host->window--;
    else if (took_ns <= good_ns && use->fills && host->window < host->room)
        host->window++;
}

void warprsa_use_connection_send_back(warprsa_use_connection *c,
                                      warprsa_remote_use *use)
{
    warprsa_count(&c->core->config.daemon.counters->vault_remote_moved, 1);
    warprsa_waiting_uses_add_again(&c->core->waiting, use);
}

void warprsa_use_connection_take_out(warprsa_use_connection *c,
                                     warprsa_remote_use *use)
{
    use->is_sent = false;
    c->flight[use->id] = NULL;
    c->free_ids[c->room - c->count--] = use->id;
    c->host->count--;
    TAILQ_REMOVE(&c->sent, use, link);
}

void warprsa_use_connection_lose(warprsa_use_connection *c, const char *why)
{
    if (c->lost)
        return;
    c->lost = true;
    snprintf(c->why, sizeof(c->why), "%s", why);
    pthread_cond_signal(&c->changed);
}

void warprsa_use_host_give_up(warprsa_use_host *host, bool is_wrong,
                              const char *why)
{
    if (is_wrong && host->connections[0].link == NULL)
        snprintf(host->lie, sizeof(host->lie), "%s", why);
    for (unsigned i = 0; i < WARPRSA_USE_CONNECTIONS; i++) {
        warprsa_use_connection *c = &host->connections[i];

        if (c->link == NULL)
            continue;
        c->wrong |= is_wrong;
        warprsa_use_connection_lose(c, why);
    }
}

static void wake(warprsa_use_connection *c)
{
    c->is_idle = false;
    pthread_cond_signal(&c->changed);
}

/* The idle connection of a host that takes uses and has least to do. */
static warprsa_use_connection *idle_of(warprsa_use_host *host)
{
    warprsa_use_connection *least = NULL;

    for (unsigned i = 0; i < WARPRSA_USE_CONNECTIONS; i++) {
        warprsa_use_connection *c = &host->connections[i];

        if (c->is_idle && (least == NULL || c->count < least->count) &&
            warprsa_use_connection_takes_more(c))
            least = c;
    }
    return least;
}

void warprsa_use_hosts_wake(warprsa_uses_core *core)
{
    const bool are_paused = warprsa_clock_ns() < core->owners_paused_until_ns;
    warprsa_use_connection *least = NULL, *c = NULL;

    for (unsigned i = 0; i < WARPRSA_REMOTE_HOSTS_MAX; i++) {
        c = core->hosts[i] != NULL ? idle_of(core->hosts[i]) : NULL;
        if (c != NULL && are_paused)
            wake(c);
        else if (c != NULL &&
                 (least == NULL || c->host->count < least->host->count))
            least = c;
    }
    if (least != NULL)
        wake(least);
}

void warprsa_use_hosts_wake_all(warprsa_uses_core *core)
{
    for (unsigned i = 0; i < WARPRSA_REMOTE_HOSTS_MAX; i++)
        for (unsigned j = 0;
             core->hosts[i] != NULL && j < WARPRSA_USE_CONNECTIONS; j++)
            if (core->hosts[i]->connections[j].is_idle)
                wake(&core->hosts[i]->connections[j]);
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
