/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the router does for event loops, whose threads have many jobs: probes,
 * yields, and servers of more and more clients (timed_router.h).
 */
#include "tests/unit/support/timed_router.h"

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
TEST_IN(an_event_loop_of_more_and_more_jobs, reset, NULL)
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
TEST_IN(an_event_loop_of_two_jobs_probes_nothing, reset, NULL)
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
TEST_IN(jobs_that_never_pause_reach_the_device, reset, NULL)
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
TEST_IN(few_jobs_hardly_yield, reset, NULL)
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
TEST_IN(jobs_that_join_a_lone_one_are_seen, reset, NULL)
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
TEST_IN(nobody_yields_in_vain, reset, NULL)
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
TEST_IN(a_server_of_more_and_more_clients, reset, NULL)
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
TEST_IN(a_server_that_outruns_its_clients, reset, NULL)
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
TEST_IN(an_event_loop_of_fewer_jobs, reset, NULL)
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
TEST_IN(an_event_loop_beside_others, reset, NULL)
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
TEST_IN(an_event_loop_after_a_night, reset, NULL)
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
TEST_IN(a_probe_over_night, reset, NULL)
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
TEST_IN(an_idle_event_loop_stays, reset, NULL)
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
TEST_IN(probes_are_not_judged_without_a_device, reset, NULL)
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

RUN_TESTS(NULL, NULL)
