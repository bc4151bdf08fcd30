/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the router measures, and which way it sends callers that block: by
 * clocks that the test sets (timed_router.h).
 */
#include "tests/unit/support/timed_router.h"

TEST_IN(averages_of_what_was_measured, reset, NULL)
{
    assert_int_equal(warprsa_router_cpu_ns(&router, WARPRSA_CLASS_2048), 0);
    for (unsigned i = 0; i < 50; i++)
        compute(400 * US);
    assert_in_range(warprsa_router_cpu_ns(&router, WARPRSA_CLASS_2048), 399000,
                    400000);
    assert_int_equal(warprsa_router_cpu_ns(&router, WARPRSA_CLASS_4096), 0);
    for (unsigned i = 0; i < 50; i++)
        compute(200 * US);
    assert_in_range(warprsa_router_cpu_ns(&router, WARPRSA_CLASS_2048), 200000,
                    202000);
    /* One that took a second counts as four times as long. */
    compute(1000 * MS);
    assert_in_range(warprsa_router_cpu_ns(&router, WARPRSA_CLASS_2048), 300000,
                    400000);
}

/* Twice as many computations as CPUs: each gets half of one, and the cost of
 * one alone stays what it is. */
TEST_IN(computations_share_the_cpus, reset, NULL)
{
    uint64_t begun[2 * CPUS];

    for (unsigned i = 0; i < 50; i++)
        compute(400 * US);
    for (unsigned i = 0; i < 2 * CPUS; i++)
        begun[i] = warprsa_router_cpu_begin(&router);
    assert_in_range(warprsa_router_cpu_ns(&router, WARPRSA_CLASS_2048), 800000,
                    920000);
    now += 800 * US;
    usage.cpu_ns += 400 * US; /* of any of these threads */
    for (unsigned i = 0; i < 2 * CPUS; i++)
        warprsa_router_cpu_end(&router, WARPRSA_CLASS_2048, begun[i]);
    assert_in_range(warprsa_router_cpu_ns(&router, WARPRSA_CLASS_2048), 399000,
                    400000);
}

/* A hundred callers to a CPU compute, and go. The CPU is the faster place for a
 * single caller afterwards, though it was not for any of them. */
TEST_IN(contention_is_forgotten, reset, NULL)
{
    warprsa_router_thread thread = {0};
    uint64_t begun[100 * CPUS];

    open_devices();
    for (unsigned i = 0; i < 100 * CPUS; i++)
        begun[i] = warprsa_router_cpu_begin(&router);
    now += 40 * MS;
    usage.cpu_ns += 400 * US;
    for (unsigned i = 0; i < 100 * CPUS; i++)
        warprsa_router_cpu_end(&router, WARPRSA_CLASS_2048, begun[i]);
    assert_int_equal(choose(&thread, NULL, 0), WARPRSA_RUN_CPU);
}

TEST_IN(answers_by_the_requests_before, reset, NULL)
{
    /* Nothing is known: a guess, whatever the load. */
    assert_int_equal(
        warprsa_router_device_ns(&router, WARPRSA_CLASS_2048, 0),
        warprsa_router_device_ns(&router, WARPRSA_CLASS_2048, 9999));
    open_devices();
    assert_in_range(warprsa_router_device_ns(&router, WARPRSA_CLASS_2048, 0),
                    2.9 * MS, 3.1 * MS);
    assert_in_range(warprsa_router_device_ns(&router, WARPRSA_CLASS_2048, 999),
                    3.9 * MS, 4.1 * MS);
    assert_in_range(warprsa_router_device_ns(&router, WARPRSA_CLASS_2048, 3999),
                    7.9 * MS, 8.1 * MS);
    /* More requests than ever before: the time for the most known. */
    assert_in_range(
        warprsa_router_device_ns(&router, WARPRSA_CLASS_2048, 60000), 29 * MS,
        31 * MS);
    /* Faster with many requests than with few: the latter is out of date. */
    answered(1000, 2 * MS);
    assert_in_range(warprsa_router_device_ns(&router, WARPRSA_CLASS_2048, 0),
                    1.9 * MS, 2.1 * MS);
}

