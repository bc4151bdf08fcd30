/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client's requests; see client_requests.h.
 */
#include "batching/daemon/client/client_requests.h"

#include <string.h>

#include "batching/base/clock.h"
#include "batching/daemon/client/client_connect.h"
#include "batching/daemon/client/client_keys.h"
#include "batching/daemon/client/client_notifiers.h"
#include "batching/queue/router.h"

enum {
    /* How much longer than the deadline a caller sleeps. If the daemon has the
     * same deadline, it can still answer why the deadline was missed. */
    MARGIN_MS = 100,
};

/* With the lock held: the connection with one more reference, and a slot on it
 * for a request with this key. NULL with the reason. */
static warprsa_connection *prepare(warprsa_client *client,
                                   warprsa_backend_key *key, uint64_t now_ns,
                                   uint32_t *slot, warprsa_cpu_reason *reason)
{
    warprsa_connection *c = client->connection;
    uint32_t state;

    *reason = WARPRSA_CPU_NO_DEVICE;
    if (c == NULL || atomic_load_explicit(&c->hangs, memory_order_relaxed))
        return NULL;
    state = atomic_load_explicit(&c->shm.head->state, memory_order_relaxed);
    if (state != WARPRSA_QUEUE_READY) {
        if (state == WARPRSA_QUEUE_STARTING)
            *reason = WARPRSA_CPU_STARTING;
        return NULL;
    }
    *reason = warprsa_id_pool_available(&c->free_keys) == 0
                  ? WARPRSA_CPU_KEY_CACHE_FULL
                  : WARPRSA_CPU_ERROR;
    if (!warprsa_client_upload(client, c, key))
        return NULL;
    *reason = WARPRSA_CPU_QUEUE_FULL;
    if (!warprsa_connection_acquire(
            c, now_ns,
            (2 * (uint64_t)client->config.deadline_ms + MARGIN_MS) *
                WARPRSA_NS_PER_MS,
            slot))
        return NULL;
    warprsa_connection_reference(c);
    c->shm.slot[*slot].request.key = key->number;
    c->shm.slot[*slot].request.key_generation = key->generation;
    return c;
}

static warprsa_answer refused(warprsa_client *client, warprsa_cpu_reason reason)
{
    warprsa_count(&client->config.counters->cpu_reason[reason], 1);
    return WARPRSA_REFUSED;
}

warprsa_answer warprsa_client_submit(void *impl, warprsa_backend_key *key,
                                     const uint8_t *input,
                                     warprsa_notify notify, uint32_t notifier,
                                     warprsa_ticket *ticket)
{
    warprsa_client *client = impl;
    uint64_t now_ns = warprsa_clock_ns();
    warprsa_connection *c;
    warprsa_client_slot *s;
    warprsa_shm_request *request;
    warprsa_cpu_reason reason;

    (void)notify;
    pthread_mutex_lock(&client->lock);
    c = prepare(client, key, now_ns, &ticket->slot, &reason);
    if (c != NULL && ++client->generations == 0)
        client->generations = 1;
    ticket->generation = client->generations;
    pthread_mutex_unlock(&client->lock);
    if (c == NULL)
        return refused(client, reason);
    s = &c->slot[ticket->slot];
    s->submitted_ns = now_ns;
    s->bytes = key->modulus_bytes;
    s->size = key->size;
    s->is_use = false;
    request = &c->shm.slot[ticket->slot].request;
    request->notifier = warprsa_client_notifier_number(c, notifier);
    request->notifier_generation = c->notifier_generation[request->notifier];
    request->bytes = s->bytes;
    memcpy(request->number, input, s->bytes);
    atomic_fetch_add_explicit(&client->depth, 1, memory_order_relaxed);
    warprsa_connection_submit(c, ticket->slot, ticket->generation);
    warprsa_connection_drop(c);
    return WARPRSA_DONE;
}

/* Counts the answer, releases the slot if it is owned, drops the connection. */
static warprsa_answer settle(warprsa_client *client, warprsa_connection *c,
                             warprsa_ticket ticket, warprsa_answer answer,
                             const warprsa_connection_answer *how)
{
    warprsa_size_class size = WARPRSA_CLASS_1024;
    unsigned depth = atomic_load_explicit(&client->depth, memory_order_relaxed);
    warprsa_counters *counters = client->config.counters;
    bool on_cpus = false;

    if (how->owned) {
        const warprsa_client_slot *s = &c->slot[ticket.slot];

        size = s->size;
        on_cpus = c->shm.slot[ticket.slot].on_cpus != 0;
        /* The time is the daemon's measurement. An event loop of this process
         * collects an answer only after its other work, which takes longer than
         * a device does. */
        if (answer == WARPRSA_DONE && client->config.router != NULL)
            warprsa_router_device_response(client->config.router, size, depth,
                                           c->shm.slot[ticket.slot].took_ns);
        warprsa_connection_release(c, ticket.slot);
    }
    warprsa_connection_drop(c);
    atomic_fetch_sub_explicit(&client->depth, 1, memory_order_relaxed);
    if (answer == WARPRSA_DONE)
        warprsa_count(on_cpus ? &counters->ifma[size] : &counters->gpu[size],
                      1);
    else
        refused(client, how->reason);
    return answer;
}

static uint64_t deadline_ns(const warprsa_client *client)
{
    return client->config.deadline_ms * WARPRSA_NS_PER_MS;
}

warprsa_answer warprsa_client_collect(void *impl, warprsa_ticket ticket,
                                      uint8_t *output)
{
    warprsa_client *client = impl;
    warprsa_connection *c = warprsa_client_connection(client);
    warprsa_answer answer = WARPRSA_REFUSED;
    warprsa_connection_answer how = {.reason = WARPRSA_CPU_NO_DEVICE};

    if (c != NULL)
        answer = warprsa_connection_poll(c, ticket, deadline_ns(client), output,
                                         &how);
    if (answer == WARPRSA_PENDING && !warprsa_connection_alive(c)) {
        warprsa_client_disconnect(client, c);
        answer = WARPRSA_REFUSED;
    }
    if (answer != WARPRSA_PENDING)
        return settle(client, c, ticket, answer, &how);
    warprsa_connection_drop(c);
    return WARPRSA_PENDING;
}

warprsa_answer warprsa_client_wait(void *impl, warprsa_ticket ticket,
                                   uint8_t *output)
{
    warprsa_client *client = impl;
    warprsa_connection *c = warprsa_client_connection(client);
    uint64_t limit_ns = deadline_ns(client) + MARGIN_MS * WARPRSA_NS_PER_MS;
    warprsa_answer answer = WARPRSA_PENDING;
    warprsa_connection_answer how = {.reason = WARPRSA_CPU_NO_DEVICE};

    if (c == NULL)
        return settle(client, NULL, ticket, WARPRSA_REFUSED, &how);
    while (answer == WARPRSA_PENDING) {
        answer = warprsa_connection_poll(c, ticket, limit_ns, output, &how);
        if (answer == WARPRSA_REFUSED && limit_ns == 0)
            how.reason = WARPRSA_CPU_NO_DEVICE;
        if (answer != WARPRSA_PENDING)
            break;
        if (!warprsa_connection_sleep(c, ticket)) {
            limit_ns = 0; /* it hangs: the slot is given up, or just answered */
        } else if (!warprsa_connection_alive(c)) {
            warprsa_client_disconnect(client, c);
            answer = WARPRSA_REFUSED;
            how.reason = WARPRSA_CPU_NO_DEVICE;
        }
    }
    return settle(client, c, ticket, answer, &how);
}
