/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tests gpu/arith/inverse.h and short_inverse.h against BN_mod_inverse(), and
 * the number of division steps against inputs that take many of them.
 */
#include "gpu/arith/short_inverse.h"
#include "tests/unit/support/gpu_numbers.h"

#include <fenv.h>
#include <string.h>

#include "tests/unit/support/module_context.h"

enum {
    MODULI = 400, /* of each size class */
    MATRICES = 10000,
    TRIES = 5000, /* at an input that takes many steps */
};

static BN_CTX *bn;
static BIGNUM *p, *x, *y, *inverse;

static int set_up(void **state)
{
    (void)state;
    bn = BN_CTX_new();
    p = BN_new();
    x = BN_new();
    y = BN_new();
    inverse = BN_new();
    return bn == NULL || p == NULL || x == NULL || y == NULL ||
           inverse == NULL || fesetround(FE_TOWARDZERO) != 0;
}

static int tear_down(void **state)
{
    (void)state;
    BN_free(p);
    BN_free(x);
    BN_free(y);
    BN_free(inverse);
    BN_CTX_free(bn);
    return 0;
}

/* 1/x mod p, or 0 where there is none; -1 if x has a factor with p. */
static int expect_inverse(void)
{
    BN_zero(inverse);
    if (BN_is_zero(x))
        return 0;
    assert_true(BN_gcd(y, x, p, bn));
    if (!BN_is_one(y))
        return -1;
    assert_non_null(BN_mod_inverse(inverse, x, p, bn));
    return 0;
}

/* Limbs of 62 bits, the top one signed. */
static void from_limbs(BIGNUM *to, const int64_t *limb)
{
    const int64_t top = limb[WARPRSA_SIGNED62_LIMBS - 1];

    assert_true(BN_set_word(to, (BN_ULONG)(top < 0 ? -top : top)));
    BN_set_negative(to, top < 0);
    for (int i = WARPRSA_SIGNED62_LIMBS - 2; i >= 0; i--) {
        assert_true(BN_lshift(to, to, WARPRSA_SIGNED62_BITS));
        assert_true(BN_add_word(to, (BN_ULONG)limb[i]));
    }
}

/* A number as long as a blinding factor at most. */
static void to_limbs(int64_t *limb, const BIGNUM *from, const number_view *view)
{
    warprsa_sample_t samples[NUMBER_SAMPLES];

    number_to_samples(samples, from, view->limbs);
    for (int i = 0; i < WARPRSA_SIGNED62_LIMBS; i++)
        limb[i] = warprsa_signed62_of_samples(samples, view->limbs, i);
}

/* x against p; neither is changed. */
static void check(const number_view *view, uint64_t seed, unsigned *wrong)
{
    warprsa_inversion m;

    if (expect_inverse() < 0)
        return;
    to_limbs(m.p, p, view);
    to_limbs(m.g, x, view);
    warprsa_invert_signed62(&m);
    from_limbs(y, m.d);
    if (BN_cmp(y, inverse) != 0)
        number_wrong(wrong, "inverse", view, seed);
}

/* 0, 1, 2, p - 1, p - 2, (p + 1)/2, (p - 1)/2. */
static void check_ends(const number_view *view, uint64_t seed, unsigned *wrong)
{
    for (int i = 0; i < 7; i++) {
        if (i < 3) {
            assert_true(BN_set_word(x, (BN_ULONG)i));
            assert_true(BN_nnmod(x, x, p, bn));
        } else {
            assert_non_null(BN_copy(x, p));
            if (i == 5)
                assert_true(BN_add_word(x, 1));
            else
                assert_true(BN_sub_word(x, i == 4 ? 2 : 1));
            if (i >= 5)
                assert_true(BN_rshift1(x, x));
        }
        check(view, seed, wrong);
    }
}

static void inverses_are_exact(void **state)
{
    const unsigned count = module_context_scaled(4 * MODULI);
    const number_view view = number_view_of(0);
    warprsa_sample_t samples[NUMBER_SAMPLES];
    unsigned wrong = 0;

    (void)state;
    for (unsigned i = 0; i < count; i++) {
        const uint64_t seed = number_seed() + i;
        random_stream stream = {seed};

        number_modulus(p, &stream, WARPRSA_BLINDING_BITS);
        check_ends(&view, seed, &wrong);
        for (int turn = 0; turn < 8; turn++) {
            number_below(x, samples, view.limbs, p, &stream);
            check(&view, seed, &wrong);
        }
    }
    assert_int_equal(0, wrong);
}

/* Every power of two below the longest modulus and below a short one. */
static void powers_of_two(void **state)
{
    const number_view view = number_view_of(0);
    random_stream stream = {number_seed()};
    unsigned wrong = 0;

    (void)state;
    for (int bits = WARPRSA_BLINDING_BITS; bits > 100; bits -= 100)
        for (int i = 0; i < bits - 1; i++) {
            number_pattern(p, &stream, i % NUMBER_PATTERNS, bits);
            number_power_of_two(x, i);
            check(&view, (uint64_t)i, &wrong);
        }
    assert_int_equal(0, wrong);
}

