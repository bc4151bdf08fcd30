/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tests the exact sums, differences and reductions of
 * gpu/arith/exact_reduction.h against libcrypto's numbers: above all carries
 * that run through every lane, and results below zero. Nothing may cross
 * between the two numbers of a group.
 */
#include "tests/unit/support/gpu_numbers.h"

#include <fenv.h>
#include <string.h>

#include "tests/unit/support/module_context.h"

enum {
    CASES = 5000,
#ifdef WARPRSA_VERIFIES
    VERIFIES = 1, /* a broken bound aborts */
#else
    VERIFIES = 0,
#endif
};

typedef struct operands {
    BIGNUM *a, *b, *expected, *x;
    warprsa_sample_t a_samples[NUMBER_SAMPLES], b_samples[NUMBER_SAMPLES];
    int64_t over; /* expected */
} operands;

static BN_CTX *bn;
static BIGNUM *top; /* 2^(B samples of the view) */
static BIGNUM *modulus[NUMBER_SUBGROUPS];
static operands numbers[NUMBER_SUBGROUPS];

static int set_up(void **state)
{
    bn = BN_CTX_new();
    BN_CTX_start(bn);
    for (int i = 0; i < NUMBER_SUBGROUPS; i++)
        number_make(bn, &modulus[i], &numbers[i].a, &numbers[i].b,
                    &numbers[i].expected, &numbers[i].x, NULL);
    number_make(bn, &top, NULL);
    return fesetround(FE_TOWARDZERO) != 0;
}

static int tear_down(void **state)
{
    BN_CTX_end(bn);
    BN_CTX_free(bn);
    return 0;
}

/* expected = over 2^(B samples) + what the lanes are to hold. */
static void split_expected(operands *o)
{
    BIGNUM *over = o->x;

    assert_true(BN_nnmod(o->b, o->expected, top, bn));
    assert_true(BN_sub(over, o->expected, o->b));
    assert_true(BN_div(over, NULL, over, top, bn));
    assert_true(BN_num_bits(over) < 63);
    o->over = (int64_t)BN_get_word(over) * (BN_is_negative(over) ? -1 : 1);
    assert_non_null(BN_copy(o->expected, o->b));
}

/* Whether the result is the expected one, each sample an integer below 2^B, and
 * `over`, unless NULL, is in every lane of the number. */
static int right(const warprsa_number *r, const int64_t *over,
                 const number_view *view, int subgroup)
{
    warprsa_sample_t samples[NUMBER_SAMPLES];
    operands *o = &numbers[subgroup];

    number_get(samples, r, view, subgroup);
    for (int i = 0; i < number_samples(view); i++)
        if (!number_sample_within(samples[i], WARPRSA_SAMPLE_MASK))
            return 0;
    for (int k = 0; over != NULL && k < view->threads_per_number; k++)
        if (over[subgroup * view->threads_per_number + k] != o->over)
            return 0;
    number_from_samples(o->x, samples, number_samples(view));
    return BN_cmp(o->x, o->expected) == 0;
}

/* Signed columns of one of these kinds: anything within 2^62; ones with one
 * more or less somewhere; zeros likewise; the ends of the range. */
static int64_t column(random_stream *stream, unsigned kind, int odd_one)
{
    const int64_t most = (1ll << 62) - 1;
    int64_t one = (int64_t)random_below(stream, 3) - 1;

    switch (kind) {
    case 0:
        return (int64_t)(random_next(stream) & (uint64_t)most) *
               (random_below(stream, 2) ? 1 : -1);
    case 1:
        return (int64_t)WARPRSA_SAMPLE_MASK + (odd_one ? one : 0);
    case 2:
        return odd_one ? one : 0;
    case 3:
        return odd_one ? most : -most;
    default:
        return one * most;
    }
}

static void normalise_case(const number_view *view, uint64_t seed,
                           unsigned *wrong)
{
    random_stream stream = {seed};
    const int count = number_samples(view);
    int64_t over[WARPRSA_LANES_EMULATED];
    warprsa_columns s;
    warprsa_number r;

    number_power_of_two(top, WARPRSA_SAMPLE_BITS * count);
    for (int i = 0; i < number_subgroups(view); i++) {
        uint64_t plus[NUMBER_SAMPLES] = {0}, minus[NUMBER_SAMPLES] = {0};
        unsigned kind = random_below(&stream, 5);
        int odd_index = random_below(&stream, 2)
                            ? 0
                            : (int)random_below(&stream, (unsigned)count);

        for (int j = 0; j < count; j++) {
            int64_t c = column(&stream, kind, j == odd_index);

            s.of[i * view->threads_per_number + j / view->limbs_per_thread]
                [j % view->limbs_per_thread] = (uint64_t)c;
            *(c < 0 ? &minus[j] : &plus[j]) = (uint64_t)(c < 0 ? -c : c);
        }
        number_from_columns(numbers[i].a, plus, count);
        number_from_columns(numbers[i].b, minus, count);
        assert_true(BN_sub(numbers[i].expected, numbers[i].a, numbers[i].b));
        split_expected(&numbers[i]);
    }
    warprsa_normalise(&r, &s, over, view->threads_per_number,
                      view->limbs_per_thread, view->threads_per_request);
    for (int i = 0; i < number_subgroups(view); i++)
        if (!right(&r, over, view, i))
            number_wrong(wrong, "normalise", view, seed);
}

