/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Makes random instances of the paper's modular exponentiation with libcrypto,
 * copies them to the device, and compares the results with BN_mod_exp().
 */
#include "bench/programs/paper_run.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/bn.h>

#include "bench/programs/bench.h"

static const uint64_t sample_mask = (1ull << PAPER_SAMPLE_BITS) - 1;

const paper_shape *paper_shape_of(size_t modulus_bits)
{
    for (int i = 0; i < PAPER_SIZES; i++)
        if ((size_t)paper_shapes[i].bits * 2 == modulus_bits)
            return &paper_shapes[i];
    return NULL;
}

static void *host_memory(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);

    if (memory == NULL)
        bench_fail("no memory");
    return memory;
}

static void samples_of(uint64_t *samples, const BIGNUM *x, size_t count)
{
    uint8_t bytes[2048 / 8 + 32];

    if (BN_bn2lebinpad(x, bytes, sizeof(bytes)) < 0)
        bench_fail("a number is too long");
    for (size_t i = 0; i < count; i++) {
        size_t bit = i * PAPER_SAMPLE_BITS;
        uint64_t word;

        memcpy(&word, bytes + bit / 8, sizeof(word));
        samples[i] = word >> (bit % 8) & sample_mask;
    }
}

/* Samples may be as large as 2^52, one bit more than their place has, so they
 * are added and not put side by side. */
static void number_of(BIGNUM *x, const uint64_t *samples, size_t count)
{
    BN_zero(x);
    for (size_t i = count; i-- > 0;)
        if (!BN_lshift(x, x, PAPER_SAMPLE_BITS) || !BN_add_word(x, samples[i]))
            bench_fail("no memory");
}

/* -1/p mod 2^52, by Newton's iteration. */
static uint64_t n0inv_of(uint64_t p)
{
    uint64_t inverse = 1;

    for (int i = 0; i < 6; i++)
        inverse *= 2 - p * inverse;
    return (0 - inverse) & sample_mask;
}

/* Makes one modulus p, and R^2 mod p. */
static void make_modulus(const paper_shape *shape, uint64_t *p, uint64_t *r2,
                         BN_CTX *ctx)
{
    size_t stride = paper_stride(shape);

    BN_CTX_start(ctx);
    BIGNUM *modulus = BN_CTX_get(ctx), *r = BN_CTX_get(ctx);
    if (r == NULL ||
        !BN_rand(modulus, shape->bits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ODD) ||
        !BN_lshift(r, BN_value_one(), 2 * PAPER_SAMPLE_BITS * shape->samples) ||
        !BN_mod(r, r, modulus, ctx))
        bench_fail("no modulus");
    samples_of(p, modulus, stride);
    samples_of(r2, r, stride);
    BN_CTX_end(ctx);
}

/* Makes the moduli, gives them to the instances in turns, and copies them to
 * the device. */
static void make_moduli(paper_run *run)
{
    size_t stride = paper_stride(run->shape);
    size_t bytes = stride * sizeof(*run->p);
    uint64_t *p = host_memory(run->count, bytes);
    uint64_t *r2 = host_memory(run->count, bytes);
    uint64_t *inverse = host_memory(run->count, sizeof(*inverse));
    uint64_t *one_r2 = host_memory(PAPER_MODULI, bytes);
    BN_CTX *ctx = BN_CTX_new();

    run->p = host_memory(PAPER_MODULI, bytes);
    for (size_t i = 0; i < PAPER_MODULI; i++)
        make_modulus(run->shape, run->p + i * stride, one_r2 + i * stride, ctx);
    for (size_t i = 0; i < run->count; i++) {
        size_t from = i % PAPER_MODULI * stride;

        memcpy(p + i * stride, run->p + from, bytes);
        memcpy(r2 + i * stride, one_r2 + from, bytes);
        inverse[i] = n0inv_of(run->p[from]);
    }
    run->batch.p = bench_device_copy(p, run->count * bytes);
    run->batch.r2 = bench_device_copy(r2, run->count * bytes);
    run->batch.n0inv =
        bench_device_copy(inverse, run->count * sizeof(*inverse));
    BN_CTX_free(ctx);
    free(p);
    free(r2);
    free(inverse);
    free(one_r2);
}

/* Makes random bases that are one bit shorter than the moduli, hence below
 * them. */
static void make_bases(paper_run *run)
{
    const paper_shape *shape = run->shape;
    size_t stride = paper_stride(shape), count = run->count * stride;
    int top = shape->bits - 1 - (shape->samples - 1) * PAPER_SAMPLE_BITS;

    run->a = host_memory(count, sizeof(*run->a));
    bench_random(run->a, count * sizeof(*run->a));
    for (size_t i = 0; i < count; i++) {
        int place = (int)(i % stride);

        run->a[i] &= place < shape->samples - 1    ? sample_mask
                     : place == shape->samples - 1 ? (1ull << top) - 1
                                                   : 0;
    }
    run->batch.a = bench_device_copy(run->a, count * sizeof(*run->a));
}

