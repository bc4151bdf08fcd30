/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The router's decisions, with clocks that the test sets: time passes only
 * when it says so.
 */
#include "tests/unit/support/unit_test.h"

#include <string.h>

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

static uint64_t get_now(void)
{
    return now;
}

static uint64_t get_process_cpu(void)
{
    return process_cpu;
}

static warprsa_router_usage get_thread(void)
{
    return usage;
}

static uint64_t get_thread_cpu(void)
{
    return usage.cpu_ns;
}

static const warprsa_router_clocks clocks = {get_now, get_process_cpu,
                                             get_thread_cpu, get_thread};

static warprsa_router router;

static int reset(void **state)
{
    now = 1000 * MS;
    process_cpu = 0;
    seed = 1;
    usage = (warprsa_router_usage){0, 0};
    warprsa_router_init(&router, &clocks, CPUS);
    return 0;
}

/* The calling thread works, or sleeps, for so long. */
static void work(uint64_t ns)
{
    now += ns;
    process_cpu += ns;
    usage.cpu_ns += ns;
}

static void sleep_for(uint64_t ns)
{
    now += ns;
    usage.slept++;
}

/* One operation of RSA-2048 on the CPU that takes so long. */
static void compute(uint64_t ns)
{
    uint64_t begun = warprsa_router_cpu_begin(&router);

    work(ns);
    warprsa_router_cpu_end(&router, WARPRSA_CLASS_2048, begun);
}

