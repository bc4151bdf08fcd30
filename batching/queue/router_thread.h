/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the router knows of one thread of an event loop, and its offload probe
 * (rule 3 of router.h): whether more gets done if the thread sends its
 * operations to the devices. Plain data of that thread. It reads no clock: each
 * function gets the time, and what the thread has used.
 */
#ifndef WARPRSA_BATCHING_QUEUE_ROUTER_THREAD_H
#define WARPRSA_BATCHING_QUEUE_ROUTER_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "batching/queue/probe.h"

/* What the calling thread has done so far. */
typedef struct warprsa_router_usage {
    uint64_t cpu_ns; /* CPU time it used */
    uint64_t slept;  /* times it went to sleep */
} warprsa_router_usage;

/* What the router knows of one thread; zeros to begin with. */
typedef struct warprsa_router_thread {
    uint64_t period_start_ns;   /* of this thread's period */
    unsigned stretch;           /* the period is longer by so many doublings */
    warprsa_router_usage usage; /* at its start */
    uint64_t offloaded_ns; /* CPU time of the operations sent to the device */
    uint64_t jobs;         /* seen: one of 64 bits each, chosen by a hash */
    uint64_t jobs_ns;      /* CPU time of one operation of each of them */
    uint64_t yielded;      /* those of them that have been asked to yield */
    const void *last_job;  /* of the last operation; NULL: its caller blocked */
    bool yielding;         /* last_job yields, or has just done so */
    uint64_t yield_ns;     /* nobody yields before */
    unsigned alone;        /* yields in a row that let no other job go on */
    warprsa_probe offload; /* this thread uses the device */
    uint64_t done;         /* in the probe's periods, on average */
    uint32_t overflow;     /* at 65536 the next operation is computed */
} warprsa_router_thread;

/* Notes an operation of a job, which takes `op_ns` of CPU time. */
void warprsa_router_thread_note_job(warprsa_router_thread *thread,
                                    const void *job, uint64_t op_ns);

/* Whether it has several jobs, and computing an operation of each takes it more
 * than two thirds of the time that devices take to answer. */
bool warprsa_router_thread_could_gain(const warprsa_router_thread *thread,
                                      uint64_t device_ns);

/* Whether it is time for a new period; and begins one, by what the thread has
 * used until now. The probe is not judged while no device takes requests. */
bool warprsa_router_thread_period_is_over(const warprsa_router_thread *thread,
                                          uint64_t now, uint64_t device_ns);
void warprsa_router_thread_next_period(warprsa_router_thread *thread,
                                       uint64_t now, uint64_t device_ns,
                                       const warprsa_router_usage *usage,
                                       bool devices_up);

/* Whether this job may yield before its next operation, as far as that can be
 * told without the time; whether the time for it has come; and has it yield,
 * unless the thread has slept. In this order. */
bool warprsa_router_thread_may_yield(const warprsa_router_thread *thread,
                                     const void *job);
bool warprsa_router_thread_yield_is_due(const warprsa_router_thread *thread,
                                        uint64_t now);
bool warprsa_router_thread_yield(warprsa_router_thread *thread, const void *job,
                                 uint64_t now,
                                 const warprsa_router_usage *usage);

/* Before the next operation, of this job: whether the yield, if there was one,
 * has let another job go on, and when the next one is due. */
void warprsa_router_thread_note_yield(warprsa_router_thread *thread,
                                      const void *job, uint64_t now);

#endif
