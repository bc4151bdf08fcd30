/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Running the threads of a measurement, reading counters at the window's ends,
 * and adding up the results.
 */
#include "bench/load/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "bench/load/devices.h"
#include "bench/load/process_use.h"
#include "bench/load/progress.h"
#include "bench/load/worker.h"

enum {
    SPARE_DESCRIPTORS = 512, /* files, event loops, the driver's */
    GIVE_UP_SECONDS = 60,
};

/* A measurement under way. */
typedef struct measurement {
    const load_options *options;
    load_keys *keys;
    load_subject *subject;
    load_window window;
    load_worker *workers;
    /* Of operations that have ended: at the last sample, and a place to count
     * them in. */
    load_histogram *sampled, *ended;
    load_result result;
} measurement;

/* What changes during a measurement, read at one time. */
typedef struct reading {
    uint64_t at_ns, completed, verify_ns;
    load_process_use use;
    load_counters counters;
} reading;

static uint64_t seconds_to_ns(double seconds)
{
    return (uint64_t)(1e9 * seconds);
}

static void sleep_until(uint64_t at_ns)
{
    struct timespec at = {(time_t)(at_ns / 1000000000),
                          (long)(at_ns % 1000000000)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0)
        ;
}

static reading read_now(const measurement *m)
{
    reading r = {.use = load_process_use_now(),
                 .counters = load_subject_counters(m->subject)};

    r.at_ns = warprsa_clock_ns();
    for (unsigned i = 0; i < m->result.threads; i++) {
        r.completed += atomic_load_explicit(&m->workers[i].completed,
                                            memory_order_relaxed);
        r.verify_ns += atomic_load_explicit(&m->workers[i].verify_ns,
                                            memory_order_relaxed);
    }
    return r;
}

static void start_workers(measurement *m)
{
    load_result *result = &m->result;

    m->workers = calloc(result->threads, sizeof(*m->workers));
    if (m->workers == NULL || pthread_barrier_init(&m->window.barrier, NULL,
                                                   result->threads + 1) != 0)
        load_fail("no memory for %u threads", result->threads);
    for (unsigned i = 0; i < result->threads; i++) {
        load_worker *worker = &m->workers[i];

        worker->options = m->options;
        worker->window = &m->window;
        worker->index = i;
        worker->threads = result->threads;
        worker->rate = result->offered;
        worker->jobs = result->in_flight / result->threads +
                       (i < result->in_flight % result->threads);
        if (!load_maker_init(&worker->maker, m->keys, m->subject->libctx,
                             1000 * result->run + i))
            load_fail("no memory for %u threads", result->threads);
        if (pthread_create(&worker->thread, NULL,
                           m->options->blocking ? load_blocking_thread
                                                : load_async_thread,
                           worker) != 0)
            load_fail("thread %u of %u can't be started", i + 1,
                      result->threads);
    }
    pthread_barrier_wait(&m->window.barrier);
}

static void open_window(measurement *m)
{
    m->window.begin_ns = warprsa_clock_ns();
    m->window.start_ns =
        m->window.begin_ns + seconds_to_ns(m->options->warm_up);
    m->window.end_ns = m->window.start_ns + seconds_to_ns(m->options->seconds);
    m->window.give_up_ns = m->window.end_ns + seconds_to_ns(GIVE_UP_SECONDS);
    pthread_barrier_wait(&m->window.barrier);
}

/* Sets the latencies of what has ended since the sample before. */
static void sample_latency(measurement *m, load_sample *sample)
{
    memset(m->ended, 0, sizeof(*m->ended));
    for (unsigned i = 0; i < m->result.threads; i++)
        load_histogram_merge(m->ended, &m->workers[i].latency);
    load_histogram_since(m->ended, m->sampled);
    sample->p50_ns = load_histogram_quantile(m->ended, 0.5);
    sample->p99_ns = load_histogram_quantile(m->ended, 0.99);
    sample->p999_ns = load_histogram_quantile(m->ended, 0.999);
    sample->most_ns = m->ended->most;
}

static void watch_window(measurement *m)
{
    uint64_t step_ns = seconds_to_ns(m->options->interval);
    uint64_t next_ns = m->window.start_ns;
    reading first = read_now(m), before = first;

    m->sampled = calloc(1, sizeof(*m->sampled));
    m->ended = calloc(1, sizeof(*m->ended));
    if (m->sampled == NULL || m->ended == NULL)
        load_fail("no memory");
    while ((next_ns += step_ns) <= m->window.end_ns) {
        load_sample sample = {.result = &m->result};
        reading now;

        sleep_until(next_ns);
        now = read_now(m);
        sample.at = 1e-9 * (double)(now.at_ns - first.at_ns);
        sample.rate = 1e9 * (double)(now.completed - before.completed) /
                      (double)(now.at_ns - before.at_ns);
        sample.use = now.use;
        sample.counters = load_counters_between(&first.counters, &now.counters,
                                                &now.counters);
        for (unsigned i = 0; i < m->result.threads; i++)
            sample.failed += atomic_load_explicit(&m->workers[i].failed,
                                                  memory_order_relaxed);
        sample_latency(m, &sample);
        load_progress(m->options, &sample);
        before = now;
    }
    free(m->sampled);
    free(m->ended);
}

