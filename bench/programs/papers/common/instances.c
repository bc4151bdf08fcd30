/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Instances of a modular exponentiation in device memory.
 */
#include "bench/programs/papers/common/instances.h"

#include <stdlib.h>

#include "bench/programs/bench.h"

enum {
    CHECKS = 64,
};

static uint32_t *device_words(const uint32_t *from, size_t words)
{
    return bench_device_copy(from, words * sizeof(*from));
}

void papers_instances_new(papers_instances *s, size_t bits,
                          unsigned long exponent, size_t count,
                          size_t memory_words, papers_place *place)
{
    *s = (papers_instances){
        .count = count,
        .memory_words = memory_words,
        .place = place,
    };
    papers_modexp_new(&s->m, bits, exponent);
    s->bases = papers_memory(count * s->m.words, sizeof(*s->bases));
    papers_bases(&s->m, s->bases, count);
    s->memory = bench_device_memory(memory_words * sizeof(*s->memory));
    s->modulus = device_words(s->m.modulus, s->m.words);
    s->r2 = device_words(s->m.r2, s->m.words);
    s->exponent = device_words(s->m.exponent, s->m.words);
}

void papers_instances_free(papers_instances *s)
{
    uint32_t *device[] = {s->memory, s->modulus, s->r2, s->exponent};

    for (size_t i = 0; i < sizeof(device) / sizeof(device[0]); i++)
        bench_cuda(cudaFree(device[i]), "freeing memory");
    free(s->bases);
    papers_modexp_free(&s->m);
}

void papers_instances_fill(const papers_instances *s)
{
    size_t words = s->m.words;
    uint32_t *memory = papers_memory(s->memory_words, sizeof(*memory));

    for (size_t i = 0; i < s->count; i++)
        for (size_t j = 0; j < words; j++)
            memory[s->place(i, j, words)] = s->bases[i * words + j];
    bench_cuda(cudaMemcpy(s->memory, memory, s->memory_words * sizeof(*memory),
                          cudaMemcpyHostToDevice),
               "copying bases");
    free(memory);
}

size_t papers_instances_check(const papers_instances *s)
{
    size_t words = s->m.words, checked = 0;
    size_t step = s->count > CHECKS ? (s->count - 1) / (CHECKS - 1) : 1;
    uint32_t *memory = papers_memory(s->memory_words, sizeof(*memory));

    bench_cuda(cudaMemcpy(memory, s->memory, s->memory_words * sizeof(*memory),
                          cudaMemcpyDeviceToHost),
               "copying results");
    for (size_t n = 0; n < s->count; n += step) {
        size_t i = n + step < s->count ? n : s->count - 1;
        uint32_t result[PAPERS_WORDS_MAX];

        for (size_t j = 0; j < words; j++)
            result[j] = memory[s->place(i, j, words)];
        if (!papers_modexp_is(&s->m, s->bases + i * words, result)) {
            checked = 0;
            break;
        }
        checked++;
    }
    free(memory);
    return checked;
}
