/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the private operations of a process are computed: by a queue of its
 * own (queue.h) or by the daemon (daemon/client.h), which has the queue of
 * several processes. One table of functions for the two; what they promise is
 * what queue.h says of the functions of the same names.
 */
#ifndef WARPRSA_BATCHING_BACKEND_H
#define WARPRSA_BATCHING_BACKEND_H

#include "batching/queue.h"

typedef struct warprsa_backend_key warprsa_backend_key;

/* How callers that neither sleep nor have a worker in their process are told.
 */
typedef struct warprsa_notifier {
    void *owner; /* the home's */
    int fd;
    uint32_t number;
} warprsa_notifier;

typedef struct warprsa_backend_ops {
    bool (*close)(void *impl);
    void (*abandon)(void *impl);
    warprsa_queue_state (*wait_ready)(void *impl, unsigned timeout_ms);
    unsigned (*depth)(const void *impl);
    warprsa_backend_key *(*key)(void *impl,
                                const uint8_t id[WARPRSA_KEY_ID_BYTES],
                                const warprsa_private_key *key);
    void (*key_release)(warprsa_backend_key *key);
    void (*key_abandon)(warprsa_backend_key *key);
    /* `notifier` is the number of one, or 0; a home with notifiers never calls notify,
     * one without ignores it. */
    warprsa_answer (*submit)(void *impl, warprsa_backend_key *key,
                             const uint8_t *input, warprsa_notify notify,
                             uint32_t notifier, warprsa_ticket *ticket);
    warprsa_answer (*collect)(void *impl, warprsa_ticket ticket,
                              uint8_t *output);
    warprsa_answer (*wait)(void *impl, warprsa_ticket ticket, uint8_t *output);
    /*
     * NULL in a home that calls notify. Else: a descriptor that becomes
     * readable when a request submitted with its number (notifier->number, never
     * 0) is answered or never will be; the caller empties it by recv(). False
     * if there is none to be had: the caller then waits asleep.
     */
    bool (*notifier_open)(void *impl, warprsa_notifier *notifier);
    /* Whether it still uses_notifier for requests submitted now. */
    bool (*notifier_works)(void *impl, const warprsa_notifier *notifier);
    /* Closes the descriptor; also after the home itself was closed. */
    void (*notifier_close)(warprsa_notifier *notifier);
} warprsa_backend_ops;

typedef struct warprsa_backend {
    const warprsa_backend_ops *ops;
    void *impl;
} warprsa_backend;

/* The functions of a warprsa_queue. */
extern const warprsa_backend_ops warprsa_backend_local;

#endif
