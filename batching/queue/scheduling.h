/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which device of a queue takes which requests, how many at once, and whose
 * idle worker is notified of a new one. All of it by hints: a worker that finds
 * nothing sleeps again, and one that finds more takes it. Any thread, without
 * locks, unless something else is said.
 */
#ifndef WARPRSA_BATCHING_QUEUE_SCHEDULING_H
#define WARPRSA_BATCHING_QUEUE_SCHEDULING_H

#include "batching/queue/queue_core.h"

/* A batch of CPUs has taken cpu_ns of CPU time and elapsed_ns by the clock. By
 * its worker; a race loses a measurement. */
void warprsa_queue_note_cpu_time(warprsa_queue *queue, unsigned device,
                                 uint64_t cpu_ns, uint64_t elapsed_ns);

/* Whether a batch of this device would gain by more requests: less is queued
 * than it can have, and one that is not full takes the CPU for as long as a
 * full one. Never true of GPUs. */
bool warprsa_queue_would_be_fuller(warprsa_queue *queue, unsigned device);

/* The classes that a worker of this device may take now. The CPUs take no class
 * that another device takes, since callers need the CPUs; beside other hosts
 * they take those that they should answer sooner. Where threads of a CPU device
 * have to wait for a CPU, a batch that would not be full waits for the end of
 * another one. While a device is busy with a class, so does a batch of it with
 * few requests of each key (warprsa_rule_enough()). */
warprsa_class_set warprsa_queue_takes_now(warprsa_queue *queue,
                                          unsigned device);

/* After queueing a request of this class: wakes an idle worker that may take
 * it: of the CPUs if they are expected to answer it sooner, else of the first
 * engine that has one, and there of the device with the least to do. */
void warprsa_queue_notify_idle(warprsa_queue *queue, warprsa_size_class size);

/* Does so for each class of which a request is queued. */
void warprsa_queue_notify_of_all(warprsa_queue *queue);

/* By a worker of this device that is about to sleep, and has armed the
 * eventcount: wakes others for what is queued. CPUs may have been woken for a
 * request that they would not answer sooner any more. */
void warprsa_queue_pass_on(warprsa_queue *queue, unsigned device);

/* Makes devices with idle workers ready to be notified again, and wakes one at
 * once if there is work: by a worker that goes to do something else. */
void warprsa_queue_rearm_idle(warprsa_queue *queue);

/* Wakes all idle workers. */
void warprsa_queue_wake_all(warprsa_queue *queue);

/* How many requests of a class a batch of this device may have, so that idle
 * devices of the same engine get their share. */
uint32_t warprsa_queue_share(warprsa_queue *queue, unsigned device,
                             warprsa_size_class size);

#endif
