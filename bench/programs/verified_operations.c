/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Computes many private operations by one kernel, or by an engine, and verifies
 * every result by libcrypto: s^e mod n = m has one solution, so a result that
 * passes is right. Each batch has new random numbers, and each thread has a
 * stream. Prints a line for each size of keys: what computed, the kernel, bits,
 * operations, seconds. A wrong result, or one that the engine reports as
 * failed, ends the program.
 *
 *   verified_operations [OPTION]... BITS:COUNT...
 */
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/bn.h>
#include <openssl/rand.h>

#include "batching/base/clock.h"
#include "gpu/engine.h"
#include "tests/unit/support/gpu_keys.h"

enum {
    KEYS = 4,
    SIZES_MAX = 16,
    WAIT_MS = 60000,
};

typedef struct options {
    const char *kernel;
    const warprsa_engine *engine;
    unsigned streams, sizes;
    size_t batch;
    struct {
        size_t bits;
        unsigned long long count;
    } size[SIZES_MAX];
} options;

typedef struct key_maker {
    made_key *key;
    size_t bits;
    bool made;
    pthread_t thread;
} key_maker;

typedef struct run {
    const options *o;
    warprsa_device *device;
    made_key made[SIZES_MAX][KEYS]; /* each by a maker */
    key_maker makers[SIZES_MAX][KEYS];
    size_t bits; /* of these keys */
    unsigned long long count;
    made_key *keys;
    BN_MONT_CTX *modulus[KEYS]; /* read by all threads */
    _Atomic unsigned long long begun, verified;
} run;

typedef struct stream_thread {
    run *of;
    unsigned stream;
    pthread_t thread;
    uint8_t *input, *output; /* one number every MODULUS_BYTES_MAX bytes */
    warprsa_task *tasks;
    BN_CTX *ctx;
} stream_thread;

/* Several threads may fail at once, and exit() is for one. */
static void fail(const char *what)
{
    fprintf(stderr, "verified_operations: %s\n", what);
    _exit(EXIT_FAILURE);
}

static int give_random(void *arg, void *out, size_t length)
{
    (void)arg;
    return RAND_bytes(out, (int)length) == 1;
}

static void fill(stream_thread *t, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t *input = t->input + i * WARPRSA_MODULUS_BYTES_MAX;
        const size_t key = i % KEYS;

        if (RAND_bytes(input, (int)(t->of->bits / 8)) != 1)
            fail("no randomness");
        input[0] &= 0x7f; /* below the modulus */
        t->tasks[i] = (warprsa_task){
            .key = t->of->keys[key].index,
            .input = input,
            .output = t->output + i * WARPRSA_MODULUS_BYTES_MAX,
        };
    }
}

static void compute(stream_thread *t, size_t count)
{
    const warprsa_engine *engine = t->of->o->engine;
    const warprsa_size_class size =
        (warprsa_size_class)warprsa_key_class(&t->of->keys[0].key);
    warprsa_status status =
        engine->start(t->of->device, t->stream, size, t->tasks, count);

    if (status == WARPRSA_OK)
        status = engine->wait(t->of->device, t->stream, WAIT_MS);
    if (status != WARPRSA_OK)
        fail(warprsa_status_text(status));
}

static bool is_right(const stream_thread *t, const warprsa_task *task,
                     size_t key)
{
    const int bytes = (int)(t->of->bits / 8);
    BIGNUM **numbers = t->of->keys[key].numbers.value;
    BIGNUM *s, *m;
    bool right;

    BN_CTX_start(t->ctx);
    s = BN_CTX_get(t->ctx);
    m = BN_CTX_get(t->ctx);
    right = m != NULL && BN_bin2bn(task->output, bytes, s) != NULL &&
            BN_bin2bn(task->input, bytes, m) != NULL &&
            BN_cmp(s, numbers[NUMBER_N]) < 0 &&
            BN_mod_exp_mont(s, s, numbers[NUMBER_E], numbers[NUMBER_N], t->ctx,
                            t->of->modulus[key]) == 1 &&
            BN_cmp(s, m) == 0;
    BN_CTX_end(t->ctx);
    return right;
}

