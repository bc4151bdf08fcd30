/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The client of the daemon: opening and closing it, and what the daemon's queue
 * can do; see client.h.
 */
#include "batching/daemon/client/client.h"

#include <stdlib.h>
#include <string.h>

#include "batching/base/clock.h"
#include "batching/daemon/client/client_connect.h"
#include "batching/daemon/client/client_keys.h"
#include "batching/daemon/client/client_notifiers.h"
#include "batching/daemon/client/client_requests.h"

warprsa_client *warprsa_client_open(const warprsa_client_config *config)
{
    warprsa_client *client =
        aligned_alloc(_Alignof(warprsa_client), sizeof(*client));

    if (client == NULL)
        return NULL;
    memset(client, 0, sizeof(*client));
    atomic_init(&client->references, 1);
    client->config = *config;
    client->pause_ms = WARPRSA_CLIENT_RETRY_MIN_MS;
    TAILQ_INIT(&client->named);
    if (pthread_mutex_init(&client->lock, NULL) == 0) {
        if (pthread_mutex_init(&client->connect_lock, NULL) == 0)
            return client;
        pthread_mutex_destroy(&client->lock);
    }
    free(client);
    return NULL;
}

static warprsa_queue_state state_of(warprsa_connection *c, unsigned timeout_ms)
{
    _Atomic uint32_t *state = &c->shm.head->state;
    uint64_t until_ns = warprsa_clock_ns() + timeout_ms * WARPRSA_NS_PER_MS;
    uint32_t now = atomic_load(state);

    while (now == WARPRSA_QUEUE_STARTING && warprsa_clock_ns() < until_ns) {
        warprsa_shm_sleep(state, now, until_ns);
        now = atomic_load(state);
    }
    return (warprsa_queue_state)now;
}

/* The state of the daemon's queue as this client sees it. */
static warprsa_queue_state
usable_state(warprsa_client *client, warprsa_connection *c, unsigned timeout_ms)
{
    warprsa_connection_health health =
        warprsa_connection_health_now(c, warprsa_clock_ns());
    warprsa_queue_state state = WARPRSA_QUEUE_DOWN;

    if (health == WARPRSA_CONNECTION_LIVES) {
        state = state_of(c, timeout_ms);
        warprsa_client_publish_state(client, c, state);
    }
    if (health == WARPRSA_CONNECTION_GONE ||
        (state != WARPRSA_QUEUE_READY && !warprsa_connection_alive(c))) {
        warprsa_client_disconnect(client, c);
        state = WARPRSA_QUEUE_DOWN;
    }
    return state;
}

static warprsa_queue_state client_wait_ready(void *impl, unsigned timeout_ms)
{
    warprsa_client *client = impl;
    warprsa_connection *c = warprsa_client_connection(client);
    warprsa_queue_state state;
    bool starting = false;

    if (c == NULL) {
        starting = warprsa_client_connect(client, timeout_ms);
        /* Read after `connect_lock` was released: a thread that connects stores
         * the connection before it unlocks. */
        c = warprsa_client_connection(client);
    }
    if (c == NULL)
        return starting ? WARPRSA_QUEUE_STARTING : WARPRSA_QUEUE_DOWN;
    state = usable_state(client, c, timeout_ms);
    warprsa_connection_drop(c);
    return state;
}

static bool client_close(void *impl)
{
    warprsa_client_stop(impl);
    warprsa_client_drop(impl);
    return true;
}

/* In a forked child. The parent's other threads may have held the locks, so
 * none is taken; keys and wait contexts point to the client, so its memory
 * stays. */
static void client_abandon(void *impl)
{
    warprsa_client *client = impl;

    if (client->connection != NULL)
        warprsa_connection_abandon(client->connection);
}

static unsigned client_depth(const void *impl)
{
    warprsa_client *client = (warprsa_client *)impl;
    unsigned mine = atomic_load_explicit(&client->depth, memory_order_relaxed);
    warprsa_connection *c = warprsa_client_connection(client);
    unsigned all = 0;

    if (c != NULL)
        all = atomic_load_explicit(&c->shm.head->depth, memory_order_relaxed);
    warprsa_connection_drop(c);
    return all > mine ? all : mine;
}

const warprsa_backend_ops warprsa_backend_daemon = {
    .close = client_close,
    .abandon = client_abandon,
    .wait_ready = client_wait_ready,
    .depth = client_depth,
    .key = warprsa_client_key,
    .key_release = warprsa_client_key_release,
    .key_abandon = warprsa_client_key_abandon,
    .submit = warprsa_client_submit,
    .collect = warprsa_client_collect,
    .wait = warprsa_client_wait,
    .notifier_open = warprsa_client_notifier_open,
    .notifier_works = warprsa_client_notifier_works,
    .leave = warprsa_client_leave,
    .notifier_close = warprsa_client_notifier_close,
};
