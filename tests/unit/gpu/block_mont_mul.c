/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tests block arithmetic (gpu/arith/block_mont_mul.h) and the modexp over it
 * (gpu/arith/block_modexp.h) against libcrypto's numbers: the
 * bounds that the header states, with the largest samples of either sign that
 * they allow, on the moduli of gpu_numbers.h.
 */
#include "gpu/arith/block_modexp.h"
#include "tests/unit/support/gpu_numbers.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support/module_context.h"

enum {
    MODULI = 60, /* of each class */
    PRODUCTS = 6,
    CHAIN = 300,
    MODEXPS = 6,
    SAMPLES_MAX = 16 * WARPRSA_LIMBS_PER_THREAD_MAX,
};

/* One half's numbers. */
typedef struct operands {
    BIGNUM *p, *a, *b, *x, *y;
} operands;

static BN_CTX *bn;
static operands numbers[NUMBER_SUBGROUPS];
static BIGNUM *r, *next; /* r: R */
static double
    exchange[WARPRSA_EXCHANGE_DOUBLES(16, WARPRSA_LIMBS_PER_THREAD_MAX)];
static double table[WARPRSA_TABLE_DOUBLES * WARPRSA_LANES_EMULATED];
static unsigned carried; /* samples that a carry took beyond [-2^51, 2^51) */

static int set_up(void **state)
{
    (void)state;
    bn = BN_CTX_new();
    BN_CTX_start(bn);
    for (int i = 0; i < NUMBER_SUBGROUPS; i++)
        number_make(bn, &numbers[i].p, &numbers[i].a, &numbers[i].b,
                    &numbers[i].x, &numbers[i].y, NULL);
    number_make(bn, &next, &r, NULL);
    return fesetround(FE_TOWARDZERO) != 0;
}

static int tear_down(void **state)
{
    (void)state;
    BN_CTX_end(bn);
    BN_CTX_free(bn);
    return 0;
}

/* P, D and I of one half. */
static void constants_of(const operands *o, const number_view *view, int half,
                         warprsa_number *p, warprsa_number *inv_2_52,
                         warprsa_number *n0inv)
{
    const int bits = WARPRSA_SAMPLE_BITS * WARPRSA_BLOCK_OF(view->limbs);
    warprsa_sample_t samples[NUMBER_SAMPLES];

    number_to_samples(samples, o->p, number_samples(view));
    number_put(p, view, half, samples);
    number_power_of_two(o->x, bits);
    assert_non_null(BN_mod_inverse(o->y, o->p, o->x, bn));
    assert_true(BN_sub(o->y, o->x, o->y));
    number_to_samples(samples, o->y, number_samples(view));
    number_put(n0inv, view, half, samples);
    assert_non_null(BN_mod_inverse(o->y, o->x, o->p, bn));
    number_to_samples(samples, o->y, number_samples(view));
    number_put(inv_2_52, view, half, samples);
}

/* Loads both halves' moduli, numbers[].p, and stores their constants in the
 * exchange buffer. */
static void use_moduli(const number_view *view, warprsa_modulus *m)
{
    warprsa_number inv_2_52, n0inv;

    for (int i = 0; i < NUMBER_SUBGROUPS; i++)
        constants_of(&numbers[i], view, i, &m->p, &inv_2_52, &n0inv);
    number_power_of_two(r, WARPRSA_SAMPLE_BITS * view->limbs);
    memset(exchange, 0xff,
           sizeof(exchange)); /* uninitialized memory may hold NaNs */
    m->exchange = exchange;
    warprsa_block_put_modulus(&m->p, &inv_2_52, &n0inv, m,
                              view->threads_per_number, view->limbs_per_thread,
                              view->threads_per_request);
}

/* Reads a result into o->x. Returns 0 if a sample is not within 2^51 + 2^7, or
 * is not 0 above `limbs`. */
static int read_result(operands *o, const warprsa_number *x,
                       const number_view *view, int half)
{
    double samples[SAMPLES_MAX];

    number_get(samples, x, view, half);
    for (int i = 0; i < number_samples(view); i++) {
        if (samples[i] < -0x1p51 - 128 || samples[i] > 0x1p51 + 128 ||
            (i >= view->limbs && samples[i] != 0))
            return 0;
        carried += samples[i] < -0x1p51 || samples[i] >= 0x1p51;
    }
    number_from_signed(o->x, samples, view->limbs);
    return 1;
}

