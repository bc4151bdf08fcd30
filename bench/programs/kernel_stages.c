/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Measures the share of each stage of a private operation in a kernel's time:
 * kernel_stages --help. The kernels are compiled once more for it, with clocks
 * at their stages (stage_clocks.cuh). A warp's clocks are charged to the stage
 * in which it computes or waits, and added up over all warps of a batch that
 * fills the device. If a batch takes several launches, the clocks of each
 * divide that launch's own time. A second measurement tells the share of the
 * two exponentiations in another way: with half as many windows of the
 * exponents, nothing else takes less time.
 *
 * Its kernels take minutes to compile:
 * ninja -C BUILD bench/programs/kernel_stages
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/programs/batch_run.h"
#include "bench/programs/bench.h"
#include "bench/programs/paper_run.h"
#include "bench/programs/spread.h"
#include "bench/programs/stage_clocks.h"

const char bench_name[] = "kernel_stages";

enum {
    LIST_MAX = 8,
    RUNS = 3,
    KEYS = 56,
    CHECKS = 64,
    BATCH_MAX = 1 << 20,
    COLUMNS_MAX = 64,
    /* Making a table takes some 15 products, as many as 3 windows do. */
    TABLE_WINDOWS = 3,
};

static const char help[] =
    "usage: kernel_stages [OPTION...]\n"
    "  --bits=LIST   sizes of RSA (1024,2048,3072,4096)\n"
    "  --batch=N     requests in a batch (50688: whole loads of an H200)\n"
    "  --csv=FILE    the table as comma-separated values\n";

static const char *const labels[STAGES] = {
    [STAGE_SPLIT] = "bytes in, mod p, q",
    [STAGE_BLINDING] = "blinding",
    [STAGE_EXPONENT] = "exponent blinding",
    [STAGE_MODEXP] = "two powers",
    [STAGE_UNBLINDING] = "unblinding",
    [STAGE_REDUCTION] = "exact reduction",
    [STAGE_RECOMBINATION] = "recombination",
    [STAGE_CHECK] = "check",
    [STAGE_OUTPUT] = "bytes out",
    [STAGE_REST] = "keys, changing hands",
};

/* What staged_kernel.cu defines for each kernel and size. Meson defines
 * EACH_STAGED_KERNEL(X): X(NAME_SIZE) for each. */
#define DECLARE(name) stage_clocks_take stage_clocks_take_##name;
EACH_STAGED_KERNEL(DECLARE)
#define ADDRESS(name) stage_clocks_take_##name,
static stage_clocks_take *const takes[] = {EACH_STAGED_KERNEL(ADDRESS)};

typedef struct column {
    size_t bits;
    const char *kernel;
    double ms;            /* of the kernel with its clocks */
    double by_windows;    /* exponentiations' share, by halving windows */
    double share[STAGES]; /* by clocks */
} column;

typedef struct options {
    size_t bits[LIST_MAX], bits_count;
    size_t batch;
    const char *csv;
} options;

static double median_ms(batch_run *run, const char *kernel)
{
    double ms[RUNS];

    for (int i = 0; i < RUNS; i++)
        ms[i] = batch_run_kernel(run, kernel, NULL, NULL);
    return spread_of(ms, RUNS).median;
}

/* The clocks of each launch of a batch, by stage. */
typedef double launch_clocks[LAUNCHES_MAX][STAGES];

/* A launches_observer: waits for launch `index` and adds up its clocks by
 * stage. */
static void take_clocks(void *arg, size_t index)
{
    double *sum = (*(launch_clocks *)arg)[index];

    for (size_t i = 0; i < sizeof(takes) / sizeof(takes[0]); i++) {
        uint64_t clocks[STAGES];

        bench_cuda(takes[i](clocks), "the clocks");
        for (int stage = 0; stage < STAGES; stage++)
            sum[stage] += (double)clocks[stage];
    }
}

static void take_shares(double share[STAGES], batch_run *run,
                        const char *kernel)
{
    launch_clocks clocks = {{0}};
    launch seen[LAUNCHES_MAX];
    double ms = 0;
    size_t count;

    take_clocks(&clocks, 0); /* resets what earlier launches left */
    memset(&clocks, 0, sizeof(clocks));
    launches_observe(take_clocks, &clocks);
    count = batch_run_launches(run, kernel, seen);
    launches_observe(NULL, NULL);
    for (size_t i = 0; i < count; i++)
        ms += seen[i].ms;
    for (size_t i = 0; i < count; i++) {
        double sum = 0;

        for (int stage = 0; stage < STAGES; stage++)
            sum += clocks[i][stage];
        if (sum <= 0)
            bench_fail("a kernel without clocks");
        for (int stage = 0; stage < STAGES; stage++)
            share[stage] += seen[i].ms / ms * clocks[i][stage] / sum;
    }
}

