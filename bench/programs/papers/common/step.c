/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Warms a step up, checks it, times it, and prints its row.
 */
#include "bench/programs/papers/common/step.h"

#include "bench/programs/bench.h"

enum {
    RUNS_MAX = 16,
};

/* A step that takes longer than this is timed once. */
static const double long_ms = 400;

const char papers_csv_header[] =
    "device,system,variant,operation,bits,threads,batch,ms,ms_least,ms_most,"
    "operations_per_s,products,clocks_per_product,registers,local_bytes,"
    "shared_bytes,block,blocks,warps_per_sm,clock_mhz,checked\n";

static double time_one(const papers_bench *b, const papers_step *step,
                       launch *seen)
{
    launch launched[LAUNCHES_MAX];

    launches_begin();
    bench_cuda(step->launch(step->arg, b->stream), step->system);
    launches_end(b->stream, launched);
    *seen = launched[0];
    return seen->ms;
}

static void write_row(papers_bench *b, const papers_step *s, spread ms,
                      const launch *l, double clock, size_t checked)
{
    double rate = 1e3 * (double)s->batch / ms.median;
    double clocks = s->products > 0 && clock > 0
                        ? b->sms * clock / (rate * s->products)
                        : 0;

    printf("%3zu  %-13s %-18s %-14s %5zu %4zu %8zu %10.3f ms %12.0f/s %8.1f"
           " clk %3d regs %4zu B %2d warps\n",
           ++b->steps, s->system, s->variant, s->operation, s->bits, s->threads,
           s->batch, ms.median, rate, clocks, l->registers, l->spilled,
           l->warps);
    fflush(stdout);
    if (b->csv == NULL)
        return;
    fprintf(b->csv,
            "%s,%s,%s,%s,%zu,%zu,%zu,%.6f,%.6f,%.6f,%.2f,%.0f,%.2f,%d,%zu,%zu,"
            "%u,%u,%d,%.0f,%zu\n",
            b->device, s->system, s->variant, s->operation, s->bits, s->threads,
            s->batch, ms.median, ms.least, ms.most, rate, s->products, clocks,
            l->registers, l->spilled, l->shared, l->threads, l->blocks,
            l->warps, clock / 1e6, checked);
    fflush(b->csv);
}

void papers_step_run(papers_bench *b, const papers_step *step)
{
    double times[RUNS_MAX], clock;
    launch seen;
    size_t runs = b->runs < RUNS_MAX ? b->runs : RUNS_MAX, checked;

    times[0] = time_one(b, step, &seen);
    clock = bench_clock_rate(b->stream);
    checked = step->check(step->arg);
    if (checked == 0) {
        fprintf(stderr, "papers: %s, %s, %zu bits: a result is wrong\n",
                step->system, step->variant, step->bits);
        exit(EXIT_FAILURE);
    }
    if (times[0] > long_ms)
        runs = 1;
    for (size_t i = 0; i < runs; i++)
        times[i] = time_one(b, step, &seen);
    write_row(b, step, spread_of(times, runs), &seen, clock, checked);
}

void papers_cpu_row(papers_bench *b, const papers_step *step, spread seconds)
{
    const launch none = {.warps = 0};

    write_row(
        b, step,
        (spread){1e3 * seconds.median, 1e3 * seconds.least, 1e3 * seconds.most},
        &none, 0, step->check(step->arg));
}
