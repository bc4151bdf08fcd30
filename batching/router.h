/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The router: whether an operation is done sooner here, on the caller's CPU,
 * or on a device. It knows what it has been told: how long operations took
 * here, how long devices took to answer and how much they had before them.
 * Neither OpenSSL nor CUDA appears here, and time comes from functions given,
 * so that tests can make it pass.
 *
 * Three rules:
 *
 * 1. While a CPU is free for him, a caller goes where he will be done sooner.
 *    What a device takes is looked up by the number of requests before him, as
 *    it was measured; where nothing was measured yet, no more than with fewer
 *    requests is assumed, so that rising load finds out. Where nobody goes any
 *    more, what was measured is forgotten: others may have kept the device
 *    busy.
 * 2. Once every CPU computes, and half as many threads wait for one, one more
 *    operation here is only time taken from the others, and the device adds to
 *    what they do: a caller goes there, unless the device is saturated, he
 *    would be done later and not many compute. With so many callers that the
 *    devices alone might do more than CPUs and devices do now, all go there for
 *    a try: those who compute keep the CPUs from those who only submit and wake
 *    up.
 * 3. The thread of an event loop does nothing else while it computes, and what
 *    else it could have started doesn't show. So a thread that never sleeps, or
 *    hardly, and has several jobs tries the device for some hundredths of a
 *    second, and stays with it as long as more gets done that way: what it
 *    works for itself and what its operations would have taken it, together.
 *    (One that polls and never sleeps seems to have work to do at all times.)
 *    One with a single job never tries, nor one that computes an operation of
 *    each of its jobs in two thirds of the time a device takes to answer. A try
 *    that failed is repeated over longer periods: what the connections of a
 *    server want comes in waves, the private operations of all of them and then
 *    the rest. If the device is saturated, it is tried as well whether more
 *    gets done when such threads compute so much as leaves a quarter of the
 *    CPUs idle.
 *
 * What a try is: probe.h.
 */
#ifndef WARPRSA_BATCHING_ROUTER_H
#define WARPRSA_BATCHING_ROUTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "batching/probe.h"
#include "gpu/engine.h"

enum {
    WARPRSA_ROUTER_BINS = 18, /* requests before one's own: 0, 1, 2-3, 4-7... */
};

/* What the calling thread has done so far. */
typedef struct warprsa_router_usage {
    uint64_t cpu_ns; /* CPU time it used */
    uint64_t slept;  /* times it went to sleep */
} warprsa_router_usage;

/* Nanoseconds of a clock that only goes forward, and of CPU time used. */
typedef struct warprsa_router_clocks {
    uint64_t (*now)(void);
    uint64_t (*process_cpu)(void);
    uint64_t (*thread_cpu)(void); /* the calling thread's; twice for each
                                     operation that is computed here */
    warprsa_router_usage (*thread)(void);
} warprsa_router_clocks;

/* The system's. */
extern const warprsa_router_clocks warprsa_router_system_clocks;

/* One per process. Written by any thread without locks: measurements may get
 * lost in a race, decisions only turn out a little less well. */
typedef struct warprsa_router {
    const warprsa_router_clocks *clocks;
    unsigned cpus;
    /* What an operation takes here on a free CPU, and on the devices by the
     * requests before it; 0: not measured. */
    _Atomic uint64_t op_cpu_ns[WARPRSA_CLASSES];
    _Atomic uint64_t op_device_ns[WARPRSA_CLASSES][WARPRSA_ROUTER_BINS];
    _Atomic uint64_t calibrated_ns[WARPRSA_CLASSES];  /* by calibrate(), or 0 */
    _Atomic uint64_t response_at_ns[WARPRSA_CLASSES]; /* when one last did */
    _Atomic bool devices_opened; /* somebody has opened the devices */
    _Atomic bool devices_up;     /* one of them takes requests */
    /* Choices of the device before that. */
    _Atomic uint64_t open_demand_ns;
    _Atomic uint32_t open_demand;
    /* Computing here now. */
    _Alignas(64) _Atomic uint32_t computing;
    /* Of the period that began at period_start_ns: what was computed here, what all
     * operations would have taken here, whether a caller that blocks found all
     * CPUs computing, and an event loop the devices saturated. */
    _Alignas(64) _Atomic uint64_t period_start_ns;
    _Atomic uint64_t period_cpu_ns;
    _Atomic uint64_t computed_ns;
    _Atomic uint64_t work_ns;
    _Atomic bool contended;
    _Atomic bool saturated;
    /* Of whoever has set `evaluating`. */
    atomic_flag evaluating;
    warprsa_probe contention; /* all callers that block go to the devices */
    warprsa_probe overflow;   /* event loops compute a share when saturated */
    /* What follows from that. */
    _Atomic bool contention_to_device;
    _Atomic uint32_t
        overflow_share; /* to be computed here when saturated, of 65536 */
} warprsa_router;

/* What the router knows of one thread; zeros to begin with. */
typedef struct warprsa_router_thread {
    uint64_t period_start_ns;   /* of this thread's period */
    unsigned stretch;           /* which is longer by so many doublings */
    warprsa_router_usage usage; /* until then */
    uint64_t offloaded_ns;      /* what those it sent away would take here */
    uint64_t jobs;              /* that came: a bit each, or to a few of them */
    uint64_t jobs_ns;           /* what an operation of each would take here */
    warprsa_probe offload;      /* it uses the device */
    uint32_t overflow;          /* of the next operation here, of 65536 */
} warprsa_router_thread;

typedef enum warprsa_router_choice {
    WARPRSA_RUN_CPU,          /* sooner on the CPU */
    WARPRSA_RUN_CPU_OVERFLOW, /* on the CPU because the devices have too much to do */
    WARPRSA_RUN_DEVICE,       /* to the devices */
} warprsa_router_choice;

void warprsa_router_init(warprsa_router *router,
                         const warprsa_router_clocks *clocks, unsigned cpus);

/* Someone has opened the devices: callers need not wish for it any more. */
void warprsa_router_devices_opened(warprsa_router *router);

/* Whether a device takes requests; no try is judged while none does. */
void warprsa_router_set_devices_up(warprsa_router *router, bool up);

/*
 * Where this operation shall go. `job`: whatever tells jobs of one event loop
 * apart; NULL: the caller blocks. `before`: requests submitted and not
 * answered yet. As long as the devices are not open, AWAY is said only once
 * several callers in a row would have gone there. About 0.1 us.
 */
warprsa_router_choice warprsa_router_choose(warprsa_router *router,
                                            warprsa_router_thread *thread,
                                            warprsa_size_class size,
                                            const void *job, unsigned before);

/* Around a computation here, whatever the reason for it; begin returns what
 * end wants. */
uint64_t warprsa_router_cpu_begin(warprsa_router *router);
void warprsa_router_cpu_end(warprsa_router *router, warprsa_size_class size,
                            uint64_t begun_ns);

/* An answer of a device `response_ns` after its submission, with `depth`
 * requests submitted and not answered at that time, its own included. */
void warprsa_router_device_response(warprsa_router *router,
                                    warprsa_size_class size, unsigned depth,
                                    uint64_t response_ns);

/* An idle device has needed test_ns for one operation of each class, one after
 * the other: what to expect where nothing better is known. */
void warprsa_router_calibrate(warprsa_router *router, uint64_t test_ns);

/* What an operation is expected to take here, and on the devices with `before`
 * requests before it. */
uint64_t warprsa_router_cpu_ns(const warprsa_router *router,
                               warprsa_size_class size);
uint64_t warprsa_router_device_ns(const warprsa_router *router,
                                  warprsa_size_class size, unsigned before);

#endif
