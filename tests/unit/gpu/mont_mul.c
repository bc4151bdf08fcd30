/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tests the Montgomery product of either arithmetic (row by row) against
 * libcrypto's numbers. The expected value is computed by the same steps, for
 * wide samples row by row, so that results are compared exactly and not just
 * modulo P.
 */
#include "tests/unit/support/gpu_numbers.h"

#include <fenv.h>
#include <string.h>

#include "tests/unit/support/module_context.h"

enum {
    MODULI = 500, /* of each view */
    PRODUCTS = 8, /* with each of them */
    CHAIN = 2100, /* squarings in a row */
    CHAIN_MODULI = NUMBER_PATTERNS
};

/* What the oracle needs of one modulus. */
typedef struct modulus {
    BIGNUM *p, *r;
    BIGNUM *n0inv;    /* -1/P mod 2^52; for 32-bit limbs mod R */
    BIGNUM *inv_2_52; /* 2^-52 mod P; unused for 32-bit limbs */
    BIGNUM *times[7]; /* P, 3 P and 6 P at these indices */
} modulus;

typedef struct operands {
    BIGNUM *a, *b, *expected, *x;
    warprsa_sample_t a_samples[NUMBER_SAMPLES], b_samples[NUMBER_SAMPLES];
} operands;

static BN_CTX *bn;
static modulus moduli[NUMBER_SUBGROUPS];
static operands numbers[NUMBER_SUBGROUPS];
static unsigned full_samples; /* in results */

static int set_up(void **state)
{
    bn = BN_CTX_new();
    BN_CTX_start(bn);
    for (int i = 0; i < NUMBER_SUBGROUPS; i++) {
        modulus *m = &moduli[i];

        number_make(bn, &m->p, &m->times[3], &m->times[6], &m->r, &m->n0inv,
                    &m->inv_2_52, &numbers[i].a, &numbers[i].b,
                    &numbers[i].expected, &numbers[i].x, NULL);
        m->times[1] = m->p;
    }
    return fesetround(FE_TOWARDZERO) != 0;
}

static int tear_down(void **state)
{
    BN_CTX_end(bn);
    BN_CTX_free(bn);
    return 0;
}

/* Computes the constants of m->p, and loads them into the lanes of its
 * subgroup. */
static void use_modulus(modulus *m, const number_view *view, int subgroup,
                        warprsa_modulus *to)
{
    warprsa_sample_t samples[NUMBER_SAMPLES];

#ifdef WARPRSA_INT32
    number_power_of_two(m->r, WARPRSA_SAMPLE_BITS * view->limbs);
#else
    number_power_of_two(m->r, WARPRSA_SAMPLE_BITS);
    assert_non_null(BN_mod_inverse(m->inv_2_52, m->r, m->p, bn));
#endif
    assert_non_null(BN_mod_inverse(m->n0inv, m->p, m->r, bn));
    assert_true(BN_sub(m->n0inv, m->r, m->n0inv));
    for (int k = 0; k < view->threads_per_number; k++)
        to->n0inv[subgroup * view->threads_per_number + k] =
            (warprsa_sample_t)BN_mod_word(m->n0inv,
                                          (BN_ULONG)1 << WARPRSA_SAMPLE_BITS);
    number_power_of_two(m->r, WARPRSA_SAMPLE_BITS * view->limbs);
    for (int factor = 3; factor <= 6; factor += 3) {
        assert_non_null(BN_copy(m->times[factor], m->p));
        assert_true(BN_mul_word(m->times[factor], (BN_ULONG)factor));
    }
    number_to_samples(samples, m->p, number_samples(view));
    number_put(&to->p, view, subgroup, samples);
#ifndef WARPRSA_INT32
    number_to_samples(samples, m->inv_2_52, number_samples(view));
    number_put(&to->inv_2_52, view, subgroup, samples);
#endif
}

#ifdef WARPRSA_INT32
/* (a b + Q P) / R with Q = -a b / P mod R. */
static void expect_product(operands *o, const modulus *m,
                           const number_view *view)
{
    const int bits = WARPRSA_SAMPLE_BITS * view->limbs;

    assert_true(BN_mul(o->expected, o->a, o->b, bn));
    assert_true(BN_mul(o->x, o->expected, m->n0inv, bn));
    assert_true(BN_mask_bits(o->x, bits) || BN_num_bits(o->x) <= bits);
    assert_true(BN_mul(o->x, o->x, m->p, bn));
    assert_true(BN_add(o->expected, o->expected, o->x));
    assert_true(BN_rshift(o->expected, o->expected, bits));
}
#else
/* A row adds x 2^-52 mod P for the sample x that it cuts off; the last row adds
 * a multiple of P. */
