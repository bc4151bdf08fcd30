/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The steps of the wide-sample system, Emmart, Zheng and Weems, "Faster Modular
 * Exponentiation using Double Precision Floating Point Arithmetic on the GPU"
 * (2018): bench/programs/paper_kernel.cu, which is this project's baseline.
 */
#include "bench/programs/bench.h"
#include "bench/programs/paper_run.h"
#include "bench/programs/papers/common/step.h"

enum {
    CHECKS = 64,
};

static cudaError_t launch_batch(void *arg, cudaStream_t stream)
{
    const paper_run *r = arg;

    return paper_launch(r->shape, &r->batch, stream);
}

static size_t check(void *arg)
{
    return paper_run_check(arg, CHECKS);
}

static void run(papers_bench *b, size_t bits, size_t batch)
{
    const paper_shape *shape = paper_shape_of(2 * bits);
    const int windows = (shape->bits + PAPER_WINDOW - 1) / PAPER_WINDOW;
    paper_run r;

    paper_run_new(&r, shape, batch);
    papers_step_run(
        b, &(papers_step){
               .system = "wide",
               .variant = "paper's kernel",
               .operation = "modexp",
               .bits = bits,
               .threads = (size_t)shape->threads,
               .batch = batch,
               /* Squares, products, the table, in and out. */
               .products = (windows - 1) * (PAPER_WINDOW + 1) + PAPER_ENTRIES,
               .launch = launch_batch,
               .check = check,
               .arg = &r,
           });
    paper_run_free(&r);
}

void wide_sample_steps(papers_bench *b)
{
    for (size_t bits = 1024; bits <= 2048; bits *= 2) {
        const size_t wave = (size_t)b->sms * 256 / (bits == 1024 ? 4 : 8);

        run(b, bits, 1);
        if (b->quick)
            continue;
        run(b, bits, 2 * wave);
        run(b, bits, 8 * wave);
    }
}
