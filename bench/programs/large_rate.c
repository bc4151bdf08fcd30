/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Runs the kernel "cooperative" with keys of the large classes, past the
 * engine: checks every result and measures the kernel alone, and libcrypto in
 * one thread beside it. Compiled with WARPRSA_LARGE, as the kernel for these
 * keys is.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/evp.h>
#include <openssl/rsa.h>

#include "bench/programs/bench.h"
#include "bench/programs/spread.h"
#include "gpu/arith/private_operation.h"
#include "gpu/kernels/batch.h"
#include "gpu/kernels/cooperative/cooperative_block.h"
#include "tests/unit/support/gpu_keys.h"

enum {
    LIST_MAX = 16,
    RUNS_MAX = 99,
    KEYS = 2,
    BATCH_MAX = 65536,
};

const char bench_name[] = "large_rate";

cudaError_t warprsa_cooperative_6144(const warprsa_batch *, cudaStream_t);
cudaError_t warprsa_cooperative_8192(const warprsa_batch *, cudaStream_t);

/* Two keys of each length, the first ones of primes at their edges. Their
 * distances from where the search begins are known. */
static const struct {
    size_t bits;
    struct {
        key_recipe recipe;
        unsigned distances[2];
    } key[KEYS];
    cudaError_t (*launch)(const warprsa_batch *, cudaStream_t);
} rows[] = {
    {6144,
     {{{{PRIME_DOWN, 3072}, {PRIME_UP, 3072}, 65537}, {46, 7754}},
      {{{PRIME_UP, 3072}, {PRIME_DOWN, 3072}, 65537}, {7754, 46}}},
     warprsa_cooperative_6144},
    {7680,
     {{{{PRIME_DOWN, 3840}, {PRIME_UP, 3840}, 65537}, {17998, 1172}},
      {{{PRIME_UP, 3840}, {PRIME_DOWN, 3840}, 65537}, {1172, 17998}}},
     warprsa_cooperative_8192},
    {8192,
     {{{{PRIME_DOWN, 4096}, {PRIME_UP, 4096}, 3}, {2548, 578}},
      {{{PRIME_UP, 4037}, {PRIME_DOWN, 4155}, 65537}, {3306, 5774}}},
     warprsa_cooperative_8192},
};

enum {
    ROWS = sizeof(rows) / sizeof(rows[0])
};

typedef struct options {
    size_t bits[LIST_MAX], bits_count;
    size_t batches[LIST_MAX], batches_count;
    size_t runs;
    FILE *csv; /* or NULL */
} options;

/* A batch in device memory, and what of it the host has. */
typedef struct large_run {
    cudaStream_t stream;
    cudaEvent_t start, end;
    warprsa_batch batch;
    made_key keys[KEYS];
    uint8_t *input, *output; /* MODULUS_BYTES_MAX each */
    uint32_t *status;
    size_t input_bytes;
} large_run;

static void make_keys(large_run *run, int row, warprsa_prepared_key *prepared)
{
    for (int i = 0; i < KEYS; i++) {
        if (!made_key_at(&run->keys[i], &rows[row].key[i].recipe,
                         rows[row].key[i].distances) ||
            warprsa_prepare_key(&prepared[i], &run->keys[i].key) != WARPRSA_OK)
            bench_fail("a key cannot be made");
        if (prepared[i].windows > run->batch.windows)
            run->batch.windows = prepared[i].windows;
    }
}

/* The requests of a block each have as much table as its threads. */
static size_t table_bytes(size_t count, int row)
{
    const warprsa_shape shape = rows[row].launch == warprsa_cooperative_6144
                                    ? (warprsa_shape)WARPRSA_SHAPE_6144
                                    : (warprsa_shape)WARPRSA_SHAPE_8192;
    const size_t requests =
        WARPRSA_COOPERATIVE_BLOCK / (2 * (size_t)shape.threads_per_number);

    return (count + requests - 1) / requests * WARPRSA_COOPERATIVE_BLOCK *
           WARPRSA_TABLE_DOUBLES * sizeof(double);
}

/* Inputs below both moduli: the first is 0, the others are random. */
static void make_input(large_run *run, size_t count)
{
    const size_t bytes = run->keys[0].key.modulus_bytes;

    run->input_bytes = count * WARPRSA_MODULUS_BYTES_MAX;
    run->input = calloc(count, WARPRSA_MODULUS_BYTES_MAX);
    run->output = calloc(count, WARPRSA_MODULUS_BYTES_MAX);
    run->status = calloc(count, sizeof(*run->status));
    if (run->input == NULL || run->output == NULL || run->status == NULL)
        bench_fail("no memory");
    for (size_t i = 1; i < count; i++) {
        uint8_t *input = run->input + i * WARPRSA_MODULUS_BYTES_MAX;

        bench_random(input, bytes);
        input[0] &= 0x3f;
    }
}