static void expect_product(operands *o, const modulus *m,
                           const number_view *view)
{
    warprsa_sample_t digits[NUMBER_SAMPLES];

    number_to_samples(digits, o->b, number_samples(view));
    BN_zero(o->expected);
    for (int row = 0; row < view->limbs; row++) {
        const int last = row == view->limbs - 1;

        assert_non_null(BN_copy(o->x, o->a));
        assert_true(BN_mul_word(o->x, (BN_ULONG)digits[row]));
        assert_true(BN_add(o->expected, o->expected, o->x));
        BN_ULONG cut = BN_mod_word(o->expected, (BN_ULONG)1 << 52);
        assert_non_null(BN_copy(o->x, last ? m->p : m->inv_2_52));
        if (last)
            cut = (cut * BN_get_word(m->n0inv)) & WARPRSA_SAMPLE_MASK;
        else
            assert_true(BN_rshift(o->expected, o->expected, 52));
        assert_true(BN_mul_word(o->x, cut));
        assert_true(BN_add(o->expected, o->expected, o->x));
        if (last)
            assert_true(BN_rshift(o->expected, o->expected, 52));
    }
}
#endif

/* Whether a result is exact, below 3P, and has all samples in their range. */
static int right(const warprsa_number *result, const number_view *view,
                 int subgroup)
{
    warprsa_sample_t samples[NUMBER_SAMPLES];
    operands *o = &numbers[subgroup];

    number_get(samples, result, view, subgroup);
    for (int i = 0; i < number_samples(view); i++) {
        if (!number_sample_within(samples[i], NUMBER_FULL) ||
            (i >= view->limbs && samples[i] != 0))
            return 0;
        full_samples += samples[i] == (warprsa_sample_t)NUMBER_FULL;
    }
    number_from_samples(o->x, samples, number_samples(view));
    return BN_cmp(o->x, o->expected) == 0 &&
           BN_cmp(o->x, moduli[subgroup].times[3]) < 0;
}

/* Chooses operands within one of the three bounds for which a result below 3P
 * is promised. */
static void choose_operands(operands *o, const modulus *m,
                            const number_view *view, random_stream *stream)
{
    const BIGNUM *bounds[][2] = {
        {m->r, m->p}, {m->times[3], m->times[3]}, {m->times[6], m->times[3]}};
    const unsigned which = random_below(stream, 3);

    number_below(o->a, o->a_samples, view->limbs, bounds[which][0], stream);
    number_below(o->b, o->b_samples, view->limbs, bounds[which][1], stream);
    for (int i = view->limbs; i < number_samples(view); i++)
        o->a_samples[i] = o->b_samples[i] = 0;
}

/* r = a b, written to r itself (output 0), to a (1) or to b (2); a square if a
 * and b are the same object. */
static void multiply(warprsa_number *r, warprsa_number *a, warprsa_number *b,
                     const warprsa_modulus *p, const number_view *view,
                     unsigned output)
{
    warprsa_number *to = output == 0 ? r : output == 1 ? a : b;

    if (a == b)
        warprsa_mont_sqr(to, a, p, view->limbs, view->threads_per_number,
                         view->limbs_per_thread, view->threads_per_request);
    else
        warprsa_mont_mul(to, a, b, p, view->limbs, view->threads_per_number,
                         view->limbs_per_thread, view->threads_per_request);
    *r = *to;
}

/* The same with b = a, by warprsa_mont_mul() and by warprsa_mont_sqr(). */
static void squares_with_one_modulus(const number_view *view, uint64_t seed,
                                     const warprsa_modulus *p,
                                     warprsa_number *a, unsigned *wrong)
{
    warprsa_number same = *a, r;

    for (int i = 0; i < number_subgroups(view); i++) {
        operands *o = &numbers[i];

        assert_non_null(BN_copy(o->b, o->a));
        memcpy(o->b_samples, o->a_samples, sizeof(o->b_samples));
        if (BN_cmp(o->a, moduli[i].times[3]) >= 0)
            return;
        expect_product(o, &moduli[i], view);
    }
    for (unsigned which = 0; which < 2; which++) {
        multiply(&r, a, which == 0 ? &same : a, p, view, 0);
        for (int i = 0; i < number_subgroups(view); i++)
            if (!right(&r, view, i))
                number_wrong(wrong, "square", view, seed);
    }
}

