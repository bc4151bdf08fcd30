/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Connecting to the daemon and disconnecting; see client_connect.h.
 */
#include "batching/daemon/client/client_connect.h"

#include <stdio.h>

#include "batching/base/clock.h"
#include "batching/base/timed_lock.h"
#include "batching/daemon/client/client_notifiers.h"

enum {
    RETRY_MAX_MS = 2000,
    RETRY_SOON_MS = 20,
    /* After this time a reply counts as lost. */
    LOST_MS = 30000,
    WHY_SIZE = 400,
};

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

/* With no lock held: what is left of a connection that was removed. */
static void end_connection(warprsa_client *client, warprsa_connection *c)
{
    warprsa_connection_shut(c);
    warprsa_client_end_notifiers(client, c);
    warprsa_connection_drop(c);
}

void warprsa_client_disconnect(warprsa_client *client, warprsa_connection *c)
{
    bool lost;

    pthread_mutex_lock(&client->lock);
    lost = client->connection == c;
    if (lost) {
        remove_connection(client);
        warprsa_client_publish_none(client, "warprsad has gone");
    }
    pthread_mutex_unlock(&client->lock);
    if (!lost)
        return;
    end_connection(client, c);
    warprsa_client_trace(client, "warprsad has gone: operations %s",
                         client->config.hides_device ? "wait for it"
                                                     : "run on the CPU");
}

/* With `connect_lock` held: doubles the pause at each failure. */
static void retry_later(warprsa_client *client, const char *why)
{
    if (client->pause_ms == WARPRSA_CLIENT_RETRY_MIN_MS)
        warprsa_client_trace(client, "%s", why);
    pthread_mutex_lock(&client->lock);
    warprsa_client_publish_none(client, why);
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
        client->trouble[0] = '\0';
        atomic_store(&client->state, UINT32_MAX);
    }
    pthread_mutex_unlock(&client->lock);
    if (closed)
        warprsa_connection_drop(c);
    else
        warprsa_client_trace(client, "connected to warprsad at %s, %u slots",
                             client->config.control_connection->path,
                             c->shm.slots);
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
                              .notifiers = WARPRSA_CLIENT_NOTIFIERS_MAX,
                              .uses = client->config.uses};
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
        warprsa_message_close_fds(fds);
        explain_end(&message, received, why);
        if (received != WARPRSA_RECEIVED)
            warprsa_control_connection_close(control);
    }
    client->asked = false;
    if (c == NULL) {
        retry_later(client, why);
        return true;
    }
    client->pause_ms = WARPRSA_CLIENT_RETRY_MIN_MS;
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

/* With `connect_lock` held. */
static void connect_within(warprsa_client *client, unsigned timeout_ms)
{
    if (!needs_connection(client))
        return;
    if (!client->asked)
        send_connect(client);
    if (client->asked)
        await_reply(client, timeout_ms);
}

void warprsa_client_connect_soon(warprsa_client *client)
{
    const uint64_t soon_ns =
        warprsa_clock_ns() + RETRY_SOON_MS * WARPRSA_NS_PER_MS;

    if (pthread_mutex_trylock(&client->connect_lock) != 0)
        return;
    if (client->retry_ns > soon_ns)
        client->retry_ns = soon_ns;
    connect_within(client, 0);
    pthread_mutex_unlock(&client->connect_lock);
}

bool warprsa_client_connect(warprsa_client *client, unsigned timeout_ms)
{
    bool starting;

    if (!warprsa_lock_within(&client->connect_lock, timeout_ms))
        return true;
    connect_within(client, timeout_ms);
    starting = client->asked && !client->late;
    pthread_mutex_unlock(&client->connect_lock);
    return starting;
}

void warprsa_client_stop(warprsa_client *client)
{
    warprsa_connection *c;

    pthread_mutex_lock(&client->connect_lock);
    pthread_mutex_lock(&client->lock);
    client->closed = true;
    c = client->connection;
    remove_connection(client);
    if (!client->config.hides_device)
        atomic_store(&client->config.counters->devices, 0);
    pthread_mutex_unlock(&client->lock);
    pthread_mutex_unlock(&client->connect_lock);
    if (c != NULL)
        end_connection(client, c);
}