static void verify(const stream_thread *t, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const warprsa_task *task = &t->tasks[i];

        if (task->status != WARPRSA_OK)
            fail(warprsa_status_text(task->status));
        if (!is_right(t, task, i % KEYS))
            fail("a result is wrong");
    }
    atomic_fetch_add(&t->of->verified, count);
}

static void *run_stream(void *arg)
{
    stream_thread *t = arg;
    const size_t batch = t->of->o->batch;
    const unsigned long long wanted = t->of->count;
    unsigned long long begun;

    while ((begun = atomic_fetch_add(&t->of->begun, batch)) < wanted) {
        const size_t count = wanted - begun < batch ? wanted - begun : batch;

        fill(t, count);
        compute(t, count);
        verify(t, count);
    }
    return NULL;
}

static void start(stream_thread *t, run *of, unsigned stream)
{
    const size_t batch = of->o->batch;

    *t = (stream_thread){
        .of = of,
        .stream = stream,
        .input = calloc(batch, WARPRSA_MODULUS_BYTES_MAX),
        .output = calloc(batch, WARPRSA_MODULUS_BYTES_MAX),
        .tasks = calloc(batch, sizeof(*t->tasks)),
        .ctx = BN_CTX_new(),
    };
    if (t->input == NULL || t->output == NULL || t->tasks == NULL ||
        t->ctx == NULL || pthread_create(&t->thread, NULL, run_stream, t) != 0)
        fail("no memory, or no thread");
}

static void end(stream_thread *t)
{
    pthread_join(t->thread, NULL);
    free(t->input);
    free(t->output);
    free(t->tasks);
    BN_CTX_free(t->ctx);
}

static void open_device(run *r)
{
    const options *o = r->o;
    const warprsa_device_config config = {.streams = o->streams,
                                          .batch_max = (unsigned)o->batch,
                                          .keys_max = KEYS,
                                          .kernel = o->kernel,
                                          .random = give_random};
    char why[256] = "";

    if (o->engine->count(why, sizeof(why)) == 0 ||
        o->engine->open(&config, &r->device, why, sizeof(why)) != WARPRSA_OK)
        fail(why);
}

static void *make_key(void *arg)
{
    key_maker *m = arg;

    m->made = made_key_random(m->key, m->bits);
    return NULL;
}

/* Those of all sizes at once, since four of 4096 bits take seconds. */
static void begin_keys(run *r)
{
    for (unsigned i = 0; i < r->o->sizes; i++) {
        for (unsigned k = 0; k < KEYS; k++) {
            key_maker *m = &r->makers[i][k];

            *m = (key_maker){.key = &r->made[i][k], .bits = r->o->size[i].bits};
            if (pthread_create(&m->thread, NULL, make_key, m) != 0)
                fail("no thread");
        }
    }
}

static void await_keys(run *r, unsigned size)
{
    for (unsigned k = 0; k < KEYS; k++) {
        pthread_join(r->makers[size][k].thread, NULL);
        if (!r->makers[size][k].made)
            fail("a key cannot be made");
    }
    r->keys = r->made[size];
}

static void load_keys(run *r)
{
    BN_CTX *ctx = BN_CTX_new();

    for (size_t i = 0; i < KEYS; i++) {
        made_key *key = &r->keys[i];

        r->modulus[i] = BN_MONT_CTX_new();
        if (ctx == NULL || r->modulus[i] == NULL ||
            !BN_MONT_CTX_set(r->modulus[i], key->numbers.value[NUMBER_N],
                             ctx) ||
            r->o->engine->load_key(r->device, &key->key, &key->index) !=
                WARPRSA_OK)
            fail("a key cannot be loaded");
    }
    BN_CTX_free(ctx);
}