static void measure(batch_run *run, column *c, size_t batch)
{
    double half_ms;
    uint32_t windows;

    batch_run_fill(run, batch);
    batch_run_whole(run, c->kernel);
    batch_run_check(run, CHECKS);
    batch_run_stage(run);
    take_shares(c->share, run, c->kernel);
    c->ms = median_ms(run, c->kernel);
    windows = run->memory.windows;
    run->memory.windows = windows / 2;
    half_ms = median_ms(run, c->kernel);
    c->by_windows = (c->ms - half_ms) / (windows - windows / 2) *
                    (windows + TABLE_WINDOWS) / c->ms;
}

static size_t measure_size(batch_run *run, column *columns, size_t bits,
                           size_t batch)
{
    size_t count = 0;
    key_set keys, some;
    const char *kernel;

    key_set_new(&keys, bits, KEYS);
    for (size_t i = 0; (kernel = batch_run_name(i)) != NULL; i++) {
        column *c = &columns[count];

        if (!batch_run_takes(
                run, kernel,
                (warprsa_size_class)warprsa_key_class(&keys.keys[0].key)))
            continue;
        if (++count == COLUMNS_MAX / LIST_MAX)
            bench_fail("more kernels than there is room for");
        *c = (column){.bits = bits, .kernel = kernel};
        /* The fold kernel is for requests that share a key. */
        some = (key_set){keys.keys, batch_run_shares_keys(kernel) ? 1 : KEYS};
        batch_run_keys(run, &some, kernel);
        measure(run, c, batch);
    }
    key_set_free(&keys);
    return count;
}

/* The time of all other stages, relative to that of the two exponentiations,
 * whose share of the whole is `modexp`. */
static double others_per_modexp(double modexp)
{
    return (1 - modexp) / modexp;
}

static void print_share(double share)
{
    printf(" %11.2f%%", 100 * share);
}

static void print_columns(const column *columns, size_t count)
{
    printf("%-22s", "share of the time");
    for (size_t i = 0; i < count; i++)
        printf(" %4zu %-7s", columns[i].bits, columns[i].kernel);
    for (int stage = 0; stage < STAGES; stage++) {
        printf("\n%-22s", labels[stage]);
        for (size_t i = 0; i < count; i++)
            print_share(columns[i].share[stage]);
    }
    printf("\n%-22s", "all beside the powers");
    for (size_t i = 0; i < count; i++)
        print_share(others_per_modexp(columns[i].share[STAGE_MODEXP]));
    printf("\n%-22s", "the same, by windows");
    for (size_t i = 0; i < count; i++)
        print_share(others_per_modexp(columns[i].by_windows));
    printf("\n%-22s", "ms");
    for (size_t i = 0; i < count; i++)
        printf(" %12.3f", columns[i].ms);
    puts("\n");
    fflush(stdout);
}

/* Writes a line for each stage, and one for the exponentiations' share by
 * halving windows. */
static bool write_column(FILE *csv, const column *c, size_t batch)
{
    bool good = true;

    for (int stage = 0; stage < STAGES; stage++)
        good &=
            fprintf(csv, "%zu,%s,%zu,%.4f,\"%s\",%.5f\n", c->bits, c->kernel,
                    batch, c->ms, labels[stage], c->share[stage]) > 0;
    return good &
           (fprintf(csv, "%zu,%s,%zu,%.4f,\"%s\",%.5f\n", c->bits, c->kernel,
                    batch, c->ms, "powers, by windows", c->by_windows) > 0);
}

static void write_columns(const char *name, const column *columns, size_t count,
                          size_t batch)
{
    FILE *csv = fopen(name, "w");
    bool good = csv != NULL &&
                fputs("bits,kernel,batch,kernel_ms,stage,share\n", csv) >= 0;

    for (size_t i = 0; good && i < count; i++)
        good = write_column(csv, &columns[i], batch);
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
        bench_refuse("--bits", text,
                     "1024, 2048, 3072, 4096, with commas between");
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
            bench_refuse("--batch", optarg, "a number from 1 to 1048576");
    }
    if (optind != argc)
        bench_refuse("argument", argv[optind], "options alone, see --help");
}

int main(int argc, char **argv)
{
    options o = {
        .bits = {1024, 2048, 3072, 4096}, .bits_count = 4, .batch = 50688};
    column columns[COLUMNS_MAX];
    size_t count = 0;
    batch_run run;

    parse(&o, argc, argv);
    batch_run_new(&run, o.batch, KEYS);
    for (size_t i = 0; i < o.bits_count; i++) {
        size_t some = measure_size(&run, columns + count, o.bits[i], o.batch);

        print_columns(columns + count, some);
        count += some;
    }
    if (o.csv != NULL)
        write_columns(o.csv, columns, count, o.batch);
    batch_run_free(&run);
    return EXIT_SUCCESS;
}
