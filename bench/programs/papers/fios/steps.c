/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The steps of the system with chains of sums of products: the paper's four
 * tables with e = 65537, and full exponents.
 */
#include "bench/programs/bench.h"
#include "bench/programs/papers/common/instances.h"
#include "bench/programs/papers/common/step.h"
#include "bench/programs/papers/fios/kernel.h"

typedef struct fios_run {
    papers_instances s;
    uint32_t block;
    bool transposed, chains;
    size_t result; /* the number that the check reads: 0 or 1 */
} fios_run;

/* papers_place has no argument for these. */
static fios_run current;

static size_t place(size_t i, size_t j, size_t words)
{
    size_t n = 2 * words, at = j + current.result * words;

    return current.transposed ? (i / current.block * n + at) * current.block +
                                    i % current.block
                              : i * n + at;
}

static cudaError_t launch_batch(void *arg, cudaStream_t stream)
{
    const fios_run *r = arg;
    const fios_batch batch = {
        .memory = r->s.memory,
        .modulus = r->s.modulus,
        .r2 = r->s.r2,
        .exponent = r->s.exponent,
        .n0inv = r->s.m.n0inv,
        .exponent_bits = (uint32_t)r->s.m.exponent_bits,
        .blocks = (uint32_t)(r->s.count / r->block),
        .block = r->block,
        .transposed = r->transposed,
        .chains = r->chains,
    };

    return fios_launch(&batch, (int)r->s.m.words, stream);
}

static size_t check(void *arg)
{
    fios_run *r = arg;
    size_t checked;

    r->result = 1;
    checked = papers_instances_check(&r->s);
    r->result = 0;
    return checked;
}

static const char *variant(bool transposed, bool chains)
{
    return !transposed ? "stride" : chains ? "coalesced + mad" : "coalesced";
}

/* The timed runs take x = 1 as their message; the time does not depend on it.
 */
static void run(papers_bench *b, size_t bits, unsigned long e, size_t batch,
                uint32_t block, bool transposed, bool chains)
{
    fios_run *r = &current;

    *r = (fios_run){.block = block, .transposed = transposed, .chains = chains};
    papers_instances_new(&r->s, bits, e, batch, batch * 2 * (bits / 32), place);
    papers_instances_fill(&r->s);
    papers_step_run(
        b, &(papers_step){
               .system = "fios",
               .variant = variant(transposed, chains),
               .operation = e == 0 ? "modexp" : "encryption",
               .bits = bits,
               .threads = 1,
               .batch = batch,
               .products = (double)(r->s.m.exponent_bits + r->s.m.ones + 3),
               .launch = launch_batch,
               .check = check,
               .arg = r,
           });
    papers_instances_free(&r->s);
}

void fios_steps(papers_bench *b)
{
    const uint32_t blocks[] = {32, 64, 128, 256};
    const size_t wave = (size_t)b->sms * 256;

    for (size_t bits = 1024; bits <= 2048; bits *= 2) {
        if (b->quick) {
            run(b, bits, 65537, 256, 256, false, false);
            run(b, bits, 65537, 256, 256, true, false);
            run(b, bits, 65537, 256, 256, true, true);
            run(b, bits, 0, 64, 64, true, true);
            continue;
        }
        for (int i = 0; i < 4; i++) {
            run(b, bits, 65537, 8 * wave, blocks[i], false, false);
            run(b, bits, 65537, 8 * wave, blocks[i], true, false);
            run(b, bits, 65537, 8 * wave, blocks[i], true, true);
        }
        run(b, bits, 0, 32, 32, true, true);
        run(b, bits, 0, wave, 64, true, true);
        run(b, bits, 0, 4 * wave, 64, true, true);
    }
}
