/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Runs the systems of the papers on the GPU at hand, one step after the other:
 * papers --help. bench/papers makes tables of what it writes.
 */
#include <getopt.h>
#include <string.h>

#include "bench/programs/bench.h"
#include "bench/programs/papers/common/step.h"

const char bench_name[] = "papers";

static const struct {
    const char *name;
    papers_system *steps;
} systems[] = {
    {"cios", cios_steps},
    {"fios", fios_steps},
    {"narrow", narrow_sample_steps},
    {"rns", rns_steps},
    {"pshs", pshs_steps},
    {"p224", p224_steps},
    {"wide", wide_sample_steps},
};

enum {
    SYSTEMS = sizeof(systems) / sizeof(systems[0]),
    RUNS_MOST = 9,
};

static void usage(FILE *to)
{
    fprintf(to,
            "usage: papers [--csv=FILE] [--runs=N] [--quick] [--list]"
            " [SYSTEM]\n"
            "  --runs=N  time each step N times, 1 to %d (3)\n"
            "  --quick   the smallest batch of each shape alone\n"
            "  SYSTEM    one of --list; without it, all\n",
            RUNS_MOST);
}

static bool known(const char *name)
{
    for (size_t i = 0; i < SYSTEMS; i++)
        if (strcmp(systems[i].name, name) == 0)
            return true;
    return false;
}

static void refuse(const char *what, const char *text)
{
    fprintf(stderr, "papers: %s: \"%s\"\n", what, text);
    usage(stderr);
    exit(2);
}

static void list(void)
{
    for (size_t i = 0; i < SYSTEMS; i++)
        puts(systems[i].name);
    exit(EXIT_SUCCESS);
}

/* Returns the name of the CSV file, or NULL. */
static const char *parse(papers_bench *b, int argc, char **argv)
{
    static const struct option options[] = {
        {"csv", required_argument, NULL, 'c'},
        {"runs", required_argument, NULL, 'r'},
        {"quick", no_argument, NULL, 'q'},
        {"list", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    const char *csv = NULL;
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'c':
            csv = optarg;
            break;
        case 'r':
            b->runs = bench_parse_number(optarg, RUNS_MOST);
            if (b->runs == 0)
                refuse("--runs wants a number from 1 to 9", optarg);
            break;
        case 'q':
            b->quick = true;
            break;
        case 'l':
            list();
            break;
        case 'h':
            usage(stdout);
            exit(EXIT_SUCCESS);
        default:
            usage(stderr);
            exit(2);
        }
    }
    if (optind < argc)
        b->only = argv[optind++];
    if (b->only != NULL && !known(b->only))
        refuse("no such system", b->only);
    if (optind < argc)
        refuse("one system at most, not also", argv[optind]);
    return csv;
}

static void open_device(papers_bench *b)
{
    struct cudaDeviceProp properties;

    bench_cuda(cudaGetDeviceProperties(&properties, 0), "the device");
    snprintf(b->device, sizeof(b->device), "%s", properties.name);
    b->sms = properties.multiProcessorCount;
    bench_cuda(cudaStreamCreate(&b->stream), "a stream");
}

int main(int argc, char **argv)
{
    papers_bench b = {.runs = 3};
    const char *csv = parse(&b, argc, argv);

    open_device(&b);
    if (csv != NULL) {
        b.csv = fopen(csv, "w");
        if (b.csv == NULL || fputs(papers_csv_header, b.csv) < 0)
            bench_fail("the CSV file cannot be written");
    }
    printf("%s, %d SMs\n", b.device, b.sms);
    for (size_t i = 0; i < SYSTEMS; i++)
        if (b.only == NULL || strcmp(systems[i].name, b.only) == 0)
            systems[i].steps(&b);
    if (b.csv != NULL && fclose(b.csv) != 0)
        bench_fail("the CSV file cannot be written");
    return EXIT_SUCCESS;
}
