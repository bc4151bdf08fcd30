/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What each kernel does with batches of each size, beside the paper's kernel
 * in the same run: kernel_rate --help. Prints a table; --csv=FILE also writes
 * all of it as comma-separated values. scripts/bench-kernel runs it,
 * scripts/plot-kernel draws it.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "tests/bench/batch_run.h"
#include "tests/bench/bench.h"
#include "tests/bench/launches.h"
#include "tests/bench/paper_run.h"
#include "tests/bench/spread.h"

const char bench_name[] = "kernel_rate";

enum {
    LIST_MAX = 16,
    RUNS_MAX = 99,
    BATCH_MAX = 1 << 20,
    KEYS_MAX = 4096,
    ROWS_MAX = 512, /* of one size */
    UNIT_WAVES = 4, /* full loads of the device, to take the unit with */
};

static const char help[] =
    "usage: kernel_rate [OPTION...]\n"
    "  --bits=LIST      sizes of RSA (1024,2048,3072,4096)\n"
    "  --batches=LIST   requests in a batch (1,32,1024,4096,16384,65536)\n"
    "  --kernels=LIST   kernels, see --list (all)\n"
    "  --keys=LIST      so many keys mixed in a batch, 1 to 4096 (56)\n"
    "  --runs=N         timed runs after one that is not, 1 to 99 (7)\n"
    "  --checks=N       results of a row that are checked (256)\n"
    "  --csv=FILE       the table as comma-separated values\n"
    "  --list           print the kernels' names, no GPU needed\n"
    "  --csv-header     print the CSV's first line, no GPU needed\n"
    "Where LIST is numbers or names with commas between.\n";

static const char csv_header[] =
    "device,kernel,keys,bits,batch,"
    "kernel_ms,kernel_ms_least,kernel_ms_most,"
    "whole_ms,whole_ms_least,whole_ms_most,"
    "operations_per_s,operations_per_s_whole,modexps_per_s,"
    "clocks_per_product,fp64_share,ratio,ratio_same_batch,"
    "registers,local_octets,shared_octets,block,blocks,warps_per_sm,kernels,"
    "clock_mhz,checked\n";

typedef struct options {
    size_t bits[LIST_MAX], bits_count;
    size_t batches[LIST_MAX], batches_count;
    const char *kernels[LIST_MAX];
    size_t kernels_count;
    size_t keys[LIST_MAX], keys_count;
    size_t runs, checks;
    const char *csv;
} options;

typedef struct machine {
    char name[256];
    int multiprocessors;
    int fp64_lanes; /* of one */
} machine;

typedef struct row {
    const char *name;
    size_t keys, batch, checked;
    spread kernel_ms, whole_ms; /* whole_ms.median 0: not there */
    launch main;                /* the longest kernel */
    size_t kernels;
    double clock;
    double paper_ms; /* of the paper's kernel with this batch */
} row;

typedef struct bench {
    options o;
    machine m;
    FILE *csv;
    batch_run run;
    key_set keys;
    warprsa_size_class size;
    const paper_shape *shape;
    spread unit; /* halved rate of the paper's kernel, operations/s */
    row rows[ROWS_MAX];
    size_t rows_count;
} bench;

/* Says what is wrong with an argument; status 2. */
static void __attribute__((noreturn))
usage(const char *name, const char *value, const char *allowed)
{
    fprintf(stderr, "%s: %s: \"%s\" is not allowed; %s\n", bench_name, name,
            value, allowed);
    exit(2);
}

/* Lanes for double precision of a multiprocessor (CUDA C++ Programming Guide,
 * "Arithmetic Instructions"). */
static int fp64_lanes_of(int major, int minor)
{
    if (minor == 0 && major == 8)
        return 32;
    if (minor == 0 && (major == 9 || major == 10))
        return 64;
    return 2;
}

static void describe_machine(machine *m)
{
    struct cudaDeviceProp p;

    bench_cuda(cudaGetDeviceProperties(&p, 0), "the device");
    snprintf(m->name, sizeof(m->name), "%s", p.name);
    m->multiprocessors = p.multiProcessorCount;
    m->fp64_lanes = fp64_lanes_of(p.major, p.minor);
}