/* The smallest moduli with all their residues, in the longest numbers. */
static void small_moduli(void **state)
{
    const number_view view = number_view_of(0);
    unsigned wrong = 0;

    (void)state;
    for (BN_ULONG m = 3; m < 30; m += 2)
        for (BN_ULONG i = 0; i < m; i++) {
            assert_true(BN_set_word(p, m) && BN_set_word(x, i));
            check(&view, m, &wrong);
        }
    assert_int_equal(0, wrong);
}

/* x against p, x odd and short. */
static void check_short(const number_view *view, uint64_t seed, unsigned *wrong)
{
    warprsa_sample_t samples[NUMBER_SAMPLES], p_samples[NUMBER_SAMPLES];

    if (expect_inverse() < 0)
        return;
    number_to_samples(samples, x, view->limbs);
    number_to_samples(p_samples, p, view->limbs);
    warprsa_invert_short(samples, p_samples, view->limbs);
    for (int i = 0; i < view->limbs; i++)
        if (!number_sample_within(samples[i], WARPRSA_SAMPLE_MASK)) {
            number_wrong(wrong, "sample of a short inverse", view, seed);
            return;
        }
    number_from_samples(y, samples, view->limbs);
    if (BN_cmp(y, inverse) != 0)
        number_wrong(wrong, "short inverse", view, seed);
}

/* Random blinding factors, and those at the ends of their range: 3, all ones,
 * 2^k + 1, of the greatest length and shorter; also with short primes. */
static void short_inverses_are_exact(void **state)
{
    const unsigned count = module_context_scaled(8 * MODULI);
    unsigned wrong = 0;

    (void)state;
    for (int size = 0; size < WARPRSA_CLASS_LARGE; size++) {
        number_view view = number_view_of(2 * size);

        for (unsigned i = 0; i < count; i++) {
            const uint64_t seed = number_seed() + i;
            random_stream stream = {seed};
            int bits = number_modulus_bits(&view);

            if (i % 4 == 0)
                bits = 100 + (int)random_below(&stream, (unsigned)bits - 100);
            number_modulus(p, &stream, bits);
            bits = BN_num_bits(p) - 1;
            if (bits > WARPRSA_BLINDING_BITS)
                bits = WARPRSA_BLINDING_BITS;
            if (bits < 3)
                continue;
            if (i % 8 == 1)
                bits = 3 + (int)random_below(&stream, (unsigned)bits - 2);
            number_pattern(x, &stream, (int)i % NUMBER_PATTERNS, bits);
            check_short(&view, seed, &wrong);
            assert_true(BN_set_word(x, 3));
            check_short(&view, seed, &wrong);
        }
    }
    assert_int_equal(0, wrong);
}

/* A number within (-2p, p), at its ends more often than not. */
static void choose_within(int64_t *limb, const int64_t *p_limb,
                          const number_view *view, random_stream *stream)
{
    warprsa_sample_t samples[NUMBER_SAMPLES];
    const unsigned kind = random_below(stream, 6);

    number_below(x, samples, view->limbs, p, stream);
    if (kind < 2)
        assert_true(BN_sub(x, p, BN_value_one()));
    to_limbs(limb, x, view);
    if (kind % 2 == 0) /* -x */
        warprsa_adjust(limb, p_limb, 0, -1);
    if (kind % 4 == 0) { /* -x - p */
        warprsa_adjust(limb, p_limb, 0, -1);
        warprsa_adjust(limb, p_limb, -1, 0);
        warprsa_adjust(limb, p_limb, 0, -1);
    }
}

/* A row of a transition matrix: |u| + |v| up to 2^62. */
static void choose_row(int64_t *u, int64_t *v, random_stream *stream)
{
    const int64_t whole = 1ll << 62;

    *u = (int64_t)(random_next(stream) >> 2);
    switch (random_below(stream, 4)) {
    case 0:
        *u = whole;
        break;
    case 1:
        *u = whole / 2;
        break;
    case 2:
        *u >>= random_below(stream, 62);
        break;
    }
    *v = whole - *u;
    *u = random_below(stream, 2) ? *u : -*u;
    *v = random_below(stream, 2) ? *v : -*v;
}

/* got is (u d + v e) / 2^62 mod p, within (-2p, p); d is in x, e in y. */
static int applied(const int64_t *got, int64_t u, int64_t v)
{
    BIGNUM *sum = BN_new(), *part = BN_new(), *result = BN_new();
    int good;

    assert_true(sum != NULL && part != NULL && result != NULL);
    assert_non_null(BN_copy(sum, x));
    assert_true(BN_mul_word(sum, (BN_ULONG)(u < 0 ? -u : u)));
    BN_set_negative(sum, BN_is_negative(sum) != (u < 0));
    assert_non_null(BN_copy(part, y));
    assert_true(BN_mul_word(part, (BN_ULONG)(v < 0 ? -v : v)));
    BN_set_negative(part, BN_is_negative(part) != (v < 0));
    assert_true(BN_add(sum, sum, part));
    from_limbs(result, got);
    good = BN_cmp(result, p) < 0;
    assert_true(BN_lshift(part, result, WARPRSA_SIGNED62_BITS));
    assert_true(BN_sub(sum, sum, part) && BN_nnmod(sum, sum, p, bn));
    good = good && BN_is_zero(sum);
    assert_true(BN_add(result, result, p) && BN_add(result, result, p));
    good = good && !BN_is_negative(result) && !BN_is_zero(result);
    BN_free(sum);
    BN_free(part);
    BN_free(result);
    return good;
}

