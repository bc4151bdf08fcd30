/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Measures the rate of each kernel for each size of batch, and in the same run
 * that of the paper's kernel: kernel_rate --help. Prints a table and its
 * summary; --csv=FILE also writes the table as comma-separated values.
 * bench/kernels runs it, `bench/plot kernels` draws it.
 */
#include <string.h>

#include "bench/programs/batch_run.h"
#include "bench/programs/bench.h"
#include "bench/programs/paper_run.h"
#include "bench/programs/rate_options.h"
#include "bench/programs/rate_summary.h"

const char bench_name[] = "kernel_rate";

enum {
    ROWS_MAX = 1024, /* of one size */
    /* The baseline's batch is this many full loads of the device. */
    BASELINE_WAVES = 4,
    PAPER_CHECKS = 64,
};

typedef struct bench {
    rate_options o;
    rate_machine m;
    FILE *csv;
    batch_run run;
    key_set keys;
    warprsa_size_class size;
    rate_size of; /* what the rows have in common */
    rate_row rows[ROWS_MAX];
    size_t rows_count;
    rate_summary summary;
} bench;

static rate_row *add_row(bench *b, const char *name, size_t keys, size_t batch)
{
    rate_row *r = &b->rows[b->rows_count++];

    if (b->rows_count > ROWS_MAX)
        bench_fail("too many rows");
    *r = (rate_row){.name = name, .keys = keys, .batch = batch};
    return r;
}

/* Measures the paper's kernel with two exponentiations for each operation, as
 * RSA with the Chinese remainder theorem takes. */
static rate_row *paper_row(bench *b, size_t batch)
{
    rate_row *r = add_row(b, "paper", PAPER_MODULI, batch);
    const size_t checks =
        b->o.checks < PAPER_CHECKS ? b->o.checks : PAPER_CHECKS;
    double ms[RATE_RUNS_MAX];
    paper_run run;

    paper_run_new(&run, b->of.shape, 2 * batch);
    paper_run_kernel(&run, paper_launch, b->run.stream, &r->main);
    r->kernels = 1;
    for (size_t i = 0; i < b->o.runs; i++)
        ms[i] = paper_run_kernel(&run, paper_launch, b->run.stream, NULL);
    r->clock = bench_clock_rate(b->run.stream);
    r->kernel_ms = spread_of(ms, b->o.runs);
    r->paper_ms = r->kernel_ms.median;
    r->direct = true;
    r->checked = paper_run_check(&run, checks);
    paper_run_free(&run);
    return r;
}

/* Measures the baseline: the paper's kernel with full loads of the device. A
 * first row, which is dropped, tells how many blocks an SM holds. */
static void take_baseline(bench *b)
{
    rate_row *r = paper_row(b, 1);
    size_t blocks = (size_t)r->main.warps * 32 / PAPER_BLOCK *
                    (size_t)b->m.sms * BASELINE_WAVES;

    b->rows_count--;
    r = paper_row(b, blocks * PAPER_BLOCK / (size_t)b->of.shape->threads / 2);
    r->name = "paper, baseline";
    b->of.baseline = (spread){
        .median = rate_of(r),
        .least = 1e3 * (double)r->batch / r->kernel_ms.most,
        .most = 1e3 * (double)r->batch / r->kernel_ms.least,
    };
}

static void kernel_row(bench *b, const char *kernel, size_t keys, bool direct,
                       size_t batch, double paper_ms)
{
    rate_row *r = add_row(b, kernel, keys, batch);
    key_set some = {b->keys.keys, keys};
    double ms[RATE_RUNS_MAX];

    r->direct = direct;
    r->paper_ms = paper_ms;
    b->run.memory.direct_table_reads = direct;
    batch_run_keys(&b->run, &some, kernel);
    batch_run_fill(&b->run, batch);
    batch_run_stage(&b->run);
    batch_run_kernel(&b->run, kernel, &r->main, &r->kernels);
    for (size_t i = 0; i < b->o.runs; i++)
        ms[i] = batch_run_kernel(&b->run, kernel, NULL, NULL);
    r->clock = bench_clock_rate(b->run.stream);
    r->kernel_ms = spread_of(ms, b->o.runs);
    if (b->o.whole_runs > 1)
        batch_run_whole(&b->run, kernel);
    for (size_t i = 0; i < b->o.whole_runs; i++)
        ms[i] = batch_run_whole(&b->run, kernel);
    r->whole_ms = spread_of(ms, b->o.whole_runs);
    r->checked = batch_run_check(&b->run, b->o.checks);
}

