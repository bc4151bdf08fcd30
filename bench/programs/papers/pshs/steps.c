/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The steps of pSHS: the paper's table of speed-ups with the threads of a CPU,
 * and exponentiations with the warps of an SM.
 */
#include <string.h>

#include "bench/programs/bench.h"
#include "bench/programs/papers/common/instances.h"
#include "bench/programs/papers/common/step.h"
#include "bench/programs/papers/pshs/kernel.h"
#include "bench/programs/papers/pshs/threads.h"

enum {
    TIMES = 5,
    /* Products of a timed run take about this many microseconds in all. */
    RUN_US = 20000,
};

typedef struct pshs_run {
    papers_instances s;
    uint32_t *one; /* device memory */
    uint32_t workers;
} pshs_run;

static size_t place(size_t i, size_t j, size_t words)
{
    return (i / PSHS_NUMBERS * words + j) * PSHS_NUMBERS + i % PSHS_NUMBERS;
}

static cudaError_t launch_batch(void *arg, cudaStream_t stream)
{
    const pshs_run *r = arg;
    const pshs_batch batch = {
        .memory = r->s.memory,
        .modulus = r->s.modulus,
        .r2 = r->s.r2,
        .exponent = r->s.exponent,
        .one = r->one,
        .n0inv = r->s.m.n0inv,
        .exponent_bits = (uint32_t)r->s.m.exponent_bits,
        .blocks = (uint32_t)(r->s.count / PSHS_NUMBERS),
        .words = (uint32_t)r->s.m.words,
        .workers = r->workers,
    };

    return pshs_launch(&batch, stream);
}

static size_t check(void *arg)
{
    const pshs_run *r = arg;

    return papers_instances_check(&r->s);
}

static void run(papers_bench *b, size_t bits, uint32_t workers, size_t batch)
{
    const uint32_t one[PAPERS_WORDS_MAX] = {1};
    pshs_run r = {.workers = workers};
    char variant[32];

    snprintf(variant, sizeof(variant), "%u warp%s", workers,
             workers == 1 ? "" : "s");
    papers_instances_new(&r.s, bits - 2, 0, batch, batch * (bits / 32), place);
    papers_instances_fill(&r.s);
    r.one = bench_device_copy(one, sizeof(one));
    papers_step_run(b,
                    &(papers_step){
                        .system = "pshs",
                        .variant = variant,
                        .operation = "modexp",
                        .bits = bits - 2,
                        .threads = workers,
                        .batch = batch,
                        .products = (double)(r.s.m.exponent_bits + r.s.m.ones),
                        .launch = launch_batch,
                        .check = check,
                        .arg = &r,
                    });
    bench_cuda(cudaFree(r.one), "freeing memory");
    papers_instances_free(&r.s);
}

typedef struct cpu_run {
    papers_modexp m;
    int workers;
} cpu_run;

/* Squares with threads against those of the sequential product. */
static size_t check_threads(void *arg)
{
    const cpu_run *r = arg;
    uint32_t x[PAPERS_WORDS_MAX], y[PAPERS_WORDS_MAX], result[PAPERS_WORDS_MAX];

    papers_bases(&r->m, x, 1);
    memcpy(y, x, sizeof(y));
    pshs_threads_squares(0, &r->m, x, 10);
    pshs_threads_squares(r->workers, &r->m, y, 10);
    if (memcmp(x, y, r->m.words * sizeof(*x)) != 0)
        return 0;
    papers_bases(&r->m, x, 1);
    pshs_threads_modexp(r->workers > 0 ? r->workers : 1, &r->m, x, result);
    return papers_modexp_is(&r->m, x, result) ? 2 : 0;
}

static void run_threads(papers_bench *b, size_t bits, int workers)
{
    cpu_run r = {.workers = workers};
    uint32_t x[PAPERS_WORDS_MAX];
    double seconds[TIMES];
    char variant[32];
    int count;

    snprintf(variant, sizeof(variant),
             workers == 0 ? "CPU sequential" : "CPU %d threads", workers);
    papers_modexp_new(&r.m, bits - 2, 65537);
    if (check_threads(&r) == 0)
        bench_fail("pshs: a result of threads is wrong");
    papers_bases(&r.m, x, 1);
    count =
        1 + (int)(1e-6 * RUN_US / pshs_threads_squares(workers, &r.m, x, 100));
    for (int i = 0; i < TIMES; i++)
        seconds[i] = pshs_threads_squares(workers, &r.m, x, count);
    papers_cpu_row(b,
                   &(papers_step){
                       .system = "pshs",
                       .variant = variant,
                       .operation = "product",
                       .bits = bits - 2,
                       .threads = workers == 0 ? 1 : (size_t)workers,
                       .batch = 1,
                       .products = 1,
                       .check = check_threads,
                       .arg = &r,
                   },
                   spread_of(seconds, TIMES));
    papers_modexp_free(&r.m);
}

void pshs_steps(papers_bench *b)
{
    const size_t wave = (size_t)b->sms * PSHS_NUMBERS;

    for (size_t bits = 512; bits <= (b->quick ? 512u : 4096u); bits *= 2) {
        run_threads(b, bits, 0);
        for (int workers = 2; workers <= 8; workers *= 2)
            run_threads(b, bits, workers);
    }
    for (size_t bits = 1024; bits <= 2048; bits *= 2)
        for (uint32_t workers = 1; workers <= PSHS_WORKERS_MAX; workers *= 2) {
            run(b, bits, workers, PSHS_NUMBERS);
            if (!b->quick && bits == 1024)
                run(b, bits, workers, 2 * wave);
        }
}
