/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Measures which kernel is the fastest for each size of batch on this device:
 * kernel_select --help. It first prints what gpu/kernels/NAME/kernel.c has of a
 * known device: for each kernel and class, how many operations the device
 * computes at once (a wave), and the times of one operation, of half a wave and
 * of a whole wave. From these it predicts the time of any batch, as
 * the engine does, and prints from which size on which kernel is the fastest.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/programs/batch_run.h"
#include "bench/programs/bench.h"
#include "bench/programs/spread.h"
#include "gpu/select/candidates.h"

const char bench_name[] = "kernel_select";

enum {
    RUNS = 3,
    KEYS = 4,
    STEP = 32, /* between the sizes of batches that are predicted */
};

static const char help[] = "usage: kernel_select [--most=65536]\n"
                           "  --most=N  the largest batch to choose for, a "
                           "wave of each kernel at least\n"
                           "The candidates are those that take the form of "
                           "keys which suits this GPU.\n";

/* How many operations a full device computes at once, according to CUDA's
 * occupancy of the kernel's launch. */
static size_t wave_of(batch_run *run, const char *kernel, size_t most,
                      unsigned sms)
{
    size_t each, blocks;
    launch seen;

    batch_run_fill(run, most);
    batch_run_stage(run);
    batch_run_kernel(run, kernel, &seen, NULL);
    each = (most + seen.blocks - 1) / seen.blocks;
    blocks = (size_t)sms * (size_t)seen.warps * 32 / seen.threads;
    return blocks * each;
}

/* A batch's median time in microseconds. It is at least `least`, the time of a
 * smaller batch: more operations never take less. */
static uint32_t median_us(batch_run *run, const char *kernel, size_t batch,
                          uint32_t least)
{
    double ms[RUNS];
    uint32_t us;

    batch_run_fill(run, batch);
    batch_run_stage(run);
    batch_run_kernel(run, kernel, NULL, NULL);
    for (int i = 0; i < RUNS; i++)
        ms[i] = batch_run_kernel(run, kernel, NULL, NULL);
    us = (uint32_t)(spread_of(ms, RUNS).median * 1e3 + 0.5);
    return us < least ? least : us;
}

static void measure(batch_run *run, warprsa_kernel_timing *timing, size_t most,
                    unsigned sms)
{
    const char *name = timing->kernel->name;

    if (timing->wave > most)
        bench_fail("a wave is more than --most");
    /* A block of the fold kernel computes several groups of requests, so its
     * launch does not tell the wave. */
    if (!timing->kernel->shares_key &&
        wave_of(run, name, most, sms) != timing->wave)
        bench_fail("a kernel's at_once() is not what CUDA makes of its "
                   "kernel");
    timing->one_us = median_us(run, name, 1, 1);
    timing->half_us = median_us(run, name, timing->wave / 2, timing->one_us);
    timing->wave_us = median_us(run, name, timing->wave, timing->half_us);
}

static void measure_class(batch_run *run, warprsa_kernel_timings *timings,
                          warprsa_size_class size, size_t most, unsigned sms)
{
    const size_t bits = 1024 * ((size_t)size + 1);

    for (size_t i = 0; i < timings->count; i++)
        if (timings->row[i].size == size) {
            const warprsa_kernel *kernel = timings->row[i].kernel;
            key_set keys;

            key_set_new(&keys, bits, kernel->shares_key ? 1 : KEYS);
            batch_run_keys(run, &keys, kernel->name);
            measure(run, &timings->row[i], most, sms);
            key_set_free(&keys);
        }
}

static void print_timings(const warprsa_kernel_timings *timings,
                          const char *device)
{
    const warprsa_kernel *last = NULL;

    for (size_t i = 0; i < timings->count; i++) {
        const warprsa_kernel_timing *timing = &timings->row[i];

        if (timing->kernel == last)
            printf(",\n      ");
        else
            printf("%s%s:\n    {\"%s\",\n     {", i > 0 ? "}},\n" : "",
                   timing->kernel->name, device);
        last = timing->kernel;
        printf("[WARPRSA_CLASS_%d] = {%u, %u, %u, %u}",
               1024 * ((int)timing->size + 1), timing->wave, timing->one_us,
               timing->half_us, timing->wave_us);
    }
    puts("}},");
}

static void print_winners(const warprsa_kernel_timings *timings,
                          warprsa_size_class size, size_t most)
{
    const warprsa_kernel *winner = NULL;

    printf("RSA-%d:", 1024 * ((int)size + 1));
    for (size_t batch = 1; batch <= most; batch += STEP - batch % STEP) {
        const warprsa_kernel *best =
            warprsa_fastest_kernel(timings, size, batch);

        if (best != winner)
            printf(" from %zu %s (%.2f ms)", batch, best->name,
                   warprsa_predict_ms(
                       warprsa_kernel_timing_of(timings, size, best), batch));
        winner = best;
    }
    puts("");
}

static void select_kernels(batch_run *run, size_t most,
                           const struct cudaDeviceProp *device)
{
    const unsigned sms = (unsigned)device->multiProcessorCount;
    warprsa_kernel_timings timings;

    warprsa_candidates(&timings, &run->memory.gpu, run->memory.int32_keys);
    for (int size = 0; size < WARPRSA_CLASS_LARGE; size++)
        measure_class(run, &timings, (warprsa_size_class)size, most, sms);
    print_timings(&timings, device->name);
    for (int size = 0; size < WARPRSA_CLASS_LARGE; size++)
        print_winners(&timings, (warprsa_size_class)size, most);
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
    select_kernels(&run, most, &device);
    batch_run_free(&run);
    return EXIT_SUCCESS;
}
