/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Random instances of one modular exponentiation for a GPU: many bases, one
 * modulus and one exponent, as the papers measure it. A system says how its
 * words lie in memory. Device memory; errors end the program.
 */
#ifndef WARPRSA_PAPERS_INSTANCES_H
#define WARPRSA_PAPERS_INSTANCES_H

#include "bench/programs/papers/common/number.h"

/* Where word j of number i lies: the index into device memory. */
typedef size_t papers_place(size_t i, size_t j, size_t words);

typedef struct papers_instances {
    papers_modexp m;
    size_t count, memory_words;
    papers_place *place;
    uint32_t *bases; /* host, m.words each */
    /* Device memory, owned. */
    uint32_t *memory, *modulus, *r2, *exponent;
} papers_instances;

/* Makes `count` random instances and device memory of `memory_words` words.
 * papers_instances_free() frees them. */
void papers_instances_new(papers_instances *s, size_t bits,
                          unsigned long exponent, size_t count,
                          size_t memory_words, papers_place *place);
void papers_instances_free(papers_instances *s);

/* Writes the bases to their places; all else of the memory becomes zero. */
void papers_instances_fill(const papers_instances *s);

/* Compares up to 64 results, spread over the batch, and both its ends. Returns
 * how many, 0 if one is wrong. */
size_t papers_instances_check(const papers_instances *s);

#endif
