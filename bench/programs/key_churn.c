/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How long the operations of one user of the daemon take while another one has
 * made-up keys loaded, each for one request. Keys are prepared as for a GPU;
 * batches take a fixed time and compute nothing, so that it needs no GPU and
 * shows the cost of keys alone.
 *
 *   key_churn [SECONDS]
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/rand.h>

#include "batching/base/clock.h"
#include "batching/queue/counters.h"
#include "batching/queue/queue.h"
#include "bench/programs/made_up_key.h"

enum {
    BATCH_US = 3000, /* an RSA-2048 batch of a few hundred on an H200 */
    HONEST = 4,      /* threads with one operation at a time */
    TICK_US = 10000, /* between two handfuls of made-up keys */
    PER_TICK = 64,
    IN_FLIGHT = 16 * PER_TICK, /* requests with made-up keys at most */
    SAMPLES_MAX = 1 << 20,
    HONEST_USER = 1000,
    CHURNING_USER = 1001,
};

typedef struct sampler {
    pthread_t thread;
    warprsa_queue *queue;
    warprsa_key *key;
    uint64_t *ns;
    size_t count;
    size_t refused;
} sampler;

typedef struct churner {
    pthread_t thread;
    warprsa_queue *queue;
    unsigned next;
    size_t made, refused;
} churner;

static _Atomic bool stop;

static void fail(const char *why)
{
    fprintf(stderr, "key_churn: %s\n", why);
    exit(1);
}

static void pause_us(unsigned us)
{
    struct timespec t = {0, (long)us * 1000};

    nanosleep(&t, NULL);
}

/* ---- The engine: the host's keys, and batches that only take time ---- */

static warprsa_task *batch[WARPRSA_GPU_STREAMS_MAX];
static size_t batch_count[WARPRSA_GPU_STREAMS_MAX];

static warprsa_status start_batch(warprsa_device *device, unsigned stream,
                                  warprsa_size_class size, warprsa_task *tasks,
                                  size_t count)
{
    (void)device;
    (void)size;
    batch[stream] = tasks;
    batch_count[stream] = count;
    return WARPRSA_OK;
}

static warprsa_status wait_for_batch(warprsa_device *device, unsigned stream,
                                     unsigned timeout_ms)
{
    (void)device;
    (void)timeout_ms;
    pause_us(BATCH_US);
    for (size_t i = 0; i < batch_count[stream]; i++)
        batch[stream][i].status = WARPRSA_OK;
    return WARPRSA_OK;
}

static int random_fill(void *arg, void *out, size_t length)
{
    (void)arg;
    return RAND_bytes(out, (int)length);
}

/* ---- The two users ---- */

static warprsa_key *add_key(warprsa_queue *queue, uint64_t user,
                            const warprsa_private_key *key)
{
    uint8_t id[WARPRSA_KEY_ID_BYTES];
    warprsa_key *added;

    memcpy(id, key->n + sizeof(key->n) - sizeof(id), sizeof(id));
    added = warprsa_queue_key(queue, user, id, key);
    if (added == NULL)
        fail("a key is not taken");
    return added;
}

static void *sample(void *arg)
{
    sampler *s = arg;
    uint8_t bytes[WARPRSA_MODULUS_BYTES_MAX] = {0};

    while (!atomic_load(&stop) && s->count < SAMPLES_MAX) {
        const warprsa_notify none = {0};
        uint64_t from_ns = warprsa_clock_ns();
        warprsa_ticket ticket;

        if (warprsa_queue_submit(s->queue, s->key, bytes, none, &ticket) !=
                WARPRSA_DONE ||
            warprsa_queue_wait(s->queue, ticket, bytes) != WARPRSA_DONE)
            s->refused++;
        s->ns[s->count++] = warprsa_clock_ns() - from_ns;
        memset(bytes, 0, sizeof(bytes));
    }
    return NULL;
}

static void submit_new_key(churner *c, warprsa_ticket *ticket, bool *waits)
{
    const warprsa_notify none = {0};
    const uint8_t zeros[WARPRSA_MODULUS_BYTES_MAX] = {0};
    warprsa_private_key numbers;
    warprsa_key *key;

    made_up_key(++c->next, &numbers);
    key = add_key(c->queue, CHURNING_USER, &numbers);
    *waits = warprsa_queue_submit(c->queue, key, zeros, none, ticket) ==
             WARPRSA_DONE;
    c->refused += !*waits;
    c->made++;
    warprsa_key_release(key);
}

