/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One client process as the daemon sees it: its connection, shared memory,
 * keys, notifiers and requests under way. One event loop runs a session.
 * Threads share only what session_host and use_threads.h say. This file begins
 * and ends a session; session_turns.h runs it.
 *
 * This is the trust boundary: session_messages.c and session_requests.c check
 * whatever a client puts into the shared memory. The memory may change at any
 * moment. So a request or a message is copied out first and checked in the
 * copy. The offsets in the rings, and which slots, keys and notifiers are
 * taken, are kept outside.
 *
 * A client that breaks the protocol is disconnected: the provider's own client
 * never does. A client that asks for something it can't have is refused.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_SESSION_H
#define WARPRSA_BATCHING_DAEMON_SERVER_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "batching/daemon/process/event_source.h"
#include "batching/daemon/process/rounds.h"
#include "batching/daemon/server/peer.h"
#include "batching/daemon/server/server_context.h"
#include "batching/daemon/wire/protocol.h"
#include "batching/daemon/wire/shm.h"

struct warprsa_pending;
struct warprsa_session;
struct warprsa_session_use;
struct warprsa_use_batch;

TAILQ_HEAD(warprsa_sessions, warprsa_session);

/* The user of a session. */
typedef struct warprsa_session_user {
    uid_t uid;      /* who made the control connection: descriptors are its */
    uint64_t owner; /* of keys, requests and seats: uid, or of an identity */
    char identity[WARPRSA_IDENTITY_NAME]; /* of the network; empty: none */
} warprsa_session_user;

enum {
    /* After so many answers of a turn the waiting clients are notified, even if
     * the turn has more answers. */
    WARPRSA_NOTIFY_ANSWERS = 32,
    /* Uses that are handed over to another thread at once: some 0.1 ms of work,
     * as a turn. */
    WARPRSA_USE_BATCH = 32,
    /* Of one session, that other threads have at once: as many as there are
     * such threads at most, so that one client can keep all of them busy. */
    WARPRSA_USE_BATCHES = 8,
};

/* Notifiers with answers that have not been notified yet. Each thread that
 * answers has a list of its own. */
typedef struct warprsa_answering {
    bool is_loop; /* the event loop's own */
    unsigned count;
    unsigned unnotified; /* answers */
    struct warprsa_to_notify {
        struct warprsa_session *session;
        uint32_t notifier, generation;
    } of[WARPRSA_NOTIFY_ANSWERS];
} warprsa_answering;

/* A thread that goes on with requests once they are answered. */
typedef struct warprsa_taker {
    /* Takes a request that the queue has answered. Called on a worker of the
     * queue, or a thread of the vault. */
    void (*push)(struct warprsa_taker *taker, struct warprsa_pending *pending);
} warprsa_taker;

/* What a session needs from the event loop that runs it. */
typedef struct warprsa_session_host {
    warprsa_server_context *context;
    int epoll;                    /* where its descriptors are watched */
    uint32_t state;               /* of the queue, to be published to clients */
    unsigned changes;             /* of the state, ever */
    warprsa_rounds ready;         /* sessions that have something to do */
    struct warprsa_sessions open; /* the one published longest ago first */
    /* Closed, and to be freed once other threads have let go of them. */
    struct warprsa_sessions leaving;
    struct warprsa_sessions over; /* closed, and to be freed */
    unsigned sessions;            /* begun, and not freed */
    warprsa_answering answering;  /* of this turn */
    warprsa_taker taker; /* the event loop's thread then calls complete() */
} warprsa_session_host;

/* Where a request under way is. */
typedef enum warprsa_pending_stage {
    WARPRSA_STAGE_NONE,   /* there is none in the slot */
    WARPRSA_STAGE_TAKEN,  /* a thread has it; no other one may touch it */
    WARPRSA_STAGE_QUEUED, /* the queue has it, by its ticket */
} warprsa_pending_stage;