/* What goes to the device is answered as expected, unless a test says more. */
static warprsa_router_choice choose(warprsa_router_thread *thread,
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

static void answered(unsigned depth, uint64_t ns)
{
    for (unsigned i = 0; i < 20; i++)
        warprsa_router_device_response(&router, WARPRSA_CLASS_2048, depth, ns);
}

/* The devices are open and take 3 ms; more when they have more to do. */
static void open_devices(void)
{
    warprsa_router_devices_opened(&router);
    warprsa_router_set_devices_up(&router, true);
    answered(1, 3 * MS);
    answered(1000, 4 * MS);
    answered(4000, 8 * MS);
    answered(16000, 30 * MS);
}

static void averages_of_what_was_measured(void **state)
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
static void computations_share_the_cpus(void **state)
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
static void contention_is_forgotten(void **state)
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

static void answers_by_the_requests_before(void **state)
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

static void calibrated_by_the_self_test(void **state)
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
static void cpus_are_calibrated_as_such(void **state)
{
    warprsa_router_set_cpus(&router, WARPRSA_CPUS_ALONE);
    warprsa_router_calibrate(&router, 11 * MS, true);
    assert_in_range(warprsa_router_device_ns(&router, WARPRSA_CLASS_2048, 0),
                    0.6 * MS, 0.9 * MS);
    assert_in_range(warprsa_router_device_ns(&router, WARPRSA_CLASS_4096, 0),
                    6 * MS, 7 * MS);
}

/* A GPU that comes into use after the CPUs, or goes, is another device. */
static void other_devices_answer_otherwise(void **state)
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
static void saturated_cpus_do_not_overflow(void **state)
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
static void cpus_serve_many_callers_only(void **state)
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
static void a_single_caller_stays(void **state)
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
static void a_faster_device_is_for_everybody(void **state)
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
static void more_callers_than_cpus(void **state)
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
static void saturated_devices_overflow(void **state)
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
static void few_overflow_at_once(void **state)
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
static void devices_are_opened_for_many(void **state)
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

/* One turn of an event loop with `jobs` jobs, all of which want an operation:
 * those sent to the device are answered 3 ms later. Returns operations made. */
static unsigned turn(warprsa_router_thread *thread, const char *job,
                     unsigned jobs)
{
    uint64_t begun = now;
    unsigned away = 0;

    for (unsigned i = 0; i < jobs; i++) {
        if (choose(thread, &job[i], away) == WARPRSA_RUN_DEVICE) {
            away++;
            work(5 * US);
        } else {
            compute(400 * US);
        }
    }
    if (away > 0 && now < begun + 3 * MS)
        sleep_for(begun + 3 * MS - now);
    return jobs;
}

/* Operations a second, once it has settled. */
static unsigned rate_of(warprsa_router_thread *thread, unsigned jobs)
{
    static const char job[1000];
    uint64_t begun;
    unsigned made = 0;

    for (begun = now; now < begun + 4000 * MS;)
        turn(thread, job, jobs);
    for (begun = now; now < begun + 4000 * MS;)
        made += turn(thread, job, jobs);
    return (unsigned)(made / ((now - begun) / (1000 * MS)));
}

/* An event loop with more and more jobs: never slower than with fewer, never
 * slower than without a device by more than a probe now and then costs, and the
 * device is used as soon as that pays: from 8 jobs on. */
static void an_event_loop_of_more_and_more_jobs(void **state)
{
    static const unsigned jobs[] = {1, 2, 4, 8, 16, 64, 256, 1000};
    unsigned before = 2500 * 97 / 100; /* 0.4 ms each */

    compute(400 * US);
    open_devices();
    for (unsigned i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        warprsa_router_thread thread = {0};
        unsigned rate = rate_of(&thread, jobs[i]);

        assert_true(rate >= before);
        assert_int_equal(thread.offload.active, jobs[i] >= 8);
        before = rate > 2500 ? rate : before;
    }
}

/* With two jobs of 0.4 ms each and a device that takes 3 ms there is nothing to
 * gain: no probe ever begins. */
static void an_event_loop_of_two_jobs_probes_nothing(void **state)
{
    static const char job[2];
    warprsa_router_thread thread = {0};

    compute(400 * US);
    open_devices();
    for (unsigned i = 0; i < 20000; i++) {
        assert_int_equal(choose(&thread, &job[i % 2], 0), WARPRSA_RUN_CPU);
        compute(400 * US);
    }
}

/* A thread whose jobs make one operation after the other and pause only if
 * they yield, or go to a device, which takes 3 ms and any number at once:
 * `openssl speed -async_jobs`. Paused jobs are resumed in the order in which
 * they can be. */
typedef struct speed {
    warprsa_router_thread thread;
    unsigned jobs, running;
    uint64_t due_ns[1000]; /* when a job can go on */
    unsigned on_cpu, on_device, yields;
} speed;

/* The next job that can go on; the thread sleeps until there is one. */
static unsigned next_job(speed *s)
{
    unsigned first = 0;

    for (unsigned i = 1; i < s->jobs; i++)
        if (s->due_ns[i] < s->due_ns[first])
            first = i;
    if (s->due_ns[first] > now)
        sleep_for(s->due_ns[first] - now);
    return first;
}

/* One operation, of the job that runs, or of those it lets run. */
static void speed_step(speed *s)
{
    static const char job[1000];
    const char *me = &job[s->running];

    if (warprsa_router_should_yield(&router, &s->thread, WARPRSA_CLASS_2048,
                                    me)) {
        s->yields++;
        work(3 * US);
        s->due_ns[s->running] = now;
        s->running = next_job(s);
        me = &job[s->running];
    }
    if (choose(&s->thread, me, 0) == WARPRSA_RUN_DEVICE) {
        s->on_device++;
        work(5 * US);
        s->due_ns[s->running] = now + 3 * MS;
        s->running = next_job(s);
    } else {
        s->on_cpu++;
        compute(400 * US);
    }
}

/* The jobs get to the device within a tenth of a second, and then nothing is
 * computed on the CPU any more; that the device is not open yet is no
 * hindrance. */
static void jobs_that_never_pause_reach_the_device(void **state)
{
    static const unsigned jobs[] = {16, 64, 256, 960};

    for (unsigned i = 0; i < 2 * sizeof(jobs) / sizeof(jobs[0]); i++) {
        speed s = {.jobs = jobs[i / 2]};
        uint64_t begun;

        reset(state);
        if (i % 2 == 0)
            open_devices();
        warprsa_router_set_devices_up(&router, true);
        for (begun = now; s.on_device == 0; speed_step(&s))
            assert_true(now < begun + 100 * MS);
        warprsa_router_devices_opened(&router);
        s.on_cpu = 0;
        for (begun = now; now < begun + 10000 * MS; speed_step(&s))
            ;
        assert_int_equal(s.on_cpu, 0);
    }
}

/* A job that is alone stays on the CPU and hardly ever yields, however short
 * its operations are; nor does the device get opened. Two jobs could not gain,
 * and yield once in a period each. */
static void few_jobs_hardly_yield(void **state)
{
    for (unsigned jobs = 1; jobs <= 2; jobs++) {
        speed s = {.jobs = jobs};

        reset(state);
        for (unsigned i = 0; i < 20000; i++)
            speed_step(&s);
        assert_int_equal(s.on_cpu, 20000);
        assert_in_range(s.yields, 1, jobs == 1 ? 20000 / 1000 : 20000 / 12);
    }
}

/* When others join it, after it has been alone for long, they are seen. */
static void jobs_that_join_a_lone_one_are_seen(void **state)
{
    speed s = {.jobs = 1};
    uint64_t begun;

    compute(400 * US);
    open_devices();
    for (unsigned i = 0; i < 20000; i++)
        speed_step(&s);
    s.jobs = 64;
    for (begun = now; s.on_device == 0; speed_step(&s))
        assert_true(now < begun + 1000 * MS);
}

/* A server's jobs make an operation each, and its thread gets to all of them:
 * nobody yields. Nor does a thread that has slept in the period, nor anyone
 * where the devices are down. */
static void nobody_yields_in_vain(void **state)
{
    static const char job[3];
    warprsa_router_thread thread = {0};

    compute(400 * US);
    for (unsigned i = 0; i < 1000; i++) {
        const char *me = &job[i % 3]; /* too few to gain anything */

        assert_false(warprsa_router_should_yield(&router, &thread,
                                                 WARPRSA_CLASS_2048, me));
        assert_int_equal(choose(&thread, me, 0), WARPRSA_RUN_CPU);
        compute(400 * US);
    }
    thread = (warprsa_router_thread){0};
    for (unsigned i = 0; i < 1000; i++) {
        assert_false(warprsa_router_should_yield(&router, &thread,
                                                 WARPRSA_CLASS_2048, &job[0]));
        assert_int_equal(choose(&thread, &job[0], 0), WARPRSA_RUN_CPU);
        compute(400 * US);
        sleep_for(400 * US);
    }
    thread = (warprsa_router_thread){0};
    warprsa_router_devices_opened(&router);
    for (unsigned i = 0; i < 1000; i++) {
        assert_false(warprsa_router_should_yield(&router, &thread,
                                                 WARPRSA_CLASS_2048, &job[0]));
        (void)choose(&thread, &job[0], 0);
        compute(400 * US);
    }
}

/* A connection to a TLS server. Its client takes each step about 1 ms after
 * the server's. */
typedef struct connection {
    uint64_t due_ns;
    enum {
        HELLO,
        SIGNED,
        FINISHED
    } next;
} connection;

static connection *most_due(connection *connections, unsigned count)
{
    connection *first = connections;

    for (unsigned i = 1; i < count; i++)
        if (connections[i].due_ns < first->due_ns)
            first = &connections[i];
    return first;
}

/* A pseudo-random time up to twice that; the same in every run of a test. */
static uint64_t about(uint64_t ns)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return 2 * ns * (seed >> 40) >> 24;
}

