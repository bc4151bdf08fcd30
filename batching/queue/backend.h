/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A backend: what computes the private operations of a process. There are two:
 * a queue of the process's own (provider/backend_local.h), and the daemon
 * (daemon/client/client.h), whose one queue serves many processes. This is the
 * table of functions that both fill in. Each function does what queue.h says of
 * the one with its name.
 */
#ifndef WARPRSA_BATCHING_QUEUE_BACKEND_H
#define WARPRSA_BATCHING_QUEUE_BACKEND_H

#include "batching/base/own_fd.h"
#include "batching/queue/queue_types.h"

/* A backend's key; each backend has its own type behind it. */
typedef struct warprsa_backend_key warprsa_backend_key;

/*
 * How a caller that does not sleep learns of its answer if no worker is in its
 * process to call warprsa_notify.wake: a descriptor that becomes readable.
 */
typedef struct warprsa_notifier {
    void *owner; /* the backend's own */
    warprsa_own_fd fd;
    warprsa_marked_fd marked; /* the same descriptor */
    uint32_t number;          /* given to submit(); never 0 */
} warprsa_notifier;

typedef struct warprsa_backend_ops {
    bool (*close)(void *impl);
    void (*abandon)(void *impl);
    warprsa_queue_state (*wait_ready)(void *impl, unsigned timeout_ms);
    /* NULL in a backend that never calls notify.wake. */
    void (*tick)(void *impl);
    unsigned (*depth)(const void *impl);
    warprsa_backend_key *(*key)(void *impl,
                                const uint8_t id[WARPRSA_KEY_ID_BYTES],
                                const warprsa_private_key *key);
    void (*key_release)(warprsa_backend_key *key);
    void (*key_abandon)(warprsa_backend_key *key);
    /* `notifier`: the number of one, or 0. A backend that has notifiers uses
     * it and never calls notify.wake; one that has none ignores it. */
    warprsa_answer (*submit)(void *impl, warprsa_backend_key *key,
                             const uint8_t *input, warprsa_notify notify,
                             uint32_t notifier, warprsa_ticket *ticket);
    warprsa_answer (*collect)(void *impl, warprsa_ticket ticket,
                              uint8_t *output);
    warprsa_answer (*wait)(void *impl, warprsa_ticket ticket, uint8_t *output);
    /*
     * NULL in a backend that calls notify.wake. Else: makes a notifier. Its
     * descriptor becomes readable when a request submitted with its number is
     * answered, or never will be; the caller empties it by recv(). False:
     * there is none to be had, and the caller must use wait() instead.
     */
    bool (*notifier_open)(void *impl, warprsa_notifier *notifier);
    /* Whether requests submitted now with its number still notify it. */
    bool (*notifier_works)(void *impl, const warprsa_notifier *notifier);
    /* Leaves a request that was submitted with this notifier, since nobody will
     * collect its answer; also after the backend itself was closed. */
    void (*leave)(const warprsa_notifier *notifier, warprsa_ticket ticket);
    /* Closes the descriptor; also after the backend itself was closed. */
    void (*notifier_close)(warprsa_notifier *notifier);
} warprsa_backend_ops;

typedef struct warprsa_backend {
    const warprsa_backend_ops *ops;
    void *impl; /* what the functions get */
} warprsa_backend;

#endif
