/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client's notifiers; see client_notifiers.h.
 */
#include "batching/daemon/client/client_notifiers.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "batching/daemon/wire/message.h"

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

/* With the lock held: asks for the notifiers that should be ready. */
static void ask(warprsa_connection *c)
{
    warprsa_shm_message *message = &c->message;
    bool sent = true;
    bool any = false;

    while (sent && c->ready_count + c->asked_count < WARPRSA_NOTIFIERS_READY &&
           warprsa_id_pool_acquire(&c->free_notifiers, &message->number)) {
        message->type = WARPRSA_SHM_NOTIFIER;
        message->generation = ++c->notifier_generation[message->number];
        sent = warprsa_connection_send(c);
        if (!sent)
            warprsa_id_pool_release(&c->free_notifiers, message->number);
        c->asked_count += sent;
        any = any || sent;
    }
    if (any)
        warprsa_connection_notify_message(c);
}

/* With the lock held: whether a message brings a notifier that was asked for,
 * or says that there is none. */
static bool is_asked_for(const warprsa_connection *c,
                         const warprsa_message *message)
{
    uint32_t number = message->number;

    return message->type == WARPRSA_MESSAGE_NOTIFIER && number >= 1 &&
           number <= c->notifiers && c->notifier[number].fd < 0 &&
           c->notifier_generation[number] == message->generation;
}

/* With the lock held: adds a notifier that has come to the ready ones. */
static void put(warprsa_connection *c, const warprsa_message *message,
                int fds[WARPRSA_MESSAGE_FDS])
{
    if (is_asked_for(c, message)) {
        c->asked_count--;
        if (warprsa_own_fd_take(&c->notifier[message->number], fds[0]))
            c->ready[c->ready_count++] = message->number;
        else
            warprsa_id_pool_release(&c->free_notifiers, message->number);
        fds[0] = -1;
    }
    warprsa_message_close_fds(fds);
}

/* With the lock held: receives what has come. */
static void receive(warprsa_connection *c)
{
    warprsa_message message;
    int fds[WARPRSA_MESSAGE_FDS];

    while (c->asked_count > 0 && warprsa_own_fd_is_there(&c->socket) &&
           warprsa_message_receive(c->socket.fd, &message, fds) ==
               WARPRSA_RECEIVED) {
        put(c, &message, fds);
        c->notifiers_late = false;
    }
}

/* With the lock held, which is released meanwhile: waits a moment for the first
 * notifier. It waits once for a daemon that hangs, and not again. */
static void await_first(warprsa_client *client, warprsa_connection *c)
{
    warprsa_naps naps = {0};
    warprsa_busy daemon;

    if (c->ready_count > 0 || c->asked_count == 0 || c->notifiers_late)
        return;
    pthread_mutex_unlock(&client->lock);
    warprsa_busy_watch(&daemon, c->socket.fd);
    while (
        !warprsa_nap(&naps, c->socket.fd) &&
        !warprsa_naps_are_over(&naps, warprsa_busy_now(&daemon, c->socket.fd)))
        ;
    pthread_mutex_lock(&client->lock);
    receive(c);
    c->notifiers_late = c->ready_count == 0 && c->asked_count > 0;
    if (c->notifiers_late)
        atomic_store(&c->hangs, true);
}

/* With the lock held: gives a ready notifier out. False: the program has closed
 * it, or it can't be marked. */
static bool give_out(warprsa_connection *c, uint32_t number,
                     warprsa_notifier *notifier)
{
    warprsa_own_fd *own = &c->notifier[number];

    notifier->number = c->serial % SERIALS * SERIAL + number;
    notifier->fd = *own;
    if (warprsa_own_fd_is_there(own) &&
        warprsa_marked_fd_take(&notifier->marked, own->fd))
        return true;
    *own = WARPRSA_NO_FD;
    warprsa_id_pool_release(&c->free_notifiers, number);
    return false;
}

/* With the lock held: takes a ready notifier. False: there is none. */
static bool take(warprsa_client *client, warprsa_connection *c,
                 warprsa_notifier *notifier)
{
    uint32_t number;

    receive(c);
    if (c->ready_count == 0)
        ask(c);
    await_first(client, c);
    if (c->ready_count == 0)
        return false;
    number = c->ready[--c->ready_count];
    if (c->ready_count + c->asked_count <= WARPRSA_NOTIFIERS_READY / 2)
        ask(c);
    return give_out(c, number, notifier);
}

/* What a notifier needs to be closed, also after its client was. The connection
 * is remembered: the program may leave the job that has the notifier. */
typedef struct notifier_owner {
    warprsa_client *client;
    warprsa_connection *connection;
} notifier_owner;

bool warprsa_client_notifier_open(void *impl, warprsa_notifier *notifier)
{
    warprsa_client *client = impl;
    notifier_owner *owner = malloc(sizeof(*owner));
    warprsa_connection *c = warprsa_client_connection(client);
    bool taken = false;

    notifier->fd = WARPRSA_NO_FD;
    if (owner != NULL && c != NULL) {
        pthread_mutex_lock(&client->lock);
        taken = take(client, c, notifier);
        pthread_mutex_unlock(&client->lock);
    }
    if (taken) {
        atomic_fetch_add(&client->references, 1);
        warprsa_connection_remember(c);
        *owner = (notifier_owner){client, c};
        notifier->owner = owner;
    } else {
        free(owner);
    }
    warprsa_connection_drop(c);
    return taken;
}

/* The client closes the ends, since the daemon may hang. */
void warprsa_client_end_notifiers(warprsa_client *client, warprsa_connection *c)
{
    pthread_mutex_lock(&client->lock);
    for (uint32_t i = 1; i <= c->notifiers; i++)
        if (warprsa_own_fd_is_there(&c->notifier[i]))
            (void)shutdown(c->notifier[i].fd, SHUT_RDWR);
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

/* Where the request went over a later connection, it has another ticket than
 * any of this one. */
void warprsa_client_leave(const warprsa_notifier *notifier,
                          warprsa_ticket ticket)
{
    const notifier_owner *owner = notifier->owner;

    atomic_fetch_sub_explicit(&owner->client->depth, 1, memory_order_relaxed);
    if (!warprsa_connection_recall(owner->connection))
        return;
    warprsa_connection_give_up(owner->connection, ticket);
    warprsa_connection_drop(owner->connection);
}

void warprsa_client_notifier_close(warprsa_notifier *notifier)
{
    notifier_owner *owner = notifier->owner;
    warprsa_connection *c = owner->connection;

    if (warprsa_connection_recall(c)) {
        pthread_mutex_lock(&owner->client->lock);
        warprsa_own_fd_close(&c->notifier[notifier->number % SERIAL]);
        warprsa_id_pool_release(&c->free_notifiers, notifier->number % SERIAL);
        pthread_mutex_unlock(&owner->client->lock);
        warprsa_connection_drop(c);
    } else {
        warprsa_own_fd_close(&notifier->fd);
    }
    warprsa_connection_forget(c);
    warprsa_client_drop(owner->client);
    free(owner);
}