static void *churn(void *arg)
{
    churner *c = arg;
    warprsa_ticket tickets[IN_FLIGHT];
    bool waits[IN_FLIGHT] = {false};
    uint8_t output[WARPRSA_MODULUS_BYTES_MAX];

    for (unsigned i = 0; !atomic_load(&stop); i = (i + 1) % IN_FLIGHT) {
        if (i % PER_TICK == 0)
            pause_us(TICK_US);
        if (waits[i])
            c->refused += warprsa_queue_wait(c->queue, tickets[i], output) !=
                          WARPRSA_DONE;
        submit_new_key(c, &tickets[i], &waits[i]);
    }
    for (unsigned i = 0; i < IN_FLIGHT; i++)
        if (waits[i])
            (void)warprsa_queue_wait(c->queue, tickets[i], output);
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Prints how long the honest operations took; returns the 99th percentile in
 * milliseconds. */
static double report(const char *what, sampler *s, const churner *c)
{
    uint64_t *all = s[0].ns;
    size_t count = s[0].count, refused = s[0].refused;

    for (unsigned i = 1; i < HONEST; i++) {
        memcpy(all + count, s[i].ns, s[i].count * sizeof(*all));
        count += s[i].count;
        refused += s[i].refused;
    }
    if (count == 0)
        fail("no operation ended");
    qsort(all, count, sizeof(*all), by_value);
    printf("%-8s %8zu %8zu %8.2f %8.2f %8.2f %10zu %10zu\n", what, count,
           refused, (double)all[count / 2] / 1e6,
           (double)all[count * 99 / 100] / 1e6, (double)all[count - 1] / 1e6,
           c->made, c->refused);
    return (double)all[count * 99 / 100] / 1e6;
}

static double run(warprsa_queue *queue, warprsa_key *key, churner *c,
                  unsigned seconds, const char *what)
{
    sampler samplers[HONEST] = {0};
    uint64_t *samples = calloc((size_t)HONEST * SAMPLES_MAX, sizeof(*samples));
    double p99;

    if (samples == NULL)
        fail("no memory");
    atomic_store(&stop, false);
    for (unsigned i = 0; i < HONEST; i++) {
        samplers[i] = (sampler){.queue = queue,
                                .key = key,
                                .ns = samples + (size_t)i * SAMPLES_MAX};
        if (pthread_create(&samplers[i].thread, NULL, sample, &samplers[i]))
            fail("no thread");
    }
    if (c->queue != NULL && pthread_create(&c->thread, NULL, churn, c) != 0)
        fail("no thread");
    for (unsigned i = 0; i < 10 * seconds; i++)
        pause_us(100000);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < HONEST; i++)
        pthread_join(samplers[i].thread, NULL);
    if (c->queue != NULL)
        pthread_join(c->thread, NULL);
    p99 = report(what, samplers, c);
    free(samples);
    return p99;
}

static warprsa_queue *open_queue(warprsa_engine *engine,
                                 warprsa_counters *counters)
{
    warprsa_queue_config config = {
        .engines = {{.engine = engine,
                     .devices = UINT32_MAX,
                     .streams = WARPRSA_GPU_STREAMS_MAX,
                     .batch_max = 8192}},
        .engine_count = 1,
        .slots = 65536,
        .keys_max = 16384,
        .deadline_ms = 2000,
        .random = random_fill,
        .counters = counters,
    };
    warprsa_cpu_reason reason;
    char why[256];
    warprsa_queue *queue =
        warprsa_queue_open(&config, &reason, why, sizeof(why));

    if (queue == NULL ||
        warprsa_queue_wait_ready(queue, 60000) != WARPRSA_QUEUE_READY)
        fail("the queue does not open");
    return queue;
}

int main(int argc, char **argv)
{
    unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
    warprsa_engine engine = *warprsa_engine_host();
    warprsa_counters *counters = warprsa_counters_new();
    warprsa_private_key numbers;
    churner none = {0}, c = {0};
    warprsa_queue *queue;
    warprsa_key *key;
    double alone, beside;

    if (seconds == 0 || counters == NULL)
        fail("usage: key_churn [SECONDS]");
    queue = open_queue(&engine, counters);
    engine.start = start_batch;
    engine.wait = wait_for_batch;
    made_up_key(0, &numbers);
    key = add_key(queue, HONEST_USER, &numbers);
    printf("%-8s %8s %8s %8s %8s %8s %10s %10s\n", "", "honest", "refused",
           "p50_ms", "p99_ms", "max_ms", "new_keys", "refused");
    alone = run(queue, key, &none, seconds, "alone");
    c.queue = queue;
    beside = run(queue, key, &c, seconds, "beside");
    printf("p99 beside / alone: %.2f\n", beside / alone);
    warprsa_key_release(key);
    return warprsa_queue_close(queue) ? 0 : 1;
}
