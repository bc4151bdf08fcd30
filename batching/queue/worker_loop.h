/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What there is to do for a worker, the thread of a device's stream: to wipe
 * keys, to run a batch, to load keys, and, if there is nothing, to sleep.
 */
#ifndef WARPRSA_BATCHING_QUEUE_WORKER_LOOP_H
#define WARPRSA_BATCHING_QUEUE_WORKER_LOOP_H

#include "batching/queue/queue_device.h"

/* Does what there is to do; false: there was nothing. From inside the device.
 * A batch waits for the load of one key at most, other than its own. */
bool warprsa_work(warprsa_worker *worker);

/* Sleeps until there may be something to do; not from inside the device. */
void warprsa_work_sleep(warprsa_worker *worker);

/* Refuses the requests that were set aside, if their keys will not be loaded
 * any more. */
void warprsa_work_refuse_stranded(warprsa_worker *worker);

#endif