/* A request under way; one for each slot of a client. */
typedef struct warprsa_pending {
    struct warprsa_session *session;
    /* Links answered requests: in the event loop's list, then in the
     * session's. */
    struct warprsa_pending *next;
    atomic_int stage; /* warprsa_pending_stage */
    /* As in the request, checked. */
    uint32_t generation, notifier, notifier_generation, bytes;
    uint64_t begun_ns;
    warprsa_taker *taker; /* who goes on with it */
    warprsa_ticket ticket;
    /* Of a use that has not begun: what its key stands for, a reference each;
     * `key` may be NULL. */
    warprsa_vault_key *vault_key;
    warprsa_key *key;
    struct warprsa_session_use *use; /* NULL: of a key of the client's own */
} warprsa_pending;

/* Uses of one session that are to be begun, in their order. */
typedef struct warprsa_use_batch {
    warprsa_rounds_entry turn; /* of the thread that hands it over */
    struct warprsa_session *session;
    warprsa_pending *first, *last;
    unsigned count;
    atomic_bool is_away; /* handed over; it is that thread's */
} warprsa_use_batch;

/* A key of the vault that a client has named. */
typedef struct warprsa_session_vault_key {
    uint8_t spki_sha256[WARPRSA_KEY_SPKI_BYTES];
    warprsa_vault_key *key; /* NULL: the vault had none */
} warprsa_session_vault_key;

typedef struct warprsa_session_key {
    warprsa_key *key; /* NULL: none, or one the queue has refused */
    bool taken;       /* the client has brought one under this number */
    uint32_t generation;
    uint32_t bytes; /* of the modulus; 0: no engine takes such a key */
    warprsa_session_vault_key *vault; /* NULL: the client's own key */
} warprsa_session_key;

/* Other threads look at it only after they have counted themselves. */
typedef struct warprsa_session_notifier {
    uint32_t generation;
    int fd;
    /* WARPRSA_NOTIFIER_OPEN: fd is valid; plus how many threads use it. */
    _Atomic uint32_t state;
} warprsa_session_notifier;

#define WARPRSA_NOTIFIER_OPEN (UINT32_C(1) << 31)

typedef struct warprsa_session {
    warprsa_session_host *host;        /* NULL until begin() */
    TAILQ_ENTRY(warprsa_session) link; /* the event loop's, or the host's */
    warprsa_server_context *context;
    warprsa_peer peer; /* who attached; its process is 0 if not known */
    warprsa_session_user user;
    warprsa_event_source socket_source, process_source, eventfd_source;
    warprsa_rounds_entry ready;
    int socket;  /* shut down for reading */
    int process; /* a pidfd, or -1 */
    int eventfd;
    int memory;       /* of the shm, until the client has attached */
    const char *gone; /* why it is to be ended in its next turn, or NULL */
    atomic_bool closed;
    bool has_handed_over; /* other threads have had uses of it */
    bool is_leaving;      /* in the host's list */
    bool is_passing;      /* in it, nothing is under way, and `seen` is set */
    uint32_t seen[WARPRSA_USE_THREADS_MAX]; /* as in use_threads.h */
    uint64_t published_ns;
    unsigned published_change; /* of the host's changes, the last one */
    /* This turn: when it should end, when it last read the clock, messages
     * read, and whether messages are left unread. */
    uint64_t turn_until_ns, now_ns;
    unsigned messages_read;
    bool messages_left;
    /* A request waits for messages that were sent before it; how many of these
     * may still come. */
    bool holds;
    uint32_t held_slot;
    unsigned awaited;
    warprsa_shm shm;
    /* Offsets of the next request and message; never read from the shm. */
    uint32_t ring_offset, messages_offset;
    uint32_t keys_max, notifiers_max;
    uint32_t keys_end, notifiers_end; /* those from here on were never used */
    unsigned vault_keys;              /* that the client has named now */
    uint64_t vault_generation; /* when they were last reviewed, or are being */
    uint32_t reviewed_end;     /* keys before this one have been */
    uint32_t withdrawn_end; /* if closed: requests from here on were not yet */
    warprsa_session_key *keys;
    warprsa_session_notifier *notifiers; /* number 1 is at 1 */
    warprsa_pending *pending;
    warprsa_pending *answered, *last_answered; /* in this order */
    warprsa_use_batch taken; /* in this turn, and not handed over yet */
    warprsa_use_batch batches[WARPRSA_USE_BATCHES];
    warprsa_use_batch *newest; /* that was handed over; NULL: none */
    /* A thread that answers a request counts it off last. */
    atomic_uint in_flight;
    unsigned descriptors;     /* that its user is charged for */
    _Atomic uint64_t answers; /* DONE, ever */
} warprsa_session;

