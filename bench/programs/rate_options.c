/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Parses the command line of kernel_rate.
 */
#include "bench/programs/rate_options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/programs/batch_run.h"
#include "bench/programs/bench.h"
#include "bench/programs/paper_run.h"
#include "bench/programs/rate_row.h"

enum {
    BATCH_MAX = 1 << 20,
    KEYS_MAX = 4096,
    WHOLE_RUNS = 3,
};

static const char help[] =
    "usage: kernel_rate [OPTION...]\n"
    "  --short          fewer batches, runs and checks: for a glance; options\n"
    "                   after it change it\n"
    "  --bits=LIST      sizes of RSA (1024,2048,3072,4096)\n"
    "  --batches=LIST   requests in a batch (1,32,1024,4096,16384,65536); "
    "each\n"
    "                   kernel also has as many whole loads of the device as\n"
    "                   the largest of them has room for\n"
    "  --kernels=LIST   kernels, see --list (all)\n"
    "  --keys=LIST      so many keys mixed in a batch, 1 to 4096 (56,1); for\n"
    "                   kernels to which it does not matter whether requests\n"
    "                   share a key, the first of them alone\n"
    "  --table-reads=LIST  scan, direct: whole tables, or as configurations\n"
    "                   for devices of one's own allow (scan)\n"
    "  --runs=N         timed runs after one that is not, 1 to 99 (5)\n"
    "  --checks=N       results of a row that are checked (256)\n"
    "  --csv=FILE       the table as comma-separated values\n"
    "  --list           print the kernels' names, no GPU needed; \"" //
    BATCH_RUN_AUTO "\" is\n"
    "                   what the engine chooses on devices known to it\n"
    "  --csv-header     print the CSV's first line, no GPU needed\n"
    "Where LIST is numbers or names with commas between.\n";

/* The name of kernel i. The last is BATCH_RUN_AUTO; NULL past it. */
static const char *kernel_name(size_t i)
{
    const char *name = batch_run_name(i);

    if (name == NULL && (i == 0 || batch_run_name(i - 1) != NULL))
        return BATCH_RUN_AUTO;
    return name;
}

static void list_kernels(void)
{
    for (size_t i = 0; kernel_name(i) != NULL; i++)
        puts(kernel_name(i));
    exit(EXIT_SUCCESS);
}

static void all_kernels(rate_options *o)
{
    for (size_t i = 0; kernel_name(i) != NULL; i++) {
        if (i == RATE_LIST_MAX)
            bench_fail("more kernels than rate_options.h has room for");
        o->kernels[o->kernels_count++] = kernel_name(i);
    }
}

/* Parses kernels' names with commas between. */
static void parse_kernels(rate_options *o, const char *text)
{
    o->kernels_count = 0;
    for (size_t length; o->kernels_count < RATE_LIST_MAX; text += length + 1) {
        const char *found = NULL, *name;

        length = strcspn(text, ",");
        for (size_t i = 0; (name = kernel_name(i)) != NULL; i++)
            if (strlen(name) == length && strncmp(name, text, length) == 0)
                found = name;
        if (found == NULL)
            bench_refuse("--kernels", text, "names that --list prints");
        o->kernels[o->kernels_count++] = found;
        if (text[length] == '\0')
            return;
    }
    bench_refuse("--kernels", text, "at most 16 names");
}

static void parse_table_reads(rate_options *o, const char *text)
{
    o->scan = strcmp(text, "direct") != 0;
    o->direct = strcmp(text, "scan") != 0;
    if (o->scan && o->direct && strcmp(text, "scan,direct") != 0)
        bench_refuse("--table-reads", text, "scan, direct, or scan,direct");
}

static void parse_sizes(rate_options *o, const char *text)
{
    o->bits_count = bench_parse_list(text, o->bits, RATE_LIST_MAX);
    for (size_t i = 0; i < o->bits_count; i++)
        if (paper_shape_of(o->bits[i]) == NULL)
            o->bits_count = 0;
    if (o->bits_count == 0)
        bench_refuse("--bits", text,
                     "1024, 2048, 3072, 4096, with commas between");
}

static void parse_keys(rate_options *o, const char *text)
{
    o->keys_count = bench_parse_list(text, o->keys, RATE_LIST_MAX);
    if (o->keys_count == 0 || rate_largest(o->keys, o->keys_count) > KEYS_MAX)
        bench_refuse("--keys", text, "numbers up to 4096, with commas between");
}

static void parse_batches(rate_options *o, const char *text)
{
    o->batches_count = bench_parse_list(text, o->batches, RATE_LIST_MAX);
    if (o->batches_count == 0 ||
        rate_largest(o->batches, o->batches_count) > BATCH_MAX)
        bench_refuse("--batches", text,
                     "numbers up to 1048576, with commas between");
}

static size_t parse_number(const char *name, const char *text, size_t most)
{
    size_t number = bench_parse_number(text, most);
    char allowed[48];

    snprintf(allowed, sizeof(allowed), "a number from 1 to %zu", most);
    if (number == 0)
        bench_refuse(name, text, allowed);
    return number;
}

static void set_runs(rate_options *o, size_t runs)
{
    o->runs = runs;
    o->whole_runs = runs < WHOLE_RUNS ? runs : WHOLE_RUNS;
}

static void be_short(rate_options *o)
{
    parse_batches(o, "1,1024,16384,65536");
    set_runs(o, 2);
    o->whole_runs = 1;
    o->checks = 64;
}

static void parse_one(rate_options *o, int option, const char *text)
{
    switch (option) {
    case 's':
        be_short(o);
        break;
    case 'b':
        parse_sizes(o, text);
        break;
    case 'n':
        parse_batches(o, text);
        break;
    case 'v':
        parse_kernels(o, text);
        break;
    case 'k':
        parse_keys(o, text);
        break;
    case 't':
        parse_table_reads(o, text);
        break;
    case 'r':
        set_runs(o, parse_number("--runs", text, RATE_RUNS_MAX));
        break;
    case 'x':
        o->checks = parse_number("--checks", text, BATCH_MAX);
        break;
    case 'c':
        o->csv = text;
        break;
    case 'l':
        list_kernels();
        break;
    case 'H':
        exit(fputs(rate_csv_header, stdout) < 0);
    case 'h':
        exit(fputs(help, stdout) < 0);
    default:
        exit(2);
    }
}

void rate_options_parse(rate_options *o, int argc, char **argv)
{
    static const struct option names[] = {
        {"short", no_argument, NULL, 's'},
        {"bits", required_argument, NULL, 'b'},
        {"batches", required_argument, NULL, 'n'},
        {"kernels", required_argument, NULL, 'v'},
        {"keys", required_argument, NULL, 'k'},
        {"table-reads", required_argument, NULL, 't'},
        {"runs", required_argument, NULL, 'r'},
        {"checks", required_argument, NULL, 'x'},
        {"csv", required_argument, NULL, 'c'},
        {"list", no_argument, NULL, 'l'},
        {"csv-header", no_argument, NULL, 'H'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    int c;

    *o = (rate_options){.checks = 256, .scan = true};
    set_runs(o, 5);
    parse_sizes(o, "1024,2048,3072,4096");
    parse_keys(o, "56,1");
    parse_batches(o, "1,32,1024,4096,16384,65536");
    all_kernels(o);
    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1)
        parse_one(o, c, optarg);
    if (optind != argc)
        bench_refuse("argument", argv[optind], "options alone, see --help");
}

size_t rate_largest(const size_t *list, size_t count)
{
    size_t most = list[0];

    for (size_t i = 1; i < count; i++)
        most = list[i] > most ? list[i] : most;
    return most;
}
