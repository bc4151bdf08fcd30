/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Eight RSA private operations at once, s = m^d mod n: the stages, bounds and
 * references of gpu/arith/private_operation.h, one lane of a vector for each
 * request. Included once for each size class, with WARPRSA_LIMBS, the samples
 * of a prime.
 *
 * Blinding is taken off without an inverse. With u = m r^(e-1) and x = u r
 *
 *   x^(d-1) u = m^d r^(e (d - 1) + e - 1) = m^d r^(e d - 1) = m^d
 *
 * modulo a prime p that r is no multiple of, since p - 1 divides e d - 1. For
 * numbers that are no key this is wrong, and the check finds it.
 *
 * Nothing here branches on, or addresses memory by, anything but sizes, the
 * lengths of keys and the public exponents. `which` is 0 for p and 1 for q.
 */
#ifndef WARPRSA_GPU_IFMA_IFMA_OPERATION_H
#define WARPRSA_GPU_IFMA_IFMA_OPERATION_H

#include <stddef.h>
#include <string.h>

#include "gpu/ifma/limbs.h"
#include "gpu/ifma/number.h"

/* Everything that an operation computes. SECRET. */
typedef struct workspace {
    warprsa_vector_modulus modulus[2];
    warprsa_vector columns[FULL];
    warprsa_vector x[2][LIMBS], one[2][LIMBS];
    warprsa_vector reduced[2][LIMBS], unblinding[2][LIMBS];
    warprsa_vector constant[LIMBS], part[LIMBS], power[LIMBS], r[LIMBS];
    warprsa_vector input[FULL], result[FULL];
    warprsa_vector entry[ENTRY];
    warprsa_vector table[ENTRY][WARPRSA_ENTRIES];
    warprsa_vector exponent[2][WARPRSA_BLINDED_WORDS];
    number_conversion conversion;
} workspace;

/* What blinds batches of one key, from one to the next, as libcrypto does it:
 * (r^2)^(e-1) is the square of r^(e-1). SECRET. */
struct blinding {
    warprsa_vector r[2][LIMBS], power[2][LIMBS]; /* r, and r^(e-1) */
    unsigned uses;                               /* that are left */
};

enum {
    BLINDING_USES = 32
}; /* of one random r and its squares */

typedef struct operation {
    workspace *w;
    const warprsa_host_request *request[WARPRSA_LANES];
    const warprsa_prepared_key *key[WARPRSA_LANES];
    warprsa_vector e;
    int windows;
    struct blinding *kept; /* NULL: blinding is for this batch alone */
} operation;

/* Loads a number of each request's key, which begins `offset` bytes into it. */
static void load(warprsa_vector *to, const operation *op, size_t offset)
{
    for (int lane = 0; lane < WARPRSA_LANES; lane++)
        load_samples(to, lane,
                     (const double *)((const char *)op->key[lane] + offset));
}

#define LOAD(to, op, member)                                                   \
    load(to, op, offsetof(warprsa_prepared_key, member))
#define LOAD_HALF(to, op, member, which)                                       \
    load(to, op,                                                               \
         offsetof(warprsa_prepared_key, half[0].member) +                      \
             (size_t)(which) * sizeof(warprsa_prepared_half))

static void load_modulus(const operation *op, int which)
{
    warprsa_vector_modulus *m = &op->w->modulus[which];

    LOAD_HALF(m->p, op, modulus, which);
    LOAD_HALF(m->inv_2_52, op, inv_2_52, which);
    for (int lane = 0; lane < WARPRSA_LANES; lane++)
        m->n0inv[lane] = warprsa_integer(op->key[lane]->half[which].n0inv);
}

/* The input of each request, as samples. */
static void load_input(const operation *op)
{
    for (int lane = 0; lane < WARPRSA_LANES; lane++)
        load_bytes(op->w->input, lane, FULL, op->request[lane]->input,
                   op->key[lane]->modulus_bytes, &op->w->conversion);
}

/* Sample `index` of the blinding factor r: 260 random bits, or one less than
 * the prime has if that is fewer; odd, hence not zero. */
static uint64_t blinding_sample(const uint64_t *random, uint32_t prime_bits,
                                int index)
{
    const int left = (int)prime_bits - 1 - index * WARPRSA_SAMPLE_BITS;
    const uint64_t mask = left >= WARPRSA_SAMPLE_BITS ? WARPRSA_SAMPLE_MASK
                          : left > 0                  ? (1ull << left) - 1
                                                      : 0;

    if (index >= WARPRSA_BLINDING_SAMPLES)
        return 0;
    return (random[index] & mask) | (index == 0);
}

