/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Measures rate and latency of an engine without the layers above it: whole
 * private operations from bytes to bytes, under several keys, by size class
 * and batch size. Prints medians of several runs with their spread. The
 * results of the last batch of each row are checked.
 */
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/rand.h>

#include "batching/base/clock.h"
#include "bench/programs/spread.h"
#include "gpu/engine.h"
#include "tests/unit/support/gpu_keys.h"

enum {
    KEYS = 8,
    RUNS_MAX = 99,
    LIST_MAX = 16,
};

typedef struct options {
    const char *kernel, *calibration_file;
    bool direct_table_reads;
    const warprsa_engine *engine;
    unsigned runs, streams;
    size_t bits[LIST_MAX], bits_count;
    size_t batches[LIST_MAX], batches_count;
} options;

typedef struct bench {
    warprsa_device *device;
    made_key keys[KEYS];
    uint8_t *input, *output; /* one number every MODULUS_BYTES_MAX bytes */
    warprsa_task *tasks;
} bench;

static void fail(const char *what)
{
    fprintf(stderr, "engine_rate: %s\n", what);
    exit(EXIT_FAILURE);
}

static void trace(void *arg, int level, const char *line)
{
    (void)arg;
    if (level == 1)
        fprintf(stderr, "engine_rate: %s\n", line);
}

static int give_random(void *arg, void *out, size_t length)
{
    (void)arg;
    return RAND_bytes(out, (int)length) == 1;
}

static double now(void)
{
    return 1e-9 * (double)warprsa_clock_ns();
}

/* Checks 64 to 127 results, spread over the batch; all if there are fewer. A
 * wrong one ends the program. */
static void verify(bench *b, size_t count)
{
    const size_t step = count > 64 ? count / 64 : 1;

    for (size_t i = 0; i < count; i += step) {
        const warprsa_task *task = &b->tasks[i];

        if (task->status != WARPRSA_OK)
            fail(warprsa_status_text(task->status));
        if (!made_key_accepts(&b->keys[i % KEYS], task->output, task->input))
            fail("a result is wrong");
    }
}

/* The batches of one stream, and the seconds that each took. */
typedef struct stream_run {
    bench *b;
    const options *o;
    unsigned stream;
    warprsa_size_class size;
    size_t count;
    pthread_t thread;
    pthread_barrier_t *warm;
    double times[RUNS_MAX];
} stream_run;

static double run_batch(const stream_run *r)
{
    const warprsa_engine *engine = r->o->engine;
    double start = now();

    if (engine->start(r->b->device, r->stream, r->size,
                      r->b->tasks + r->stream * r->count,
                      r->count) != WARPRSA_OK ||
        engine->wait(r->b->device, r->stream, 60000) != WARPRSA_OK)
        fail("a batch failed");
    return now() - start;
}

static void *run_stream(void *arg)
{
    stream_run *r = arg;

    run_batch(r);
    pthread_barrier_wait(r->warm);
    for (unsigned i = 0; i < r->o->runs; i++)
        r->times[i] = run_batch(r);
    return NULL;
}

static void fill(bench *b, size_t bits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t *input = b->input + i * WARPRSA_MODULUS_BYTES_MAX;

        if (!give_random(NULL, input, bits / 8))
            fail("no randomness");
        input[0] &= 0x7f;
        b->tasks[i] = (warprsa_task){
            .key = b->keys[i % KEYS].index,
            .input = input,
            .output = b->output + i * WARPRSA_MODULUS_BYTES_MAX,
        };
    }
}

/* Measures and prints one row. The rate of one stream is that of its median
 * batch. The rate of several is all their operations over the time from when
 * each has run its first batch until the last stream has ended. */
static void measure_row(bench *b, const options *o, size_t bits, size_t count)
{
    stream_run runs[WARPRSA_STREAMS_MAX];
    double start;
    spread batch;
    pthread_barrier_t warm;

    fill(b, bits, count * o->streams);
    if (pthread_barrier_init(&warm, NULL, o->streams + 1) != 0)
        fail("no barrier");
    for (unsigned i = 0; i < o->streams; i++) {
        runs[i] = (stream_run){
            .b = b,
            .o = o,
            .stream = i,
            .size = (warprsa_size_class)warprsa_key_class(&b->keys[0].key),
            .count = count,
            .warm = &warm,
        };
        if (pthread_create(&runs[i].thread, NULL, run_stream, &runs[i]) != 0)
            fail("no thread");
    }
    pthread_barrier_wait(&warm);
    start = now();
    for (unsigned i = 0; i < o->streams; i++)
        pthread_join(runs[i].thread, NULL);
    start = now() - start;
    verify(b, count * o->streams);
    pthread_barrier_destroy(&warm);
    batch = spread_of(runs[0].times, o->runs);
    printf("%5zu %7zu %10.3f %10.3f %10.3f %12.0f\n", bits, count,
           1e3 * batch.median, 1e3 * batch.least, 1e3 * batch.most,
           o->streams == 1 ? (double)count / batch.median
                           : (double)(count * o->streams * o->runs) / start);
    fflush(stdout);
}