/* Sets the results of the window between two readings. */
static void subtract(load_result *result, const reading *start,
                     const reading *end)
{
    result->seconds = 1e-9 * (double)(end->at_ns - start->at_ns);
    result->measured = end->completed - start->completed;
    result->cpu_ns = end->use.cpu_ns - start->use.cpu_ns -
                     (end->verify_ns - start->verify_ns);
    result->switches = end->use.switches - start->use.switches;
    result->device =
        load_on_device(&end->counters) - load_on_device(&start->counters);
    result->cpu = end->counters.cpu - start->counters.cpu;
    result->memory_kib = end->use.memory_kib;
    result->descriptors = end->use.descriptors;
}

/* Waits for the threads and adds up their results. */
static void end_workers(measurement *m)
{
    load_histogram *latency = calloc(1, sizeof(*latency));
    load_result *result = &m->result;
    bool broken = false;

    if (latency == NULL)
        load_fail("no memory");
    for (unsigned i = 0; i < result->threads; i++) {
        load_worker *worker = &m->workers[i];

        pthread_join(worker->thread, NULL);
        load_histogram_merge(latency, &worker->latency);
        result->started += worker->started;
        result->verified += worker->verified;
        result->wrong += worker->wrong;
        result->failed += worker->failed;
        result->lost += worker->lost;
        result->unstarted += worker->unstarted;
        broken = broken || worker->broken;
    }
    if (broken)
        load_fail("a thread could not work");
    result->mean_ns = latency->count > 0 ? latency->sum / latency->count : 0;
    result->p50_ns = load_histogram_quantile(latency, 0.5);
    result->p99_ns = load_histogram_quantile(latency, 0.99);
    result->p999_ns = load_histogram_quantile(latency, 0.999);
    result->most_ns = latency->most;
    free(latency);
}

/* Frees what the threads had, unless jobs are lost, which may still use it. */
static void clear_workers(measurement *m)
{
    if (m->result.lost > 0)
        return;
    for (unsigned i = 0; i < m->result.threads; i++)
        load_maker_clear(&m->workers[i].maker);
    free(m->workers);
    pthread_barrier_destroy(&m->window.barrier);
}

/* Sets what the provider has counted, and how much of what was asked of it it
 * has not counted. */
static void count(measurement *m, const load_counters *before,
                  const load_counters *window_end)
{
    load_counters after = load_subject_counters(m->subject);
    load_result *result = &m->result;

    result->counters = load_counters_between(before, &after, window_end);
    if (!m->subject->options->is_default)
        result->uncounted =
            (int64_t)(result->started - result->lost) -
            (int64_t)(load_on_device(&result->counters) + result->counters.cpu +
                      result->counters.vault_libcrypto);
}

static void measure_one(measurement *m)
{
    load_counters before = load_subject_counters(m->subject);
    reading start, end;

    start_workers(m);
    open_window(m);
    sleep_until(m->window.start_ns);
    start = read_now(m);
    watch_window(m);
    sleep_until(m->window.end_ns);
    end = read_now(m);
    subtract(&m->result, &start, &end);
    end_workers(m);
    count(m, &before, &end.counters);
    clear_workers(m);
}

/* Measures each rate. The closed loop comes first, if no rate is given or if
 * one is a percentage of the closed loop's. */
static void measure_rates(measurement *m, load_result_fn each, void *arg)
{
    const load_options *o = m->options;
    const load_result clean = m->result;
    bool closed = o->rates_count == 0;
    double rate = 0;

    for (size_t i = 0; i < o->rates_count; i++)
        closed = closed || o->rates[i].percent;
    if (closed) {
        measure_one(m);
        each(arg, &m->result);
        rate = load_result_rate(&m->result);
    }
    for (size_t i = 0; i < o->rates_count; i++) {
        if (m->result.lost > 0)
            load_fail("operations are lost: it makes no sense to go on");
        m->result = clean;
        m->result.offered = o->rates[i].value;
        if (o->rates[i].percent) {
            if (rate == 0)
                load_fail("the closed loop ended no operation in %g s: there "
                          "is nothing to take %g %% of",
                          o->seconds, o->rates[i].value);
            m->result.of_closed = o->rates[i].value;
            m->result.offered *= rate / 100;
        }
        measure_one(m);
        each(arg, &m->result);
    }
}

void load_measure(const load_options *options, load_keys *keys,
                  unsigned subject_index, load_result_fn each, void *arg)
{
    load_subject subject;
    uint64_t lost = 0;

    load_subject_open(&subject, options, &options->subjects[subject_index]);
    load_keys_copy(keys, subject.libctx);
    load_devices_wait(options, keys, &subject);
    for (size_t i = 0; i < options->in_flight_count; i++) {
        unsigned in_flight = options->in_flight[i];

        load_process_allow_descriptors(in_flight + SPARE_DESCRIPTORS);
        for (unsigned run = 0; run < options->runs && lost == 0; run++) {
            measurement m = {
                .options = options, .keys = keys, .subject = &subject};

            m.result.subject = subject_index;
            m.result.run = run;
            m.result.in_flight = in_flight;
            m.result.threads = options->blocking || in_flight < options->threads
                                   ? in_flight
                                   : options->threads;
            measure_rates(&m, each, arg);
            lost += m.result.lost;
        }
    }
    if (lost > 0)
        _exit(EXIT_FAILURE); /* lost jobs may still run */
    load_keys_drop_copies(keys);
    load_subject_close(&subject);
}

double load_result_rate(const load_result *result)
{
    return result->seconds > 0 ? (double)result->measured / result->seconds : 0;
}