/* The time that the clients' computer needs for one step, one after the other;
 * 0: none. */
static uint64_t client_step_ns, client_free_ns;

/* Operations of the server, by where they were done. */
static uint64_t on_device, on_cpu;

/* When a client has taken its next step, about `ns` from now. */
static uint64_t client_due(uint64_t ns)
{
    uint64_t due = now + about(ns);

    if (client_step_ns == 0)
        return due;
    if (due < client_free_ns)
        due = client_free_ns;
    client_free_ns = due + client_step_ns;
    return client_free_ns;
}

/* One step of a connection: of three steps one is the operation. */
static void serve(warprsa_router_thread *thread, connection *c)
{
    uint64_t answer_ns = 1 * MS;

    work(about(c->next == HELLO    ? 300 * US
               : c->next == SIGNED ? 20 * US
                                   : 600 * US));
    if (c->next != HELLO) {
        c->next = c->next == SIGNED ? FINISHED : HELLO;
    } else if (choose(thread, c, 0) == WARPRSA_RUN_DEVICE) {
        on_device++;
        work(30 * US);
        c->next = SIGNED;
        answer_ns = 3 * MS;
    } else {
        on_cpu++;
        compute(400 * US);
        c->next = FINISHED;
    }
    /* The answer of a device is no step of the client's. */
    c->due_ns =
        c->next == SIGNED ? now + about(answer_ns) : client_due(answer_ns);
}

/* Handshakes a second of so many clients, once it has settled. They are served
 * in turn, so the operations of all come one after the other, and then the
 * other steps of all: a period that saw only one kind would show nothing. */
static unsigned handshakes(warprsa_router_thread thread, unsigned clients)
{
    connection connections[1000] = {{0, HELLO}};
    uint64_t begun = now;
    unsigned made = 0;

    while (now < begun + 40000 * MS) {
        connection *c = most_due(connections, clients);

        if (c->due_ns > now)
            sleep_for(c->due_ns - now);
        made += c->next == FINISHED && now >= begun + 20000 * MS;
        serve(&thread, c);
    }
    return made / 20;
}

