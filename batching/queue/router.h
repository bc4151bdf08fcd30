/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The router: whether an operation is done sooner on the caller's CPU or on a
 * device. It decides by what was reported to it: how long operations took on
 * the CPU, how long devices took to answer, and how many requests they had at
 * that time. Neither OpenSSL nor CUDA appears in it. It reads time from
 * functions it is given, so that tests can control time.
 *
 * Three rules:
 *
 * 1. Fewer callers than CPUs: the sooner answer. While a CPU is free, a caller
 *    goes where its operation is done sooner. The time of a device is looked
 *    up by the number of requests before this one. Where nothing was measured
 *    for that number yet, the router assumes the time for fewer requests; it
 *    learns the real one as the load rises. Measurements of a device that
 *    nobody has used for a while are forgotten, because other programs may
 *    have kept the device busy at that time.
 *
 * 2. Contention: more callers than CPUs. Once every CPU computes, and half as
 *    many threads wait for one, another computation on the CPU only takes time
 *    from the others, while the device adds to what they do. So the caller
 *    goes to the device. It computes on the CPU only if the device is
 *    saturated, would answer later, and not many threads compute. With very
 *    many callers the devices alone may do more than CPUs and devices together
 *    do now, since threads that compute keep the CPU from threads that only
 *    submit a request and wake up for its answer. The contention probe then
 *    sends all callers that block to the devices, and keeps doing so if more
 *    gets done.
 *
 * 3. Event loops. While the thread of an event loop computes, it does nothing
 *    else, and how much else it could have started cannot be seen beforehand.
 *    So a thread that hardly ever sleeps and has several jobs probes the
 *    device (the offload probe): it uses the device for some hundredths of a
 *    second, and stays with it as long as more gets done that way. What gets
 *    done is its own CPU time plus the CPU time that the operations sent to
 *    the device would have taken. (A thread that polls and never sleeps looks
 *    like one that always has work.) A thread with a single job never probes.
 *    Nor does one that computes an operation of each of its jobs within two
 *    thirds of the time a device takes to answer: it could not gain. After a
 *    probe that failed, the thread's periods get longer. The connections of a
 *    server tend to do their private operations all at the same time, and then
 *    everything else all at the same time; a period shorter than such a wave
 *    measures the wave and not the gain.
 *    A server may become faster than its clients by the device. Then no more
 *    gets done, but its thread has time left, and stays with the device, too.
 *    A job that is computed on the CPU does not pause. If it makes one
 *    operation after the other, its event loop does not get to the other jobs,
 *    and the router would see one job where there are hundreds. So such a job
 *    yields (warprsa_router_should_yield()): it pauses once, to be resumed at
 *    once.
 *    If the device is saturated, the overflow probe finds out whether more
 *    gets done when such threads compute a share of the operations, so large
 *    that a quarter of the CPUs stays idle. It does not where the CPUs have an
 *    engine beside GPUs: there all that CPUs did at normal priority was
 *    measured to cost more than it gave (doc/log/2026-11-26-performance.md).
 *
 * The device may be the CPU engine itself, which computes up to eight
 * operations in the time of one. Then the same rules hold but for saturation:
 * there is nothing else that could do the work.
 *
 * How a probe works: probe.h.
 */
#ifndef WARPRSA_BATCHING_QUEUE_ROUTER_H
#define WARPRSA_BATCHING_QUEUE_ROUTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "batching/queue/probe.h"
#include "batching/queue/router_rules.h"
#include "batching/queue/router_thread.h"
#include "batching/queue/router_times.h"
#include "gpu/engine.h"

/* Nanoseconds of a clock that only goes forward, and of CPU time used. */
typedef struct warprsa_router_clocks {
    uint64_t (*now)(void);
    uint64_t (*process_cpu)(void);
    uint64_t (*thread_cpu)(void); /* the calling thread's; read twice for each
                                     operation that is computed on the CPU */
    warprsa_router_usage (*thread)(void);
} warprsa_router_clocks;

/* The system's. */
extern const warprsa_router_clocks warprsa_router_system_clocks;

/* One per process. Written by any thread without locks: a race may lose a
 * measurement, and then a decision turns out a little less well. */
