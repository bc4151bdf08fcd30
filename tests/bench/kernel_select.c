/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which kernel is the fastest for a batch of which size on this device:
 * kernel_select --help. What it prints first is for a table by device name,
 * and short enough to be measured when a device is met for the first time: of
 * each kernel and class how many operations the device computes at once (a
 * wave), and the times of one operation, of half a wave and of a whole one.
 * From these it foretells the time of any batch, and prints who wins where.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/batch_run.h"
#include "tests/bench/bench.h"
#include "tests/bench/spread.h"

const char bench_name[] = "kernel_select";

enum {
    RUNS = 3,
    KEYS = 16,
    POINTS = 3, /* one operation, half a wave, a wave */
    STEP = 32,  /* of the batches that are foretold */
};

static const char help[] = "usage: kernel_select [--most=65536]\n"
                           "  --most=N  the largest batch to choose for\n"
                           "The kernel for 32-bit integers is not among the "
                           "candidates: it wants keys\n"
                           "of its own kind and is chosen by device.\n";

typedef struct model {
    const char *name;
    size_t wave;
    double ms[POINTS];
} model;

static double median_ms(batch_run *run, const char *kernel, size_t batch)
{
    double ms[RUNS];

    batch_run_fill(run, batch);
    batch_run_stage(run);
    batch_run_kernel(run, kernel, NULL, NULL);
    for (int i = 0; i < RUNS; i++)
        ms[i] = batch_run_kernel(run, kernel, NULL, NULL);
    return spread_of(ms, RUNS).median;
}

/* How many operations are under way at once when the device is full. */
static size_t wave_of(batch_run *run, const char *kernel, size_t most,
                      int multiprocessors)
{
    size_t each, blocks;
    launch seen;

    batch_run_fill(run, most);
    batch_run_stage(run);
    batch_run_kernel(run, kernel, &seen, NULL);
    each = (most + seen.blocks - 1) / seen.blocks;
    blocks = (size_t)multiprocessors * (size_t)seen.warps * 32 / seen.threads;
    return blocks * each;
}

static void measure(batch_run *run, const char *kernel, size_t most,
                    int multiprocessors, model *m)
{
    m->name = kernel;
    m->wave = wave_of(run, kernel, most, multiprocessors);
    if (m->wave > run->batch_max)
        bench_fail("a wave is more than --most");
    m->ms[0] = median_ms(run, kernel, 1);
    m->ms[1] = median_ms(run, kernel, m->wave / 2);
    m->ms[2] = median_ms(run, kernel, m->wave);
}

/* Whole waves one after the other, and the rest as fast as a batch of its
 * size alone, between the points measured on straight lines. */
static double foretell(const model *m, size_t batch)
{
    double rest = (double)(batch % m->wave) / (double)m->wave;
    double ms = (double)(batch / m->wave) * m->ms[2];

    if (rest == 0)
        return ms;
    return ms + (rest < 0.5
                     ? m->ms[0] + 2 * rest * (m->ms[1] - m->ms[0])
                     : m->ms[1] + (2 * rest - 1) * (m->ms[2] - m->ms[1]));
}

static const model *fastest(const model *models, size_t count, size_t batch)
{
    const model *best = &models[0];

    for (size_t i = 1; i < count; i++)
        if (foretell(&models[i], batch) < foretell(best, batch))
            best = &models[i];
    return best;
}

static void print_winners(const model *models, size_t count, size_t bits,
                          size_t most)
{
    const model *winner = NULL;

    printf("RSA-%zu:", bits);
    for (size_t batch = 1; batch <= most; batch += STEP - batch % STEP) {
        const model *best = fastest(models, count, batch);

        if (best != winner)
            printf(" from %zu %s (%.2f ms)", batch, best->name,
                   foretell(best, batch));
        winner = best;
    }
    puts("");
}

static void select_for(batch_run *run, size_t bits, size_t most,
                       const struct cudaDeviceProp *device)
{
    model models[WARPRSA_VARIANTS];
    size_t count = 0;
    const char *kernel;
    key_set keys;

    key_set_new(&keys, bits, KEYS);
    for (size_t i = 0; (kernel = batch_run_name(i)) != NULL; i++) {
        warprsa_size_class size =
            (warprsa_size_class)warprsa_key_class(&keys.keys[0].key);
        model *m = &models[count];

        if (!batch_run_takes(kernel, size) ||
            strcmp(kernel, WARPRSA_VARIANT_INTEGER) == 0)
            continue;
        batch_run_keys(run, &keys, kernel);
        measure(run, kernel, most, device->multiProcessorCount, m);
        printf("{\"%s\", %zu, \"%s\", %zu, {%.3f, %.3f, %.3f}},\n",
               device->name, bits, m->name, m->wave, m->ms[0], m->ms[1],
               m->ms[2]);
        count++;
    }
    print_winners(models, count, bits, most);
    key_set_free(&keys);
}

int main(int argc, char **argv)
{
    static const struct option names[] = {
        {"most", required_argument, NULL, 'm'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    size_t most = 65536;
    struct cudaDeviceProp device;
    batch_run run;
    int c;

    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (c == 'h')
            return fputs(help, stdout) < 0;
        if (c == 'm')
            most = bench_parse_number(optarg, 1 << 20);
        if (c != 'm' || most == 0) {
            fputs(help, stderr);
            return 2;
        }
    }
    bench_cuda(cudaGetDeviceProperties(&device, 0), "the device");
    batch_run_new(&run, most, KEYS);
    for (size_t bits = 1024; bits <= 4096; bits += 1024)
        select_for(&run, bits, most, &device);
    batch_run_free(&run);
    return EXIT_SUCCESS;
}