static void unload_keys(run *r)
{
    for (size_t i = 0; i < KEYS; i++) {
        r->o->engine->unload_key(r->device, r->keys[i].index);
        BN_MONT_CTX_free(r->modulus[i]);
        made_key_free(&r->keys[i]);
    }
}

static void set_engine(options *o, const char *name)
{
    if (strcmp(name, "host") == 0)
        o->engine = warprsa_engine_host();
    else if (strcmp(name, "ifma") == 0)
        o->engine = warprsa_engine_ifma();
    else if (strcmp(name, "cuda") == 0)
        o->engine = warprsa_engine_cuda();
    else
        fail("--engine is cuda, ifma or host");
}

/* BITS:COUNT */
static void add_size(options *o, const char *text)
{
    char *end = NULL;
    const size_t bits = strtoul(text, &end, 10);
    const unsigned long long count =
        *end == ':' ? strtoull(end + 1, &end, 10) : 0;

    if (*end != '\0' || count == 0 || bits < 1024 || bits > 4096 ||
        bits % 256 != 0 || o->sizes == SIZES_MAX)
        fail(
            "sizes are BITS:COUNT, of 1024 to 4096 bits, a multiple of 256; 16 "
            "at most");
    o->size[o->sizes].bits = bits;
    o->size[o->sizes++].count = count;
}

static void parse(options *o, int argc, char **argv)
{
    static const struct option names[] = {
        {"engine", required_argument, NULL, 'e'},
        {"kernel", required_argument, NULL, 'k'},
        {"batch", required_argument, NULL, 'n'},
        {"streams", required_argument, NULL, 's'},
        {0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (c == 'e')
            set_engine(o, optarg);
        else if (c == 'k')
            o->kernel = optarg;
        else if (c == 'n')
            o->batch = strtoul(optarg, NULL, 10);
        else if (c == 's')
            o->streams = (unsigned)strtoul(optarg, NULL, 10);
        else
            fail("usage: verified_operations [--engine=cuda|ifma|host] "
                 "[--kernel=NAME] [--batch=N] [--streams=N] BITS:COUNT...");
    }
    for (int i = optind; i < argc; i++)
        add_size(o, argv[i]);
    if (o->engine == NULL)
        fail("built without CUDA; --engine=ifma and host are there");
    if (o->batch == 0 || o->batch > 65536 || o->streams == 0 ||
        o->streams > WARPRSA_STREAMS_MAX)
        fail("--batch is 1 to 65536, --streams 1 to what a device has");
}

static void run_size(run *r, unsigned size)
{
    static stream_thread threads[WARPRSA_STREAMS_MAX];
    const size_t bits = r->o->size[size].bits;
    const unsigned long long count = r->o->size[size].count;
    uint64_t begin_ns;

    r->bits = bits;
    r->count = count;
    r->begun = 0;
    r->verified = 0;
    await_keys(r, size);
    load_keys(r);
    begin_ns = warprsa_clock_ns();
    for (unsigned i = 0; i < r->o->streams; i++)
        start(&threads[i], r, i);
    for (unsigned i = 0; i < r->o->streams; i++)
        end(&threads[i]);
    if (r->verified != count)
        fail("results are missing");
    printf("%s,%s,%zu,%llu,%.1f\n", r->o->engine->name,
           r->o->kernel != NULL ? r->o->kernel : "auto", bits, count,
           1e-9 * (double)(warprsa_clock_ns() - begin_ns));
    fflush(stdout);
    unload_keys(r);
}

int main(int argc, char **argv)
{
    options o = {.engine = warprsa_engine_cuda(), .streams = 8, .batch = 4096};
    static run r;

    parse(&o, argc, argv);
    r.o = &o;
    begin_keys(&r);
    open_device(&r);
    for (unsigned i = 0; i < o.sizes; i++)
        run_size(&r, i);
    o.engine->close(r.device);
    return EXIT_SUCCESS;
}
