/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tests that memory which an engine on the CPU gives back to the heap holds no
 * secret; the engine is WARPRSA_TEST_ENGINE, ifma or else host. Linked with
 * --wrap=free, so that each block the engine frees is searched while it is
 * still allocated.
 */
#include "tests/unit/support/gpu_numbers.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "batching/base/secret_memory.h"
#include "gpu/cpu/cpu_device.h"
#include "tests/unit/support/gpu_secrets.h"

enum {
    TASKS = WARPRSA_IFMA_LANES, /* the engine ifma keeps their blinding */
    KEYS = WARPRSA_HOST_BLINDINGS_MAX + 44, /* more than it keeps that of */
    SKIPPED = 77,                           /* exit status */
};

static int looking;
static unsigned blocks, found;
/* Of memory for secrets: pieces given back that held some until then. */
static unsigned with_secrets;

void __real_free(void *block);
void __wrap_free(void *block);
void __real_warprsa_secret_give(warprsa_secret_pool *pool, void *memory,
                                size_t size);
void __wrap_warprsa_secret_give(warprsa_secret_pool *pool, void *memory,
                                size_t size);
int __real_munmap(void *block, size_t size);
int __wrap_munmap(void *block, size_t size);

void __wrap_free(void *block)
{
    if (looking && block != NULL) {
        blocks++;
        found += secrets_in(block, malloc_usable_size(block));
    }
    __real_free(block);
}

void __wrap_warprsa_secret_give(warprsa_secret_pool *pool, void *memory,
                                size_t size)
{
    if (looking && memory != NULL) {
        blocks++;
        with_secrets += secrets_in(memory, size) > 0;
    }
    __real_warprsa_secret_give(pool, memory, size);
}

int __wrap_munmap(void *block, size_t size)
{
    if (looking)
        found += secrets_in(block, size);
    return __real_munmap(block, size);
}

/* Blinding factors are secrets, too: the test knows them. */
static int give_random(void *arg, void *out, size_t len)
{
    random_bytes(arg, out, len);
    if (looking)
        secrets_add(out, len);
    return 1;
}

static const key_recipe recipe = {
    {PRIME_RANDOM, 1024}, {PRIME_RANDOM, 1023}, 65537};

static random_stream stream;
static warprsa_device *device;
static made_key key;

static const warprsa_engine *tested_engine(void)
{
    const char *name = getenv("WARPRSA_TEST_ENGINE");

    return name != NULL && strcmp(name, "ifma") == 0 ? warprsa_engine_ifma()
                                                     : warprsa_engine_host();
}

static void open_device(uint32_t keys_max)
{
    const warprsa_device_config config = {.streams = 1,
                                          .batch_max = TASKS,
                                          .keys_max = keys_max,
                                          .kernel = NUMBER_KERNEL,
                                          .random = give_random,
                                          .random_arg = &stream};
    char why[160];

    stream.state = number_seed();
    assert_int_equal(WARPRSA_OK,
                     tested_engine()->open(&config, &device, why, sizeof(why)));
}

/* The key's numbers as given, as prepared, and an answer. */
static void collect_secrets(uint8_t *input)
{
    warprsa_operation_key prepared;

    assert_int_equal(WARPRSA_OK,
                     warprsa_prepare_operation_key(&prepared, &key.key));
    secrets_add(prepared.half, sizeof(prepared.half));
    secrets_add(prepared.qinv_r, sizeof(prepared.qinv_r));
    secrets_add(prepared.q_r, sizeof(prepared.q_r));
    secrets_add_key(&key, input);
}

/* A full batch of one key, all of whose inputs are the same. */
static void run_full_batch(uint32_t index, const uint8_t *input,
                           uint8_t output[TASKS][WARPRSA_MODULUS_BYTES_MAX])
{
    const warprsa_engine *engine = tested_engine();
    warprsa_task tasks[TASKS];

    for (int i = 0; i < TASKS; i++)
        tasks[i] =
            (warprsa_task){.key = index, .input = input, .output = output[i]};
    assert_int_equal(
        WARPRSA_OK, engine->start(device, 0, WARPRSA_CLASS_2048, tasks, TASKS));
    assert_int_equal(WARPRSA_OK, engine->wait(device, 0, 1000));
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(WARPRSA_OK, tasks[i].status);
}

TEST(freed_blocks_hold_no_secret)
{
    const warprsa_engine *engine = tested_engine();
    uint8_t input[WARPRSA_MODULUS_BYTES_MAX];
    uint8_t output[TASKS][WARPRSA_MODULUS_BYTES_MAX];
    warprsa_private_key no_key;
    uint32_t index, again;

    assert_true(made_key_new(&key, &recipe));
    open_device(2);
    collect_secrets(input);
    assert_true(secrets_count() > 300);
    looking = 1;
    assert_int_equal(WARPRSA_OK, engine->load_key(device, &key.key, &index));
    assert_int_equal(WARPRSA_OK, engine->load_key(device, &key.key, &again));
    /* Refused half way, and for lack of a free index. */
    no_key = key.key;
    memset(no_key.dq, 0xff, sizeof(no_key.dq));
    assert_int_equal(WARPRSA_UNSUPPORTED_KEY,
                     engine->load_key(device, &no_key, &again));
    assert_int_equal(WARPRSA_NO_MEMORY,
                     engine->load_key(device, &key.key, &again));
    assert_true(blocks >= 2);
    blocks = 0;
    run_full_batch(index, input, output);
    blocks = with_secrets = 0;
    engine->unload_key(device, index);
    /* The key, and of the engine ifma what it kept for blinding, and a list of
     * it. */
    assert_int_equal(strcmp(engine->name, "ifma") == 0 ? 3 : 1, blocks);
    assert_int_equal(1, with_secrets); /* the key */
    blocks = with_secrets = 0;
    engine->close(device); /* with a key still loaded */
    looking = 0;
    /* What a device keeps for batches to come, a workspace and random numbers,
     * held none. */
    assert_true(blocks > 4);
    assert_int_equal(1, with_secrets);
    assert_int_equal(0, found);
    /* Control: the answer was searched for and would have been found. */
    assert_true(secrets_in(output[0], key.key.modulus_bytes) > 20);
    made_key_free(&key);
}

/* What a device keeps for blinding does not grow with the keys that clients
 * bring. */
TEST(what_blinds_many_keys_is_bounded)
{
    const warprsa_engine *engine = tested_engine();
    uint8_t input[WARPRSA_MODULUS_BYTES_MAX] = {0, 0x35};
    uint8_t output[TASKS][WARPRSA_MODULUS_BYTES_MAX];
    uint32_t index[KEYS];

    if (strcmp(engine->name, "ifma") != 0)
        skip();
    assert_true(made_key_new(&key, &recipe));
    open_device(KEYS);
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < KEYS; i++) {
            assert_int_equal(WARPRSA_OK,
                             engine->load_key(device, &key.key, &index[i]));
            run_full_batch(index[i], input, output);
        }
        blocks = 0;
        looking = 1;
        for (int i = 0; i < KEYS; i++)
            engine->unload_key(device, index[i]);
        looking = 0;
        assert_int_equal(2 * KEYS + WARPRSA_HOST_BLINDINGS_MAX, blocks);
    }
    engine->close(device);
    made_key_free(&key);
}

int main(void)
{
    char why[160];

    if (tested_engine()->count(why, sizeof(why)) == 0) {
        printf("skipped: engine %s: %s\n", tested_engine()->name, why);
        return SKIPPED;
    }
    return cmocka_run_group_tests(unit_tests, NULL, NULL);
}
