/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bases of residue number systems, with libcrypto.
 */
#include "bench/programs/papers/rns/bases.h"

const rns_pair rns_pairs[RNS_PAIRS] = {
    {"M-M", RNS_MIXED_RADIX, RNS_MIXED_RADIX, 1022},
    {"B-M", RNS_BAJARD, RNS_MIXED_RADIX, 1013},
    {"B-K", RNS_BAJARD, RNS_KAWAMURA, 1013},
    {"B-S", RNS_BAJARD, RNS_SHENOY, 981},
};

static void want(int done)
{
    if (!done)
        papers_fail("no residue number system");
}

static BIGNUM *number(void)
{
    BIGNUM *x = BN_new();

    want(x != NULL);
    return x;
}

static uint32_t residue(const BIGNUM *x, uint32_t m)
{
    return (uint32_t)BN_mod_word(x, m);
}

/* 1/x mod m of a prime m, by Fermat. */
static uint32_t inverse(uint32_t x, uint32_t m)
{
    uint64_t power = x, result = 1;

    for (uint32_t e = m - 2; e > 0; e >>= 1) {
        if (e & 1)
            result = result * power % m;
        power = power * power % m;
    }
    return (uint32_t)result;
}

/* The primes below 2^32 in turns, and the redundant modulus at the end. */
static void choose_moduli(rns_key *key, BN_CTX *ctx)
{
    BIGNUM *x = number();
    uint32_t candidate = 0xffffffff;

    for (uint32_t found = 0; found < 2 * RNS_LANES; candidate -= 2) {
        rns_base *base = found % 2 == 0 ? &key->a : &key->b;

        want(BN_set_word(x, candidate));
        if (BN_check_prime(x, ctx, NULL) == 1)
            base->m[found++ / 2] = candidate;
    }
    if (key->size < RNS_LANES)
        key->b.m[RNS_LANES - 1] = key->a.m[RNS_LANES - 1];
    BN_free(x);
}

static void product_of(BIGNUM *x, const rns_base *base, uint32_t size)
{
    want(BN_one(x));
    for (uint32_t i = 0; i < size; i++)
        want(BN_mul_word(x, base->m[i]));
}

/* The base's constants for itself and for the other one. */
static void fill_base(rns_base *base, const rns_base *other, uint32_t size)
{
    BIGNUM *product = number(), *hat = number();

    product_of(product, base, size);
    for (uint32_t i = 0; i < RNS_LANES; i++) {
        base->product[i] = residue(product, other->m[i]);
        base->product_inverse[i] = inverse(base->product[i], other->m[i]);
    }
    for (uint32_t k = 0; k < size; k++) {
        want(BN_copy(hat, product) != NULL);
        want(BN_div_word(hat, base->m[k]) == 0);
        base->hat_inverse[k] = inverse(residue(hat, base->m[k]), base->m[k]);
        for (uint32_t i = 0; i < RNS_LANES; i++) {
            base->hat[k][i] = residue(hat, other->m[i]);
            base->inverse[k][i] = inverse(base->m[k] % base->m[i], base->m[i]);
        }
    }
    BN_free(product);
    BN_free(hat);
}

/* The bases of a size. They depend on nothing else, so each is made once. */
static const rns_key *bases_of(uint32_t size, BN_CTX *ctx)
{
    static rns_key made[2];
    rns_key *key = &made[size == RNS_LANES];

    if (key->size == 0) {
        key->size = size;
        choose_moduli(key, ctx);
        fill_base(&key->a, &key->b, size);
        fill_base(&key->b, &key->a, size);
    }
    return key;
}

void rns_key_new(rns_key *key, const papers_modexp *m, const rns_pair *pair)
{
    if (m->bits > pair->bits)
        papers_fail("a modulus is too long for the bases");
    *key = *bases_of(pair->second == RNS_SHENOY ? RNS_LANES - 1 : RNS_LANES,
                     m->ctx);
    key->exponent_bits = (uint32_t)m->exponent_bits;
    for (uint32_t i = 0; i < RNS_LANES; i++) {
        const uint32_t a = key->a.m[i];

        key->minus_m_inverse_a[i] = a - inverse(residue(m->n, a), a);
        key->m_b[i] = residue(m->n, key->b.m[i]);
        key->exponent[i] = m->exponent[i];
    }
}

void rns_enter(uint32_t *to, const uint32_t *x, const papers_modexp *m,
               const rns_key *key)
{
    BIGNUM *y = number(), *product = number();

    product_of(product, &key->a, key->size);
    papers_number(y, x, m->words);
    want(BN_mod_mul(y, y, product, m->n, m->ctx));
    for (uint32_t i = 0; i < RNS_LANES; i++) {
        to[i] = residue(y, key->a.m[i]);
        to[RNS_LANES + i] = residue(y, key->b.m[i]);
    }
    BN_free(y);
    BN_free(product);
}

void rns_leave(uint32_t *to, const uint32_t *residues, const papers_modexp *m,
               const rns_key *key)
{
    BIGNUM *x = number(), *hat = number(), *product = number();

    product_of(product, &key->a, key->size);
    BN_zero(x);
    for (uint32_t i = 0; i < key->size; i++) {
        const uint32_t prime = key->a.m[i];

        want(BN_copy(hat, product) != NULL && BN_div_word(hat, prime) == 0);
        want(BN_mul_word(hat, (uint64_t)residues[i] * key->a.hat_inverse[i] %
                                  prime));
        want(BN_add(x, x, hat));
    }
    want(BN_mod(x, x, product, m->ctx) &&
         BN_mod_inverse(hat, product, m->n, m->ctx) != NULL &&
         BN_mod_mul(x, x, hat, m->n, m->ctx));
    papers_words(to, m->words, x);
    BN_free(x);
    BN_free(hat);
    BN_free(product);
}
