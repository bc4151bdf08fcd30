/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The steps of the system with residue number systems: the paper's table of
 * pairs of base extensions.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/programs/bench.h"
#include "bench/programs/papers/common/step.h"
#include "bench/programs/papers/rns/bases.h"
#include "bench/programs/papers/rns/kernel.h"

enum {
    CHECKS = 32,
    /* Random bases; number i of a batch has base i % BASES. */
    BASES = 256,
    NUMBER_WORDS = 2 * RNS_LANES,
};

typedef struct rns_run {
    int pair;
    papers_modexp m;
    rns_key key;
    uint32_t bases[BASES * PAPERS_WORDS_MAX];
    uint32_t *residues; /* host */
    rns_key *device_key;
    uint32_t *numbers; /* device memory */
    size_t count;
} rns_run;

static cudaError_t launch_batch(void *arg, cudaStream_t stream)
{
    const rns_run *r = arg;

    return rns_launch(r->pair, r->device_key, r->numbers, (uint32_t)r->count,
                      stream);
}

static size_t check(void *arg)
{
    rns_run *r = arg;
    size_t bytes = r->count * NUMBER_WORDS * sizeof(uint32_t), checked = 0;
    size_t step = r->count > CHECKS ? (r->count - 1) / (CHECKS - 1) : 1;

    bench_cuda(
        cudaMemcpy(r->residues, r->numbers, bytes, cudaMemcpyDeviceToHost),
        "copying results");
    for (size_t n = 0; n < r->count; n += step) {
        size_t i = n + step < r->count ? n : r->count - 1;
        uint32_t result[PAPERS_WORDS_MAX];

        rns_leave(result, r->residues + i * NUMBER_WORDS, &r->m, &r->key);
        if (!papers_modexp_is(&r->m, r->bases + i % BASES * r->m.words, result))
            return 0;
        checked++;
    }
    return checked;
}

static void make(rns_run *r, size_t count)
{
    size_t bytes = count * NUMBER_WORDS * sizeof(uint32_t);
    uint32_t entered[BASES * NUMBER_WORDS];

    r->count = count;
    papers_modexp_new(&r->m, rns_pairs[r->pair].bits, 0);
    rns_key_new(&r->key, &r->m, &rns_pairs[r->pair]);
    papers_bases(&r->m, r->bases, BASES);
    for (size_t i = 0; i < BASES; i++)
        rns_enter(entered + i * NUMBER_WORDS, r->bases + i * r->m.words, &r->m,
                  &r->key);
    r->residues = papers_memory(1, bytes);
    for (size_t i = 0; i < count; i++)
        memcpy(r->residues + i * NUMBER_WORDS,
               entered + i % BASES * NUMBER_WORDS,
               NUMBER_WORDS * sizeof(uint32_t));
    r->numbers = bench_device_copy(r->residues, bytes);
    r->device_key = bench_device_copy(&r->key, sizeof(r->key));
}

static void run(papers_bench *b, int pair, size_t count)
{
    static rns_run r;

    r.pair = pair;
    make(&r, count);
    papers_step_run(
        b, &(papers_step){
               .system = "rns",
               .variant = rns_pairs[pair].name,
               .operation = "modexp",
               .bits = r.m.bits,
               .threads = RNS_LANES,
               .batch = count,
               .products = (double)(r.m.exponent_bits - 1 + r.m.ones - 1),
               .launch = launch_batch,
               .check = check,
               .arg = &r,
           });
    bench_cuda(cudaFree(r.numbers), "freeing memory");
    bench_cuda(cudaFree(r.device_key), "freeing memory");
    free(r.residues);
    papers_modexp_free(&r.m);
}

void rns_steps(papers_bench *b)
{
    const size_t wave = (size_t)b->sms * 32;

    for (int pair = 0; pair < RNS_PAIRS; pair++) {
        run(b, pair, 1);
        if (b->quick)
            continue;
        run(b, pair, wave / 8);
        run(b, pair, wave);
        run(b, pair, 4 * wave);
    }
}
