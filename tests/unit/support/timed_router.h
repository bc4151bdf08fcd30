/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A router with clocks that the test sets, for the tests of its decisions: time
 * passes only when they say so.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_TIMED_ROUTER_H
#define WARPRSA_TESTS_UNIT_SUPPORT_TIMED_ROUTER_H

#include "tests/unit/support/unit_test.h"

#include "batching/queue/router.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

enum {
    CPUS = 4,
    MOST = CPUS + CPUS / 2, /* computations that keep them busy */
};

/* What the clocks say. */
static uint64_t now, process_cpu;
static uint64_t seed; /* of the pseudo-random numbers */
static warprsa_router_usage usage;

static inline uint64_t get_now(void)
{
    return now;
}

static inline uint64_t get_process_cpu(void)
{
    return process_cpu;
}

static inline warprsa_router_usage get_thread(void)
{
    return usage;
}

static inline uint64_t get_thread_cpu(void)
{
    return usage.cpu_ns;
}

static const warprsa_router_clocks clocks = {get_now, get_process_cpu,
                                             get_thread_cpu, get_thread};

static warprsa_router router;

static inline int reset(void **state)
{
    now = 1000 * MS;
    process_cpu = 0;
    seed = 1;
    usage = (warprsa_router_usage){0, 0};
    warprsa_router_init(&router, &clocks, CPUS);
    return 0;
}

/* The calling thread works, or sleeps, for so long. */
static inline void work(uint64_t ns)
{
    now += ns;
    process_cpu += ns;
    usage.cpu_ns += ns;
}

static inline void sleep_for(uint64_t ns)
{
    now += ns;
    usage.slept++;
}

/* One operation of RSA-2048 on the CPU that takes so long. */
static inline void compute(uint64_t ns)
{
    uint64_t begun = warprsa_router_cpu_begin(&router);

    work(ns);
    warprsa_router_cpu_end(&router, WARPRSA_CLASS_2048, begun);
}

/* What goes to the device is answered as expected, unless a test says more. */
static inline warprsa_router_choice choose(warprsa_router_thread *thread,
                                           const void *job, unsigned before)
{
    const warprsa_size_class size = WARPRSA_CLASS_2048;
    warprsa_router_choice choice =
        warprsa_router_choose(&router, thread, size, job, before);

    if (choice == WARPRSA_RUN_DEVICE)
        warprsa_router_device_response(
            &router, size, before + 1,
            warprsa_router_device_ns(&router, size, before));
    return choice;
}

static inline void answered(unsigned depth, uint64_t ns)
{
    for (unsigned i = 0; i < 20; i++)
        warprsa_router_device_response(&router, WARPRSA_CLASS_2048, depth, ns);
}

/* The devices are open and take 3 ms; more when they have more to do. */
static inline void open_devices(void)
{
    warprsa_router_devices_opened(&router);
    warprsa_router_set_devices_up(&router, true);
    answered(1, 3 * MS);
    answered(1000, 4 * MS);
    answered(4000, 8 * MS);
    answered(16000, 30 * MS);
}

#endif
