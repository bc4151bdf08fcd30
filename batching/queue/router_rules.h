/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rules by which the router decides, as functions of facts; router.h tells
 * why they are so. They hold no lock and read no clock. Inline, since every
 * operation asks them.
 */
#ifndef WARPRSA_BATCHING_QUEUE_ROUTER_RULES_H
#define WARPRSA_BATCHING_QUEUE_ROUTER_RULES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    /* Devices that answer so many times later than idle ones are saturated. */
    WARPRSA_ROUTER_SATURATED = 3,
};

/* Whether the CPUs of this machine are among the devices that take requests. */
typedef enum warprsa_router_cpus {
    WARPRSA_CPUS_NONE,   /* no: GPUs */
    WARPRSA_CPUS_ALONE,  /* they are all there is */
    WARPRSA_CPUS_BESIDE, /* they are ready to take over from GPUs */
} warprsa_router_cpus;

typedef enum warprsa_router_choice {
    WARPRSA_RUN_CPU,          /* sooner on the CPU */
    WARPRSA_RUN_CPU_OVERFLOW, /* on the CPU since the devices are saturated */
    WARPRSA_RUN_DEVICE,       /* to the devices */
} warprsa_router_choice;

typedef struct warprsa_router_facts {
    unsigned cpus;              /* that the process may use */
    uint32_t computing;         /* threads that compute on a CPU now */
    uint64_t cpu_ns, device_ns; /* that the operation is expected to take */
    bool saturated;             /* the devices are */
} warprsa_router_facts;

/* Whether devices are saturated that answer after device_ns, and after idle_ns
 * if they have nothing else to do. */
static inline bool warprsa_router_is_saturated(uint64_t device_ns,
                                               uint64_t idle_ns)
{
    return device_ns > WARPRSA_ROUTER_SATURATED * idle_ns;
}

/* Whether so many computations keep all CPUs busy: half as many again as there
 * are CPUs, since the scheduler does not always put a thread that wakes up on a
 * free one. */
static inline bool warprsa_router_are_cpus_busy(unsigned cpus,
                                                uint32_t computing)
{
    return computing >= cpus + cpus / 2;
}

/* Whether so many computations still leave CPU time to the threads that only
 * submit and wake up. With hundreds of them the devices would wait for
 * requests, and the answers would come late and make the devices look slow. */
static inline bool warprsa_router_may_overflow(unsigned cpus,
                                               uint32_t computing)
{
    return computing < 4 * cpus;
}

/* Rules 1 and 2: for a caller that blocks, or an event loop that does not use
 * the devices. */
static inline warprsa_router_choice
warprsa_router_decide(const warprsa_router_facts *facts)
{
    if (!warprsa_router_are_cpus_busy(facts->cpus, facts->computing))
        return facts->device_ns < facts->cpu_ns ? WARPRSA_RUN_DEVICE
                                                : WARPRSA_RUN_CPU;
    return facts->saturated && facts->cpu_ns < facts->device_ns &&
                   warprsa_router_may_overflow(facts->cpus, facts->computing)
               ? WARPRSA_RUN_CPU_OVERFLOW
               : WARPRSA_RUN_DEVICE;
}

#endif
