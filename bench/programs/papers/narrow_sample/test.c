/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The host build of the system with narrow samples, against libcrypto.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/programs/papers/narrow_sample/decrypt.h"
#include "bench/programs/papers/narrow_sample/rsa.h"

enum {
    STRIDE = 32,
};

static uint32_t table[NARROW_ENTRIES * NARROW_LIMBS_MAX * STRIDE];
static uint32_t scratch[STRIDE * NARROW_LIMBS_MAX];

static void decrypt(const narrow_rsa *rsa, const uint32_t *c, uint32_t *out,
                    const narrow_shape s)
{
    const size_t words = rsa->words;
    const narrow_memory memory = {table, scratch, STRIDE};
    const narrow_key key = {
        .modulus = rsa->key,
        .r2 = rsa->key + 2 * words,
        .r3 = rsa->key + 4 * words,
        .exponent = rsa->key + 6 * words,
        .q_inverse = rsa->key + 8 * words,
        .n0inv = {rsa->n0inv[0], rsa->n0inv[1]},
    };

    narrow_decrypt(out, c, &key, &memory, s);
}

static void check(const narrow_shape s, bool ones)
{
    narrow_rsa rsa;
    uint32_t c[PAPERS_WORDS_MAX], out[PAPERS_WORDS_MAX];

    narrow_rsa_new(&rsa, (size_t)s.bits, (size_t)s.width,
                   (size_t)narrow_limbs(s), ones);
    for (int i = 0; i < 2; i++) {
        narrow_rsa_text(&rsa, c, i == 1);
        decrypt(&rsa, c, out, s);
        if (!narrow_rsa_is(&rsa, c, out))
            papers_fail("narrow samples: a result is wrong");
        out[rsa.words] ^= 1;
        if (narrow_rsa_is(&rsa, c, out))
            papers_fail("the check does not see a wrong result");
    }
    printf("narrow: RSA-%d, %d threads of %d limbs of %d bits: right\n",
           2 * s.bits, 2 * s.threads, s.per_thread, s.width);
    narrow_rsa_free(&rsa);
}

int main(void)
{
    for (int ones = 0; ones < 2; ones++) {
        check((narrow_shape){1024, 23, 4, 12}, ones);
        check((narrow_shape){1024, 23, 8, 6}, ones);
        check((narrow_shape){1536, 22, 4, 18}, ones);
        check((narrow_shape){1536, 22, 8, 9}, ones);
        check((narrow_shape){2048, 22, 4, 24}, ones);
        check((narrow_shape){2048, 22, 8, 12}, ones);
    }
    return EXIT_SUCCESS;
}