/* A handshake takes 1.3 ms on the CPU, and 0.95 with the device. Never slower
 * than without it, and nearly as fast as with it from 16 clients on. */
static void a_server_of_more_and_more_clients(void **state)
{
    static const unsigned clients[] = {1,  2,   3,   4,   5,   6,   8,   16,
                                       50, 100, 200, 300, 400, 600, 1000};

    for (unsigned i = 0; i < sizeof(clients) / sizeof(clients[0]); i++) {
        static const warprsa_router_thread never = {
            .offload.retry_ns = UINT64_MAX}; /* no probe */
        static const warprsa_router_thread fresh = {0};
        unsigned here, rate;

        reset(state);
        compute(400 * US);
        open_devices();
        here = handshakes(never, clients[i]);
        rate = handshakes(fresh, clients[i]);
        assert_true(rate >= here / 100 * 97);
        if (clients[i] >= 16)
            assert_true(rate >= 1000000 / 950 / 100 * 97);
    }
}

/* The clients' one CPU needs 1.26 ms for a handshake: with the device the
 * server makes 3 % more, and has a quarter of its time left. It stays with the
 * device. */
static void a_server_that_outruns_its_clients(void **state)
{
    static const unsigned clients[] = {8, 16, 32, 64, 128, 256};

    for (unsigned i = 0; i < sizeof(clients) / sizeof(clients[0]); i++) {
        reset(state);
        compute(400 * US);
        open_devices();
        client_step_ns = 630 * US;
        client_free_ns = now;
        on_device = on_cpu = 0;
        handshakes((warprsa_router_thread){0}, clients[i]);
        client_step_ns = 0;
        assert_true(on_device > (on_device + on_cpu) / 3 * 2);
    }
}

/* When the load goes, the thread leaves the device. */
static void an_event_loop_of_fewer_jobs(void **state)
{
    warprsa_router_thread thread = {0};

    compute(400 * US);
    open_devices();
    rate_of(&thread, 64);
    assert_true(thread.offload.active);
    assert_true(rate_of(&thread, 2) >= 2500 * 97 / 100);
    assert_false(thread.offload.active);
}

/* Other programs kept the device busy for a while. The device is not avoided
 * for ever because of that. */
static void an_event_loop_beside_others(void **state)
{
    warprsa_router_thread thread = {0};

    compute(400 * US);
    open_devices();
    answered(1, 300 * MS);
    rate_of(&thread, 64);
    assert_false(thread.offload.active);
    rate_of(&thread, 64);
    assert_true(thread.offload.active);
}

/* No operation for a whole night. The device is not to blame, and nothing was
 * lost: in the morning the loop is as fast as before. */
static void an_event_loop_after_a_night(void **state)
{
    warprsa_router_thread thread = {0};
    unsigned rate;

    compute(400 * US);
    open_devices();
    rate = rate_of(&thread, 64);
    assert_true(thread.offload.active);
    sleep_for(8 * 3600 * 1000 * MS);
    assert_true(rate_of(&thread, 64) >= rate / 100 * 97);
    assert_true(thread.offload.active);
}

/* The same in the middle of a probe. */
static void a_probe_over_night(void **state)
{
    static const char job[64];
    warprsa_router_thread thread = {0};

    compute(400 * US);
    open_devices();
    while (thread.offload.periods == 0)
        turn(&thread, job, 64);
    sleep_for(8 * 3600 * 1000 * MS);
    rate_of(&thread, 64);
    assert_true(thread.offload.active);
}

/* An event loop with time to sleep never probes, however many jobs it has. */
static void an_idle_event_loop_stays(void **state)
{
    warprsa_router_thread thread = {0};
    static const char job[16];

    compute(400 * US);
    open_devices();
    for (unsigned i = 0; i < 5000; i++) {
        assert_int_equal(choose(&thread, &job[i % 16], 0), WARPRSA_RUN_CPU);
        compute(400 * US);
        sleep_for(400 * US);
    }
}

/* A probe proves nothing as long as no device takes requests. */
static void probes_are_not_judged_without_a_device(void **state)
{
    warprsa_router_thread thread = {0};

    compute(400 * US);
    warprsa_router_devices_opened(&router);
    for (unsigned i = 0; i < 1000; i++) {
        static const char job[16];

        (void)choose(&thread, &job[i % 16], 0);
        compute(400 * US); /* refused: still being opened */
    }
    assert_true(thread.offload.active);
    assert_int_equal(thread.offload.failures, 0);
}

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
static void idle_cpus_take_a_share(void **state)
{
    compute(400 * US);
    open_devices();
    assert_in_range(overflows_of(1000000, 0, 0), 1000000 / 10, 1000000 / 4);
}