TEST(normalise)
{
    number_cases_in_views(normalise_case, module_context_scaled(CASES));
}

/* Operands below R for each subgroup. Now and then b = a; or a = 0 and b = 1;
 * or a = 2^(B k) and b = 1, so that a borrow runs through all samples. */
static void choose(const number_view *view, random_stream *stream,
                   warprsa_number *a, warprsa_number *b)
{
    BIGNUM *limit = modulus[0];

    number_power_of_two(top, WARPRSA_SAMPLE_BITS * number_samples(view));
    number_power_of_two(limit, WARPRSA_SAMPLE_BITS * view->limbs);
    for (int i = 0; i < number_subgroups(view); i++) {
        operands *o = &numbers[i];
        unsigned kind = random_below(stream, 6);

        memset(o->a_samples, 0, sizeof(o->a_samples));
        memset(o->b_samples, 0, sizeof(o->b_samples));
        number_below(o->a, o->a_samples, view->limbs, limit, stream);
        number_below(o->b, o->b_samples, view->limbs, limit, stream);
        if (kind == 0) {
            assert_non_null(BN_copy(o->b, o->a));
            memcpy(o->b_samples, o->a_samples, sizeof(o->a_samples));
        } else if (kind == 1) {
            int ones = (int)random_below(stream, (unsigned)view->limbs + 1);

            BN_zero(o->a);
            if (ones < view->limbs)
                number_power_of_two(o->a, ones * WARPRSA_SAMPLE_BITS);
            assert_true(BN_one(o->b));
            number_to_samples(o->a_samples, o->a, number_samples(view));
            number_to_samples(o->b_samples, o->b, number_samples(view));
        }
        number_put(a, view, i, o->a_samples);
        number_put(b, view, i, o->b_samples);
    }
}

static void subtract_case(const number_view *view, uint64_t seed,
                          unsigned *wrong)
{
    random_stream stream = {seed};
    const uint64_t factor = 1 + random_below(&stream, 3);
    int64_t over[WARPRSA_LANES_EMULATED];
    warprsa_number a, b, r;

    choose(view, &stream, &a, &b);
    for (int i = 0; i < number_subgroups(view); i++) {
        assert_true(BN_mul_word(numbers[i].b, factor));
        assert_true(BN_sub(numbers[i].expected, numbers[i].a, numbers[i].b));
        split_expected(&numbers[i]);
    }
    warprsa_subtract(&r, &a, &b, factor, over, view->threads_per_number,
                     view->limbs_per_thread, view->threads_per_request);
    for (int i = 0; i < number_subgroups(view); i++)
        if (!right(&r, over, view, i))
            number_wrong(wrong, "subtract", view, seed);
}

TEST(subtract)
{
    number_cases_in_views(subtract_case, module_context_scaled(CASES));
}

/* a + factor b in the subgroups where `over` is negative, a in the others. */
static void add_if_negative_case(const number_view *view, uint64_t seed,
                                 unsigned *wrong)
{
    static const int64_t overs[] = {-1, 0, 1, -2, INT64_MIN, INT64_MAX};
    random_stream stream = {seed};
    const uint64_t factor = 1 + random_below(&stream, 3);
    int64_t over[WARPRSA_LANES_EMULATED];
    warprsa_number a, b, r;

    choose(view, &stream, &a, &b);
    for (int i = 0; i < number_subgroups(view); i++) {
        operands *o = &numbers[i];
        int64_t given = overs[random_below(&stream, 6)];

        for (int k = 0; k < view->threads_per_number; k++)
            over[i * view->threads_per_number + k] = given;
        assert_true(BN_mul_word(o->b, given < 0 ? factor : 0));
        assert_true(BN_add(o->expected, o->a, o->b));
        split_expected(o);
    }
    warprsa_add_if_negative(&r, &a, &b, factor, over, view->threads_per_number,
                            view->limbs_per_thread, view->threads_per_request);
    for (int i = 0; i < number_subgroups(view); i++)
        if (!right(&r, over, view, i))
            number_wrong(wrong, "add_if_negative", view, seed);
}