static void products_with_one_modulus(const number_view *view, uint64_t seed,
                                      unsigned *wrong)
{
    random_stream stream = {seed};
    warprsa_modulus p;
    warprsa_number a, b, r;

    for (int i = 0; i < number_subgroups(view); i++) {
        number_modulus(moduli[i].p, &stream, number_modulus_bits(view));
        use_modulus(&moduli[i], view, i, &p);
    }
    for (int turn = 0; turn < PRODUCTS; turn++) {
        for (int i = 0; i < number_subgroups(view); i++) {
            choose_operands(&numbers[i], &moduli[i], view, &stream);
            number_put(&a, view, i, numbers[i].a_samples);
            number_put(&b, view, i, numbers[i].b_samples);
            expect_product(&numbers[i], &moduli[i], view);
        }
        warprsa_number kept = a;

        multiply(&r, &a, &b, &p, view, random_below(&stream, 3));
        for (int i = 0; i < number_subgroups(view); i++)
            if (!right(&r, view, i))
                number_wrong(wrong, "product", view, seed);
        squares_with_one_modulus(view, seed, &p, &kept, wrong);
    }
}

TEST(products_are_exact)
{
    number_cases_in_views(products_with_one_modulus,
                          module_context_scaled(MODULI));
}

/* Starts a chain with 3P - 1. */
static void start_chain(const number_view *view, int pattern,
                        random_stream *stream, warprsa_modulus *p,
                        warprsa_number *x)
{
    for (int i = 0; i < number_subgroups(view); i++) {
        operands *o = &numbers[i];

        number_pattern(moduli[i].p, stream, (pattern + i) % NUMBER_PATTERNS,
                       number_modulus_bits(view));
        use_modulus(&moduli[i], view, i, p);
        assert_true(BN_sub(o->expected, moduli[i].times[3], BN_value_one()));
        number_to_samples(o->a_samples, o->expected, number_samples(view));
        number_put(x, view, i, o->a_samples);
    }
}

/* Squarings with each result fed back; the chain ends at a wrong one. */
static void chain(const number_view *view, int pattern, unsigned *wrong)
{
    const uint64_t seed = number_seed() + (uint64_t)pattern;
    random_stream stream = {seed};
    warprsa_modulus p;
    warprsa_number x;

    start_chain(view, pattern, &stream, &p, &x);
    for (int turn = 0; turn < CHAIN; turn++) {
        multiply(&x, &x, &x, &p, view, 0);
        for (int i = 0; i < number_subgroups(view); i++) {
            assert_non_null(BN_copy(numbers[i].a, numbers[i].expected));
            assert_non_null(BN_copy(numbers[i].b, numbers[i].expected));
            expect_product(&numbers[i], &moduli[i], view);
            if (!right(&x, view, i)) {
                number_wrong(wrong, "squarings in a row", view, seed);
                return;
            }
        }
    }
}

TEST(long_chains_stay_right)
{
    const int count = (int)module_context_scaled(CHAIN_MODULI);
    unsigned wrong = 0;

    for (int v = 0; v < NUMBER_VIEWS; v++) {
        number_view view = number_view_of(v);

        /* If they are not all, they are others for the next view. */
        for (int i = 0; i < count && i < CHAIN_MODULI; i++)
            chain(&view, (v + i) % CHAIN_MODULI, &wrong);
    }
    assert_int_equal(0, wrong);
}

#ifndef WARPRSA_INT32
/* A carry that leaves a lane and enters one whose samples are all ones stays
 * there as a sample of 2^52. */
TEST(resolve_leaves_full_samples)
{
    for (int v = 0; v < NUMBER_VIEWS; v++) {
        number_view view = number_view_of(v);
        const int count = number_samples(&view);
        warprsa_columns s;
        warprsa_number r;

        for (int i = 0; i < number_subgroups(&view); i++) {
            uint64_t columns[NUMBER_SAMPLES];

            for (int j = 0; j < count; j++)
                columns[j] = WARPRSA_SAMPLE_MASK;
            columns[view.limbs_per_thread - 1] += (uint64_t)(62 + i) << 52;
            columns[count - 1] = 0;
            number_from_columns(numbers[i].expected, columns, count);
            for (int j = 0; j < count; j++)
                s.of[i * view.threads_per_number + j / view.limbs_per_thread]
                    [j % view.limbs_per_thread] = columns[j];
        }
        warprsa_resolve(&r, &s, view.threads_per_number, view.limbs_per_thread,
                        view.threads_per_request);
        for (int i = 0; i < number_subgroups(&view); i++) {
            warprsa_sample_t samples[NUMBER_SAMPLES];

            number_get(samples, &r, &view, i);
            number_from_samples(numbers[i].x, samples, count);
            assert_int_equal(0, BN_cmp(numbers[i].x, numbers[i].expected));
            assert_true(samples[view.limbs_per_thread + 1] == 0x1p52);
        }
    }
}

#endif

/* The tests above show something about samples of 2^52 only if there were
 * such. */
TEST(full_samples_came_about)
{
    print_message("%u full samples in results\n", full_samples);
    assert_true(full_samples > 0);
}

RUN_TESTS(set_up, tear_down)