/* Products that the paper's algorithm takes for one power: into Montgomery
 * form and out, table, and WINDOW squarings and one multiplication for each
 * digit but the first. Clocks per product are by this count for every kernel,
 * whatever its window, and an operation's other parts are charged to it. */
static double products_of(const paper_shape *shape)
{
    int digits = (shape->bits + PAPER_WINDOW - 1) / PAPER_WINDOW;

    return 3 + (PAPER_ENTRIES - 2) + (digits - 1) * (PAPER_WINDOW + 1);
}

/* Clocks for a Montgomery product of `samples` samples if its double
 * precision instructions alone counted: 2 samples^2 products of two samples,
 * each of 2 DFMA and 1 DADD. (A squaring can do with fewer.) */
static double bound_of(const bench *b)
{
    return 6.0 * b->shape->samples * b->shape->samples / b->m.fp64_lanes;
}

static row *add_row(bench *b, const char *name, size_t keys, size_t batch)
{
    row *r = &b->rows[b->rows_count++];

    if (b->rows_count > ROWS_MAX)
        bench_fail("too many rows");
    *r = (row){.name = name, .keys = keys, .batch = batch};
    return r;
}

/* The paper's kernel with two instances for each operation. */
static row *paper_row(bench *b, size_t batch)
{
    row *r = add_row(b, "paper", PAPER_MODULI, batch);
    double ms[RUNS_MAX];
    paper_run run;

    paper_run_new(&run, b->shape, 2 * batch);
    paper_run_kernel(&run, paper_launch, b->run.stream, &r->main);
    r->kernels = 1;
    for (size_t i = 0; i < b->o.runs; i++)
        ms[i] = paper_run_kernel(&run, paper_launch, b->run.stream, NULL);
    r->clock = bench_clock_rate(b->run.stream);
    r->kernel_ms = spread_of(ms, b->o.runs);
    r->paper_ms = r->kernel_ms.median;
    r->checked = paper_run_check(&run, b->o.checks < 64 ? b->o.checks : 64);
    paper_run_free(&run);
    return r;
}

/* The unit: the paper's kernel with full loads of the device. */
static void take_unit(bench *b)
{
    row *r = paper_row(b, 1);
    size_t blocks = (size_t)r->main.warps * 32 / PAPER_BLOCK *
                    (size_t)b->m.multiprocessors * UNIT_WAVES;

    b->rows_count--;
    r = paper_row(b, blocks * PAPER_BLOCK / (size_t)b->shape->threads / 2);
    r->name = "paper, unit";
    b->unit = (spread){
        .median = 1e3 * (double)r->batch / r->kernel_ms.median,
        .least = 1e3 * (double)r->batch / r->kernel_ms.most,
        .most = 1e3 * (double)r->batch / r->kernel_ms.least,
    };
}

static void kernel_row(bench *b, const char *kernel, size_t keys, size_t batch,
                       double paper_ms)
{
    row *r = add_row(b, kernel, keys, batch);
    key_set some = {b->keys.keys, keys};
    double ms[RUNS_MAX];

    batch_run_keys(&b->run, &some, kernel);
    batch_run_fill(&b->run, batch);
    batch_run_stage(&b->run);
    batch_run_kernel(&b->run, kernel, &r->main, &r->kernels);
    for (size_t i = 0; i < b->o.runs; i++)
        ms[i] = batch_run_kernel(&b->run, kernel, NULL, NULL);
    r->clock = bench_clock_rate(b->run.stream);
    r->kernel_ms = spread_of(ms, b->o.runs);
    batch_run_whole(&b->run, kernel);
    for (size_t i = 0; i < b->o.runs; i++)
        ms[i] = batch_run_whole(&b->run, kernel);
    r->whole_ms = spread_of(ms, b->o.runs);
    r->checked = batch_run_check(&b->run, b->o.checks);
    r->paper_ms = paper_ms;
}

static double clocks_per_product(const bench *b, const row *r)
{
    double products = 2 * (double)r->batch * products_of(b->shape);

    return b->m.multiprocessors * r->clock * 1e-3 * r->kernel_ms.median /
           products;
}

