/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a GPU host has and takes; see use_host_state.h.
 */
#include "batching/remote/uses/use_host_state.h"

#include "batching/base/clock.h"
#include "batching/queue/counters.h"

bool warprsa_use_host_takes_more(const warprsa_use_host *host)
{
    return host->link != NULL && !host->lost && !host->draining &&
           !host->silent && host->count < host->room &&
           warprsa_clock_ns() >= host->paused_until_ns;
}

void warprsa_use_host_send_back(warprsa_use_host *host, warprsa_remote_use *use)
{
    warprsa_count(&host->core->config.daemon.counters->vault_remote_moved, 1);
    warprsa_waiting_uses_add_again(&host->core->waiting, use);
}

/* With the lock held: takes a use out of those that the host has. */
void warprsa_use_host_take_out(warprsa_use_host *host, warprsa_remote_use *use)
{
    use->is_sent = false;
    host->flight[use->id] = NULL;
    host->free_ids[host->room - host->count--] = use->id;
    TAILQ_REMOVE(&host->sent, use, link);
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

        if (host != NULL && host->is_idle &&
            warprsa_use_host_takes_more(host) &&
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