/* r of each request, for half `which`. */
static void load_blinding(const operation *op, int which)
{
    for (int lane = 0; lane < WARPRSA_LANES; lane++)
        for (int i = 0; i < LIMBS; i++)
            op->w->r[i][lane] = blinding_sample(
                op->request[lane]->random, op->key[lane]->half[which].bits, i);
}

/* The exponent of a request and k (prime - 1) with random k, less one: the
 * exponent is odd, since prime - 1 is even and divides e dp - 1. A running sum
 * is at most (2^32 - 1)^2 + 2 (2^32 - 1) = 2^64 - 1. */
static void blind_exponent(const operation *op, int which, int lane)
{
    const warprsa_prepared_half *half = &op->key[lane]->half[which];
    const int words = (WARPRSA_SAMPLE_BITS * LIMBS + 31) / 32;
    warprsa_vector *blinded = op->w->exponent[which];
    const uint64_t k =
        (uint32_t)(op->request[lane]->random[WARPRSA_BLINDING_SAMPLES] >>
                   (WARPRSA_EXPONENT_BLINDING_BITS * which));
    uint64_t sum = 0;

    for (int i = 0; i < words; i++) {
        WARPRSA_BOUND("The private operation: Blinded exponents",
                      (unsigned __int128)k * half->p_minus_1[i] +
                              half->exponent[i] + sum <=
                          UINT64_MAX);
        sum += k * half->p_minus_1[i] + half->exponent[i];
        blinded[i][lane] = (uint32_t)sum;
        sum >>= 32;
    }
    blinded[words][lane] = (uint32_t)sum;
    blinded[0][lane] &= ~1ull;
}

/* x = y mod P in Montgomery form, below 3P, for y of FULL samples, all cut off:
 * a reduction leaves y / R, and y / R times R^3 / R is y R. A modulus has 104
 * LIMBS - 10 bits at most, and y no more bytes than it. */
static void split(warprsa_vector *x, const warprsa_vector *y,
                  const operation *op, int which)
{
    workspace *w = op->w;
    const warprsa_vector_modulus *m = &w->modulus[which];

    memcpy(w->columns, y, sizeof(w->columns));
    mont_reduce(x, w->columns, m);
    LOAD_HALF(w->constant, op, r3, which);
    mont_mul(x, x, w->constant, m, w->columns);
    WARPRSA_BOUND("Eight numbers at once: Bounds",
                  warprsa_vectors_are_below(x, NULL, 3, m->p, LIMBS));
}

/* w->r = r and w->power = r^(e-1): random numbers, or the squares of what the
 * last batch of the key had. r stands for r R without a product: r / R is as
 * random as r is. */
static void choose_blinding(const operation *op, int which)
{
    workspace *w = op->w;
    const warprsa_vector_modulus *m = &w->modulus[which];
    struct blinding *kept = op->kept;

    if (kept != NULL && kept->uses > 0) {
        mont_sqr(w->r, kept->r[which], m, w->columns);
        mont_sqr(w->power, kept->power[which], m, w->columns);
    } else {
        load_blinding(op, which);
        public_modexp(w->power, w->r, w->one[which], &op->e, m, w->columns,
                      w->part);
    }
    if (kept != NULL) {
        memcpy(kept->r[which], w->r, sizeof(w->r));
        memcpy(kept->power[which], w->power, sizeof(w->power));
    }
}

/* First stage, with m' = m R mod P kept for the check: the factor u = m'
 * r^(e-1) that will take the blinding off, x = u r, and one = R mod P. */
static void blind(const operation *op, int which)
{
    workspace *w = op->w;
    const warprsa_vector_modulus *m = &w->modulus[which];
    warprsa_vector *one = w->one[which], *unblinding = w->unblinding[which];

    load_modulus(op, which);
    for (int lane = 0; lane < WARPRSA_LANES; lane++)
        blind_exponent(op, which, lane);
    LOAD_HALF(w->constant, op, r2, which);
    memset(one, 0, sizeof(w->one[which]));
    one[0] = warprsa_broadcast_lane(1);
    mont_mul(one, one, w->constant, m, w->columns);
    choose_blinding(op, which);
    split(w->reduced[which], w->input, op, which);
    mont_mul(unblinding, w->reduced[which], w->power, m, w->columns);
    mont_mul(w->x[which], unblinding, w->r, m, w->columns);
}