/* Whether x R = a b mod P and |a b - x R| is at most 1.01 P R. */
static int right(operands *o)
{
    assert_true(BN_mul(o->y, o->a, o->b, bn));
    assert_true(BN_mul(o->x, o->x, r, bn));
    assert_true(BN_sub(o->x, o->y, o->x));
    assert_true(BN_mod(o->y, o->x, o->p, bn));
    if (!BN_is_zero(o->y))
        return 0;
    BN_set_negative(o->x, 0);
    assert_true(BN_mul_word(o->x, 100));
    assert_true(BN_mul(o->y, o->p, r, bn));
    assert_true(BN_mul_word(o->y, 101));
    return BN_cmp(o->x, o->y) <= 0;
}

/* Samples in [0, 2^52], of a number below `limit`. */
static void unsigned_operand(BIGNUM *value, warprsa_number *x,
                             const BIGNUM *limit, const number_view *view,
                             int half, random_stream *stream)
{
    warprsa_sample_t samples[NUMBER_SAMPLES] = {0};

    number_below(value, samples, view->limbs, limit, stream);
    number_put(x, view, half, samples);
}

/* Samples as large as a product leaves them, of either sign; the top one such
 * that the number is within 2P. */
static void signed_operand(BIGNUM *value, warprsa_number *x, const BIGNUM *p,
                           const number_view *view, int half,
                           random_stream *stream)
{
    const double far[] = {
        0x1p51 + 128, -0x1p51 - 128, 0x1p51 - 1, -0x1p51, 0, 1, -1};
    const unsigned kind = random_below(stream, 4);
    double samples[SAMPLES_MAX] = {0};
    int top = (BN_num_bits(p) - 2) / WARPRSA_SAMPLE_BITS;

    for (int i = 0; i < top; i++)
        samples[i] = far[kind < 2 ? kind : random_below(stream, 7)];
    samples[top] =
        (double)((1ull << ((BN_num_bits(p) - 2) % WARPRSA_SAMPLE_BITS)) - 1);
    if (samples[top] > 0x1p51)
        samples[top] = 0x1p51;
    if (random_below(stream, 2))
        samples[top] = -samples[top];
    number_from_signed(value, samples, view->limbs);
    number_put(x, view, half, samples);
}

/* Chooses operands within one of the bounds that the header states. */
static void choose(int half, warprsa_number *a, warprsa_number *b,
                   const number_view *view, random_stream *stream)
{
    operands *o = &numbers[half];

    switch (random_below(stream, 3)) {
    case 0:
        unsigned_operand(o->a, a, r, view, half, stream);
        unsigned_operand(o->b, b, o->p, view, half, stream);
        break;
    case 1:
        signed_operand(o->a, a, o->p, view, half, stream);
        unsigned_operand(o->b, b, o->p, view, half, stream);
        break;
    default:
        signed_operand(o->a, a, o->p, view, half, stream);
        signed_operand(o->b, b, o->p, view, half, stream);
    }
}

static void products(const number_view *view, uint64_t seed, unsigned *wrong)
{
    random_stream stream = {seed};
    warprsa_modulus m;

    for (int i = 0; i < NUMBER_SUBGROUPS; i++)
        number_modulus(numbers[i].p, &stream, number_modulus_bits(view));
    use_moduli(view, &m);
    for (int turn = 0; turn < PRODUCTS; turn++) {
        const unsigned output = random_below(&stream, 3);
        warprsa_number a, b, x, *to = output == 0 ? &x : output == 1 ? &a : &b;

        for (int i = 0; i < NUMBER_SUBGROUPS; i++)
            choose(i, &a, &b, view, &stream);
        warprsa_mont_mul(to, &a, &b, &m, view->limbs, view->threads_per_number,
                         view->limbs_per_thread, view->threads_per_request);
        for (int i = 0; i < NUMBER_SUBGROUPS; i++)
            if (!read_result(&numbers[i], to, view, i) || !right(&numbers[i]))
                number_wrong(wrong, "product", view, seed);
    }
}

TEST(products_are_right)
{
    /* The same number at every test scale: with fewer, no carry would take a
     * sample beyond its range, which a later test looks for. */
    number_cases_in_pairs(products, 2 * MODULI);
}

/* Multiplies samples as a product leaves them, without warprsa_make_signed() in
 * between: so does a modexp. */