static void write_row(const bench *b, const row *r)
{
    double rate = 1e3 * (double)r->batch / r->kernel_ms.median;
    double clocks = clocks_per_product(b, r);

    fprintf(b->csv, "%s,\"%s\",%zu,%d,%zu,%.4f,%.4f,%.4f,", b->m.name, r->name,
            r->keys, 2 * b->shape->bits, r->batch, r->kernel_ms.median,
            r->kernel_ms.least, r->kernel_ms.most);
    if (r->whole_ms.median > 0)
        fprintf(b->csv, "%.4f,%.4f,%.4f,%.0f,%.0f,", r->whole_ms.median,
                r->whole_ms.least, r->whole_ms.most, rate,
                1e3 * (double)r->batch / r->whole_ms.median);
    else
        fprintf(b->csv, ",,,%.0f,,", rate);
    fprintf(b->csv, "%.0f,%.2f,%.4f,%.4f,%.4f,", 2 * rate, clocks,
            bound_of(b) / clocks, rate / b->unit.median,
            r->paper_ms / r->kernel_ms.median);
    fprintf(b->csv, "%d,%zu,%zu,%u,%u,%d,%zu,%.0f,%zu\n", r->main.registers,
            r->main.spilled, r->main.shared, r->main.threads, r->main.blocks,
            r->main.warps, r->kernels, 1e-6 * r->clock, r->checked);
}

static void print_row(const bench *b, const row *r)
{
    double rate = 1e3 * (double)r->batch / r->kernel_ms.median;
    double clocks = clocks_per_product(b, r);

    printf("%5d %-12s %4zu %6zu %9.3f (%.3f-%.3f) ", 2 * b->shape->bits,
           r->name, r->keys, r->batch, r->kernel_ms.median, r->kernel_ms.least,
           r->kernel_ms.most);
    if (r->whole_ms.median > 0)
        printf("%9.3f ", r->whole_ms.median);
    else
        printf("%9s ", "-");
    printf("%9.0f %6.2f %6.2f %7.1f %4.0f%% %4d %5zu %3d %4zu\n", rate,
           rate / b->unit.median, r->paper_ms / r->kernel_ms.median, clocks,
           100 * bound_of(b) / clocks, r->main.registers, r->main.spilled,
           r->main.warps, r->checked);
}

static void bench_size(bench *b, size_t bits)
{
    b->shape = paper_shape_of(bits);
    b->rows_count = 0;
    key_set_new(&b->keys, bits, b->run.keys_max);
    b->size = (warprsa_size_class)warprsa_key_class(&b->keys.keys[0].key);
    take_unit(b);
    for (size_t i = 0; i < b->o.batches_count; i++) {
        size_t batch = b->o.batches[i];
        double paper_ms = paper_row(b, batch)->kernel_ms.median;

        for (size_t j = 0; j < b->o.kernels_count; j++)
            if (batch_run_takes(b->o.kernels[j], b->size))
                for (size_t k = 0; k < b->o.keys_count; k++)
                    kernel_row(b, b->o.kernels[j], b->o.keys[k], batch,
                               paper_ms);
    }
    key_set_free(&b->keys);
    for (size_t i = 0; i < b->rows_count; i++) {
        print_row(b, &b->rows[i]);
        if (b->csv != NULL)
            write_row(b, &b->rows[i]);
    }
    fflush(stdout);
}