static void measure_size(bench *b, const options *o, size_t bits)
{
    for (int i = 0; i < KEYS; i++) {
        if (!made_key_random(&b->keys[i], bits))
            fail("no key can be made");
        if (o->engine->load_key(b->device, &b->keys[i].key,
                                &b->keys[i].index) != WARPRSA_OK)
            fail("a key cannot be loaded");
    }
    for (size_t i = 0; i < o->batches_count; i++)
        measure_row(b, o, bits, o->batches[i]);
    for (int i = 0; i < KEYS; i++) {
        o->engine->unload_key(b->device, b->keys[i].index);
        made_key_free(&b->keys[i]);
    }
}

static void parse_list(const char *text, size_t *list, size_t *count)
{
    *count = 0;
    for (char *end; *text != '\0'; text = *end == ',' ? end + 1 : end) {
        list[*count] = strtoul(text, &end, 10);
        if (end == text || list[*count] == 0 || ++*count == LIST_MAX)
            fail("a list is numbers with commas between, 15 at most");
    }
}

static void parse(options *o, int argc, char **argv)
{
    static const struct option names[] = {
        {"engine", required_argument, NULL, 'e'},
        {"bits", required_argument, NULL, 'b'},
        {"batches", required_argument, NULL, 'n'},
        {"runs", required_argument, NULL, 'r'},
        {"kernel", required_argument, NULL, 'v'},
        {"calibration-file", required_argument, NULL, 'c'},
        {"table-reads", required_argument, NULL, 't'},
        {"streams", required_argument, NULL, 's'},
        {0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (c == 'e')
            o->engine = strcmp(optarg, "host") == 0 ? warprsa_engine_host()
                                                    : warprsa_engine_cuda();
        else if (c == 'b')
            parse_list(optarg, o->bits, &o->bits_count);
        else if (c == 'n')
            parse_list(optarg, o->batches, &o->batches_count);
        else if (c == 'r')
            o->runs = (unsigned)strtoul(optarg, NULL, 10);
        else if (c == 's')
            o->streams = (unsigned)strtoul(optarg, NULL, 10);
        else if (c == 'v')
            o->kernel = optarg;
        else if (c == 'c')
            o->calibration_file = optarg;
        else if (c == 't' &&
                 (strcmp(optarg, "scan") == 0 || strcmp(optarg, "direct") == 0))
            o->direct_table_reads = strcmp(optarg, "direct") == 0;
        else
            fail("usage: engine_rate [--engine=cuda|host] [--bits=2048,...] "
                 "[--batches=1,...] [--runs=N] [--kernel=NAME] "
                 "[--calibration-file=PATH] [--table-reads=scan|direct] "
                 "[--streams=N]");
    }
    if (o->runs == 0 || o->runs > RUNS_MAX)
        fail("--runs is 1 to 99");
    if (o->streams == 0 || o->streams > WARPRSA_STREAMS_MAX)
        fail("--streams is 1 to 8");
    if (o->engine == NULL)
        fail("built without CUDA; --engine=host is there");
}

/* What batches of large keys, if there are any, need at most. */
static unsigned batch_max_for(const options *o, size_t most)
{
    for (size_t i = 0; i < o->bits_count; i++)
        if (o->bits[i] > 4096 && o->engine->halves_large_batches)
            return 2 * (unsigned)most;
    return (unsigned)most;
}

int main(int argc, char **argv)
{
    options o = {.engine = warprsa_engine_cuda(), .runs = 5, .streams = 1};
    char why[256] = "";
    size_t most = 1;
    bench b = {0};

    parse_list("1024,2048,3072,4096", o.bits, &o.bits_count);
    parse_list("1,64,1024,4096,16384,65536", o.batches, &o.batches_count);
    parse(&o, argc, argv);
    for (size_t i = 0; i < o.batches_count; i++)
        most = o.batches[i] > most ? o.batches[i] : most;
    warprsa_device_config config = {.streams = o.streams,
                                    .batch_max = batch_max_for(&o, most),
                                    .keys_max = KEYS,
                                    .kernel = o.kernel,
                                    .calibration_file = o.calibration_file,
                                    .direct_table_reads = o.direct_table_reads,
                                    .trace = trace,
                                    .random = give_random};

    if (o.engine->count(why, sizeof(why)) == 0 ||
        o.engine->open(&config, &b.device, why, sizeof(why)) != WARPRSA_OK)
        fail(why);
    most *= o.streams;
    b.input = calloc(most, WARPRSA_MODULUS_BYTES_MAX);
    b.output = calloc(most, WARPRSA_MODULUS_BYTES_MAX);
    b.tasks = calloc(most, sizeof(*b.tasks));
    if (b.input == NULL || b.output == NULL || b.tasks == NULL)
        fail("no memory");
    printf("%s, %d keys mixed, %u streams, %u runs a row\n",
           o.engine->describe(b.device), KEYS, o.streams, o.runs);
    printf("%5s %7s %10s %10s %10s %12s\n", "bits", "batch", "median ms",
           "least ms", "most ms", "operations/s");
    for (size_t i = 0; i < o.bits_count; i++)
        measure_size(&b, &o, o.bits[i]);
    o.engine->close(b.device);
    free(b.input);
    free(b.output);
    free(b.tasks);
    return EXIT_SUCCESS;
}