static void apply_case(const number_view *view, uint64_t seed, unsigned *wrong)
{
    random_stream stream = {seed};
    warprsa_transition t;
    warprsa_inversion m;

    number_modulus(p, &stream, WARPRSA_BLINDING_BITS);
    to_limbs(m.p, p, view);
    choose_within(m.d, m.p, view, &stream);
    choose_within(m.e, m.p, view, &stream);
    from_limbs(x, m.d);
    from_limbs(y, m.e);
    choose_row(&t.u, &t.v, &stream);
    choose_row(&t.q, &t.r, &stream);
    warprsa_apply_modulo(m.d, m.e, &t, m.p,
                         warprsa_inverse_of_low((uint64_t)m.p[0]));
    if (!applied(m.d, t.u, t.v) || !applied(m.e, t.q, t.r))
        number_wrong(wrong, "matrix applied", view, seed);
}

/* Any matrix keeps d and e in their range, not only those that division steps
 * make. */
static void matrices_are_applied_within_range(void **state)
{
    const unsigned count = module_context_scaled(4 * MATRICES);
    const number_view view = number_view_of(0);
    unsigned wrong = 0;

    (void)state;
    for (unsigned i = 0; i < count; i++)
        apply_case(&view, number_seed() + i, &wrong);
    assert_int_equal(0, wrong);
}

static int all_zero(const int64_t *limb)
{
    for (int i = 0; i < WARPRSA_SIGNED62_LIMBS; i++)
        if (limb[i] != 0)
            return 0;
    return 1;
}

/* The number of rounds of 62 division steps until g = 0, done as in
 * warprsa_invert_signed62(). */
static int rounds_needed(const number_view *view)
{
    int64_t f[WARPRSA_SIGNED62_LIMBS], g[WARPRSA_SIGNED62_LIMBS];
    int32_t delta = 0;
    int rounds = 0;

    to_limbs(f, p, view);
    to_limbs(g, x, view);
    while (!all_zero(g)) {
        warprsa_transition t;

        delta = warprsa_divsteps(
            delta, (uint64_t)f[0] | ((uint64_t)f[1] << WARPRSA_SIGNED62_BITS),
            (uint64_t)g[0] | ((uint64_t)g[1] << WARPRSA_SIGNED62_BITS), &t);
        warprsa_apply(f, g, &t);
        rounds++;
        assert_true(rounds < 1000);
    }
    return rounds;
}

/* Searches for inputs that take many steps: a changed bit is kept if it does
 * not lower their number. The bound is never exceeded, and the number of rounds
 * in warprsa_invert_signed62() is that bound, rounded up. */
static void division_steps_are_enough(void **state)
{
    const unsigned count = module_context_scaled(4 * TRIES);
    const int bits = WARPRSA_BLINDING_BITS, bound = WARPRSA_DIVSTEPS_OF(bits);
    const number_view view = number_view_of(0);
    random_stream stream = {number_seed()};
    warprsa_sample_t samples[NUMBER_SAMPLES];
    int most = 0, most_of_all = 0;

    (void)state;
    for (unsigned i = 0; i < count; i++) {
        int rounds, bit = 1 + (int)random_below(&stream, (unsigned)bits - 2);
        BIGNUM *changed = random_below(&stream, 2) ? p : x;

        if (i % 500 == 0) { /* a new start */
            number_pattern(p, &stream, (int)(i / 500) % NUMBER_PATTERNS, bits);
            number_below(x, samples, view.limbs, p, &stream);
            most = 0;
        }
        assert_non_null(BN_copy(y, changed));
        assert_true((BN_is_bit_set(changed, bit) ? BN_clear_bit
                                                 : BN_set_bit)(changed, bit));
        rounds = rounds_needed(&view);
        assert_true(62 * rounds < bound + 62);
        if (rounds < most)
            assert_non_null(BN_copy(changed, y));
        else
            most = rounds;
        if (rounds > most_of_all)
            most_of_all = rounds;
    }
    print_message("%d division steps of %d allowed\n", 62 * most_of_all, bound);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inverses_are_exact),
        cmocka_unit_test(powers_of_two),
        cmocka_unit_test(small_moduli),
        cmocka_unit_test(short_inverses_are_exact),
        cmocka_unit_test(matrices_are_applied_within_range),
        cmocka_unit_test(division_steps_are_enough),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