TEST_IN(calibrated_by_the_self_test, reset, NULL)
{
    warprsa_router_calibrate(&router, 200 * MS,
                             false); /* ten times an H200's */
    assert_in_range(warprsa_router_device_ns(&router, WARPRSA_CLASS_2048, 0),
                    20 * MS, 40 * MS);
    assert_true(warprsa_router_device_ns(&router, WARPRSA_CLASS_4096, 0) >
                2 * warprsa_router_device_ns(&router, WARPRSA_CLASS_2048, 0));
    answered(1, 1 * MS);
    warprsa_router_calibrate(&router, 200 * MS,
                             false); /* measured beats tested */
    assert_in_range(warprsa_router_device_ns(&router, WARPRSA_CLASS_2048, 0), 1,
                    1.5 * MS);
}

/* By a table of their own: eight operations at a time, by vector units. */
TEST_IN(cpus_are_calibrated_as_such, reset, NULL)
{
    warprsa_router_set_cpus(&router, WARPRSA_CPUS_ALONE);
    warprsa_router_calibrate(&router, 11 * MS, true);
    assert_in_range(warprsa_router_device_ns(&router, WARPRSA_CLASS_2048, 0),
                    0.6 * MS, 0.9 * MS);
    assert_in_range(warprsa_router_device_ns(&router, WARPRSA_CLASS_4096, 0),
                    6 * MS, 7 * MS);
}

/* A GPU that comes into use after the CPUs, or goes, is another device. */
TEST_IN(other_devices_answer_otherwise, reset, NULL)
{
    warprsa_router_set_cpus(&router, WARPRSA_CPUS_ALONE);
    answered(1, 1 * MS);
    warprsa_router_set_cpus(&router, WARPRSA_CPUS_ALONE);
    assert_in_range(warprsa_router_device_ns(&router, WARPRSA_CLASS_2048, 0), 1,
                    1.5 * MS);
    warprsa_router_set_cpus(&router, WARPRSA_CPUS_BESIDE);
    assert_true(warprsa_router_device_ns(&router, WARPRSA_CLASS_2048, 0) >
                2 * MS);
}

/* Nobody computes for the engine on the CPUs by other means: it would have
 * fewer of them. */
TEST_IN(saturated_cpus_do_not_overflow, reset, NULL)
{
    warprsa_router_thread thread = {0};

    compute(400 * US);
    warprsa_router_set_cpus(&router, WARPRSA_CPUS_ALONE);
    open_devices();
    for (unsigned i = 0; i < MOST; i++)
        (void)warprsa_router_cpu_begin(&router);
    assert_int_equal(choose(&thread, NULL, 4000), WARPRSA_RUN_DEVICE);
    assert_int_equal(choose(&thread, NULL, 16000), WARPRSA_RUN_DEVICE);
}

/* A caller alone is better off with libcrypto, and more callers than CPUs with
 * batches of eight. */
TEST_IN(cpus_serve_many_callers_only, reset, NULL)
{
    warprsa_router_thread thread = {0};

    compute(350 * US);
    warprsa_router_set_cpus(&router, WARPRSA_CPUS_ALONE);
    warprsa_router_devices_opened(&router);
    warprsa_router_set_devices_up(&router, true);
    answered(1, 720 * US);
    assert_int_equal(choose(&thread, NULL, 0), WARPRSA_RUN_CPU);
    for (unsigned i = 0; i < MOST; i++)
        (void)warprsa_router_cpu_begin(&router);
    assert_int_equal(choose(&thread, NULL, 0), WARPRSA_RUN_DEVICE);
}

/* A single caller never goes to the device, nor makes it be opened, in a job or
 * not, however long it goes on. */
TEST_IN(a_single_caller_stays, reset, NULL)
{
    warprsa_router_thread thread = {0};
    int job;

    for (unsigned i = 0; i < 20000; i++) {
        assert_int_equal(choose(&thread, i < 10000 ? NULL : &job, 0),
                         WARPRSA_RUN_CPU);
        compute(400 * US);
        if (i == 15000)
            open_devices();
    }
}

