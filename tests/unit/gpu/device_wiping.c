/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory that the engine on a GPU gives back to the driver holds no secret.
 * This is true of the device's memory and of the host memory that the device
 * reads. Between batches, only the memory of loaded keys holds secrets. The
 * test is linked with --wrap for the functions below. So it knows all such
 * memory, and it looks at each block while the engine still owns it.
 */
#include "tests/unit/support/unit_test.h"

#include <stdio.h>

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cuda/key_form.h"
#include "tests/unit/support/gpu_device.h"
#include "tests/unit/support/gpu_secrets.h"
#include "tests/unit/support/random_keys.h"

enum {
    BLOCKS_MAX = 64,
    BATCH = 512,
};

typedef struct block {
    void *at;
    size_t size;
    enum cudaMemcpyKind to_host;
} block;

static block blocks[BLOCKS_MAX];
static unsigned block_count, freed, found;
static int looking;

cudaError_t __real_cudaMalloc(void **block, size_t size);
cudaError_t __wrap_cudaMalloc(void **block, size_t size);
cudaError_t __real_cudaMallocAsync(void **block, size_t size,
                                   cudaStream_t order);
cudaError_t __wrap_cudaMallocAsync(void **block, size_t size,
                                   cudaStream_t order);
cudaError_t __real_cudaHostAlloc(void **block, size_t size, unsigned flags);
cudaError_t __wrap_cudaHostAlloc(void **block, size_t size, unsigned flags);
cudaError_t __real_cudaFree(void *block);
cudaError_t __wrap_cudaFree(void *block);
cudaError_t __real_cudaFreeHost(void *block);
cudaError_t __wrap_cudaFreeHost(void *block);

/* Counts the secrets in a block of either memory. */
static unsigned secrets_in_block(const block *b)
{
    uint8_t *copy = malloc(b->size);
    unsigned count;

    assert_non_null(copy);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    assert_int_equal(cudaMemcpy(copy, b->at, b->size, b->to_host), cudaSuccess);
    count = secrets_in(copy, b->size);
    free(copy);
    return count;
}

static unsigned secrets_in_all(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < block_count; i++)
        count += secrets_in_block(&blocks[i]);
    return count;
}

static cudaError_t remember(cudaError_t error, void *at, size_t size,
                            enum cudaMemcpyKind to_host)
{
    if (error == cudaSuccess) {
        assert_true(block_count < BLOCKS_MAX);
        blocks[block_count++] = (block){at, size, to_host};
    }
    return error;
}

/* Looks at a block for the last time, before it is freed. */
static void forget(const void *at)
{
    for (unsigned i = 0; i < block_count; i++) {
        if (blocks[i].at != at)
            continue;
        freed++;
        found += looking ? secrets_in_block(&blocks[i]) : 0;
        blocks[i] = blocks[--block_count];
        return;
    }
}

cudaError_t __wrap_cudaMalloc(void **block, size_t size)
{
    cudaError_t error = __real_cudaMalloc(block, size);

    return remember(error, *block, size, cudaMemcpyDeviceToHost);
}

cudaError_t __wrap_cudaMallocAsync(void **block, size_t size,
                                   cudaStream_t order)
{
    cudaError_t error = __real_cudaMallocAsync(block, size, order);

    return remember(error, *block, size, cudaMemcpyDeviceToHost);
}

cudaError_t __wrap_cudaHostAlloc(void **block, size_t size, unsigned flags)
{
    cudaError_t error = __real_cudaHostAlloc(block, size, flags);

    return remember(error, *block, size, cudaMemcpyHostToHost);
}

cudaError_t __wrap_cudaFree(void *block)
{
    forget(block);
    return __real_cudaFree(block);
}

cudaError_t __wrap_cudaFreeHost(void *block)
{
    forget(block);
    return __real_cudaFreeHost(block);
}

/* Blinding factors are secrets, too. The test knows them, for it supplies
 * them. */
static int give_random(void *arg, void *out, size_t len)
{
    random_bytes(arg, out, len);
    if (looking)
        secrets_add(out, len < 1024 ? len : 1024);
    return 1;
}

static random_stream stream;
static warprsa_device *device;
static made_key key;
static uint8_t input[WARPRSA_MODULUS_BYTES_MAX];
static uint8_t output[BATCH][WARPRSA_MODULUS_BYTES_MAX];

