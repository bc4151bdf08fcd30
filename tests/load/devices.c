/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "devices.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include <openssl/async.h>

#include "operation.h"
#include "provider/clock.h"

enum {
    NAP_US = 10000,
};

static int job(void *arg)
{
    load_maker *maker = *(load_maker **)arg;
    load_operation operation;

    load_operation_choose(maker, &operation);
    load_operation_run(maker, &operation);
    return operation.length > 0;
}

static void one_operation(load_maker *maker, ASYNC_WAIT_CTX *wait_ctx)
{
    ASYNC_JOB *paused = NULL;
    int ret = 0;

    while (ASYNC_start_job(&paused, wait_ctx, &ret, job, &maker,
                           sizeof(maker)) == ASYNC_PAUSE)
        sched_yield();
}

void load_devices_wait(const load_options *options, const load_keys *keys,
                       const load_subject *subject)
{
    uint64_t give_up_ns =
        warprsa_clock_ns() + (uint64_t)(1e9 * options->devices_seconds);
    ASYNC_WAIT_CTX *wait_ctx = NULL;
    load_counters now = {0};
    load_maker maker;

    if (options->devices == 0 || !load_subject_uses_devices(subject))
        return;
    wait_ctx = ASYNC_WAIT_CTX_new();
    if (wait_ctx == NULL || !load_maker_init(&maker, keys, subject->libctx, 0))
        load_fail("no memory");
    do {
        one_operation(&maker, wait_ctx);
        usleep(NAP_US);
        now = load_subject_counters(subject);
    } while (now.value[LOAD_COUNT_DEVICES] < options->devices &&
             now.value[LOAD_COUNT_CPU_NO_DEVICE] == 0 &&
             warprsa_clock_ns() < give_up_ns);
    if (now.value[LOAD_COUNT_DEVICES] < options->devices)
        fprintf(stderr,
                "warprsa-load: %s: %u devices wanted, %" PRIu64 " at work\n",
                subject->options->name, options->devices,
                now.value[LOAD_COUNT_DEVICES]);
    load_maker_clear(&maker);
    ASYNC_WAIT_CTX_free(wait_ctx);
    ASYNC_cleanup_thread();
}
