/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The host build of the system with one thread a number, against libcrypto.
 */
#include "bench/programs/papers/cios/cios.h"
#include "bench/programs/papers/common/edges.h"

/* A step that is not 1, so that a wrong place is seen. */
enum {
    STEP = 3,
};

static void modexp(const papers_modexp *m, const uint32_t *base,
                   uint32_t *result)
{
    static uint32_t memory[3 * (PAPERS_WORDS_MAX + 2) * STEP];
    const cios_key key = {m->modulus, m->r2, m->exponent, m->n0inv,
                          (uint32_t)m->exponent_bits};

    for (size_t i = 0; i < m->words; i++)
        memory[i * STEP] = base[i];
    cios_modexp(memory, STEP, &key, (int)m->words);
    for (size_t i = 0; i < m->words; i++)
        result[i] = memory[i * STEP];
}

int main(void)
{
    papers_check_edges("cios", 1024, 0, modexp);
    papers_check_edges("cios", 2048, 65537, modexp);
    papers_check_edges("cios", 512, 1, modexp);
    return EXIT_SUCCESS;
}