static void samples_as_far_out(const number_view *view, uint64_t seed,
                               unsigned *wrong)
{
    random_stream stream = {seed};
    warprsa_modulus m;
    warprsa_number a, b, x;

    for (int i = 0; i < NUMBER_SUBGROUPS; i++)
        number_pattern(numbers[i].p, &stream,
                       (int)random_below(&stream, NUMBER_PATTERNS),
                       number_modulus_bits(view));
    use_moduli(view, &m);
    for (int i = 0; i < NUMBER_SUBGROUPS; i++) {
        signed_operand(numbers[i].a, &a, numbers[i].p, view, i, &stream);
        signed_operand(numbers[i].b, &b, numbers[i].p, view, i, &stream);
    }
    warprsa_block_put_a(&a, exchange, view->limbs, view->threads_per_number,
                        view->limbs_per_thread, view->threads_per_request);
    warprsa_block_put_b(&b, exchange, view->limbs, view->threads_per_number,
                        view->limbs_per_thread, view->threads_per_request);
    warprsa_block_mont_mul_noinline(exchange, WARPRSA_EXCHANGE_B_MULTIPLIER,
                                    view->limbs, view->threads_per_number,
                                    view->limbs_per_thread,
                                    view->threads_per_request);
    warprsa_block_get_a(&x, exchange, view->limbs, view->threads_per_number,
                        view->limbs_per_thread, view->threads_per_request);
    for (int i = 0; i < NUMBER_SUBGROUPS; i++)
        if (!read_result(&numbers[i], &x, view, i) || !right(&numbers[i]))
            number_wrong(wrong, "samples far out", view, seed);
}

/* Squares in a row, from P - 1. */
static void squares(const number_view *view, int pattern, unsigned *wrong)
{
    const uint64_t seed = number_seed() + (uint64_t)pattern;
    random_stream stream = {seed};
    warprsa_modulus m;
    warprsa_number x;

    for (int i = 0; i < NUMBER_SUBGROUPS; i++) {
        operands *o = &numbers[i];
        warprsa_sample_t samples[NUMBER_SAMPLES];

        number_pattern(o->p, &stream, (pattern + i) % NUMBER_PATTERNS,
                       number_modulus_bits(view));
        assert_true(BN_sub(o->a, o->p, BN_value_one()));
        number_to_samples(samples, o->a, number_samples(view));
        number_put(&x, view, i, samples);
    }
    use_moduli(view, &m);
    warprsa_make_signed(&x, &x, view->threads_per_number,
                        view->limbs_per_thread, view->threads_per_request);
    warprsa_block_put_a(&x, exchange, view->limbs, view->threads_per_number,
                        view->limbs_per_thread, view->threads_per_request);
    for (int turn = 0; turn < CHAIN; turn++) {
        warprsa_block_mont_mul_noinline(exchange, WARPRSA_EXCHANGE_A_MULTIPLIER,
                                        view->limbs, view->threads_per_number,
                                        view->limbs_per_thread,
                                        view->threads_per_request);
        warprsa_block_get_a(&x, exchange, view->limbs, view->threads_per_number,
                            view->limbs_per_thread, view->threads_per_request);
        for (int i = 0; i < NUMBER_SUBGROUPS; i++) {
            operands *o = &numbers[i];

            assert_non_null(BN_copy(o->b, o->a));
            if (!read_result(o, &x, view, i)) {
                number_wrong(wrong, "squares: samples", view, seed);
                return;
            }
            assert_non_null(BN_copy(next, o->x));
            if (!right(o)) {
                number_wrong(wrong, "squares", view, seed);
                return;
            }
            assert_non_null(BN_copy(o->a, next));
        }
    }
}

TEST(samples_far_out_and_squares)
{
    const unsigned count = module_context_scaled(4 * MODULI);
    unsigned wrong = 0;

    (void)state;
    for (int size = 0; size < NUMBER_SHAPES; size++) {
        number_view view = number_view_of(2 * size);

        for (unsigned i = 0; i < count; i++)
            samples_as_far_out(&view, number_seed() + i, &wrong);
        for (int pattern = 0; pattern < NUMBER_PATTERNS; pattern++)
            squares(&view, pattern, &wrong);
    }
    assert_int_equal(0, wrong);
    print_message("%u samples out of their range by a carry\n", carried);
    assert_true(carried > 0);
}

