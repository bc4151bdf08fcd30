/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of a client share; see client_state.h.
 */
#include "batching/daemon/client/client_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/queue/router.h"

void warprsa_client_drop(warprsa_client *client)
{
    if (atomic_fetch_sub(&client->references, 1) != 1)
        return;
    pthread_mutex_destroy(&client->lock);
    pthread_mutex_destroy(&client->connect_lock);
    free(client);
}

warprsa_connection *warprsa_client_connection(warprsa_client *client)
{
    warprsa_connection *c;

    pthread_mutex_lock(&client->lock);
    c = client->connection;
    if (c != NULL)
        warprsa_connection_reference(c);
    pthread_mutex_unlock(&client->lock);
    return c;
}

void warprsa_client_trace(const warprsa_client *client, const char *format, ...)
{
    char line[512];
    va_list args;

    if (client->config.trace == NULL)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    client->config.trace(client->config.trace_arg, 1, line);
}

void warprsa_client_publish_none(warprsa_client *client, const char *why)
{
    char text[WARPRSA_COUNTERS_TEXT];

    snprintf(client->trouble, sizeof(client->trouble), "%s", why);
    if (client->config.hides_device)
        return;
    snprintf(text, sizeof(text), "none: %.*s", WARPRSA_COUNTERS_TEXT - 8, why);
    warprsa_counters_set_device(client->config.counters, text);
    atomic_store(&client->config.counters->devices, 0);
    if (client->config.router != NULL)
        warprsa_router_set_devices_up(client->config.router, false);
}

/* With the lock held: which device computes, as the daemon says. */
static void publish_device(warprsa_client *client, const warprsa_connection *c)
{
    static const char by[] = ", by warprsad";
    char text[WARPRSA_COUNTERS_TEXT];
    size_t i;

    for (i = 0; i < sizeof(text) - sizeof(by); i++) {
        text[i] =
            atomic_load_explicit(&c->shm.head->device[i], memory_order_relaxed);
        if (text[i] == '\0')
            break;
    }
    memcpy(text + i, by, sizeof(by));
    warprsa_counters_set_device(client->config.counters, text);
    atomic_store(&client->config.counters->devices,
                 atomic_load(&c->shm.head->devices));
}

static void publish_to_router(const warprsa_client *client,
                              warprsa_queue_state state, bool on_cpus)
{
    warprsa_router *router = client->config.router;

    if (router == NULL)
        return;
    warprsa_router_set_cpus(router,
                            on_cpus ? WARPRSA_CPUS_ALONE : WARPRSA_CPUS_NONE);
    warprsa_router_set_devices_up(router, state == WARPRSA_QUEUE_READY);
}

void warprsa_client_publish_state(warprsa_client *client, warprsa_connection *c,
                                  warprsa_queue_state state)
{
    bool on_cpus =
        atomic_load_explicit(&c->shm.head->on_cpus, memory_order_relaxed) != 0;

    if (atomic_load_explicit(&client->state, memory_order_relaxed) ==
            (uint32_t)state &&
        atomic_load_explicit(&client->on_cpus, memory_order_relaxed) == on_cpus)
        return;
    pthread_mutex_lock(&client->lock);
    if (client->connection == c) {
        atomic_store(&client->state, (uint32_t)state);
        atomic_store(&client->on_cpus, on_cpus);
        if (!client->config.hides_device)
            publish_device(client, c);
        publish_to_router(client, state, on_cpus);
    }
    pthread_mutex_unlock(&client->lock);
}
