/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The service from inside. One thread accepts connections and attends to control_connections
 * (acceptor.c); each client belongs to one of the event_loops, a thread that
 * does everything for its clients (event_loop.c, session.c): nothing of a client
 * is shared between threads but the stack of answered requests, onto which the
 * queue's workers push.
 */
#ifndef WARPRSA_DAEMON_SERVER_PRIVATE_H
#define WARPRSA_DAEMON_SERVER_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "batching/daemon/server.h"
#include "batching/daemon/user_quota.h"
#include "batching/ipc/protocol.h"
#include "batching/ipc/shm.h"

/* Something an epoll instance watches: what to do when it is ready. */
typedef struct warprsa_source {
    void (*ready)(struct warprsa_source *source);
} warprsa_source;

struct warprsa_session;
struct warprsa_event_loop;

/* A request under way; one for each slot of a client. */
typedef struct warprsa_pending {
    struct warprsa_session *session;
    struct warprsa_pending *next; /* in the stack, or a list made of it */
    bool busy;
    uint32_t generation, notifier, bytes;
    uint64_t begun_ns;
    warprsa_ticket ticket;
} warprsa_pending;

typedef struct warprsa_session_key {
    warprsa_key *key; /* NULL: none, or one the queue has refused */
    bool taken;
    uint32_t generation;
    uint32_t bytes;
    uint8_t n[WARPRSA_MODULUS_BYTES_MAX]; /* the first `bytes` */
} warprsa_session_key;

typedef struct warprsa_session_notifier {
    uint32_t generation;
    bool there; /* fd is */
    int fd;
} warprsa_session_notifier;

/* One client process. Of its event_loop alone, once that has it. */
typedef struct warprsa_session {
    struct warprsa_event_loop *event_loop;
    TAILQ_ENTRY(warprsa_session) link;
    pid_t pid;
    uid_t uid;
    warprsa_source socket_source, process_source, eventfd_source;
    int socket;
    int process; /* a pidfd, or -1 */
    int eventfd;
    int memory; /* until attached */
    bool attached;
    bool closed;
    bool unread;        /* its ring may hold more */
    bool unread_socket; /* and its socket */
    warprsa_shm shm;
    uint32_t ring_offset; /* in the ring */
    uint32_t keys_max, notifiers_max;
    warprsa_session_key *keys;
    warprsa_session_notifier *notifiers; /* number 1 is at 1 */
    warprsa_pending *pending;
    unsigned in_flight;
    uint64_t answered; /* requests, ever */
} warprsa_session;

TAILQ_HEAD(warprsa_sessions, warprsa_session);

typedef struct warprsa_event_loop {
    struct warprsa_server *server;
    pthread_t thread;
    int epoll;
    int eventfd;
    warprsa_source wake_source;
    _Alignas(64) _Atomic(warprsa_pending *) answered;
    _Alignas(64) _Atomic uint64_t heartbeat_ns; /* when it last came round */
    pthread_mutex_t lock;
    struct warprsa_sessions arriving; /* under the lock */
    /* The thread's own. */
    struct warprsa_sessions sessions;
    uint32_t state; /* as published to the sessions */
    uint64_t published_ns;
    bool unread; /* so is one of them */
} warprsa_event_loop;

struct warprsa_server {
    warprsa_server_config config;
    pthread_mutex_t lock;  /* of config.limits */
    _Atomic bool closing;  /* no more connections */
    _Atomic bool stopping; /* no more requests; after the acceptor has ended */
    warprsa_user_quota clients;
    unsigned next; /* event_loop */
    pthread_t acceptor;
    int wake; /* eventfd, of the acceptor */
    warprsa_event_loop event_loops[WARPRSA_EVENT_LOOPS_MAX];
};

/* Writes a line to the log. */
__attribute__((format(printf, 3, 4))) void
warprsa_server_log(const warprsa_server *server, int level, const char *format,
                   ...);

void warprsa_server_limits_now(warprsa_server *server,
                               warprsa_server_limits *limits);

/* Closes a descriptor that a client sent and that is not what it should be.
 * Closing it may take its file system as long as that likes: it is done by a
 * thread of its own. */
void warprsa_server_dispose(int fd);

/* Whether a descriptor is a Unix socket of this type. Asks no file system. */
bool warprsa_server_is_socket(int fd, int type);

/* The process that made a socket; pid and user -1 if that can't be known. */
struct ucred warprsa_server_peer(int socket);

/* Adds to an epoll instance. False: see errno. */
bool warprsa_server_watch(int epoll, int fd, uint32_t events,
                          warprsa_source *source);

/* Closes *fd unless it is -1, which it is then. Takes it out of the epoll
 * instance first: a client that has the same file would keep it in. */
void warprsa_server_unwatch(int epoll, int *fd);

/* acceptor.c: the thread; ends when the server stops. */
void *warprsa_acceptor_run(void *server);

/* event_loop.c */
bool warprsa_event_loop_init(warprsa_event_loop *event_loop,
                             struct warprsa_server *server);
void warprsa_event_loop_free(warprsa_event_loop *event_loop);
void *warprsa_event_loop_run(void *event_loop);
/* Makes it come round. Any thread. */
void warprsa_event_loop_wake(warprsa_event_loop *event_loop);
/* Hands a new client over. The acceptor. */
void warprsa_event_loop_give(warprsa_event_loop *event_loop,
                             warprsa_session *session);

/* session.c. Any thread: */

/* A client on this socket (which it takes over) that wants so much, within
 * these limits. NULL: no memory. */
warprsa_session *warprsa_session_new(int socket, const struct ucred *peer,
                                     const warprsa_message *wanted,
                                     const warprsa_server_limits *limits);
/* For one that is closed with nothing in flight. */
void warprsa_session_free(warprsa_session *session);

/* Its event_loop: */

/* Sends WELCOME and begins to watch. False: closed. */
bool warprsa_session_begin(warprsa_session *session,
                           warprsa_event_loop *event_loop);
/* Closes what it has; logs why. Requests in flight still come back. */
void warprsa_session_end(warprsa_session *session, const char *why);
/* Goes on with what is unread. */
void warprsa_session_read_rest(warprsa_session *session);
/* An answer of the queue has come; false: not quite, to be called again. */
bool warprsa_session_complete(warprsa_pending *pending);
/* Publishes the state of the queue; `changed`: and wakes who waits for it. */
void warprsa_session_publish(warprsa_session *session, bool changed);

#endif
