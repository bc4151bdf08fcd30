/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One device of a queue and the threads that work it, one per stream: when it
 * may be used, and how it comes back after it has failed. device_states.h has
 * its states.
 */
#ifndef WARPRSA_BATCHING_QUEUE_QUEUE_DEVICE_H
#define WARPRSA_BATCHING_QUEUE_QUEUE_DEVICE_H

#include "batching/queue/device_types.h"
#include "batching/queue/key_loads.h"

/* Makes an entry ABSENT, and *loads of it; false: no memory. */
bool warprsa_device_init(warprsa_queue_device *device, warprsa_queue *queue,
                         unsigned number, warprsa_key_loads *loads);
void warprsa_device_destroy(warprsa_queue_device *device);

/* An engine has the device of this entry, which is now OPENING. */
void warprsa_device_note_found(warprsa_queue_device *device);

/* None of its threads could be started. */
void warprsa_device_give_up(warprsa_queue_device *device, const char *why);

/*
 * Waits until the device is READY, opening or testing it if that is this
 * thread's job, and goes inside: from here to warprsa_device_leave() the
 * device is not closed.
 */
typedef enum warprsa_entry {
    WARPRSA_ENTRY_INSIDE,
    /* Not inside: the device is not READY, and requests are set aside there.
     * The thread has to refuse them, and to come again. */
    WARPRSA_ENTRY_STRANDED,
    WARPRSA_ENTRY_END, /* the thread has to end */
} warprsa_entry;

warprsa_entry warprsa_device_enter(warprsa_worker *worker);
void warprsa_device_leave(warprsa_worker *worker);

/* Whether it is READY. If not, its threads must call warprsa_device_enter() to
 * bring it back. */
bool warprsa_device_usable(warprsa_queue_device *device);

/* From inside: the batch of this stream missed its deadline; the device has
 * failed. Counted once per loss, however many threads notice. */
void warprsa_device_overdue(warprsa_worker *worker);
void warprsa_device_failed(warprsa_queue_device *device, warprsa_status status);

/* From inside: a result of this class was wrong because of the device. True: it
 * is out of use now. */
bool warprsa_device_wrong(warprsa_queue_device *device,
                          warprsa_size_class size);

/* Whether it was in use, and this process can't bring it back: see
 * warprsa_queue_has_lost_device(). Any thread. */
bool warprsa_device_is_lost(warprsa_queue_device *device);

/* Takes the device out of use if a thread hangs in a call of its engine. That
 * thread may never come back, so others have to look; any thread may. */
void warprsa_device_look(warprsa_queue_device *device);

/* From inside: a batch came back. */
void warprsa_device_worked(warprsa_queue_device *device);

/* After each batch and load, when requests are stranded, and when a thread
 * ends: if a key has been loading for longer than the deadline, the device has
 * failed, and *overdue is set. If it is not READY, or the queue is closing,
 * *refused gets the requests that were set aside; not those of a key being
 * loaded. */
void warprsa_device_strand(warprsa_queue_device *device, bool *overdue,
                           warprsa_request_chain *refused);

/* Closes the engine's device, if it is open: no key is there any more. Without
 * locks, while nobody is inside. */
void warprsa_device_shut(warprsa_queue_device *device);

/* For the thread that closes the queue: makes the device's threads look at the
 * queue's state. */
void warprsa_device_wake(warprsa_queue_device *device);

#endif