/* Whether a kernel's rate depends on how many requests share a key. The other
 * kernels compute each request by itself. */
static bool depends_on_keys(const char *kernel)
{
    return batch_run_shares_keys(kernel) || strcmp(kernel, BATCH_RUN_AUTO) == 0;
}

/* Measures one kernel with one size of batch: with each number of keys, if its
 * rate depends on that, and each way to read tables. */
static void kernel_rows(bench *b, const char *kernel, size_t batch,
                        double paper_ms)
{
    const size_t keys_count = depends_on_keys(kernel) ? b->o.keys_count : 1;

    for (size_t i = 0; i < keys_count; i++) {
        if (b->o.scan)
            kernel_row(b, kernel, b->o.keys[i], false, batch, paper_ms);
        if (b->o.direct)
            kernel_row(b, kernel, b->o.keys[i], true, batch, paper_ms);
    }
}

/* Measures a batch of as many whole waves as the largest batch has room for. A
 * batch of one operation more takes about as long as one of another wave, so
 * other sizes do not show the kernel's best rate. */
static void full_rows(bench *b, const char *kernel)
{
    size_t most = rate_largest(b->o.batches, b->o.batches_count);
    size_t wave = batch_run_wave(&b->run, kernel, b->size);

    if (wave > 0 && wave <= most && most % wave > 0)
        kernel_rows(b, kernel, most / wave * wave, 0);
}

static void bench_size(bench *b, size_t bits)
{
    b->of.shape = paper_shape_of(bits);
    b->rows_count = 0;
    key_set_new(&b->keys, bits, b->run.keys_max);
    b->size = (warprsa_size_class)warprsa_key_class(&b->keys.keys[0].key);
    take_baseline(b);
    for (size_t i = 0; i < b->o.batches_count; i++) {
        size_t batch = b->o.batches[i];
        double paper_ms = paper_row(b, batch)->kernel_ms.median;

        for (size_t j = 0; j < b->o.kernels_count; j++)
            if (batch_run_takes(&b->run, b->o.kernels[j], b->size))
                kernel_rows(b, b->o.kernels[j], batch, paper_ms);
    }
    for (size_t j = 0; j < b->o.kernels_count; j++)
        if (batch_run_takes(&b->run, b->o.kernels[j], b->size))
            full_rows(b, b->o.kernels[j]);
    key_set_free(&b->keys);
    for (size_t i = 0; i < b->rows_count; i++) {
        rate_row_print(&b->of, &b->rows[i]);
        if (b->csv != NULL)
            rate_row_write(b->csv, &b->of, &b->rows[i]);
    }
    rate_summary_add(&b->summary, &b->of, b->rows, b->rows_count);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static bench b;

    rate_options_parse(&b.o, argc, argv);
    rate_machine_describe(&b.m);
    b.of.machine = &b.m;
    if (b.o.csv != NULL) {
        b.csv = fopen(b.o.csv, "w");
        if (b.csv == NULL || fputs(rate_csv_header, b.csv) < 0)
            bench_fail("the CSV file cannot be written");
    }
    batch_run_new(&b.run, rate_largest(b.o.batches, b.o.batches_count),
                  rate_largest(b.o.keys, b.o.keys_count));
    printf("%s, %d SMs, medians of %zu runs\n", b.m.name, b.m.sms, b.o.runs);
    rate_head_print();
    for (size_t i = 0; i < b.o.bits_count; i++)
        bench_size(&b, b.o.bits[i]);
    rate_summary_print(&b.summary);
    batch_run_free(&b.run);
    if (b.csv != NULL && fclose(b.csv) != 0)
        bench_fail("the CSV file cannot be written");
    return EXIT_SUCCESS;
}