/* ... unless the device is faster. */
TEST_IN(a_faster_device_is_for_everybody, reset, NULL)
{
    warprsa_router_thread thread = {0};

    compute(400 * US);
    open_devices();
    assert_int_equal(choose(&thread, NULL, 0), WARPRSA_RUN_CPU);
    answered(1, 300 * US);
    assert_int_equal(choose(&thread, NULL, 0), WARPRSA_RUN_DEVICE);
}

/* Callers that block: as many as keep the CPUs busy stay there. The others go
 * to the device, since on the CPU they would only take time from those. */
TEST_IN(more_callers_than_cpus, reset, NULL)
{
    warprsa_router_thread thread = {0};
    uint64_t begun[MOST];

    compute(400 * US);
    open_devices();
    for (unsigned i = 0; i < MOST; i++) {
        assert_int_equal(choose(&thread, NULL, i), WARPRSA_RUN_CPU);
        begun[i] = warprsa_router_cpu_begin(&router);
    }
    for (unsigned i = 0; i < 2000; i++)
        assert_int_equal(choose(&thread, NULL, i), WARPRSA_RUN_DEVICE);
    warprsa_router_cpu_end(&router, WARPRSA_CLASS_2048, begun[0]);
    assert_int_equal(choose(&thread, NULL, 60), WARPRSA_RUN_CPU);
}

/* When the device has so much to do that waiting for a CPU is shorter. */
TEST_IN(saturated_devices_overflow, reset, NULL)
{
    warprsa_router_thread thread = {0};

    compute(400 * US);
    open_devices();
    for (unsigned i = 0; i < MOST; i++)
        (void)warprsa_router_cpu_begin(&router);
    assert_int_equal(choose(&thread, NULL, 4000), WARPRSA_RUN_DEVICE);
    assert_int_equal(choose(&thread, NULL, 16000), WARPRSA_RUN_CPU_OVERFLOW);
    for (unsigned i = 0; i < 1000; i++)
        (void)warprsa_router_cpu_begin(&router); /* the CPU takes even longer */
    assert_int_equal(choose(&thread, NULL, 16000), WARPRSA_RUN_DEVICE);
}

/* But not so many that the threads that submit and wake up get no CPU any more,
 * which would make the device seem slower still. */
TEST_IN(few_overflow_at_once, reset, NULL)
{
    warprsa_router_thread thread = {0};
    unsigned here = 0;

    compute(400 * US);
    open_devices();
    while (choose(&thread, NULL, 16000) != WARPRSA_RUN_DEVICE && here < 1000) {
        (void)warprsa_router_cpu_begin(&router);
        here++;
    }
    assert_in_range(here, MOST + 1, 4 * CPUS);
}

/* Devices are opened when several callers in a row would have gone there. */
TEST_IN(devices_are_opened_for_many, reset, NULL)
{
    warprsa_router_thread thread = {0};
    unsigned stayed = 0;

    compute(400 * US);
    for (unsigned i = 0; i < MOST; i++)
        (void)warprsa_router_cpu_begin(&router);
    /* Now and then one: no. */
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(choose(&thread, NULL, 0), WARPRSA_RUN_CPU);
        now += 600 * MS;
    }
    while (choose(&thread, NULL, 0) == WARPRSA_RUN_CPU)
        stayed++;
    assert_in_range(stayed, 2, 50);
}

/* The system's clock of a thread sees operations that are shorter than a tick.
 */
TEST_IN(the_systems_clocks_are_fine_enough, reset, NULL)
{
    const warprsa_router_clocks *c = &warprsa_router_system_clocks;

    for (unsigned i = 0; i < 50; i++) {
        uint64_t cpu = c->thread_cpu(), since = c->now();

        while (c->now() < since + 100 * US)
            ;
        assert_true(c->thread_cpu() > cpu);
        assert_true(c->thread().cpu_ns > cpu);
    }
}

RUN_TESTS(NULL, NULL)
