/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Requests that one host has not answered go to another device: to another
 * host, a GPU of this machine or its CPUs, whichever takes them next.
 *
 * Only requests of other hosts go on, whose engine says that its devices come
 * and go. A request that a GPU failed at may be the reason why it failed, and
 * would make the next GPU fail, too. A host that meets such a request loses its
 * own GPU, and answers. A request whose key a host does not take
 * (WARPRSA_UNSUPPORTED_KEY) goes to no other device either, as when the host
 * refuses the key at first: the caller computes.
 */
#ifndef WARPRSA_BATCHING_QUEUE_FAILOVER_H
#define WARPRSA_BATCHING_QUEUE_FAILOVER_H

#include "batching/queue/device_types.h"

/* Queues a RUNNING request of this device's once more, with its reference to
 * its key. False: it is still the caller's, to be refused, because no other
 * device is ready, its deadline has passed or it has been given back too often.
 * After some of these other devices are to be notified. */
bool warprsa_failover_request(warprsa_queue_device *device, uint32_t slot);

/*
 * Does so for the requests of a batch that has ended: for all of them, or for
 * those alone whose task the device would not do (`all` false). Then the device
 * takes nothing for a little while: it would get back what it has just given
 * away. The other requests stay the batch's. No key is pinned by the batch any
 * more. False: no request went.
 */
bool warprsa_failover_batch(warprsa_batch *batch, bool all);

#endif