typedef struct warprsa_router {
    const warprsa_router_clocks *clocks;
    unsigned cpus;
    warprsa_router_times times;
    _Atomic bool devices_opened; /* the devices were asked for */
    _Atomic bool devices_up;     /* one of them takes requests */
    _Atomic uint32_t cpus_kind;  /* warprsa_router_cpus */
    /* Before the devices are opened: operations that would have gone there, in
     * the interval that began at open_demand_ns. */
    _Atomic uint64_t open_demand_ns;
    _Atomic uint32_t open_demand;
    /* Threads that compute on a CPU now. */
    _Alignas(64) _Atomic uint32_t computing;
    /* The process's period, which began at period_start_ns. */
    _Alignas(64) _Atomic uint64_t period_start_ns;
    _Atomic uint64_t period_cpu_ns; /* the process's CPU time at its start */
    _Atomic uint64_t computed_ns;   /* spent on operations on the CPU */
    _Atomic uint64_t work_ns; /* CPU time of all operations, wherever done */
    _Atomic bool contended;   /* a caller that blocks found all CPUs busy */
    _Atomic bool saturated;   /* an event loop found the devices saturated */
    /* What follows belongs to the thread that has set `evaluating`. */
    atomic_flag evaluating;
    warprsa_probe contention; /* all callers that block go to the devices */
    warprsa_probe overflow;   /* event loops compute a share when saturated */
    /* What all threads do because of these two. */
    _Atomic bool contention_to_device;
    _Atomic uint32_t overflow_share; /* computed when saturated, of 65536 */
} warprsa_router;

/* Begins with nothing measured. `clocks` outlives the router; cpus: how many
 * the process may use. */
void warprsa_router_init(warprsa_router *router,
                         const warprsa_router_clocks *clocks, unsigned cpus);

/* The devices were opened: from now on RUN_DEVICE needs no open demand. Any
 * thread. */
void warprsa_router_devices_opened(warprsa_router *router);

/* Whether a device takes requests; no probe is judged while none does. Any
 * thread. */
void warprsa_router_set_devices_up(warprsa_router *router, bool up);

/* The kind of the devices that take requests. What was measured of the devices
 * before is forgotten. Any thread. */
void warprsa_router_set_cpus(warprsa_router *router, warprsa_router_cpus cpus);

/*
 * Where this operation shall be done. `job`: whatever tells the jobs of one
 * event loop apart (it is not dereferenced); NULL: the caller blocks.
 * `before`: requests submitted and not answered yet. `thread` is the calling
 * thread's. As long as the devices are not open, RUN_DEVICE is returned only
 * once several operations in a row would have gone there. Any thread. Takes
 * about 0.1 us.
 */
warprsa_router_choice warprsa_router_choose(warprsa_router *router,
                                            warprsa_router_thread *thread,
                                            warprsa_size_class size,
                                            const void *job, unsigned before);

/*
 * Whether the operation at hand, of a job, is to yield before it is routed: to
 * pause once, so that the event loop can start or resume other jobs, and go on
 * as soon as it is resumed. True for a job that has made the last operation of
 * its thread as well, once a period, if the thread has not slept in the
 * period, and if jobs enough to gain by a probe have not been seen yet. While
 * there turns out to be no other job, yields become rarer, down to one in 0.64
 * s. To be asked once for each operation, before warprsa_router_choose().
 * `job`: as there, not NULL.
 */
bool warprsa_router_should_yield(warprsa_router *router,
                                 warprsa_router_thread *thread,
                                 warprsa_size_class size, const void *job);

/* Around an operation computed on the CPU, whatever the reason for it. What
 * begin returns is given to end, by the same thread. */
uint64_t warprsa_router_cpu_begin(warprsa_router *router);
void warprsa_router_cpu_end(warprsa_router *router, warprsa_size_class size,
                            uint64_t begun_ns);

/* A device has answered `response_ns` after the submission. `depth`: requests
 * submitted and not answered at that time, its own included. Any thread. */
void warprsa_router_device_response(warprsa_router *router,
                                    warprsa_size_class size, unsigned depth,
                                    uint64_t response_ns);

/* An idle device, of GPUs or CPUs, has needed test_ns for one operation of each
 * class, one after the other: what to expect until something is measured. Any
 * thread. */
void warprsa_router_calibrate(warprsa_router *router, uint64_t test_ns,
                              bool on_cpus);

/* How long an operation is expected to take on the CPU, shared with those that
 * compute now (0: not measured), and on the devices with `before` requests
 * before it. Any thread. */
uint64_t warprsa_router_cpu_ns(const warprsa_router *router,
                               warprsa_size_class size);
uint64_t warprsa_router_device_ns(const warprsa_router *router,
                                  warprsa_size_class size, unsigned before);

#endif
