/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The steps of the system with one thread a number.
 */
#include "bench/programs/papers/cios/kernel.h"
#include "bench/programs/papers/common/instances.h"
#include "bench/programs/papers/common/step.h"

static size_t place(size_t i, size_t j, size_t words)
{
    return (i / CIOS_BLOCK * 3 * (words + 2) + j) * CIOS_BLOCK + i % CIOS_BLOCK;
}

static cudaError_t launch_batch(void *arg, cudaStream_t stream)
{
    const papers_instances *s = arg;
    const cios_batch batch = {
        .memory = s->memory,
        .modulus = s->modulus,
        .r2 = s->r2,
        .exponent = s->exponent,
        .n0inv = s->m.n0inv,
        .exponent_bits = (uint32_t)s->m.exponent_bits,
        .blocks = (uint32_t)(s->count / CIOS_BLOCK),
    };

    return cios_launch(&batch, (int)s->m.words, stream);
}

static size_t check(void *arg)
{
    return papers_instances_check(arg);
}

/* Each timed run takes the results of the one before as its bases: the time
 * does not depend on them. */
static void run(papers_bench *b, size_t bits, size_t batch)
{
    papers_instances s;

    papers_instances_new(&s, bits, 0, batch, batch * 3 * (bits / 32 + 2),
                         place);
    papers_instances_fill(&s);
    papers_step_run(b, &(papers_step){
                           .system = "cios",
                           .variant = "global memory",
                           .operation = "modexp",
                           .bits = bits,
                           .threads = 1,
                           .batch = batch,
                           /* Squarings, products, into and out of Montgomery's
                            * form. */
                           .products = (double)(bits + s.m.ones + 3),
                           .launch = launch_batch,
                           .check = check,
                           .arg = &s,
                       });
    papers_instances_free(&s);
}

void cios_steps(papers_bench *b)
{
    const size_t wave = (size_t)b->sms * CIOS_BLOCK;

    for (size_t bits = 1024; bits <= 2048; bits *= 2) {
        run(b, bits, CIOS_BLOCK);
        if (b->quick)
            continue;
        run(b, bits, wave);
        run(b, bits, 4 * wave);
        if (bits == 1024)
            run(b, bits, 8 * wave);
    }
}