/* Digit `index` of each request's exponent. */
static warprsa_vector secret_digit(const operation *op, int which, int index)
{
    const int bit = index * WARPRSA_WINDOW;

    return op->w->exponent[which][bit / 32] >> (bit % 32) &
           (WARPRSA_ENTRIES - 1);
}

/* t = x0 b0 + x1 b1 for x = x0 + 2^(52 HALF) x1 and an entry of the table of
 * short numbers, which is b0 and then b1. */
NOINLINE void product_by_entry(warprsa_vector *t, const warprsa_vector *x,
                               const warprsa_vector *entry)
{
    warprsa_product_by_entry(t, x, entry, HALF);
}

/* r = t / 2^(52 HALF) mod P, plus at most two P, for t of LIMBS + HALF. */
NOINLINE void reduce_half(warprsa_vector *r, const warprsa_vector *t,
                          const warprsa_vector_modulus *m)
{
    WARPRSA_VERIFY_ONLY(const warprsa_values product = warprsa_vector_values(
                            t, LIMBS + HALF, UINT64_MAX, 52 * HALF));
    WARPRSA_BOUND("Eight numbers at once: Columns",
                  warprsa_vectors_hold(t, LIMBS + HALF, 1ull << 61, 0));
    warprsa_reduce_in_registers(r, t, m, HALF, LIMBS, NULL, 0);
    WARPRSA_BOUND("Eight numbers at once: Products with an entry of the table",
                  warprsa_vectors_are_below(r, &product, 2, m->p, LIMBS));
}

/* mont_reduce() of short numbers that reads HALF samples of entry `digit` of
 * each lane. */
NOINLINE void reduce_reading(warprsa_vector *r, const warprsa_vector *t,
                             const warprsa_vector_modulus *m,
                             warprsa_vector *to,
                             const warprsa_vector (*from)[WARPRSA_ENTRIES],
                             const warprsa_vector *digit)
{
    warprsa_reading reading = {
        .to = to, .from = from, .samples = HALF, .held = WARPRSA_PAIRS_HELD};

    warprsa_look_up(&reading, *digit);
    warprsa_begin_reading(&reading);
    warprsa_reduce_in_registers(r, t, m, LIMBS, LIMBS, &reading, HALF);
}

/* Loads entry `digit` of each lane by reading all of them and keeping one. */
NOINLINE void table_scan(warprsa_vector *to,
                         const warprsa_vector (*table)[WARPRSA_ENTRIES],
                         const warprsa_vector *digit)
{
    warprsa_reading reading = {.samples = 2,
                               .held = WARPRSA_PAIRS_HELD_IN_LOOP};

    warprsa_look_up(&reading, *digit);
    for (int i = 0; i < ENTRY; i += 2) {
        reading.to = to + i;
        reading.from = table + i;
        warprsa_begin_reading(&reading);
        WARPRSA_UNROLLED
        for (int step = 0; step < 2 * WARPRSA_PAIRS; step++)
            warprsa_read(&reading, step);
    }
}

/* x = x y, for an entry y of the table. */
static void multiply_by_entry(warprsa_vector *x, const warprsa_vector *entry,
                              const warprsa_vector_modulus *m,
                              warprsa_vector *columns)
{
    if (TILES == 1) {
        product_by_entry(columns, x, entry);
        reduce_half(x, columns, m);
    } else {
        mont_mul(x, x, entry, m, columns);
    }
    WARPRSA_BOUND("Eight numbers at once: Products with an entry of the table",
                  warprsa_vectors_are_below(x, NULL, TILES == 1 ? 4.5L : 2.7L,
                                            m->p, LIMBS));
}

/* x = x^(2^WARPRSA_WINDOW), and w->entry = entry `digit` of each lane. If
 * numbers are short, each reduction reads a part of the entry. The tiles of
 * long numbers leave no registers for that. */
static void square_and_read(workspace *w, int which,
                            const warprsa_vector *digit)
{
    const warprsa_vector_modulus *m = &w->modulus[which];
    const warprsa_vector(*table)[WARPRSA_ENTRIES] = w->table;
    warprsa_vector *x = w->x[which];

    if (TILES > 1)
        table_scan(w->entry, table, digit);
    for (int i = 0; i < WARPRSA_WINDOW; i++) {
        square(w->columns, x);
        if (TILES == 1)
            reduce_reading(x, w->columns, m, w->entry + i * HALF,
                           table + i * HALF, digit);
        else
            mont_reduce(x, w->columns, m);
        WARPRSA_BOUND("Eight numbers at once: Bounds",
                      warprsa_vectors_are_below(x, NULL, i == 0 ? 2.7L : 2.3L,
                                                m->p, LIMBS));
    }
}

