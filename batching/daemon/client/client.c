/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Connecting to the daemon and disconnecting; see client.h.
 *
 * `lock` guards what threads share. It is held for moments, and never while a
 * thread sleeps. One thread at a time connects, under `connect_lock`, which is
 * taken before `lock`.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/base/timed_lock.h"
#include "batching/daemon/client/client_private.h"

enum {
    RETRY_MIN_MS = 100,
    RETRY_MAX_MS = 2000,
    /* After this time a reply counts as lost. */
    LOST_MS = 30000,
    WHY_SIZE = 400,
};

void warprsa_client_drop(warprsa_client *client)
{
    if (atomic_fetch_sub(&client->references, 1) != 1)
        return;
    pthread_mutex_destroy(&client->lock);
    pthread_mutex_destroy(&client->connect_lock);
    free(client);
}

__attribute__((format(printf, 2, 3))) static void
trace(const warprsa_client *client, const char *format, ...)
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

warprsa_client *warprsa_client_open(const warprsa_client_config *config)
{
    warprsa_client *client =
        aligned_alloc(_Alignof(warprsa_client), sizeof(*client));

    if (client == NULL)
        return NULL;
    memset(client, 0, sizeof(*client));
    atomic_init(&client->references, 1);
    client->config = *config;
    client->pause_ms = RETRY_MIN_MS;
    if (pthread_mutex_init(&client->lock, NULL) == 0) {
        if (pthread_mutex_init(&client->connect_lock, NULL) == 0)
            return client;
        pthread_mutex_destroy(&client->lock);
    }
    free(client);
    return NULL;
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

/* Shows in the counters, and to the router, that there is no daemon. */
static void publish_none(warprsa_client *client, const char *why)
{
    char text[WARPRSA_COUNTERS_TEXT];

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

/* With the lock held: drops the connection. The daemon wipes the keys that it
 * got over the connection. */
static void remove_connection(warprsa_client *client)
{
    warprsa_connection *c = client->connection;

    client->connection = NULL;
    if (c != NULL)
        warprsa_count(&client->config.counters->keys_wiped,
                      c->keys - warprsa_id_pool_available(&c->free_keys));
}

void warprsa_client_disconnect(warprsa_client *client, warprsa_connection *c)
{
    bool lost;

    pthread_mutex_lock(&client->lock);
    lost = client->connection == c;
    if (lost) {
        remove_connection(client);
        publish_none(client, "warprsad has gone");
    }
    pthread_mutex_unlock(&client->lock);
    if (!lost)
        return;
    warprsa_connection_shut(c);
    warprsa_client_end_notifiers(client, c);
    warprsa_connection_drop(c);
    trace(client, "warprsad has gone: operations run on the CPU");
}

/* With `connect_lock` held: doubles the pause at each failure. */
static void retry_later(warprsa_client *client, const char *why)
{
    if (client->pause_ms == RETRY_MIN_MS)
        trace(client, "%s", why);
    pthread_mutex_lock(&client->lock);
    publish_none(client, why);
    pthread_mutex_unlock(&client->lock);
    client->retry_ns =
        warprsa_clock_ns() + client->pause_ms * WARPRSA_NS_PER_MS;
    client->pause_ms *= 2;
    if (client->pause_ms > RETRY_MAX_MS)
        client->pause_ms = RETRY_MAX_MS;
}

static void install(warprsa_client *client, warprsa_connection *c)
{
    bool closed;

    pthread_mutex_lock(&client->lock);
    closed = client->closed;
    if (!closed) {
        client->connection = c;
        atomic_store(&client->state, UINT32_MAX);
    }
    pthread_mutex_unlock(&client->lock);
    if (closed)
        warprsa_connection_drop(c);
    else
        trace(client, "connected to warprsad at %s, %u slots",
              client->config.control_connection->path, c->shm.slots);
}

/* With `connect_lock` held. Makes the connection of a WELCOME, if the client is
 * to use it. *why stays empty if the session ended before its WELCOME was
 * received. */
static warprsa_connection *accept_welcome(warprsa_client *client,
                                          const warprsa_message *welcome,
                                          int fds[WARPRSA_MESSAGE_FDS],
                                          char *why)
{
    warprsa_connection *c =
        warprsa_connection_new(welcome, fds, ++client->serials, why, WHY_SIZE);

    if (c == NULL)
        return NULL;
    if (warprsa_connection_alive(c)) {
        if (warprsa_control_connection_attached(
                client->config.control_connection, welcome->number))
            return c;
        snprintf(why, WHY_SIZE, "warprsad has gone");
    }
    warprsa_connection_drop(c);
    return NULL;
}

static void explain_end(const warprsa_message *message,
                        warprsa_received received, char *why)
{
    if (received == WARPRSA_OTHER_VERSION)
        snprintf(why, WHY_SIZE,
                 "warprsad speaks version %u of the protocol, and this module "
                 "version %u: both must be of one release",
                 (unsigned)message->version, (unsigned)WARPRSA_PROTOCOL);
    else if (received == WARPRSA_RECEIVED &&
             message->type == WARPRSA_MESSAGE_REFUSED)
        snprintf(why, WHY_SIZE,
                 "warprsad has no room for this process; its log says why");
    else
        snprintf(why, WHY_SIZE,
                 "warprsad has ended the control connection; its log says why");
}

/* With `connect_lock` held: asks for a connection, unless it is too early. */
static void send_connect(warprsa_client *client)
{
    warprsa_message wanted = {.slots = client->config.slots,
                              .keys = WARPRSA_CLIENT_KEYS_MAX,
                              .notifiers = WARPRSA_CLIENT_NOTIFIERS_MAX};
    char why[WHY_SIZE];

    if (warprsa_clock_ns() < client->retry_ns)
        return;
    client->naps = (warprsa_naps){0};
    client->asked = warprsa_control_connection_request(
        client->config.control_connection, &wanted, why, sizeof(why));
    if (!client->asked)
        retry_later(client, why);
    else
        warprsa_busy_watch(&client->daemon,
                           client->config.control_connection->socket.fd);
}

/*
 * With `connect_lock` held: takes the reply if it has come. A session that has
 * already ended belonged to a process that has died, and then the next reply is
 * read; or to this process, which was too slow and asks again. False: no reply
 * has come.
 */
static bool receive_reply(warprsa_client *client)
{
    warprsa_control_connection *control = client->config.control_connection;
    int fds[WARPRSA_MESSAGE_FDS];
    char why[WHY_SIZE] = "";
    warprsa_connection *c = NULL;
    bool ended = false;

    while (c == NULL && why[0] == '\0') {
        warprsa_message message;
        warprsa_received received =
            warprsa_control_connection_receive(control, &message, fds);

        if (received == WARPRSA_NOTHING_YET) {
            if (ended)
                send_connect(client);
            return false;
        }
        if (received == WARPRSA_RECEIVED &&
            message.type == WARPRSA_MESSAGE_WELCOME) {
            c = accept_welcome(client, &message, fds, why);
            ended = c == NULL;
            continue;
        }
        for (unsigned i = 0; i < WARPRSA_MESSAGE_FDS; i++)
            if (fds[i] >= 0)
                close(fds[i]);
        explain_end(&message, received, why);
        if (received != WARPRSA_RECEIVED)
            warprsa_control_connection_close(control);
    }
    client->asked = false;
    if (c == NULL) {
        retry_later(client, why);
        return true;
    }
    client->pause_ms = RETRY_MIN_MS;
    client->late = false;
    install(client, c);
    return true;
}

/* With `connect_lock` held: a caller sleeps for a moment, until the reply may
 * be there. Once all callers together have slept enough, the reply is late,
 * unless the daemon is busy. Many processes may connect at once, as at the
 * start of a server, so a daemon that has no CPU yet gets as many naps as a
 * busy one. */
static void nap(warprsa_client *client)
{
    int fd = client->config.control_connection->socket.fd;

    if (warprsa_nap(&client->naps, fd) ||
        !warprsa_naps_are_over(&client->naps, true) ||
        warprsa_busy_now(&client->daemon, fd))
        return;
    client->late = true;
    retry_later(client, "warprsad does not answer");
}

/* With `connect_lock` held: waits for the reply to a CONNECT that was sent, no
 * longer than timeout_ms. Nobody waits for a reply that is late. */
static void await_reply(warprsa_client *client, unsigned timeout_ms)
{
    const uint64_t begun_ns = warprsa_clock_ns();

    while (!receive_reply(client)) {
        uint64_t now_ns = warprsa_clock_ns();

        if (now_ns > client->daemon.since_ns + LOST_MS * WARPRSA_NS_PER_MS)
            client->asked = false;
        if (!client->asked || client->late ||
            now_ns >= begun_ns + timeout_ms * WARPRSA_NS_PER_MS)
            return;
        nap(client);
    }
}

static bool needs_connection(warprsa_client *client)
{
    bool looking;

    pthread_mutex_lock(&client->lock);
    looking = client->connection == NULL && !client->closed;
    pthread_mutex_unlock(&client->lock);
    return looking;
}

/*
 * Connects to the daemon, waiting no longer than timeout_ms, or twice that
 * where another thread is connecting. Returns whether a connection may still
 * come about soon: CONNECT was sent and the reply is not late, or the other
 * thread has not finished. The other thread may have been preempted before it
 * sent anything.
 */
static bool try_connect(warprsa_client *client, unsigned timeout_ms)
{
    bool starting;

    if (!warprsa_lock_within(&client->connect_lock, timeout_ms))
        return true;
    if (needs_connection(client)) {
        if (!client->asked)
            send_connect(client);
        if (client->asked)
            await_reply(client, timeout_ms);
    }
    starting = client->asked && !client->late;
    pthread_mutex_unlock(&client->connect_lock);
    return starting;
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

/* Shows a changed state of the daemon, or other devices, in the counters and to
 * the router. */
static void publish_state(warprsa_client *client, warprsa_connection *c,
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
        publish_device(client, c);
        publish_to_router(client, state, on_cpus);
    }
    pthread_mutex_unlock(&client->lock);
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
        publish_state(client, c, state);
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
        starting = try_connect(client, timeout_ms);
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
    warprsa_client *client = impl;
    warprsa_connection *c;

    pthread_mutex_lock(&client->connect_lock);
    pthread_mutex_lock(&client->lock);
    client->closed = true;
    c = client->connection;
    remove_connection(client);
    atomic_store(&client->config.counters->devices, 0);
    pthread_mutex_unlock(&client->lock);
    pthread_mutex_unlock(&client->connect_lock);
    if (c != NULL) {
        warprsa_connection_shut(c);
        warprsa_client_end_notifiers(client, c);
        warprsa_connection_drop(c);
    }
    warprsa_client_drop(client);
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
    .notifier_close = warprsa_client_notifier_close,
};