/* Names with commas between, or a message and status 2. */
static void parse_kernels(options *o, const char *text)
{
    o->kernels_count = 0;
    for (size_t length; o->kernels_count < LIST_MAX; text += length + 1) {
        const char *found = NULL, *name;

        length = strcspn(text, ",");
        for (size_t i = 0; (name = batch_run_name(i)) != NULL; i++)
            if (strlen(name) == length && strncmp(name, text, length) == 0)
                found = name;
        if (found == NULL)
            usage("--kernels", text, "names that --list prints");
        o->kernels[o->kernels_count++] = found;
        if (text[length] == '\0')
            return;
    }
    usage("--kernels", text, "at most 16 names");
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

static void parse_keys(options *o, const char *text)
{
    o->keys_count = bench_parse_list(text, o->keys, LIST_MAX);
    for (size_t i = 0; i < o->keys_count; i++)
        if (o->keys[i] > KEYS_MAX)
            o->keys_count = 0;
    if (o->keys_count == 0)
        usage("--keys", text, "numbers up to 4096, with commas between");
}

static void parse_batches(options *o, const char *text)
{
    o->batches_count = bench_parse_list(text, o->batches, LIST_MAX);
    for (size_t i = 0; i < o->batches_count; i++)
        if (o->batches[i] > BATCH_MAX)
            o->batches_count = 0;
    if (o->batches_count == 0)
        usage("--batches", text, "numbers up to 1048576, with commas between");
}

static size_t parse_number(const char *name, const char *text, size_t most)
{
    size_t number = bench_parse_number(text, most);
    char allowed[48];

    snprintf(allowed, sizeof(allowed), "a number from 1 to %zu", most);
    if (number == 0)
        usage(name, text, allowed);
    return number;
}

static void list_kernels(void)
{
    for (size_t i = 0; batch_run_name(i) != NULL; i++)
        puts(batch_run_name(i));
    exit(EXIT_SUCCESS);
}

static void parse(options *o, int argc, char **argv)
{
    static const struct option names[] = {
        {"bits", required_argument, NULL, 'b'},
        {"batches", required_argument, NULL, 'n'},
        {"kernels", required_argument, NULL, 'v'},
        {"keys", required_argument, NULL, 'k'},
        {"runs", required_argument, NULL, 'r'},
        {"checks", required_argument, NULL, 'x'},
        {"csv", required_argument, NULL, 'c'},
        {"list", no_argument, NULL, 'l'},
        {"csv-header", no_argument, NULL, 'H'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (c == 'b')
            parse_sizes(o, optarg);
        else if (c == 'n')
            parse_batches(o, optarg);
        else if (c == 'v')
            parse_kernels(o, optarg);
        else if (c == 'k')
            parse_keys(o, optarg);
        else if (c == 'r')
            o->runs = parse_number("--runs", optarg, RUNS_MAX);
        else if (c == 'x')
            o->checks = parse_number("--checks", optarg, BATCH_MAX);
        else if (c == 'c')
            o->csv = optarg;
        else if (c == 'l')
            list_kernels();
        else if (c == 'H' || c == 'h')
            exit(fputs(c == 'h' ? help : csv_header, stdout) < 0);
        else
            exit(2);
    }
    if (optind != argc)
        usage("argument", argv[optind], "options alone, see --help");
}

int main(int argc, char **argv)
{
    static bench b = {.o = {.runs = 7, .checks = 256}};
    size_t most = 1, most_keys = 1;

    parse_sizes(&b.o, "1024,2048,3072,4096");
    parse_keys(&b.o, "56");
    parse_batches(&b.o, "1,32,1024,4096,16384,65536");
    for (size_t i = 0; batch_run_name(i) != NULL; i++)
        b.o.kernels[b.o.kernels_count++] = batch_run_name(i);
    parse(&b.o, argc, argv);
    describe_machine(&b.m);
    if (b.o.csv != NULL) {
        b.csv = fopen(b.o.csv, "w");
        if (b.csv == NULL || fputs(csv_header, b.csv) < 0)
            bench_fail("the CSV file cannot be written");
    }
    for (size_t i = 0; i < b.o.batches_count; i++)
        most = b.o.batches[i] > most ? b.o.batches[i] : most;
    for (size_t i = 0; i < b.o.keys_count; i++)
        most_keys = b.o.keys[i] > most_keys ? b.o.keys[i] : most_keys;
    batch_run_new(&b.run, most, most_keys);
    printf("%s, %d multiprocessors, medians of %zu runs\n", b.m.name,
           b.m.multiprocessors, b.o.runs);
    printf("%5s %-12s %4s %6s %9s (least-most) %9s %9s %6s %6s %7s %5s %4s %5s "
           "%3s %4s\n",
           "bits", "kernel", "keys", "batch", "kernel ms", "whole ms", "op/s",
           "ratio", "same", "clk/prd", "fp64", "regs", "local", "wrp", "good");
    for (size_t i = 0; i < b.o.bits_count; i++)
        bench_size(&b, b.o.bits[i]);
    batch_run_free(&b.run);
    if (b.csv != NULL && fclose(b.csv) != 0)
        bench_fail("the CSV file cannot be written");
    return EXIT_SUCCESS;
}
