/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory that the engine on a GPU gives back to the driver holds no secret.
 * This is true of the device's memory and of the host memory that the device
 * reads. Between batches, only the memory of loaded keys holds secrets. The
 * test is linked with --wrap for the four functions below. So it knows all such
 * memory, and it looks at each block while the engine still owns it.
 */
#include "tests/unit/support/unit_test.h"

#include <stdio.h>

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cuda/key_form.h"
#include "tests/unit/support/gpu_device.h"
#include "tests/unit/support/random_keys.h"

enum {
    SECRETS_MAX = 4096,
    BLOCKS_MAX = 64,
    BATCH = 512,
    FILTER = 65536,
};

typedef struct block {
    void *at;
    size_t size;
    enum cudaMemcpyKind to_host;
} block;

/* Secrets of eight bytes each, as they would lie in memory. Short or common
 * values prove nothing and are left out. The filter rules out most other values
 * at once. */
static uint64_t secrets[SECRETS_MAX];
static unsigned secret_count;
static uint8_t filter[FILTER];
static block blocks[BLOCKS_MAX];
static unsigned block_count, freed, found;
static int looking;

cudaError_t __real_cudaMalloc(void **block, size_t size);
cudaError_t __wrap_cudaMalloc(void **block, size_t size);
cudaError_t __real_cudaHostAlloc(void **block, size_t size, unsigned flags);
cudaError_t __wrap_cudaHostAlloc(void **block, size_t size, unsigned flags);
cudaError_t __real_cudaFree(void *block);
cudaError_t __wrap_cudaFree(void *block);
cudaError_t __real_cudaFreeHost(void *block);
cudaError_t __wrap_cudaFreeHost(void *block);

static int is_secret(uint64_t word)
{
    if (!filter[word % FILTER])
        return 0;
    for (unsigned i = 0; i < secret_count; i++)
        if (secrets[i] == word)
            return 1;
    return 0;
}

static void add_words(const void *from, size_t size)
{
    for (size_t at = 0; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
        uint64_t word;

        memcpy(&word, (const uint8_t *)from + at, sizeof(word));
        if (word >> 32 == 0 || (word & 0xffffffffu) == 0 || is_secret(word) ||
            secret_count == SECRETS_MAX)
            continue;
        secrets[secret_count++] = word;
        filter[word % FILTER] = 1;
    }
}

/* Counts the secrets in a block, at any multiple of four bytes. */
static unsigned secrets_in(const block *b)
{
    uint8_t *copy = malloc(b->size);
    unsigned count = 0;

    assert_non_null(copy);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    assert_int_equal(cudaMemcpy(copy, b->at, b->size, b->to_host), cudaSuccess);
    for (size_t at = 0; at + sizeof(uint64_t) <= b->size; at += 4) {
        uint64_t word;

        memcpy(&word, copy + at, sizeof(word));
        count += (unsigned)is_secret(word);
    }
    free(copy);
    return count;
}

static unsigned secrets_in_all(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < block_count; i++)
        count += secrets_in(&blocks[i]);
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
        found += looking ? secrets_in(&blocks[i]) : 0;
        blocks[i] = blocks[--block_count];
        return;
    }
}

cudaError_t __wrap_cudaMalloc(void **block, size_t size)
{
    cudaError_t error = __real_cudaMalloc(block, size);

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
        add_words(out, len < 1024 ? len : 1024);
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
    uint8_t answer[WARPRSA_MODULUS_BYTES_MAX];
    BIGNUM *m = BN_new(), *s = BN_new();
    const int bytes = (int)key.key.modulus_bytes;
    uint16_t windows;

    assert_true(prepared != NULL && m != NULL && s != NULL);
    assert_int_equal(WARPRSA_OK, form->prepare(prepared, &windows, &key.key));
    add_words(prepared, form->key_bytes / 2); /* begins with both halves */
    free(prepared);
    add_words(key.key.p, sizeof(key.key.p));
    add_words(key.key.q, sizeof(key.key.q));
    add_words(key.key.dp, sizeof(key.key.dp));
    add_words(key.key.dq, sizeof(key.key.dq));
    add_words(key.key.qinv, sizeof(key.key.qinv));
    memset(input, 0x35, (size_t)bytes);
    input[0] = 0;
    assert_non_null(BN_bin2bn(input, bytes, m));
    assert_true(made_key_answer(&key, s, m));
    assert_int_equal(bytes, BN_bn2binpad(s, answer, bytes));
    add_words(answer, (size_t)bytes);
    BN_free(m);
    BN_free(s);
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
    secret_count = 0;
    memset(filter, 0, sizeof(filter));
    assert_true(made_key_at(&key, recipe, distances));
    open_device();
    before = block_count;
    assert_true(before >= 4); /* keys, staging twice, tables */
    collect_secrets();
    assert_true(secret_count > 100);
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

static void of_a_usual_key(void **state)
{
    static const key_recipe recipe = {
        {PRIME_RANDOM, 1024}, {PRIME_RANDOM, 1023}, 65537};

    nothing_secret_is_left(&recipe, NULL, 0);
}

/* There is no memory for such keys before there is one. */
static void of_a_large_key(void **state)
{
    static const key_recipe recipe = {
        {PRIME_DOWN, 3072}, {PRIME_UP, 3072}, 65537};
    static const unsigned distances[] = {46, 7754};

    nothing_secret_is_left(&recipe, distances, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_usual_key),
        cmocka_unit_test(of_a_large_key),
    };
    char why[160] = "not in this build";

    if (warprsa_engine_cuda()->count(why, sizeof(why)) == 0) {
        printf("skipped: %s\n", why);
        return TEST_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