static void new_run(large_run *run, int row, size_t count)
{
    warprsa_prepared_key *prepared = calloc(KEYS, sizeof(*prepared));
    uint32_t *key = calloc(count, sizeof(*key));

    *run = (large_run){.batch = {.count = (uint32_t)count,
                                 .under_way = (uint32_t)count,
                                 .bytes_stride = WARPRSA_MODULUS_BYTES_MAX}};
    if (prepared == NULL || key == NULL)
        bench_fail("no memory");
    make_keys(run, row, prepared);
    make_input(run, count);
    for (size_t i = 0; i < count; i++)
        key[i] = (uint32_t)(i % KEYS);
    bench_cuda(cudaStreamCreate(&run->stream), "a stream");
    bench_cuda(cudaEventCreate(&run->start), "an event");
    bench_cuda(cudaEventCreate(&run->end), "an event");
    run->batch.keys = bench_device_copy(prepared, KEYS * sizeof(*prepared));
    run->batch.key = bench_device_copy(key, count * sizeof(*key));
    run->batch.input = bench_device_copy(run->input, run->input_bytes);
    run->batch.output = bench_device_memory(run->input_bytes);
    run->batch.status = bench_device_memory(count * sizeof(uint32_t));
    run->batch.unblinding =
        bench_device_memory(count * 2 * WARPRSA_HALF_SAMPLES * sizeof(double));
    run->batch.exponent = bench_device_memory(
        count * 2 * WARPRSA_BLINDED_WORDS * sizeof(uint32_t));
    run->batch.result =
        bench_device_memory(count * WARPRSA_FULL_SAMPLES * sizeof(uint64_t));
    run->batch.table = bench_device_memory(table_bytes(count, row));
    explicit_bzero(prepared, KEYS * sizeof(*prepared));
    free(prepared);
    free(key);
}

static void free_run(large_run *run)
{
    const void *const parts[] = {
        run->batch.keys,       run->batch.key,      run->batch.input,
        run->batch.random,     run->batch.output,   run->batch.status,
        run->batch.unblinding, run->batch.exponent, run->batch.result,
        run->batch.table,
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        bench_cuda(cudaFree((void *)(uintptr_t)parts[i]), "freeing memory");
    bench_cuda(cudaEventDestroy(run->start), "an event");
    bench_cuda(cudaEventDestroy(run->end), "an event");
    bench_cuda(cudaStreamDestroy(run->stream), "a stream");
    for (int i = 0; i < KEYS; i++)
        made_key_free(&run->keys[i]);
    free(run->input);
    free(run->output);
    free(run->status);
}

/* Runs the batch, blinded anew. Milliseconds of the kernel alone. */
static double run_once(large_run *run, int row)
{
    const size_t bytes =
        run->batch.count * WARPRSA_RANDOM_WORDS * sizeof(uint64_t);
    uint64_t *random = malloc(bytes);
    float ms = 0;

    if (random == NULL)
        bench_fail("no memory");
    bench_random(random, bytes);
    bench_cuda(cudaFree((void *)(uintptr_t)run->batch.random), "old blinding");
    run->batch.random = bench_device_copy(random, bytes);
    free(random);
    bench_cuda(cudaEventRecord(run->start, run->stream), "an event");
    bench_cuda(rows[row].launch(&run->batch, run->stream), "a launch");
    bench_cuda(cudaEventRecord(run->end, run->stream), "an event");
    bench_cuda(cudaEventSynchronize(run->end), "the kernel");
    bench_cuda(cudaEventElapsedTime(&ms, run->start, run->end), "the time");
    return ms;
}

/* Every result is checked: s^e = m has one solution. */
static void check(large_run *run)
{
    const size_t count = run->batch.count;

    bench_cuda(cudaMemcpy(run->output, run->batch.output, run->input_bytes,
                          cudaMemcpyDeviceToHost),
               "results");
    bench_cuda(cudaMemcpy(run->status, run->batch.status,
                          count * sizeof(*run->status), cudaMemcpyDeviceToHost),
               "statuses");
    for (size_t i = 0; i < count; i++) {
        const size_t at = i * WARPRSA_MODULUS_BYTES_MAX;

        if (run->status[i] != WARPRSA_OK)
            bench_fail("the device withholds a result");
        if (!made_key_accepts(&run->keys[i % KEYS], run->output + at,
                              run->input + at))
            bench_fail("a result is wrong");
    }
}

static void report(const options *o, int row, const char *what, size_t count,
                   double *times)
{
    const spread s = spread_of(times, o->runs);
    const double rate = 1e3 * (double)count / s.median;

    printf("%5zu %-11s %7zu %10.3f %10.3f %10.3f %12.0f\n", rows[row].bits,
           what, count, s.median, s.least, s.most, rate);
    fflush(stdout);
    if (o->csv != NULL &&
        fprintf(o->csv, "%s,%d,%zu,%zu,%.4f,%.4f,%.4f,%.1f\n", what, KEYS,
                rows[row].bits, count, s.median, s.least, s.most, rate) < 0)
        bench_fail("the CSV file cannot be written");
}

static void measure(const options *o, int row, size_t count)
{
    double times[RUNS_MAX];
    large_run run;

    new_run(&run, row, count);
    run_once(&run, row);
    check(&run);
    for (size_t i = 0; i < o->runs; i++)
        times[i] = run_once(&run, row);
    check(&run);
    free_run(&run);
    report(o, row, "cooperative", count, times);
}

/* libcrypto's context for operations without padding with one of a row's keys,
 * and a number below its modulus. */
static EVP_PKEY_CTX *default_context(int row, uint8_t *number)
{
    EVP_PKEY *pkey = NULL;
    EVP_PKEY_CTX *ctx;
    made_key key;

    if (!made_key_at(&key, &rows[row].key[0].recipe,
                     rows[row].key[0].distances) ||
        (pkey = rsa_numbers_import(&key.numbers, NULL)) == NULL)
        bench_fail("a key cannot be made");
    memset(number, 1, rows[row].bits / 8);
    number[0] = 0;
    ctx = EVP_PKEY_CTX_new(pkey, NULL);
    if (ctx == NULL || EVP_PKEY_decrypt_init(ctx) != 1 ||
        EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_NO_PADDING) != 1)
        bench_fail("libcrypto refuses the key");
    EVP_PKEY_free(pkey);
    made_key_free(&key);
    return ctx;
}

