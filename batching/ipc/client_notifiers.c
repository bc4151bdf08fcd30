/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client's notifiers: a socket for each wait context of async jobs, whose
 * other end the daemon has. A job waits until it can be read from: when the
 * daemon has written to its end, or closed it.
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "batching/ipc/client_private.h"
#include "batching/ipc/message.h"

enum {
    /* A notifier's number is its number on the connection, which is below
     * SERIAL, plus SERIAL times the connection's serial modulo SERIALS. */
    SERIAL = 1 << 20,
    SERIALS = 1 << 12,
};

uint32_t warprsa_client_notifier_number(const warprsa_connection *c,
                                        uint32_t notifier)
{
    return notifier / SERIAL == c->serial % SERIALS ? notifier % SERIAL : 0;
}

/* Makes a socketpair and sends the daemon one end. The other end, or -1. */
static int send_notifier(warprsa_connection *c, uint32_t number)
{
    warprsa_message message = {.type = WARPRSA_MESSAGE_NOTIFIER,
                               .number = number,
                               .generation = ++c->notifier_generation[number]};
    int ends[2];
    bool sent;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
                   ends) != 0)
        return -1;
    sent = warprsa_message_send(c->socket, &message, &ends[1], 1);
    close(ends[1]);
    if (sent)
        return ends[0];
    close(ends[0]);
    return -1;
}

/* What a notifier refers to, so that it can be closed after the client was. */
typedef struct notifier_owner {
    warprsa_client *client;
    warprsa_connection *connection;
} notifier_owner;

bool warprsa_client_notifier_open(void *impl, warprsa_notifier *notifier)
{
    warprsa_client *client = impl;
    notifier_owner *owner = malloc(sizeof(*owner));
    warprsa_connection *c;
    uint32_t number;

    if (owner == NULL)
        return false;
    notifier->fd = -1;
    pthread_mutex_lock(&client->lock);
    c = client->connection;
    if (c != NULL && warprsa_id_pool_acquire(&c->free_notifiers, &number)) {
        notifier->number = c->serial % SERIALS * SERIAL + number;
        notifier->fd = send_notifier(c, number);
        if (notifier->fd < 0)
            warprsa_id_pool_release(&c->free_notifiers, number);
    }
    if (notifier->fd >= 0) {
        c->notifier[notifier->number % SERIAL] = notifier->fd + 1;
        warprsa_connection_reference(c);
        atomic_fetch_add(&client->references, 1);
        *owner = (notifier_owner){client, c};
        notifier->owner = owner;
    }
    pthread_mutex_unlock(&client->lock);
    if (notifier->fd < 0)
        free(owner);
    return notifier->fd >= 0;
}

/* Not left to the daemon to close its ends: it may hang. */
void warprsa_client_end_notifiers(warprsa_client *client, warprsa_connection *c)
{
    pthread_mutex_lock(&client->lock);
    for (uint32_t i = 1; i <= c->notifiers; i++)
        if (c->notifier[i] > 0)
            (void)shutdown(c->notifier[i] - 1, SHUT_RDWR);
    pthread_mutex_unlock(&client->lock);
}

bool warprsa_client_notifier_works(void *impl, const warprsa_notifier *notifier)
{
    warprsa_client *client = impl;
    const notifier_owner *owner = notifier->owner;
    bool works;

    pthread_mutex_lock(&client->lock);
    works = owner->client == client && owner->connection == client->connection;
    pthread_mutex_unlock(&client->lock);
    return works;
}

void warprsa_client_notifier_close(warprsa_notifier *notifier)
{
    notifier_owner *owner = notifier->owner;
    warprsa_connection *c = owner->connection;

    pthread_mutex_lock(&owner->client->lock);
    close(notifier->fd);
    c->notifier[notifier->number % SERIAL] = 0;
    warprsa_id_pool_release(&c->free_notifiers, notifier->number % SERIAL);
    pthread_mutex_unlock(&owner->client->lock);
    warprsa_connection_drop(c);
    warprsa_client_drop(owner->client);
    free(owner);
}