void paper_run_exponents(paper_run *run, exponents which)
{
    size_t words = paper_exponent_words(run->shape);
    size_t bytes = run->count * words * sizeof(*run->k);

    if (which == EXPONENTS_RANDOM)
        bench_random(run->k, bytes);
    else
        memset(run->k, which == EXPONENTS_ONES ? 0xff : 0, bytes);
    for (size_t i = 0; i < run->count; i++) {
        uint32_t *k = run->k + i * words;

        if (which == EXPONENTS_FIXED)
            memcpy(k, run->fixed, words * sizeof(*k));
        k[words - 1] = 0;
    }
    bench_cuda(
        cudaMemcpy((void *)run->batch.k, run->k, bytes, cudaMemcpyHostToDevice),
        "copying exponents");
}

void paper_run_new(paper_run *run, const paper_shape *shape, size_t count)
{
    size_t bytes = count * paper_stride(shape) * sizeof(*run->a);
    size_t words = paper_exponent_words(shape);

    *run = (paper_run){.shape = shape, .count = count};
    run->batch.count = (uint32_t)count;
    make_moduli(run);
    make_bases(run);
    run->k = host_memory(count * words, sizeof(*run->k));
    run->batch.k = bench_device_memory(count * words * sizeof(*run->k));
    run->fixed = host_memory(words, sizeof(*run->fixed));
    bench_random(run->fixed, words * sizeof(*run->fixed));
    paper_run_exponents(run, EXPONENTS_RANDOM);
    run->batch.result = bench_device_memory(bytes);
    run->batch.table = bench_device_memory(paper_table_bytes(shape, count));
}

void paper_run_free(paper_run *run)
{
    const void *device[] = {run->batch.a,     run->batch.p, run->batch.r2,
                            run->batch.n0inv, run->batch.k, run->batch.result,
                            run->batch.table};

    for (size_t i = 0; i < sizeof(device) / sizeof(device[0]); i++)
        bench_cuda(cudaFree((void *)device[i]), "freeing memory");
    free(run->a);
    free(run->k);
    free(run->p);
    free(run->fixed);
}

double paper_run_kernel(const paper_run *run, paper_launcher *launcher,
                        cudaStream_t stream, launch *launched)
{
    launch seen[LAUNCHES_MAX];

    launches_begin();
    bench_cuda(launcher(run->shape, &run->batch, stream), "the paper's kernel");
    launches_end(stream, seen);
    if (launched != NULL)
        *launched = seen[0];
    return seen[0].ms;
}

/* Compares the result of instance i, which may be p too large, with that of
 * BN_mod_exp(). */
static void check_one(const paper_run *run, size_t i, const uint64_t *result,
                      BN_CTX *ctx)
{
    size_t stride = paper_stride(run->shape);
    size_t words = paper_exponent_words(run->shape);

    BN_CTX_start(ctx);
    BIGNUM *a = BN_CTX_get(ctx), *p = BN_CTX_get(ctx), *k = BN_CTX_get(ctx);
    BIGNUM *seen = BN_CTX_get(ctx);
    if (seen == NULL)
        bench_fail("no memory");
    number_of(a, run->a + i * stride, stride);
    number_of(p, run->p + i % PAPER_MODULI * stride, stride);
    number_of(seen, result + i * stride, stride);
    if (BN_lebin2bn((const uint8_t *)(run->k + i * words),
                    (int)(words * sizeof(*run->k)), k) == NULL ||
        !BN_mod_exp(a, a, k, p, ctx) ||
        (BN_cmp(seen, p) >= 0 && !BN_sub(seen, seen, p)))
        bench_fail("no memory");
    if (BN_cmp(a, seen) != 0)
        bench_fail("a result of the paper's kernel is wrong");
    BN_CTX_end(ctx);
}

size_t paper_run_check(const paper_run *run, size_t most)
{
    size_t count = run->count * paper_stride(run->shape), checked = 0;
    size_t step = run->count > most ? run->count / most : 1;
    uint64_t *result = host_memory(count, sizeof(*result));
    BN_CTX *ctx = BN_CTX_new();

    bench_cuda(cudaMemcpy(result, run->batch.result, count * sizeof(*result),
                          cudaMemcpyDeviceToHost),
               "copying results");
    for (size_t i = 0; i < run->count && checked < most; i += step, checked++)
        check_one(run, i, result, ctx);
    BN_CTX_free(ctx);
    free(result);
    return checked;
}
