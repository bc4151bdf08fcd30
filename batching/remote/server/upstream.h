/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A network thread's sessions at warprsad, which computes. The gateway is a
 * client of the local protocol (daemon/wire/protocol.h), with two differences
 * from other programs. It has a session for each call of a host, in the name of
 * the host's identity. It never sleeps for an answer: answers are events of the
 * thread's epoll instance. The gateway trusts warprsad. An upstream belongs to
 * one thread.
 */
#ifndef WARPRSA_BATCHING_REMOTE_SERVER_UPSTREAM_H
#define WARPRSA_BATCHING_REMOTE_SERVER_UPSTREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "batching/daemon/client/control_connection.h"
#include "batching/daemon/client/session_connection.h"
#include "batching/daemon/process/event_source.h"

enum {
    WARPRSA_UPSTREAM_WHY = 160,
};

struct warprsa_upstream;
struct warprsa_upstream_session;

/* What the owner of a session does. No handler may free the session. */
typedef struct warprsa_upstream_handlers {
    /* The session may be used from now on. */
    void (*opened)(struct warprsa_upstream_session *session);
    /* There are answers to collect. */
    void (*answered)(struct warprsa_upstream_session *session);
    /* The session was refused or has ended: no more answers will come. */
    void (*lost)(struct warprsa_upstream_session *session, const char *why);
} warprsa_upstream_handlers;

typedef struct warprsa_upstream_session {
    struct warprsa_upstream *upstream; /* NULL: not asked for, or over */
    const warprsa_upstream_handlers *handlers; /* NULL: closed, and not over */
    uint32_t tag;                              /* of its CONNECT */
    uint64_t asked_ns;                         /* when that was sent */
    uint32_t unaccepted;            /* of its WELCOME, until ATTACHED is sent */
    warprsa_connection *connection; /* NULL before WELCOME, and at the end */
    TAILQ_ENTRY(warprsa_upstream_session) link; /* the upstream's */
    warprsa_own_fd notifier;
    warprsa_event_source socket_source, notifier_source;
    bool is_open;
    uint32_t generations; /* of requests so far */
    unsigned unannounced; /* of these */
    uint32_t deadline_ms; /* within which a request is answered */
} warprsa_upstream_session;

typedef struct warprsa_upstream {
    warprsa_control_connection control;
    int epoll;
    warprsa_event_source source; /* of the control connection */
    bool watched;                /* in the epoll instance */
    uint32_t tags;               /* given out so far */
    /* Sessions that were asked for but are not open yet. */
    TAILQ_HEAD(, warprsa_upstream_session) asked;
    warprsa_upstream_session own;   /* shows the state of warprsad */
    bool is_believed;               /* about identities, as `own` was told */
    uint64_t retry_ns;              /* `own` is not asked for before */
    char why[WARPRSA_UPSTREAM_WHY]; /* why it can't be used */
} warprsa_upstream;

/* Connects to warprsad at `socket`; if that fails, tick() tries again. `epoll`
 * outlives the upstream. */
void warprsa_upstream_init(warprsa_upstream *upstream, int epoll,
                           const char *socket);

/* Closes the upstream, all of whose sessions are closed. */
void warprsa_upstream_close(warprsa_upstream *upstream);

/* To be called several times a second: connects again, and gives up sessions
 * whose replies do not come. */
void warprsa_upstream_tick(warprsa_upstream *upstream, uint64_t now_ns);

/* Whether warprsad computes now for the identities of this process; false while
 * warprsad hangs. */
bool warprsa_upstream_is_ready(const warprsa_upstream *upstream);

/* Asks for a session for an identity, given by the gateway's number and its
 * name. `session` is all zeros. opened() or lost() follows. False with the
 * reason in why: warprsad is not there or does not read. */
bool warprsa_upstream_ask(warprsa_upstream *upstream,
                          warprsa_upstream_session *session,
                          const warprsa_upstream_handlers *handlers,
                          const warprsa_message *wanted,
                          char why[WARPRSA_UPSTREAM_WHY]);

/* Ends a session: warprsad wipes its keys and computes nothing more for it. No
 * handler is called any more. Does nothing a second time. */
void warprsa_upstream_session_close(warprsa_upstream_session *session);

/* Whether warprsad has nothing more to do for a session, whose memory may be
 * freed after the events of this round. A session that was closed before
 * warprsad has replied is over once warprsad has, and was told that the session
 * has ended; or after some seconds. Until then its CONNECT is in warprsad's
 * queue, and counts as a session of its owner. */
bool warprsa_upstream_session_is_over(const warprsa_upstream_session *session);

/* Ends a session that is over after this, whatever warprsad has to do. */
void warprsa_upstream_session_forget(warprsa_upstream_session *session);

/* ---- Of a session that is open ---- */

/* Whether warprsad has room for one more message about a key. */
bool warprsa_upstream_has_room(warprsa_upstream_session *session);

/* Whether warprsad grants uses of keys of its vault. */
bool warprsa_upstream_has_uses(const warprsa_upstream_session *session);

/* Sends a key under a free number, names a key of the vault under one, or frees
 * a key's number. has_room() must be true; to name a key, has_uses(), too. */
void warprsa_upstream_load_key(warprsa_upstream_session *session,
                               uint32_t number, const warprsa_private_key *key);
void warprsa_upstream_name_key(
    warprsa_upstream_session *session, uint32_t number,
    const uint8_t spki_sha256[WARPRSA_KEY_SPKI_BYTES]);
void warprsa_upstream_free_key(warprsa_upstream_session *session,
                               uint32_t number);

/* Submits an input of `bytes` bytes, below the key's modulus; warprsad may look
 * at it only after announce(). False: no slot is free now. */
bool warprsa_upstream_submit(warprsa_upstream_session *session, uint32_t key,
                             const uint8_t *input, uint32_t bytes,
                             uint64_t now_ns, warprsa_ticket *ticket);

/* Submits a use of a key of the vault, which warprsad checks; its input has at
 * most WARPRSA_VAULT_MODULUS_BYTES_MAX bytes. False: no slot is free now. */
bool warprsa_upstream_submit_use(warprsa_upstream_session *session,
                                 uint32_t key, const warprsa_key_use *use,
                                 const uint8_t *input, uint64_t now_ns,
                                 warprsa_ticket *ticket);

/* Has warprsad look at what was submitted. */
void warprsa_upstream_announce(warprsa_upstream_session *session);

/* Whether a request is answered. Of one that is not, only collect() sees that
 * it has waited for too long. */
bool warprsa_upstream_is_answered(const warprsa_upstream_session *session,
                                  warprsa_ticket ticket);

/* The answer to a request: DONE with the output, PENDING, or REFUSED; *how says
 * more. `output` has room for a modulus, of a use for
 * WARPRSA_VAULT_MODULUS_BYTES_MAX bytes. */
warprsa_answer warprsa_upstream_collect(warprsa_upstream_session *session,
                                        warprsa_ticket ticket, uint8_t *output,
                                        warprsa_connection_answer *how);

#endif