/* Entry `index` of the table is y. For short numbers it is b0 = y / 2^(52 HALF)
 * and b1 = y, both modulo P: so x0 b0 + x1 b1 is x y / 2^(52 HALF), and half of
 * a reduction ends it. w->entry is what table_scan() would read. */
static void put_entry(workspace *w, const warprsa_vector_modulus *m, int index,
                      const warprsa_vector *y)
{
    memcpy(w->entry + ENTRY - LIMBS, y, LIMBS * sizeof(*y));
    if (TILES == 1) {
        as_columns(w->columns, y, LIMBS + HALF);
        reduce_half(w->entry, w->columns, m);
    }
    for (int i = 0; i < ENTRY; i++)
        w->table[i][index] = w->entry[i];
}

/* The powers of x up to the largest digit. */
static void fill_table(const operation *op, int which)
{
    const size_t plain = ENTRY - LIMBS;
    workspace *w = op->w;
    const warprsa_vector_modulus *m = &w->modulus[which];
    warprsa_vector *y = w->part;

    put_entry(w, m, 0, w->one[which]);
    put_entry(w, m, 1, w->x[which]);
    for (int i = 2; i < WARPRSA_ENTRIES; i++) {
        const int from = i % 2 == 0 ? i / 2 : 1;

        for (int j = 0; j < ENTRY; j++)
            w->entry[j] = w->table[j][from];
        if (i % 2 == 0)
            mont_sqr(y, w->entry + plain, m, w->columns);
        else
            multiply_by_entry(y, w->entry, m, w->columns);
        put_entry(w, m, i, y);
    }
}

/* Second stage: x = x^(dp-1) mod p, or x^(dq-1) mod q. Fixed windows over all
 * bits that a blinded exponent may have. */
static void secret_modexp(const operation *op, int which)
{
    workspace *w = op->w;
    const warprsa_vector_modulus *m = &w->modulus[which];
    warprsa_vector *x = w->x[which];
    warprsa_vector digit = secret_digit(op, which, op->windows - 1);

    fill_table(op, which);
    table_scan(w->entry, (const warprsa_vector(*)[WARPRSA_ENTRIES])w->table,
               &digit);
    memcpy(x, w->entry + ENTRY - LIMBS, sizeof(w->x[which]));
    for (int index = op->windows - 2; index >= 0; index--) {
        digit = secret_digit(op, which, index);
        square_and_read(w, which, &digit);
        multiply_by_entry(x, w->entry, m, w->columns);
    }
}

/* x = x u, exactly reduced and out of Montgomery form. */
static void unblind(const operation *op, int which)
{
    workspace *w = op->w;
    const warprsa_vector_modulus *m = &w->modulus[which];
    warprsa_vector *x = w->x[which];

    mont_mul(x, x, w->unblinding[which], m, w->columns);
    as_columns(w->columns, x, FULL);
    mont_reduce(x, w->columns, m);
    reduce(x, m->p, w->part);
}

#ifdef WARPRSA_VERIFIES
/* Whether s < p q, as nearly as long doubles tell. */
static int is_below_n(const warprsa_vector *s, const warprsa_vector_modulus *m)
{
    const warprsa_values of_s =
        warprsa_vector_values(s, FULL, UINT64_MAX, 52 * LIMBS);
    const warprsa_values p =
        warprsa_vector_values(m[0].p, LIMBS, UINT64_MAX, 52 * LIMBS);
    const warprsa_values q =
        warprsa_vector_values(m[1].p, LIMBS, UINT64_MAX, 0);

    for (int lane = 0; lane < WARPRSA_LANES; lane++)
        if (!(of_s.of[lane] <= p.of[lane] * q.of[lane] * (1 + 0x1p-40L)))
            return 0;
    return 1;
}
#endif

/* Garner's recombination: s = s_q + q h with h = (s_p - s_q) / q mod p. q h +
 * s_q <= q (p - 1) + q - 1 < n: the plain product is the result. */
