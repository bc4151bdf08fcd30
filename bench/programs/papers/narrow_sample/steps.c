/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The steps of the system with narrow samples: its table by threads per RSA and
 * batch.
 */
#include <stdlib.h>

#include "bench/programs/bench.h"
#include "bench/programs/papers/common/step.h"
#include "bench/programs/papers/narrow_sample/decrypt.h"
#include "bench/programs/papers/narrow_sample/kernel.h"
#include "bench/programs/papers/narrow_sample/rsa.h"

enum {
    KEYS = 4, /* in turns */
    CHECKS = 64,
};

/* As in kernel.cu. */
static const narrow_shape shapes[NARROW_SHAPES] = {
    {1024, 23, 4, 12}, {1024, 23, 8, 6},  {1536, 22, 4, 18},
    {1536, 22, 8, 9},  {2048, 22, 4, 24}, {2048, 22, 8, 12},
};

typedef struct narrow_run {
    int shape;
    size_t words; /* of a text */
    narrow_rsa keys[KEYS];
    uint32_t *texts; /* host */
    narrow_batch batch;
} narrow_run;

static cudaError_t launch_batch(void *arg, cudaStream_t stream)
{
    const narrow_run *r = arg;

    return narrow_launch(r->shape, &r->batch, stream);
}

static size_t check(void *arg)
{
    const narrow_run *r = arg;
    size_t count = r->batch.count, checked = 0;
    size_t step = count > CHECKS ? (count - 1) / (CHECKS - 1) : 1;
    size_t bytes = count * r->words * sizeof(uint32_t);
    uint32_t *results = papers_memory(1, bytes);

    bench_cuda(
        cudaMemcpy(results, r->batch.results, bytes, cudaMemcpyDeviceToHost),
        "copying results");
    for (size_t n = 0; n < count; n += step) {
        size_t i = n + step < count ? n : count - 1;

        if (!narrow_rsa_is(&r->keys[i % KEYS], r->texts + i * r->words,
                           results + i * r->words)) {
            checked = 0;
            break;
        }
        checked++;
    }
    free(results);
    return checked;
}

static void make_keys(narrow_run *r, narrow_shape s)
{
    uint32_t inverses[2 * KEYS];
    uint32_t *words = papers_memory(KEYS, NARROW_KEY_WORDS_MAX * 4);

    for (size_t i = 0; i < KEYS; i++) {
        narrow_rsa *key = &r->keys[i];

        narrow_rsa_new(key, (size_t)s.bits, (size_t)s.width,
                       (size_t)narrow_limbs(s), false);
        for (size_t j = 0; j < NARROW_KEY_WORDS_MAX; j++)
            words[i * NARROW_KEY_WORDS_MAX + j] = key->key[j];
        inverses[2 * i] = key->n0inv[0];
        inverses[2 * i + 1] = key->n0inv[1];
    }
    r->batch.keys = bench_device_copy(words, KEYS * NARROW_KEY_WORDS_MAX * 4);
    r->batch.inverses = bench_device_copy(inverses, sizeof(inverses));
    r->batch.key_words = NARROW_KEY_WORDS_MAX;
    r->batch.key_count = KEYS;
    free(words);
}

static void make_batch(narrow_run *r, narrow_shape s, size_t count)
{
    size_t per_block = NARROW_BLOCK / (2 * (size_t)s.threads);
    size_t threads = (count + per_block - 1) / per_block * NARROW_BLOCK;
    size_t bytes = count * r->words * sizeof(uint32_t);
    size_t limbs = (size_t)s.per_thread * sizeof(uint32_t);

    r->texts = papers_memory(1, bytes);
    for (size_t i = 0; i < count; i++)
        narrow_rsa_text(&r->keys[i % KEYS], r->texts + i * r->words, i == 0);
    r->batch.texts = bench_device_copy(r->texts, bytes);
    r->batch.results = bench_device_memory(bytes);
    r->batch.table = bench_device_memory(NARROW_ENTRIES * threads * limbs);
    r->batch.scratch = bench_device_memory(threads * limbs);
    r->batch.count = (uint32_t)count;
}

static void free_run(narrow_run *r)
{
    const void *device[] = {r->batch.keys,  r->batch.inverses,
                            r->batch.texts, r->batch.results,
                            r->batch.table, r->batch.scratch};

    for (size_t i = 0; i < sizeof(device) / sizeof(device[0]); i++)
        bench_cuda(cudaFree((void *)device[i]), "freeing memory");
    for (size_t i = 0; i < KEYS; i++)
        narrow_rsa_free(&r->keys[i]);
    free(r->texts);
}

static void run(papers_bench *b, int shape, size_t count)
{
    const narrow_shape s = shapes[shape];
    narrow_run r = {.shape = shape, .words = (size_t)s.bits / 16};
    char variant[32];

    snprintf(variant, sizeof(variant), "%d x 2 threads", s.threads);
    make_keys(&r, s);
    make_batch(&r, s, count);
    papers_step_run(b, &(papers_step){
                           .system = "narrow",
                           .variant = variant,
                           .operation = "RSA decryption",
                           .bits = 2 * (size_t)s.bits,
                           .threads = 2 * (size_t)s.threads,
                           .batch = count,
                           .products = 2.0 * narrow_products(s),
                           .launch = launch_batch,
                           .check = check,
                           .arg = &r,
                       });
    free_run(&r);
}

/* The paper's batches are a block, or half a block, for each SM: with 512
 * threads 64 or 32 requests. Twice as many are here, too. */
void narrow_sample_steps(papers_bench *b)
{
    for (int i = 0; i < NARROW_SHAPES; i++) {
        const size_t wave = (size_t)b->sms * 256 / (size_t)shapes[i].threads;

        run(b, i, 1);
        if (b->quick)
            continue;
        run(b, i, wave / 2);
        run(b, i, wave);
        run(b, i, 2 * wave);
    }
}
