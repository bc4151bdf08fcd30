/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Control connections (protocol.h), over which programs ask for sessions. A
 * program that loads the provider has one. Four messages are allowed there.
 * CONNECT asks for a session: it is offered one, and ATTACHED accepts the
 * offer. LOOKUP and LIST ask for keys of the vault (lookups.h). Anything else
 * ends the control connection. A question may take several turns, and the next
 * message is read after its reply. About a client only what the kernel says is
 * believed: who made the control connection, whose user the limits count, and
 * which process sent a message.
 *
 * A control connection is the only socket of the daemon's into which a client
 * can put descriptors. Messages with descriptors stay unread, and disposal.h
 * closes the connection.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_ADMISSION_H
#define WARPRSA_BATCHING_DAEMON_SERVER_ADMISSION_H

#include "batching/daemon/server/disposal.h"
#include "batching/daemon/server/offers.h"

struct warprsa_control;

TAILQ_HEAD(warprsa_controls, warprsa_control);

/* What the acceptor's thread has, while it runs. */
typedef struct warprsa_admission {
    int epoll; /* where the connections are watched */
    /* Takes a session that its client has attached. */
    void (*attached)(void *arg, warprsa_session *session);
    void *arg;
    unsigned attachments; /* ever */
    warprsa_offers offers;
    warprsa_rounds ready; /* connections to be read, by user */
    struct warprsa_controls open;
    struct warprsa_controls ended; /* closed after a round's events */
    warprsa_disposal *disposal;    /* with a seat for each connection */
} warprsa_admission;

/* `epoll`, `attached` and `arg` are the caller's to set. False: no memory. */
bool warprsa_admission_init(warprsa_admission *admission,
                            warprsa_server_context *context);

/* Ends all connections at once, without turns. */
void warprsa_admission_free(warprsa_admission *admission);

/* Accepts a connection that waits at the socket `listener`, if there is room:
 * not while many that were refused are not closed yet. 0, or errno's value. */
int warprsa_admission_accept(warprsa_admission *admission, int listener);

/* Gives each user one turn. So others wait for one session of a user who
 * connects without end to be made or freed, not for all. False: the turns cost
 * next to nothing. */
bool warprsa_admission_run_ready(warprsa_admission *admission);

/* After a round's events: none points to a connection that is closed here. */
void warprsa_admission_close_ended(warprsa_admission *admission);

#endif