/* Beside GPUs an engine on the CPUs is no reason to compute anything. */
static void cpus_beside_gpus_take_none(void **state)
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

static void busy_cpus_take_none(void **state)
{
    compute(400 * US);
    open_devices();
    assert_in_range(overflows_of(1000000, 0, 80 * US), 0, 1000000 / 1000);
}

/* The jobs wait while their loop computes: nothing is gained. The probes cost
 * less than 2 % in the long run. */
static void overflow_that_costs_is_given_up(void **state)
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
static void contention_goes_if_more_gets_done(void **state)
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
static void no_contention_probe_after_a_pause(void **state)
{
    open_for_contention();
    contend(15 * MS, 1000, 200000, 190000);
    now += 300 * MS;
    assert_in_range(contend(3000 * MS, 1000, 200000, 190000), 0, 150);
}

/* The probe goes on after a moment without operations, or with fewer of them:
 * that does not show that the CPUs would do more. */
static void contention_comes_back(void **state)
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
static void contention_stays_if_not(void **state)
{
    open_for_contention();
    contend(20000 * MS, 1000, 200000, 190000);
    assert_in_range(contend(30000 * MS, 1000, 200000, 190000), 1, 20);
    assert_in_range(contend(30000 * MS, 200, 100000, 50000), 0, 0);
}

/* The system's clock of a thread sees operations that are shorter than a tick.
 */
static void the_systems_clocks_are_fine_enough(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_systems_clocks_are_fine_enough, reset),
        cmocka_unit_test_setup(averages_of_what_was_measured, reset),
        cmocka_unit_test_setup(computations_share_the_cpus, reset),
        cmocka_unit_test_setup(contention_is_forgotten, reset),
        cmocka_unit_test_setup(answers_by_the_requests_before, reset),
        cmocka_unit_test_setup(calibrated_by_the_self_test, reset),
        cmocka_unit_test_setup(cpus_are_calibrated_as_such, reset),
        cmocka_unit_test_setup(other_devices_answer_otherwise, reset),
        cmocka_unit_test_setup(saturated_cpus_do_not_overflow, reset),
        cmocka_unit_test_setup(cpus_serve_many_callers_only, reset),
        cmocka_unit_test_setup(a_single_caller_stays, reset),
        cmocka_unit_test_setup(a_faster_device_is_for_everybody, reset),
        cmocka_unit_test_setup(more_callers_than_cpus, reset),
        cmocka_unit_test_setup(saturated_devices_overflow, reset),
        cmocka_unit_test_setup(few_overflow_at_once, reset),
        cmocka_unit_test_setup(devices_are_opened_for_many, reset),
        cmocka_unit_test_setup(an_event_loop_of_more_and_more_jobs, reset),
        cmocka_unit_test_setup(jobs_that_never_pause_reach_the_device, reset),
        cmocka_unit_test_setup(few_jobs_hardly_yield, reset),
        cmocka_unit_test_setup(jobs_that_join_a_lone_one_are_seen, reset),
        cmocka_unit_test_setup(nobody_yields_in_vain, reset),
        cmocka_unit_test_setup(a_server_of_more_and_more_clients, reset),
        cmocka_unit_test_setup(a_server_that_outruns_its_clients, reset),
        cmocka_unit_test_setup(an_event_loop_of_two_jobs_probes_nothing, reset),
        cmocka_unit_test_setup(an_event_loop_of_fewer_jobs, reset),
        cmocka_unit_test_setup(an_event_loop_beside_others, reset),
        cmocka_unit_test_setup(an_event_loop_after_a_night, reset),
        cmocka_unit_test_setup(a_probe_over_night, reset),
        cmocka_unit_test_setup(an_idle_event_loop_stays, reset),
        cmocka_unit_test_setup(probes_are_not_judged_without_a_device, reset),
        cmocka_unit_test_setup(idle_cpus_take_a_share, reset),
        cmocka_unit_test_setup(cpus_beside_gpus_take_none, reset),
        cmocka_unit_test_setup(busy_cpus_take_none, reset),
        cmocka_unit_test_setup(overflow_that_costs_is_given_up, reset),
        cmocka_unit_test_setup(contention_goes_if_more_gets_done, reset),
        cmocka_unit_test_setup(no_contention_probe_after_a_pause, reset),
        cmocka_unit_test_setup(contention_comes_back, reset),
        cmocka_unit_test_setup(contention_stays_if_not, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
