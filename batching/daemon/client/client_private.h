/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a client, for its four files. client.c connects to the daemon
 * and disconnects. client_keys.c, client_notifiers.c and client_requests.c have
 * the functions of backend.h for keys, notifiers and requests.
 */
#ifndef WARPRSA_BATCHING_DAEMON_CLIENT_CLIENT_PRIVATE_H
#define WARPRSA_BATCHING_DAEMON_CLIENT_CLIENT_PRIVATE_H

#include <pthread.h>
#include <sys/queue.h>

#include "batching/daemon/client/busy.h"
#include "batching/daemon/client/client.h"
#include "batching/daemon/client/session_connection.h"

enum {
    WARPRSA_CLIENT_BUCKETS = 256, /* of the hash table of keys */
};

struct warprsa_backend_key {
    uint32_t references; /* under the client's lock */
    warprsa_client *client;
    LIST_ENTRY(warprsa_backend_key) link;
    uint8_t id[WARPRSA_KEY_ID_BYTES];
    warprsa_size_class size;
    uint32_t serial; /* of the connection it was sent over; 0: none */
    uint32_t number, generation; /* on that connection */
    warprsa_private_key key;     /* wiped with the last reference */
};

LIST_HEAD(warprsa_backend_key_list, warprsa_backend_key);

struct warprsa_client {
    _Atomic uint32_t references; /* the opener's, each key's, each notifier's */
    warprsa_client_config config;

    pthread_mutex_t lock;           /* of what follows, to `bucket` */
    warprsa_connection *connection; /* NULL: none now */
    bool closed;
    uint32_t generations; /* of slots, handed out so far */
    struct warprsa_backend_key_list bucket[WARPRSA_CLIENT_BUCKETS];

    /* As last published: the connection's state, and whether the daemon
     * computes with the CPUs alone. */
    _Atomic uint32_t state;
    _Atomic bool on_cpus;
    _Alignas(64) _Atomic uint32_t depth; /* submitted and not answered */

    pthread_mutex_t connect_lock; /* of what follows */
    uint32_t serials;             /* of connections, handed out so far */
    bool asked;                   /* for a connection; no reply yet */
    bool late;                    /* callers do not wait for the reply */
    warprsa_naps naps;            /* of callers that waited for it */
    warprsa_busy daemon;          /* since it was asked */
    uint64_t retry_ns;            /* not asked again before */
    unsigned pause_ms;            /* after the next failure */
};

/* Drops a reference; the last one frees. Any thread. */
void warprsa_client_drop(warprsa_client *client);

/* The connection with one more reference, or NULL if there is none now. */
warprsa_connection *warprsa_client_connection(warprsa_client *client);

/* Ends the use of a connection whose daemon has gone, unless another thread has
 * done so, and wakes the jobs that wait for answers. Keeps the caller's
 * reference. */
void warprsa_client_disconnect(warprsa_client *client,
                               warprsa_connection *connection);

/* client_keys.c. upload(), with the lock held, sends the key to the daemon
 * unless the daemon has it. False: it can't be sent now. */
warprsa_backend_key *warprsa_client_key(void *impl,
                                        const uint8_t id[WARPRSA_KEY_ID_BYTES],
                                        const warprsa_private_key *key);
void warprsa_client_key_release(warprsa_backend_key *key);
void warprsa_client_key_abandon(warprsa_backend_key *key);
bool warprsa_client_upload(warprsa_client *client,
                           warprsa_connection *connection,
                           warprsa_backend_key *key);

/* client_notifiers.c. open() waits some milliseconds for the daemon at most,
 * and not again before the daemon has caught up. end_notifiers() makes all
 * notifiers readable for good. */
bool warprsa_client_notifier_open(void *impl, warprsa_notifier *notifier);
bool warprsa_client_notifier_works(void *impl,
                                   const warprsa_notifier *notifier);
void warprsa_client_notifier_close(warprsa_notifier *notifier);
void warprsa_client_end_notifiers(warprsa_client *client,
                                  warprsa_connection *connection);
/* The number of a notifier on this connection; 0: it belongs to another
 * connection. */
uint32_t warprsa_client_notifier_number(const warprsa_connection *connection,
                                        uint32_t notifier);

/* client_requests.c. */
warprsa_answer warprsa_client_submit(void *impl, warprsa_backend_key *key,
                                     const uint8_t *input,
                                     warprsa_notify notify, uint32_t notifier,
                                     warprsa_ticket *ticket);
warprsa_answer warprsa_client_collect(void *impl, warprsa_ticket ticket,
                                      uint8_t *output);
warprsa_answer warprsa_client_wait(void *impl, warprsa_ticket ticket,
                                   uint8_t *output);

#endif
