/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The clients of the vaults that a provider context's references name: one for
 * each socket and process, in either mode. The control connection to a socket
 * is made early, since programs lose their rights later, and forked children
 * have it from their parent. A client is opened at the first use.
 */
#ifndef WARPRSA_PROVIDER_VAULT_CLIENT_H
#define WARPRSA_PROVIDER_VAULT_CLIENT_H

#include "batching/daemon/client/client_uses.h"
#include "provider/instance.h"

/* Connects to the socket, unless the context has tried that before. Does not
 * wait for the daemon, which may be away. Any thread. */
void warprsa_vault_client_prepare(warprsa_context *context, const char *path);

/* The client of the socket in this process, whose instance that is. The context
 * owns it. NULL: no memory. Any thread. */
warprsa_client *warprsa_vault_client(warprsa_context *context,
                                     warprsa_instance *instance,
                                     const char *path);

/* Closes all clients and connections of a context, before its instances go. No
 * operation is under way, and all keys are gone. One thread. */
void warprsa_vault_clients_free(warprsa_context *context);

#endif