TEST(add_if_negative)
{
    number_cases_in_views(add_if_negative_case, module_context_scaled(CASES));
}

/* Takes the two top bits off the numbers of a or b, so that nothing leaves the
 * top lane of their sum: so it is in every use, and a verify build insists. */
static void leave_room(const number_view *view, warprsa_number *x, int which)
{
    for (int i = 0; i < number_subgroups(view); i++) {
        const int last = number_samples(view) - 1;
        warprsa_sample_t samples[NUMBER_SAMPLES];

        number_get(samples, x, view, i);
        samples[last] = (warprsa_sample_t)((uint64_t)samples[last] &
                                           WARPRSA_SAMPLE_MASK >> 2);
        number_put(x, view, i, samples);
        number_from_samples(which ? numbers[i].b : numbers[i].a, samples,
                            last + 1);
    }
}

static void add_case(const number_view *view, uint64_t seed, unsigned *wrong)
{
    random_stream stream = {seed};
    warprsa_number a, b;

    choose(view, &stream, &a, &b);
    if (VERIFIES) {
        leave_room(view, &a, 0);
        leave_room(view, &b, 1);
    }
    for (int i = 0; i < number_subgroups(view); i++) {
        assert_true(BN_add(numbers[i].expected, numbers[i].a, numbers[i].b));
        assert_true(
            BN_nnmod(numbers[i].expected, numbers[i].expected, top, bn));
    }
    warprsa_add(&a, &a, &b, view->threads_per_number, view->limbs_per_thread,
                view->threads_per_request);
    for (int i = 0; i < number_subgroups(view); i++)
        if (!right(&a, NULL, view, i))
            number_wrong(wrong, "add", view, seed);
}

TEST(add)
{
    number_cases_in_views(add_case, module_context_scaled(CASES));
}

/* a mod P for a below 4P; a is at an end of one of the four quarters about as
 * often as elsewhere. */
static void reduce_case(const number_view *view, uint64_t seed, unsigned *wrong)
{
    random_stream stream = {seed};
    warprsa_number a, p;

    for (int i = 0; i < number_subgroups(view); i++) {
        operands *o = &numbers[i];
        unsigned end = random_below(&stream, 24);

        number_modulus(modulus[i], &stream, number_modulus_bits(view));
        number_to_samples(o->b_samples, modulus[i], number_samples(view));
        number_put(&p, view, i, o->b_samples);
        memset(o->a_samples, 0, sizeof(o->a_samples));
        assert_true(BN_lshift(o->b, modulus[i], 2));
        number_below(o->a, o->a_samples, view->limbs, o->b, &stream);
        if (end < 12) { /* one less, none or one more than P, 2P, 3P, 4P */
            assert_non_null(BN_copy(o->a, modulus[i]));
            assert_true(BN_mul_word(o->a, 1 + end / 3));
            assert_true(BN_add_word(o->a, end < 9 ? end % 3 : 0));
            assert_true(BN_sub_word(o->a, 1));
            number_to_samples(o->a_samples, o->a, number_samples(view));
        }
        number_put(&a, view, i, o->a_samples);
        assert_true(BN_nnmod(o->expected, o->a, modulus[i], bn));
    }
    warprsa_reduce(&a, &a, &p, view->threads_per_number, view->limbs_per_thread,
                   view->threads_per_request);
    for (int i = 0; i < number_subgroups(view); i++)
        if (!right(&a, NULL, view, i))
            number_wrong(wrong, "reduce", view, seed);
}

TEST(reduce)
{
    number_cases_in_views(reduce_case, module_context_scaled(CASES));
}

/* Takes all of a or all of b, samples of 2^B included. */
static void choose_case(const number_view *view, uint64_t seed, unsigned *wrong)
{
    random_stream stream = {seed};
    warprsa_number a, b, r;

    choose(view, &stream, &a, &b);
    for (uint32_t choice = 0; choice < 2; choice++) {
        warprsa_choose(&r, choice, &a, &b, view->limbs_per_thread,
                       view->threads_per_request);
        for (int k = 0; k < view->threads_per_request; k++)
            if (memcmp(r.of[k], choice ? a.of[k] : b.of[k],
                       (size_t)view->limbs_per_thread *
                           sizeof(warprsa_sample_t)) != 0)
                number_wrong(wrong, "choose", view, seed);
    }
}

TEST(choose_either)
{
    number_cases_in_views(choose_case, module_context_scaled(CASES));
}

RUN_TESTS(set_up, tear_down)
