/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The probes of a whole process: the share of the CPUs in what saturated
 * devices have to do, and the devices in what busy CPUs have (timed_router.h).
 */
#include "tests/unit/support/timed_router.h"

/* An event loop on a saturated device does an operation every 40 us, which is
 * 10 CPUs' work. Returns how many of so many operations it computes itself;
 * each of these takes `overflow_ns` of its time. `others_ns`: CPU time that the
 * rest of its process uses for every operation. */
static unsigned overflows_of(unsigned operations, uint64_t overflow_ns,
                             uint64_t others_ns)
{
    warprsa_router_thread thread = {.period_start_ns = now,
                                    .offload.active = true};
    static const char job[2];
    unsigned overflows = 0;

    for (unsigned i = 0; i < operations; i++) {
        warprsa_router_choice choice;

        thread.offload.active = true; /* whatever it gains */
        choice = choose(&thread, &job[i % 2], 16000);
        assert_int_not_equal(choice, WARPRSA_RUN_CPU);
        now += choice == WARPRSA_RUN_CPU_OVERFLOW ? overflow_ns : 40 * US;
        process_cpu += 40 * US + others_ns;
        overflows += choice == WARPRSA_RUN_CPU_OVERFLOW;
    }
    return overflows;
}

/* CPUs that idle take a share, as long as more gets done: of 4 CPUs 1 is in
 * use, so 2 of 10 can be computed here. */
TEST_IN(idle_cpus_take_a_share, reset, NULL)
{
    compute(400 * US);
    open_devices();
    assert_in_range(overflows_of(1000000, 0, 0), 1000000 / 10, 1000000 / 4);
}

/* Beside GPUs an engine on the CPUs is no reason to compute anything. */
TEST_IN(cpus_beside_gpus_take_none, reset, NULL)
{
    compute(400 * US);
    warprsa_router_set_cpus(&router, WARPRSA_CPUS_BESIDE);
    open_devices();
    assert_int_equal(overflows_of(100000, 0, 0), 0);
    warprsa_router_set_cpus(&router, WARPRSA_CPUS_NONE);
    assert_in_range(overflows_of(1000000, 0, 0), 1000000 / 10, 1000000 / 4);
    warprsa_router_set_cpus(&router, WARPRSA_CPUS_BESIDE);
    assert_in_range(overflows_of(100000, 0, 0), 0, 100000 / 4);
    assert_int_equal(overflows_of(100000, 0, 0), 0);
}

TEST_IN(busy_cpus_take_none, reset, NULL)
{
    compute(400 * US);
    open_devices();
    assert_in_range(overflows_of(1000000, 0, 80 * US), 0, 1000000 / 1000);
}

/* The jobs wait while their loop computes: nothing is gained. The probes cost
 * less than 2 % in the long run. */
TEST_IN(overflow_that_costs_is_given_up, reset, NULL)
{
    uint64_t since;

    compute(400 * US);
    open_devices();
    overflows_of(1000000, 400 * US, 0);
    since = now;
    assert_in_range(overflows_of(1000000, 400 * US, 0), 1, 1000000 / 200);
    assert_in_range(now - since, 1000000 * 40 * US,
                    1000000 * 40 * US / 100 * 102);
}

/*
 * Callers that block, for `ns`. As long as the CPUs may be used they make
 * `mixed` operations a second, and `offloaded` when all go to the device.
 * Returns how many of 1000 went there because of the contention probe.
 */
static unsigned contend(uint64_t ns, unsigned callers, unsigned mixed,
                        unsigned offloaded)
{
    warprsa_router_thread thread = {0};
    uint64_t until = now + ns, begun[MOST];
    unsigned made = 0, gone = 0;

    while (now < until) {
        /* As many as keep the CPUs busy compute, if any may. */
        bool goes = choose(&thread, NULL, callers) == WARPRSA_RUN_DEVICE;

        for (unsigned i = 0; i < MOST; i++)
            begun[i] = warprsa_router_cpu_begin(&router);
        assert_int_equal(choose(&thread, NULL, callers), WARPRSA_RUN_DEVICE);
        usage.cpu_ns += 400 * US; /* of each of these threads */
        for (unsigned i = 0; i < MOST; i++)
            warprsa_router_cpu_end(&router, WARPRSA_CLASS_2048, begun[i]);
        made += 2;
        gone += goes ? 2 : 0;
        now += 2000 * MS / (goes ? offloaded : mixed);
    }
    return (unsigned)((uint64_t)gone * 1000 / made);
}

static void open_for_contention(void)
{
    compute(400 * US);
    open_devices();
}

/* 1,000 callers in 4 ms are 250,000 operations a second. */
TEST_IN(contention_goes_if_more_gets_done, reset, NULL)
{
    open_for_contention();
    contend(500 * MS, 1000, 100000, 200000);
    assert_true(router.contention.active);
    assert_in_range(contend(30000 * MS, 1000, 100000, 200000), 980, 1000);
    /* Few callers are left: the CPUs could do it all. */
    contend(1000 * MS, 30, 12000, 8000);
    assert_false(router.contention.active);
    assert_in_range(contend(30000 * MS, 30, 12000, 8000), 0, 20);
}

/* A period with hardly any operations is no baseline for a probe. */
TEST_IN(no_contention_probe_after_a_pause, reset, NULL)
{
    open_for_contention();
    contend(15 * MS, 1000, 200000, 190000);
    now += 300 * MS;
    assert_in_range(contend(3000 * MS, 1000, 200000, 190000), 0, 150);
}

/* The probe goes on after a moment without operations, or with fewer of them:
 * that does not show that the CPUs would do more. */
TEST_IN(contention_comes_back, reset, NULL)
{
    open_for_contention();
    contend(150 * MS, 1000, 100000, 200000);
    assert_true(router.contention.active && !router.contention.proven);
    now += 300 * MS;
    assert_in_range(contend(2000 * MS, 1000, 100000, 200000), 900, 1000);
    now += 300 * MS;
    assert_in_range(contend(1000 * MS, 1000, 100000, 200000), 990, 1000);
    contend(40 * MS, 1000, 50000, 50000);
    assert_in_range(contend(1000 * MS, 1000, 100000, 200000), 990, 1000);
    now += 3600 * 1000 * MS;
    assert_in_range(contend(1000 * MS, 1000, 100000, 200000), 900, 1000);
}

/* Where the device gains nothing, the probes cost little. Where by all that was
 * measured it cannot do as much, no probe begins. */
TEST_IN(contention_stays_if_not, reset, NULL)
{
    open_for_contention();
    contend(20000 * MS, 1000, 200000, 190000);
    assert_in_range(contend(30000 * MS, 1000, 200000, 190000), 1, 20);
    assert_in_range(contend(30000 * MS, 200, 100000, 50000), 0, 0);
}

RUN_TESTS(NULL, NULL)
