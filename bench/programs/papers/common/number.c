/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Random moduli, exponents and bases, and libcrypto's answers.
 */
#include "bench/programs/papers/common/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void papers_fail(const char *what)
{
    fprintf(stderr, "papers: %s\n", what);
    exit(EXIT_FAILURE);
}

void *papers_memory(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);

    if (memory == NULL)
        papers_fail("no memory");
    return memory;
}

void papers_words(uint32_t *to, size_t words, const BIGNUM *x)
{
    if (BN_bn2lebinpad(x, (unsigned char *)to, (int)(words * sizeof(*to))) < 0)
        papers_fail("a number is too long");
}

void papers_number(BIGNUM *x, const uint32_t *from, size_t words)
{
    if (BN_lebin2bn((const unsigned char *)from, (int)(words * sizeof(*from)),
                    x) == NULL)
        papers_fail("no memory");
}

/* Newton's iteration: each turn doubles the number of correct bits. */
uint32_t papers_n0inv(uint32_t low)
{
    uint32_t inverse = 1;

    for (int i = 0; i < 5; i++)
        inverse *= 2 - low * inverse;
    return 0 - inverse;
}

static void set_exponent(papers_modexp *m, unsigned long exponent)
{
    if (exponent != 0
            ? !BN_set_word(m->e, exponent)
            : !BN_rand(m->e, (int)m->bits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ODD))
        papers_fail("no exponent");
    m->exponent_bits = (size_t)BN_num_bits(m->e);
    m->ones = 0;
    for (size_t i = 0; i < m->exponent_bits; i++)
        m->ones += BN_is_bit_set(m->e, (int)i) ? 1 : 0;
    papers_words(m->exponent, m->words, m->e);
}

void papers_modexp_of(papers_modexp *m, const BIGNUM *n, unsigned long e)
{
    BIGNUM *r = BN_new();

    *m = (papers_modexp){
        .bits = (size_t)BN_num_bits(n),
        .words = ((size_t)BN_num_bits(n) + 31) / 32,
        .n = BN_dup(n),
        .e = BN_new(),
        .ctx = BN_CTX_new(),
    };
    if (r == NULL || m->n == NULL || m->e == NULL || m->ctx == NULL ||
        m->words > PAPERS_WORDS_MAX ||
        !BN_lshift(r, BN_value_one(), (int)(64 * m->words)) ||
        !BN_mod(r, r, m->n, m->ctx))
        papers_fail("no modulus");
    papers_words(m->modulus, m->words, m->n);
    papers_words(m->r2, m->words, r);
    m->n0inv = papers_n0inv(m->modulus[0]);
    set_exponent(m, e);
    BN_free(r);
}

void papers_modexp_new(papers_modexp *m, size_t bits, unsigned long exponent)
{
    BIGNUM *n = BN_new();

    if (n == NULL ||
        !BN_rand(n, (int)bits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ODD))
        papers_fail("no modulus");
    papers_modexp_of(m, n, exponent);
    BN_free(n);
}

void papers_modexp_free(papers_modexp *m)
{
    BN_free(m->n);
    BN_free(m->e);
    BN_CTX_free(m->ctx);
}

void papers_bases(const papers_modexp *m, uint32_t *to, size_t count)
{
    BIGNUM *x = BN_new();

    if (x == NULL)
        papers_fail("no memory");
    for (size_t i = 0; i < count; i++) {
        if (!BN_rand_range(x, m->n))
            papers_fail("no random numbers");
        papers_words(to + i * m->words, m->words, x);
    }
    BN_free(x);
}

bool papers_modexp_is(const papers_modexp *m, const uint32_t *base,
                      const uint32_t *result)
{
    BIGNUM *x = BN_new(), *y = BN_new();
    bool same;

    if (x == NULL || y == NULL)
        papers_fail("no memory");
    papers_number(x, base, m->words);
    papers_number(y, result, m->words);
    if (!BN_mod_exp(x, x, m->e, m->n, m->ctx))
        papers_fail("BN_mod_exp() failed");
    same = BN_cmp(x, y) == 0;
    BN_free(x);
    BN_free(y);
    return same;
}
