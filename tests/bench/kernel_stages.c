/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The share of each stage of a private operation in a kernel's time:
 * kernel_stages --help. The kernels are compiled once more for it, with clocks
 * at their stages (stage_clocks.cuh); a warp's clocks are charged to the stage
 * it is in or waits in, and added up over all warps of a batch that fills the
 * device.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/batch_run.h"
#include "tests/bench/bench.h"
#include "tests/bench/paper_run.h"
#include "tests/bench/spread.h"
#include "tests/bench/stage_clocks.h"

const char bench_name[] = "kernel_stages";

enum {
    LIST_MAX = 8,
    RUNS = 3,
    KEYS = 56,
    CHECKS = 64,
    BATCH_MAX = 1 << 20,
};

static const char help[] =
    "usage: kernel_stages [OPTION...]\n"
    "  --bits=LIST   sizes of RSA (1024,2048,3072,4096)\n"
    "  --batch=N     requests in a batch (50688: whole loads of an H200)\n"
    "  --csv=FILE    the table as comma-separated values\n"
    "The kernels are those in double precision that take any batch.\n";

/* Those of staged_kernels.cu. */
static const char *const kernels[] = {"lanes", "thread"};
enum {
    KERNELS = sizeof(kernels) / sizeof(kernels[0]),
};

static const char *const labels[STAGES] = {
    [STAGE_SPLIT] = "octets in, mod p, q",
    [STAGE_BLINDING] = "blinding",
    [STAGE_INVERSION] = "inversion of r",
    [STAGE_EXPONENT] = "exponent blinding",
    [STAGE_POWERS] = "two powers",
    [STAGE_UNBLINDING] = "unblinding",
    [STAGE_REDUCTION] = "exact reduction",
    [STAGE_RECOMBINATION] = "recombination",
    [STAGE_CHECK] = "check",
    [STAGE_OUTPUT] = "octets out",
    [STAGE_REST] = "changing hands",
};

typedef struct column {
    size_t bits;
    const char *kernel;
    double ms; /* of the kernel, clocks in it */
    double share[STAGES];
} column;

typedef struct options {
    size_t bits[LIST_MAX], bits_count;
    size_t batch;
    const char *csv;
} options;

static void __attribute__((noreturn))
usage(const char *name, const char *value, const char *allowed)
{
    fprintf(stderr, "%s: %s: \"%s\" is not allowed; %s\n", bench_name, name,
            value, allowed);
    exit(2);
}

static void measure(batch_run *run, column *c, size_t batch)
{
    uint64_t clocks[STAGES];
    double ms[RUNS], sum = 0;

    batch_run_fill(run, batch);
    batch_run_whole(run, c->kernel);
    batch_run_check(run, CHECKS);
    batch_run_stage(run);
    bench_cuda(stage_clocks_take(clocks), "the clocks");
    for (int i = 0; i < RUNS; i++)
        ms[i] = batch_run_kernel(run, c->kernel, NULL, NULL);
    bench_cuda(stage_clocks_take(clocks), "the clocks");
    c->ms = spread_of(ms, RUNS).median;
    for (int i = 0; i < STAGES; i++)
        sum += (double)clocks[i];
    if (sum == 0)
        bench_fail("a kernel without clocks was launched");
    for (int i = 0; i < STAGES; i++)
        c->share[i] = (double)clocks[i] / sum;
}

static size_t measure_size(batch_run *run, column *columns, size_t bits,
                           size_t batch)
{
    size_t count = 0;
    key_set keys;

    key_set_new(&keys, bits, KEYS);
    for (int i = 0; i < KERNELS; i++) {
        column *c = &columns[count++];

        *c = (column){.bits = bits, .kernel = kernels[i]};
        batch_run_keys(run, &keys, c->kernel);
        measure(run, c, batch);
    }
    key_set_free(&keys);
    return count;
}

/* What all other stages take together, beside the powers. */
static double beside_powers(const column *c)
{
    return (1 - c->share[STAGE_POWERS]) / c->share[STAGE_POWERS];
}

static void print_columns(const column *columns, size_t count)
{
    printf("%-20s", "share of the time");
    for (size_t i = 0; i < count; i++)
        printf(" %4zu %-6s", columns[i].bits, columns[i].kernel);
    for (int stage = 0; stage < STAGES; stage++) {
        printf("\n%-20s", labels[stage]);
        for (size_t i = 0; i < count; i++)
            printf(" %10.2f%%", 100 * columns[i].share[stage]);
    }
    printf("\n%-20s", "all beside powers");
    for (size_t i = 0; i < count; i++)
        printf(" %10.2f%%", 100 * beside_powers(&columns[i]));
    printf("\n%-20s", "ms, with the clocks");
    for (size_t i = 0; i < count; i++)
        printf(" %11.3f", columns[i].ms);
    puts("");
}

static void write_columns(const char *name, const column *columns, size_t count,
                          size_t batch)
{
    FILE *csv = fopen(name, "w");
    int good = csv != NULL &&
               fputs("bits,kernel,batch,kernel_ms,stage,share\n", csv) >= 0;

    for (size_t i = 0; i < count; i++)
        for (int stage = 0; good && stage < STAGES; stage++)
            good =
                fprintf(csv, "%zu,%s,%zu,%.4f,\"%s\",%.5f\n", columns[i].bits,
                        columns[i].kernel, batch, columns[i].ms, labels[stage],
                        columns[i].share[stage]) > 0;
    if (csv == NULL || fclose(csv) != 0 || !good)
        bench_fail("the CSV file cannot be written");
}

static void parse_sizes(options *o, const char *text)
{
    o->bits_count = bench_parse_list(text, o->bits, LIST_MAX);
    for (size_t i = 0; i < o->bits_count; i++)
        if (paper_shape_of(o->bits[i]) == NULL)
            o->bits_count = 0;
    if (o->bits_count == 0)
        usage("--bits", text, "1024, 2048, 3072, 4096, with commas between");
}

static void parse(options *o, int argc, char **argv)
{
    static const struct option names[] = {
        {"bits", required_argument, NULL, 'b'},
        {"batch", required_argument, NULL, 'n'},
        {"csv", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (c == 'b')
            parse_sizes(o, optarg);
        else if (c == 'n')
            o->batch = bench_parse_number(optarg, BATCH_MAX);
        else if (c == 'c')
            o->csv = optarg;
        else if (c == 'h')
            exit(fputs(help, stdout) < 0);
        else
            exit(2);
        if (o->batch == 0)
            usage("--batch", optarg, "a number from 1 to 1048576");
    }
    if (optind != argc)
        usage("argument", argv[optind], "options alone, see --help");
}

int main(int argc, char **argv)
{
    options o = {
        .bits = {1024, 2048, 3072, 4096}, .bits_count = 4, .batch = 50688};
    column columns[LIST_MAX * KERNELS];
    size_t count = 0;
    batch_run run;

    parse(&o, argc, argv);
    batch_run_new(&run, o.batch, KEYS);
    for (size_t i = 0; i < o.bits_count; i++)
        count += measure_size(&run, columns + count, o.bits[i], o.batch);
    print_columns(columns, count);
    if (o.csv != NULL)
        write_columns(o.csv, columns, count, o.batch);
    batch_run_free(&run);
    return EXIT_SUCCESS;
}
