/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Clients by socket and process; see vault_client.h.
 */
#include "provider/vault_client.h"

#include <stdlib.h>
#include <string.h>

#include "batching/base/cancellation.h"

/* A client of one process. */
typedef struct process_client {
    warprsa_instance *instance;
    warprsa_client *client;
    struct process_client *parent; /* of the process that forked this one */
} process_client;

/* A socket. Entries stay in the context's list until its end, so that the list
 * needs no lock, which a forked child might find held. */
typedef struct warprsa_vault_socket {
    warprsa_control_connection control;
    _Atomic(process_client *) client;
    struct warprsa_vault_socket *next;
} warprsa_vault_socket;

static warprsa_vault_socket *find(warprsa_vault_socket *list, const char *path)
{
    while (list != NULL && strcmp(list->control.path, path) != 0)
        list = list->next;
    return list;
}

static warprsa_vault_socket *socket_new(warprsa_context *context,
                                        const char *path)
{
    warprsa_vault_socket *made = calloc(1, sizeof(*made));
    char why[400];

    if (made != NULL && !warprsa_control_connection_open(&made->control, path,
                                                         why, sizeof(why)))
        warprsa_trace_printf(&context->trace, 1, "%s", why);
    return made;
}

/* The entry of a socket, made if there is none. NULL: no memory. */
static warprsa_vault_socket *socket_of(warprsa_context *context,
                                       const char *path)
{
    warprsa_vault_socket *list =
        atomic_load_explicit(&context->vault_sockets, memory_order_acquire);
    warprsa_vault_socket *found = find(list, path);
    warprsa_vault_socket *made = NULL;

    if (found != NULL)
        return found;
    made = socket_new(context, path);
    if (made == NULL)
        return NULL;
    do {
        made->next = list;
        if (atomic_compare_exchange_weak(&context->vault_sockets, &list, made))
            return made;
        found = find(list, path);
    } while (found == NULL);
    /* Another thread has added it in between. */
    warprsa_control_connection_close(&made->control);
    free(made);
    return found;
}

void warprsa_vault_client_prepare(warprsa_context *context, const char *path)
{
    const int cancellation = warprsa_cancellation_off();

    (void)socket_of(context, path);
    warprsa_cancellation_restore(cancellation);
}

static process_client *client_new(warprsa_context *context,
                                  warprsa_instance *instance,
                                  warprsa_vault_socket *socket)
{
    const warprsa_client_config wanted = {
        .control_connection = &socket->control,
        .slots = context->config.slots,
        .deadline_ms = context->config.deadline_ms,
        .uses = true,
        .hides_device = true,
        .trace = context->trace.fd >= 0 ? warprsa_trace_line : NULL,
        .trace_arg = &context->trace,
        .counters = instance->counters,
    };
    process_client *made = calloc(1, sizeof(*made));

    if (made == NULL)
        return NULL;
    made->instance = instance;
    made->client = warprsa_client_open(&wanted);
    if (made->client != NULL)
        return made;
    free(made);
    return NULL;
}

static void client_free(process_client *client)
{
    if (warprsa_instance_is_mine(client->instance))
        (void)warprsa_backend_daemon.close(client->client);
    free(client);
}

static warprsa_client *client_of(warprsa_context *context,
                                 warprsa_instance *instance,
                                 warprsa_vault_socket *socket)
{
    process_client *old =
        atomic_load_explicit(&socket->client, memory_order_acquire);
    process_client *mine = NULL;

    if (old != NULL && old->instance == instance)
        return old->client;
    mine = client_new(context, instance, socket);
    if (mine == NULL)
        return NULL;
    mine->parent = old;
    if (atomic_compare_exchange_strong(&socket->client, &old, mine)) {
        if (old != NULL)
            warprsa_backend_daemon.abandon(old->client);
        return mine->client;
    }
    client_free(mine); /* another thread has set one in between */
    return old->client;
}

warprsa_client *warprsa_vault_client(warprsa_context *context,
                                     warprsa_instance *instance,
                                     const char *path)
{
    warprsa_vault_socket *socket = socket_of(context, path);

    return socket == NULL ? NULL : client_of(context, instance, socket);
}

static void socket_free(warprsa_vault_socket *socket)
{
    process_client *client = atomic_load(&socket->client);

    if (client != NULL && !warprsa_instance_is_mine(client->instance))
        warprsa_backend_daemon.abandon(client->client);
    while (client != NULL) {
        process_client *parent = client->parent;

        client_free(client);
        client = parent;
    }
    warprsa_control_connection_close(&socket->control);
    free(socket);
}

void warprsa_vault_clients_free(warprsa_context *context)
{
    warprsa_vault_socket *list = atomic_exchange(&context->vault_sockets, NULL);

    while (list != NULL) {
        warprsa_vault_socket *next = list->next;

        socket_free(list);
        list = next;
    }
}