/* The measuring stick: one operation of the default provider, in this thread.
 * The first one, which sets up its blinding, does not count. */
static void measure_libcrypto(const options *o, int row)
{
    uint8_t input[WARPRSA_MODULUS_BYTES_MAX], output[WARPRSA_MODULUS_BYTES_MAX];
    EVP_PKEY_CTX *ctx = default_context(row, input);
    double times[RUNS_MAX];

    for (size_t i = 0; i < 1 + o->runs; i++) {
        struct timespec start, end;
        size_t length = sizeof(output);

        clock_gettime(CLOCK_MONOTONIC, &start);
        if (EVP_PKEY_decrypt(ctx, output, &length, input, rows[row].bits / 8) !=
            1)
            bench_fail("libcrypto does not compute");
        clock_gettime(CLOCK_MONOTONIC, &end);
        if (i > 0)
            times[i - 1] = 1e3 * (double)(end.tv_sec - start.tv_sec) +
                           1e-6 * (double)(end.tv_nsec - start.tv_nsec);
    }
    EVP_PKEY_CTX_free(ctx);
    report(o, row, "libcrypto", 1, times);
}

static const char usage[] =
    "usage: large_rate [--bits=6144,7680,8192] [--batches=1,...] [--runs=N]"
    " [--csv=FILE]";

static void parse(options *o, int argc, char **argv)
{
    static const struct option names[] = {
        {"bits", required_argument, NULL, 'b'},
        {"batches", required_argument, NULL, 'n'},
        {"runs", required_argument, NULL, 'r'},
        {"csv", required_argument, NULL, 'c'},
        {0},
    };
    const char *csv = NULL;
    int c;

    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (c == 'b')
            o->bits_count = bench_parse_list(optarg, o->bits, LIST_MAX);
        else if (c == 'n')
            o->batches_count = bench_parse_list(optarg, o->batches, LIST_MAX);
        else if (c == 'r')
            o->runs = bench_parse_number(optarg, RUNS_MAX);
        else if (c == 'c')
            csv = optarg;
        else
            bench_fail(usage);
    }
    if (optind != argc || o->bits_count == 0 || o->batches_count == 0 ||
        o->runs == 0)
        bench_fail(usage);
    for (size_t i = 0; i < o->batches_count; i++)
        if (o->batches[i] > BATCH_MAX)
            bench_fail("a batch has 65536 requests at most");
    if (csv != NULL && ((o->csv = fopen(csv, "w")) == NULL ||
                        fputs("kernel,keys,bits,batch,kernel_ms,kernel_ms_least"
                              ",kernel_ms_most,operations_per_s\n",
                              o->csv) < 0))
        bench_fail("the CSV file cannot be written");
}

int main(int argc, char **argv)
{
    options o = {.bits = {6144, 7680, 8192},
                 .bits_count = 3,
                 .batches = {1, 66, 264, 1056, 2112, 8448},
                 .batches_count = 6,
                 .runs = 5};

    parse(&o, argc, argv);
    printf("kernel \"cooperative\" alone, %d keys mixed, %zu runs a row\n",
           KEYS, o.runs);
    printf("%5s %-11s %7s %10s %10s %10s %12s\n", "bits", "", "batch",
           "median ms", "least ms", "most ms", "operations/s");
    for (size_t i = 0; i < o.bits_count; i++) {
        int row = 0;

        while (row < ROWS && rows[row].bits != o.bits[i])
            row++;
        if (row == ROWS)
            bench_fail("--bits: some of 6144, 7680, 8192");
        measure_libcrypto(&o, row);
        for (size_t j = 0; j < o.batches_count; j++)
            measure(&o, row, o.batches[j]);
    }
    if (o.csv != NULL && fclose(o.csv) != 0)
        bench_fail("the CSV file cannot be written");
    return EXIT_SUCCESS;
}
