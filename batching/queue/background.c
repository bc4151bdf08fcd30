/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Batches computed in the background: see background.h.
 */
#include "batching/queue/background.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "batching/base/create_thread.h"
#include "batching/base/futex.h"
#include "batching/base/secret_memory.h"

/* Whose the batch is. */
enum {
    OF_WORKER,     /* none is under way */
    OF_BACKGROUND, /* the thread's, to be computed */
    ENDING,        /* there will be no more */
};

enum {
    NAME_BYTES = 16,
};

struct warprsa_background {
    pthread_t thread;
    char name[NAME_BYTES];
    _Atomic uint32_t state; /* a futex */
    const warprsa_engine *engine;
    warprsa_device *device;
    unsigned stream;
    warprsa_size_class size;
    size_t batch_max, count;
    warprsa_status status;
    warprsa_task *answered; /* the worker's tasks; NULL: forgotten */
    /* Copies of them, with inputs and outputs of their own: by the time that a
     * thread ends that got no CPU, others may have the worker's. */
    warprsa_task *tasks;
    uint8_t *numbers; /* SECRET: batch_max inputs, and as many outputs */
};

static uint8_t *input_of(const warprsa_background *b, size_t task)
{
    return b->numbers + task * WARPRSA_BACKGROUND_BYTES;
}

static uint8_t *output_of(const warprsa_background *b, size_t task)
{
    return input_of(b, b->batch_max + task);
}

static size_t numbers_bytes(const warprsa_background *b)
{
    return 2 * b->batch_max * WARPRSA_BACKGROUND_BYTES;
}

static void set_state(warprsa_background *b, uint32_t state)
{
    atomic_store(&b->state, state);
    warprsa_futex_wake(&b->state, 1);
}

static void compute(warprsa_background *b)
{
    b->status =
        b->engine->start(b->device, b->stream, b->size, b->tasks, b->count);
    if (b->status == WARPRSA_OK)
        b->status = b->engine->wait(b->device, b->stream, 0);
}

static void *background_main(void *arg)
{
    warprsa_background *b = arg;
    uint32_t state;

    (void)pthread_setname_np(pthread_self(), b->name);
    while ((state = atomic_load(&b->state)) != ENDING) {
        if (state == OF_BACKGROUND) {
            compute(b);
            set_state(b, OF_WORKER);
        } else {
            warprsa_futex_wait(&b->state, state, UINT64_MAX);
        }
    }
    return NULL;
}

static void free_background(warprsa_background *b)
{
    if (b->numbers != NULL)
        explicit_bzero(b->numbers, numbers_bytes(b));
    warprsa_secret_unmap(b->numbers, numbers_bytes(b));
    free(b->tasks);
    free(b);
}

/* Starts the thread. It sleeps until it has a batch: before that it is of
 * SCHED_IDLE, or has ended. Returns 0 or an error number. */
static int start_thread(warprsa_background *b)
{
    const struct sched_param none = {0};
    int error = warprsa_create_thread(&b->thread, background_main, b);

    if (error != 0)
        return error;
    error = pthread_setschedparam(b->thread, SCHED_IDLE, &none);
    if (error != 0) {
        set_state(b, ENDING);
        pthread_join(b->thread, NULL);
    }
    return error;
}

warprsa_background *warprsa_background_start(size_t batch_max, const char *name,
                                             int *error)
{
    warprsa_background *b = calloc(1, sizeof(*b));

    *error = ENOMEM;
    if (b == NULL)
        return NULL;
    b->batch_max = batch_max;
    snprintf(b->name, sizeof(b->name), "%s", name);
    b->tasks = calloc(batch_max, sizeof(*b->tasks));
    b->numbers = warprsa_secret_map(numbers_bytes(b));
    if (b->tasks != NULL && b->numbers != NULL)
        *error = start_thread(b);
    if (*error == 0)
        return b;
    free_background(b);
    return NULL;
}

void warprsa_background_stop(warprsa_background *b)
{
    warprsa_status status;

    if (b == NULL)
        return;
    while (!warprsa_background_wait(b, UINT32_MAX, &status))
        ;
    set_state(b, ENDING);
    pthread_join(b->thread, NULL);
    free_background(b);
}

void warprsa_background_begin(warprsa_background *b,
                              const warprsa_engine *engine,
                              warprsa_device *device, unsigned stream,
                              warprsa_size_class size, warprsa_task *tasks,
                              size_t count)
{
    b->engine = engine;
    b->device = device;
    b->stream = stream;
    b->size = size;
    b->count = count;
    b->answered = tasks;
    for (size_t i = 0; i < count; i++) {
        memcpy(input_of(b, i), tasks[i].input, WARPRSA_BACKGROUND_BYTES);
        b->tasks[i] = (warprsa_task){.key = tasks[i].key,
                                     .input = input_of(b, i),
                                     .output = output_of(b, i)};
    }
    set_state(b, OF_BACKGROUND);
}

/* Hands the answers out, unless they have been forgotten, and wipes. */
static void collect(warprsa_background *b)
{
    for (size_t i = 0; b->answered != NULL && i < b->count; i++) {
        b->answered[i].status = b->tasks[i].status;
        if (b->status == WARPRSA_OK)
            memcpy(b->answered[i].output, output_of(b, i),
                   WARPRSA_BACKGROUND_BYTES);
    }
    b->answered = NULL;
    explicit_bzero(b->numbers, numbers_bytes(b));
}

bool warprsa_background_wait(warprsa_background *b, unsigned timeout_ms,
                             warprsa_status *status)
{
    const uint64_t until_ns =
        warprsa_clock_ns() + timeout_ms * WARPRSA_NS_PER_MS;

    while (atomic_load(&b->state) != OF_WORKER && warprsa_clock_ns() < until_ns)
        warprsa_futex_wait(&b->state, OF_BACKGROUND, until_ns);
    if (atomic_load(&b->state) != OF_WORKER) {
        b->answered = NULL;
        return false;
    }
    collect(b);
    *status = b->status;
    return true;
}

bool warprsa_background_is_allowed(void)
{
    const struct sched_param none = {0};
    int status = 0;
    pid_t child = fork(), ended;

    if (child == 0)
        _exit(sched_setscheduler(0, SCHED_IDLE, &none) == 0 ? 0 : 1);
    if (child < 0)
        return false;
    do
        ended = waitpid(child, &status, 0);
    while (ended < 0 && errno == EINTR);
    return ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
