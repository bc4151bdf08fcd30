/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The host build of the sums of products, against libcrypto.
 */
#include "bench/programs/papers/common/edges.h"
#include "bench/programs/papers/fios/fios.h"

/* Steps that are not 1, so that a wrong place is seen. */
enum {
    STEP = 3,
};

static void modexp(const papers_modexp *m, const uint32_t *base,
                   uint32_t *result)
{
    static uint32_t c[FIOS_WORDS_MAX * STEP], x[FIOS_WORDS_MAX * STEP];
    const fios_key key = {m->modulus, m->r2, m->exponent, m->n0inv,
                          (uint32_t)m->exponent_bits};

    for (size_t i = 0; i < m->words; i++)
        x[i * STEP] = base[i];
    fios_modexp((fios_number){c, STEP}, (fios_number){x, STEP}, &key,
                (int)m->words, false);
    for (size_t i = 0; i < m->words; i++)
        result[i] = c[i * STEP];
}

int main(void)
{
    papers_check_edges("fios", 1024, 0, modexp);
    papers_check_edges("fios", 2048, 65537, modexp);
    papers_check_edges("fios", 512, 1, modexp);
    papers_check_edges("fios", 512, 2, modexp);
    return EXIT_SUCCESS;
}