/* Two texts for "%s%s" in a line of the log: for which identity, if any. */
#define WARPRSA_SESSION_FOR(session)                                           \
    (session)->user.identity[0] != '\0' ? " for " : "", (session)->user.identity

/* Takes a seat for a user. Returns NULL, or why there is none. */
const char *warprsa_session_take_seat(warprsa_server_context *context,
                                      const warprsa_session_user *user,
                                      const warprsa_server_limits *limits);

/* Makes a session for a client of this user, who has taken a seat. The seat is
 * given back with the session, or if this fails. `wanted` is the client's
 * CONNECT, which is granted within these limits. *client_end is the client's
 * end of the socket; the caller closes it. NULL: no memory or descriptor. Any
 * thread. */
warprsa_session *warprsa_session_new(warprsa_server_context *context,
                                     const warprsa_session_user *user,
                                     const warprsa_message *wanted,
                                     const warprsa_server_limits *limits,
                                     int *client_end);

/* The client has mapped the memory. False: it has made the memory useless;
 * refuse() the session. */
bool warprsa_session_attach(warprsa_session *session, const warprsa_peer *peer);

/* Frees a session that did not begin, and gives up its seat. */
void warprsa_session_refuse(warprsa_session *session);

/* ---- For the thread of its event loop alone ---- */

/* Begins to watch an attached session and to serve it. The host outlives the
 * session. */
void warprsa_session_begin(warprsa_session *session,
                           warprsa_session_host *host);

/* Closes the session and logs why. Its keys and requests are given back in its
 * user's turns; then the session moves to the host's list `over`. Does nothing
 * a second time. */
void warprsa_session_end(warprsa_session *session, const char *why);

/* Frees a session that is over, and gives up its seat. No event may point to
 * it. */
void warprsa_session_free(warprsa_session *session);

/* Publishes the state of the queue and the heartbeat in the shm. If the host's
 * state has changed since the last time, also wakes the client's threads that
 * wait for a change. */
void warprsa_session_publish(warprsa_session *session);

/* ---- For the files of its turns ---- */

/* Has its user's turn come round. */
void warprsa_session_make_ready(warprsa_session *session);

/* Looks at the clock. False: the turn is over. */
bool warprsa_session_may_go_on(warprsa_session *session);

/* Clears the flags, before anything is read: a client that sets a flag
 * afterwards notifies again. Cleared flags also tell the client that this end
 * lives, so they are cleared as soon as its notification comes, before its
 * turn, too. */
void warprsa_session_clear_flags(const warprsa_session *session);

/* Makes two connected sockets. Only the second can be read from: its holder can
 * send nothing. False: there are none to be had. */
bool warprsa_session_one_way(int type, int ends[2]);

/* Charges the user for descriptors, and gives them back. False: the user may
 * have no more. */
bool warprsa_session_charge(warprsa_session *session, unsigned count);
void warprsa_session_discharge(warprsa_session *session, unsigned count);

/* The notifier is in no epoll instance: nothing depends on the other end
 * closing. */
void warprsa_session_close_notifier(warprsa_session *session,
                                    warprsa_session_notifier *notifier);

#endif
