/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client's notifiers: a socket for each wait context of async jobs, whose
 * other end the daemon has. A job waits until the socket is readable: the
 * daemon has written to its end, or closed it.
 *
 * The daemon makes both ends and sends one. A client asks for notifiers before
 * it needs them, since a thread that needs one may be an event loop.
 */
#ifndef WARPRSA_BATCHING_DAEMON_CLIENT_CLIENT_NOTIFIERS_H
#define WARPRSA_BATCHING_DAEMON_CLIENT_CLIENT_NOTIFIERS_H

#include "batching/daemon/client/client_state.h"

/* As backend.h says. open() waits some milliseconds for the daemon at most, and
 * not again before the daemon has caught up. */
bool warprsa_client_notifier_open(void *impl, warprsa_notifier *notifier);
bool warprsa_client_notifier_works(void *impl,
                                   const warprsa_notifier *notifier);
void warprsa_client_leave(const warprsa_notifier *notifier,
                          warprsa_ticket ticket);
void warprsa_client_notifier_close(warprsa_notifier *notifier);

/* Makes all notifiers readable for good. */
void warprsa_client_end_notifiers(warprsa_client *client,
                                  warprsa_connection *connection);

/* The number of a notifier on this connection; 0: it belongs to another
 * connection. */
uint32_t warprsa_client_notifier_number(const warprsa_connection *connection,
                                        uint32_t notifier);

#endif
