/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Checks eight results at once, s^e mod n = m, modulo n itself. n is a number
 * of WARPRSA_LIMBS samples here, so this is for keys whose primes have half as
 * many. Included once for each of these sizes.
 *
 * Bounds. s and m have no more bytes than n, so both are below R. x = s R is
 * below 3n, its power below 2.7n, and the product of that with s, which takes R
 * off, below 5n: reduce() takes numbers below 8n.
 *
 * A result may be a text that was decrypted: nothing here branches on, or
 * addresses memory by, anything but lengths and public exponents.
 */
#ifndef WARPRSA_GPU_IFMA_CHECK_H
#define WARPRSA_GPU_IFMA_CHECK_H

#include <string.h>

#include "gpu/ifma/number.h"
#include "gpu/ifma/public_key.h"

/* Everything that a check computes. SECRET. */
typedef struct checking {
    warprsa_vector_modulus n;
    warprsa_vector e;
    warprsa_vector r2[LIMBS]; /* R^2 mod n */
    warprsa_vector m[LIMBS], s[LIMBS], x[LIMBS];
    warprsa_vector below; /* all ones in the lanes where s < n */
    warprsa_vector one[LIMBS], power[LIMBS], part[LIMBS];
    warprsa_vector columns[FULL];
    number_conversion conversion;
} checking;

static void load_result(checking *c, int lane, const warprsa_ifma_result *from)
{
    const warprsa_ifma_public_key *key = from->key;

    load_samples(c->n.p, lane, key->numbers);
    load_samples(c->n.inv_2_52, lane, key->numbers + LIMBS);
    load_samples(c->r2, lane, key->numbers + 2 * LIMBS);
    c->n.n0inv[lane] = warprsa_integer(key->n0inv);
    c->e[lane] = key->e;
    load_bytes(c->m, lane, LIMBS,
               from->power != NULL ? from->output : from->input,
               key->modulus_bytes, &c->conversion);
    load_bytes(c->s, lane, LIMBS, from->output, key->modulus_bytes,
               &c->conversion);
}

/* power = s^e mod n. */
static void raise_to_e(checking *c)
{
    const int top = 63 - __builtin_clzll(any_bits(&c->e));
    bool as_long = true; /* each exponent is as long as the others */

    mont_mul(c->x, c->s, c->r2, &c->n, c->columns);
    for (int lane = 0; lane < WARPRSA_LANES; lane++)
        as_long &= c->e[lane] >> top & 1;
    memset(c->one, 0, sizeof(c->one));
    if (!as_long) {
        c->one[0] = warprsa_broadcast_lane(1);
        mont_mul(c->one, c->one, c->r2, &c->n, c->columns);
    }
    public_modexp(c->power, c->x, c->one, &c->e, &c->n, c->columns, c->part);
    mont_mul(c->power, c->power, c->s, &c->n, c->columns);
    reduce(c->power, c->n.p, c->part);
}

/* Writes a lane of a number below n, whose samples are below 2^52. */
static void save_bytes(uint8_t *to, size_t length, const warprsa_vector *from,
                       int lane, number_conversion *c)
{
    memset(c->words, 0, sizeof(c->words));
    for (int i = 0; i < LIMBS; i++) {
        const int bit = i * WARPRSA_SAMPLE_BITS, shift = bit % 64;
        const uint64_t sample = from[i][lane];

        c->words[bit / 64] |= sample << shift;
        if (shift > 64 - WARPRSA_SAMPLE_BITS)
            c->words[bit / 64 + 1] |= sample >> (64 - shift);
    }
    for (int i = 0; i < NUMBER_WORDS; i++) {
        c->words[i] = __builtin_bswap64(c->words[i]);
        memcpy(c->bytes + NUMBER_BYTES - 8 * (i + 1), &c->words[i], 8);
    }
    memcpy(to, c->bytes + NUMBER_BYTES - length, length);
}

/* All ones in the lanes where a result is right. */
static warprsa_vector right_lanes(checking *c)
{
    warprsa_vector bits = {0};

    for (int i = 0; i < LIMBS; i++)
        c->part[i] = c->s[i] - c->n.p[i];
    c->below = warprsa_negative(normalise(c->part, c->part, LIMBS));
    raise_to_e(c);
    for (int i = 0; i < LIMBS; i++)
        bits |= c->power[i] ^ c->m[i];
    return c->below & warprsa_equal(bits, (warprsa_vector){0});
}

/* Fewer than eight results: the first one fills the lanes left. */
void NAME(check, WARPRSA_LIMBS)(warprsa_ifma_result *results, size_t count)
{
    warprsa_vector right;
    checking c; /* every lane is loaded */

    for (size_t lane = 0; lane < WARPRSA_LANES; lane++)
        load_result(&c, (int)lane, &results[lane < count ? lane : 0]);
    right = right_lanes(&c);
    for (size_t lane = 0; lane < count; lane++) {
        warprsa_ifma_result *to = &results[lane];

        to->is_right = (to->power != NULL ? c.below : right)[lane] & 1;
        if (to->power != NULL)
            save_bytes(to->power, to->key->modulus_bytes, c.power, (int)lane,
                       &c.conversion);
    }
    explicit_bzero(&c, sizeof(c));
}

#endif