/* Stores a number of either sign. */
static void put_any(warprsa_number *to, const BIGNUM *value,
                    const number_view *view, int half)
{
    warprsa_sample_t samples[NUMBER_SAMPLES];

    number_to_samples(samples, value, number_samples(view));
    for (int i = 0; i < number_samples(view); i++)
        samples[i] = BN_is_negative(value) ? -samples[i] : samples[i];
    number_put(to, view, half, samples);
}

/* a mod P for -2P < a < 4P. */
TEST(reductions)
{
    random_stream stream = {number_seed()};

    (void)state;
    for (int size = 0; size < NUMBER_SHAPES; size++) {
        number_view view = number_view_of(2 * size);

        for (int turn = 0; turn < 20; turn++) {
            warprsa_sample_t samples[NUMBER_SAMPLES];
            warprsa_number x, p;

            for (int i = 0; i < NUMBER_SUBGROUPS; i++) {
                operands *o = &numbers[i];

                number_modulus(o->p, &stream, number_modulus_bits(&view));
                number_to_samples(samples, o->p, number_samples(&view));
                number_put(&p, &view, i, samples);
                unsigned_operand(o->a, &x, o->p, &view, i, &stream);
                assert_non_null(BN_copy(o->x, o->a));
                for (int more = 0; more < turn % 4; more++)
                    assert_true(BN_add(o->x, o->x, o->p));
                for (int less = 0; less < turn % 3; less++)
                    assert_true(BN_sub(o->x, o->x, o->p));
                put_any(&x, o->x, &view, i);
            }
            warprsa_make_signed(&x, &x, view.threads_per_number,
                                view.limbs_per_thread,
                                view.threads_per_request);
            warprsa_reduce(&x, &x, &p, view.threads_per_number,
                           view.limbs_per_thread, view.threads_per_request);
            for (int i = 0; i < NUMBER_SUBGROUPS; i++) {
                number_get(samples, &x, &view, i);
                number_from_samples(numbers[i].x, samples,
                                    number_samples(&view));
                assert_int_equal(0, BN_cmp(numbers[i].x, numbers[i].a));
            }
        }
    }
}

static void modexp(const number_view *view, uint64_t seed, unsigned *wrong)
{
    const int bits =
        WARPRSA_SAMPLE_BITS * view->limbs / WARPRSA_WINDOW * WARPRSA_WINDOW;
    random_stream stream = {seed};
    uint32_t exponents[2 * WARPRSA_BLINDED_WORDS];
    warprsa_operation op = {.exponent = exponents,
                            .windows = bits / WARPRSA_WINDOW,
                            .exchange = exchange,
                            .table = table,
                            .table_stride = WARPRSA_LANES_EMULATED};
    warprsa_modulus m;
    warprsa_number x, one;

    for (int i = 0; i < NUMBER_SUBGROUPS; i++)
        number_modulus(numbers[i].p, &stream, number_modulus_bits(view));
    use_moduli(view, &m);
    for (int i = 0; i < NUMBER_SUBGROUPS; i++) {
        operands *o = &numbers[i];
        warprsa_sample_t samples[NUMBER_SAMPLES];

        number_exponent(o->b, exponents + i * WARPRSA_BLINDED_WORDS, bits,
                        &stream);
        unsigned_operand(o->a, &x, o->p, view, i, &stream);
        assert_true(BN_mod(o->x, r, o->p, bn));
        number_to_samples(samples, o->x, number_samples(view));
        number_put(&one, view, i, samples);
    }
    warprsa_block_modexp(&x, &one, &op, &m, view->limbs,
                         view->threads_per_number, view->limbs_per_thread,
                         view->threads_per_request);
    for (int i = 0; i < NUMBER_SUBGROUPS; i++) {
        operands *o = &numbers[i];
        int good = read_result(o, &x, view, i);

        /* (a / R)^b R mod P. */
        assert_non_null(BN_mod_inverse(o->y, r, o->p, bn));
        assert_true(BN_mod_mul(o->a, o->a, o->y, o->p, bn));
        assert_true(BN_mod_exp(o->a, o->a, o->b, o->p, bn));
        assert_true(BN_mod_mul(o->a, o->a, r, o->p, bn));
        assert_true(BN_nnmod(o->y, o->x, o->p, bn));
        if (!good || BN_cmp(o->a, o->y) != 0)
            number_wrong(wrong, "modexp", view, seed);
    }
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        assert_true(table[i] == 0);
}

TEST(modexps)
{
    number_cases_in_pairs(modexp, module_context_scaled(MODEXPS));
}

RUN_TESTS(set_up, tear_down)