static void recombine(const operation *op)
{
    workspace *w = op->w;
    const warprsa_vector_modulus *p = &w->modulus[0];
    warprsa_vector *h = w->part, negative;

    LOAD(w->constant, op, qinv_r);
    mont_mul(h, w->x[0], w->constant, p, w->columns);
    mont_mul(w->power, w->x[1], w->constant, p, w->columns);
    cut(h);
    cut(w->power);
    for (int i = 0; i < LIMBS; i++)
        h[i] -= w->power[i];
    negative = warprsa_negative(normalise(h, h, LIMBS));
    for (int i = 0; i < LIMBS; i++)
        h[i] += 3 * p->p[i] & negative;
    normalise(h, h, LIMBS);
    reduce(h, p->p, w->power);
    product(w->columns, h, w->modulus[1].p);
    for (int i = 0; i < LIMBS; i++)
        w->columns[i] += w->x[1][i];
    WARPRSA_BOUND("Eight numbers at once: Columns",
                  warprsa_vectors_hold(w->columns, FULL, 1ull << 61, 0));
    normalise(w->result, w->columns, FULL);
    WARPRSA_BOUND("The private operation: Garner modulo n",
                  is_below_n(w->result, w->modulus));
}

/* All ones in the lanes where s^e is not the input modulo this prime; the
 * result that will be released is s. */
static warprsa_vector differs(const operation *op, int which)
{
    workspace *w = op->w;
    const warprsa_vector_modulus *m = &w->modulus[which];
    warprsa_vector *s = w->r, *input = w->reduced[which];
    warprsa_vector bits = {0};

    split(s, w->result, op, which);
    public_modexp(w->power, s, w->one[which], &op->e, m, w->columns, w->part);
    mont_mul(w->power, w->power, s, m, w->columns);
    reduce(w->power, m->p, w->part);
    reduce(input, m->p, w->part);
    for (int i = 0; i < LIMBS; i++)
        bits |= w->power[i] ^ input[i];
    return ~warprsa_equal(bits, (warprsa_vector){0});
}

/* The result of a request, as bytes. A word has bits of three samples at most,
 * and samples are below 2^52. */
static void put_output(workspace *w, warprsa_host_request *request, int lane,
                       size_t length)
{
    uint8_t *bytes = w->conversion.bytes;

    for (int i = 0; i < NUMBER_WORDS; i++) {
        const int first = 64 * i / WARPRSA_SAMPLE_BITS;
        int at = first * WARPRSA_SAMPLE_BITS - 64 * i;
        uint64_t word = 0;

        for (int j = first; j < FULL && at < 64; j++) {
            const uint64_t sample = w->result[j][lane];

            word |= at < 0 ? sample >> -at : sample << at;
            at += WARPRSA_SAMPLE_BITS;
        }
        word = __builtin_bswap64(word);
        memcpy(bytes + NUMBER_BYTES - 8 * (i + 1), &word, 8);
    }
    memcpy(request->output, bytes + NUMBER_BYTES - length, length);
}

static void compute(operation *op, warprsa_host_request *requests, size_t count)
{
    warprsa_vector wrong;

    load_input(op);
    for (int which = 0; which < 2; which++)
        blind(op, which);
    for (int which = 0; which < 2; which++) {
        secret_modexp(op, which);
        unblind(op, which);
    }
    recombine(op);
    wrong = differs(op, 0) | differs(op, 1);
    for (size_t lane = 0; lane < count; lane++) {
        requests[lane].status =
            (warprsa_status)(wrong[lane] & WARPRSA_CHECK_FAILED);
        put_output(op->w, &requests[lane], (int)lane,
                   op->key[lane]->modulus_bytes);
    }
}

const size_t NAME(workspace_bytes, WARPRSA_LIMBS) = sizeof(workspace);
const size_t NAME(blinding_bytes, WARPRSA_LIMBS) = sizeof(struct blinding);

/* Fewer than eight requests: the first one fills the lanes left. */
void NAME(operate, WARPRSA_LIMBS)(void *workspace_memory,
                                  warprsa_host_request *requests, size_t count,
                                  void *kept)
{
    operation op = {.w = workspace_memory, .kept = kept};

    for (size_t lane = 0; lane < WARPRSA_LANES; lane++) {
        const warprsa_host_request *request =
            &requests[lane < count ? lane : 0];

        op.request[lane] = request;
        op.key[lane] = request->key;
        op.e[lane] = op.key[lane]->e;
        if (op.windows < (int)op.key[lane]->windows)
            op.windows = (int)op.key[lane]->windows;
    }
    compute(&op, requests, count);
    if (op.kept != NULL)
        op.kept->uses = (op.kept->uses > 0 ? op.kept->uses : BLINDING_USES) - 1;
}

#endif