static void open_device(void)
{
    const warprsa_device_config config = {.streams = 1,
                                          .batch_max = BATCH,
                                          .keys_max = 2,
                                          .random = give_random,
                                          .random_arg = &stream};
    char why[160] = "";

    if (warprsa_engine_cuda()->open(&config, &device, why, sizeof(why)) !=
        WARPRSA_OK)
        fail_msg("%s", why);
}

/* Collects the key's numbers, once as they are given and once as they are
 * prepared for each arithmetic, and an answer. */
static void collect_secrets(void)
{
    const warprsa_key_form *form =
        warprsa_form_of((warprsa_size_class)warprsa_key_class(&key.key));
    void *prepared = calloc(1, form->key_bytes);
    uint16_t windows;

    assert_non_null(prepared);
    assert_int_equal(WARPRSA_OK, form->prepare(prepared, &windows, &key.key));
    secrets_add(prepared, form->key_bytes / 2); /* begins with both halves */
    free(prepared);
    secrets_add_key(&key, input);
}

/* Runs a batch of `count` requests, all with this key. */
static void run(uint32_t index, size_t count)
{
    const warprsa_engine *engine = warprsa_engine_cuda();
    const int size = warprsa_key_class(&key.key);
    static warprsa_task tasks[BATCH];

    for (size_t i = 0; i < count; i++)
        tasks[i] =
            (warprsa_task){.key = index, .input = input, .output = output[i]};
    assert_int_equal(
        WARPRSA_OK,
        engine->start(device, 0, (warprsa_size_class)size, tasks, count));
    assert_int_equal(WARPRSA_OK, engine->wait(device, 0, TEST_TIMEOUT_MS));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(WARPRSA_OK, tasks[i].status);
        assert_true(made_key_accepts(&key, output[i], input));
    }
}

/* A device with this key at work, whose memory for keys is `memory` blocks more
 * with it. */
static void nothing_secret_is_left(const key_recipe *recipe,
                                   const unsigned *distances, unsigned memory)
{
    const warprsa_engine *engine = warprsa_engine_cuda();
    uint32_t index = 0;
    unsigned of_key, before;

    stream.state = 7;
    secrets_forget();
    assert_true(made_key_at(&key, recipe, distances));
    open_device();
    before = block_count;
    assert_true(before >= 4); /* keys, staging twice, tables */
    collect_secrets();
    assert_true(secrets_count() > 100);
    looking = 1;
    assert_int_equal(0, secrets_in_all());
    assert_int_equal(WARPRSA_OK, engine->load_key(device, &key.key, &index));
    assert_int_equal(before + memory, block_count);
    of_key = secrets_in_all();
    assert_true(of_key > 50); /* the test can find secrets */
    run(index, 1);
    assert_int_equal(of_key, secrets_in_all());
    run(index,
        warprsa_engine_batch_max(
            engine, BATCH, (warprsa_size_class)warprsa_key_class(&key.key)));
    assert_int_equal(of_key, secrets_in_all());
    engine->unload_key(device, index);
    assert_int_equal(0, secrets_in_all());
    assert_int_equal(WARPRSA_OK, engine->load_key(device, &key.key, &index));
    freed = 0;
    engine->close(device); /* with a key still loaded */
    assert_true(freed >= 4);
    assert_int_equal(0, block_count);
    assert_int_equal(0, found);
    looking = 0;
    made_key_free(&key);
}

TEST(of_a_usual_key)
{
    static const key_recipe recipe = {
        {PRIME_RANDOM, 1024}, {PRIME_RANDOM, 1023}, 65537};

    nothing_secret_is_left(&recipe, NULL, 0);
}

/* There is no memory for such keys before there is one. */
TEST(of_a_large_key)
{
    static const key_recipe recipe = {
        {PRIME_DOWN, 3072}, {PRIME_UP, 3072}, 65537};
    static const unsigned distances[] = {46, 7754};

    nothing_secret_is_left(&recipe, distances, 1);
}

int main(void)
{
    char why[160] = "not in this build";

    if (warprsa_engine_cuda()->count(why, sizeof(why)) == 0) {
        printf("skipped: %s\n", why);
        return TEST_SKIPPED;
    }
    return cmocka_run_group_tests(unit_tests, NULL, NULL);
}
