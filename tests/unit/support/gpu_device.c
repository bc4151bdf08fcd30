/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/support/gpu_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/kernels/kernels.h"
#include "tests/unit/support/module_context.h"
#include "tests/unit/support/random_keys.h"

enum {
    CUDA_BATCH_MAX = 8192,
    PLACE = WARPRSA_MODULUS_BYTES_MAX + TEST_GUARD,
    FILL = 0xa5, /* what an output has before */
};

const warprsa_engine *test_engine(void)
{
    const char *name = module_context_engine();
    const warprsa_engine *engine =
        strcmp(name, "cuda") == 0   ? warprsa_engine_cuda()
        : strcmp(name, "ifma") == 0 ? warprsa_engine_ifma()
        : strcmp(name, "host") == 0 ? warprsa_engine_host()
                                    : NULL;
    char why[160] = "not in this build";

    if (engine == NULL || engine->count(why, sizeof(why)) == 0) {
        printf("skipped: engine %s: %s\n", name, why);
        return NULL;
    }
    return engine;
}

static int give_random(void *arg, void *out, size_t len)
{
    test_device *t = arg;
    const test_random kind = (test_random)atomic_load(&t->random);
    random_stream stream = {atomic_fetch_add(&t->state, 1ull << 32)};

    if (kind == RANDOM_FAILS)
        return 0;
    if (kind == RANDOM_GOOD)
        random_bytes(&stream, out, len);
    else
        memset(out, kind == RANDOM_ZEROS ? 0 : 0xff, len);
    return 1;
}

/* Whether each variable that begins like those of the tests is one of them: a
 * test that is told of a kernel by a name that nobody reads would pass without
 * having run it. */
static int settings_are_known(void)
{
    static const char *const known[] = {
        "DIRECT_TABLE_READS=", "EMULATOR=", "ENGINE=", "KERNEL=",
        "OPERATIONS=",         "SCALE=",    "SEED="};
    static const char prefix[] = "WARPRSA_TEST_";

    for (char **entry = environ; *entry != NULL; entry++) {
        const char *name = *entry + strlen(prefix);
        size_t i = 0;

        if (strncmp(*entry, prefix, strlen(prefix)) != 0)
            continue;
        while (i < sizeof(known) / sizeof(known[0]) &&
               strncmp(name, known[i], strlen(known[i])) != 0)
            i++;
        if (i == sizeof(known) / sizeof(known[0])) {
            fprintf(stderr, "%s: no test reads this variable\n", *entry);
            return 0;
        }
    }
    return 1;
}

/* An engine ignores the name of a kernel that it does not have. */
static int kernel_is_known(const char *kernel)
{
    if (kernel == NULL || warprsa_kernel_named(kernel) != NULL ||
        strcmp(kernel, "ifma") == 0)
        return 1;
    fprintf(stderr, "WARPRSA_TEST_KERNEL=%s: there is no such kernel\n",
            kernel);
    return 0;
}

int test_device_open(test_device *t, unsigned keys_max)
{
    warprsa_device_config config = {
        .streams = 2,
        .batch_max = TEST_BATCH_MAX,
        .keys_max = keys_max,
        .kernel = getenv("WARPRSA_TEST_KERNEL"),
        .direct_table_reads = getenv("WARPRSA_TEST_DIRECT_TABLE_READS") != NULL,
        .random = give_random,
        .random_arg = t,
    };
    char why[160] = "";
    warprsa_status status;

    memset(t, 0, sizeof(*t));
    atomic_init(&t->state, 1);
    atomic_init(&t->random, RANDOM_GOOD);
    t->engine = test_engine();
    if (t->engine == NULL || !settings_are_known() ||
        !kernel_is_known(config.kernel))
        return 0;
    if (strcmp(t->engine->name, "cuda") == 0)
        config.batch_max = CUDA_BATCH_MAX;
    t->batch_max = config.batch_max;
    status = t->engine->open(&config, &t->device, why, sizeof(why));
    if (status != WARPRSA_OK)
        fprintf(stderr, "open: %s: %s\n", warprsa_status_text(status), why);
    return status == WARPRSA_OK;
}

void test_device_close(test_device *t)
{
    t->engine->close(t->device);
    t->device = NULL;
}

int test_device_open_with(test_device *t, unsigned keys_max, made_key *keys,
                          const key_recipe *recipes, int count)
{
    if (!test_device_open(t, keys_max))
        return 0;
    for (int i = 0; i < count; i++)
        if (!made_key_new(&keys[i], &recipes[i]) ||
            t->engine->load_key(t->device, &keys[i].key, &keys[i].index) !=
                WARPRSA_OK)
            return 0;
    return 1;
}

void test_device_close_with(test_device *t, made_key *keys, int count)
{
    for (int i = 0; i < count; i++)
        made_key_free(&keys[i]);
    if (t->device != NULL)
        test_device_close(t);
}

int test_batch_new(test_batch *batch, size_t count)
{
    batch->count = count;
    batch->tasks = calloc(count, sizeof(*batch->tasks));
    batch->keys = calloc(count, sizeof(made_key *));
    batch->bytes = calloc(count, 2 * PLACE);
    if (batch->tasks == NULL || batch->keys == NULL || batch->bytes == NULL) {
        test_batch_free(batch);
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        batch->tasks[i].input = batch->bytes + 2 * i * PLACE;
        batch->tasks[i].output = batch->bytes + (2 * i + 1) * PLACE;
    }
    return 1;
}

void test_batch_free(test_batch *batch)
{
    free(batch->tasks);
    free(batch->keys);
    free(batch->bytes);
    memset(batch, 0, sizeof(*batch));
}

int test_batch_put(test_batch *batch, size_t i, made_key *key, const BIGNUM *m)
{
    const int bytes = (int)key->key.modulus_bytes;
    uint8_t *input = batch->bytes + 2 * i * PLACE;

    batch->keys[i] = key;
    batch->tasks[i].key = key->index;
    batch->tasks[i].status = WARPRSA_DEVICE_ERROR;
    memset(input, FILL, 2 * PLACE);
    return BN_bn2binpad(m, input, bytes) == bytes;
}

warprsa_status test_batch_run(test_batch *batch, test_device *t,
                              unsigned stream, warprsa_size_class size)
{
    warprsa_status status =
        t->engine->start(t->device, stream, size, batch->tasks, batch->count);

    return status == WARPRSA_OK
               ? t->engine->wait(t->device, stream, TEST_TIMEOUT_MS)
               : status;
}

static int guarded(const test_batch *batch, size_t i)
{
    for (int j = (int)batch->keys[i]->key.modulus_bytes; j < PLACE; j++)
        if (batch->tasks[i].output[j] != FILL)
            return 0;
    return 1;
}

int test_batch_right(test_batch *batch, size_t i)
{
    const warprsa_task *task = &batch->tasks[i];

    return task->status == WARPRSA_OK && guarded(batch, i) &&
           made_key_accepts(batch->keys[i], task->output, task->input);
}

int test_batch_withheld(const test_batch *batch, size_t i)
{
    const warprsa_task *task = &batch->tasks[i];
    uint8_t any = 0;

    for (uint32_t j = 0; j < batch->keys[i]->key.modulus_bytes; j++)
        any |= task->output[j];
    return task->status == WARPRSA_CHECK_FAILED && any == 0 &&
           guarded(batch, i);
}
