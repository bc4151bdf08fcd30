/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The callers that make a subject open its devices.
 */
#include "bench/load/devices.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "bench/load/operation.h"

enum {
    NAP_US = 10000,
    SINGLE_NAP_US = 20 * NAP_US, /* long: mostly one operation is enough */
    CALLERS_PER_CPU = 8,
    CALLERS_MAX = 512,
};

typedef struct callers {
    const load_keys *keys;
    const load_subject *subject;
    unsigned count;
    atomic_uint seed;
    atomic_bool enough;
} callers;

/* The thread of one caller, which sleeps in each of its operations. */
static void *call(void *arg)
{
    callers *callers = arg;
    load_operation operation;
    load_maker maker;

    if (!load_maker_init(&maker, callers->keys, callers->subject->libctx,
                         atomic_fetch_add(&callers->seed, 1)))
        load_fail("no memory");
    do {
        load_operation_choose(&maker, &operation);
        load_operation_run(&maker, &operation);
        if (callers->count == 1)
            usleep(SINGLE_NAP_US);
    } while (!atomic_load(&callers->enough));
    load_maker_clear(&maker);
    return NULL;
}

/* One caller is enough with route=gpu. Where the module may choose, it opens no
 * device for what a CPU can do, so there must be many callers. */
static unsigned callers_wanted(const load_subject *subject)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    if (strstr(subject->options->settings, "route=gpu") != NULL)
        return 1;
    return cpus < CALLERS_MAX / CALLERS_PER_CPU
               ? CALLERS_PER_CPU * (unsigned)cpus
               : CALLERS_MAX;
}

static bool wait_for(const load_options *options, const load_subject *subject)
{
    uint64_t give_up_ns =
        warprsa_clock_ns() + (uint64_t)(1e9 * options->devices_seconds);
    load_counters now = load_subject_counters(subject);

    while (now.devices < options->devices && now.cpu_no_device == 0 &&
           warprsa_clock_ns() < give_up_ns) {
        usleep(NAP_US);
        now = load_subject_counters(subject);
    }
    return now.devices >= options->devices;
}

void load_devices_wait(const load_options *options, const load_keys *keys,
                       const load_subject *subject)
{
    callers callers = {
        .keys = keys, .subject = subject, .count = callers_wanted(subject)};
    pthread_t threads[CALLERS_MAX];
    unsigned count = 0;

    if (options->devices == 0 || !load_subject_uses_devices(subject))
        return;
    while (count < callers.count &&
           pthread_create(&threads[count], NULL, call, &callers) == 0)
        count++;
    if (count == 0)
        load_fail("no thread can be started");
    if (!wait_for(options, subject))
        fprintf(stderr, "warprsa-load: %s: there are not %u devices at work\n",
                subject->options->name, options->devices);
    atomic_store(&callers.enough, true);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}
