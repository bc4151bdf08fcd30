/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The modexp with one thread for each half
 * (gpu/kernels/thread/thread_modexp.h), compared with libcrypto's numbers. It
 * tests squares and products with operands at the limits of the bounds, modexps
 * with every kind of exponent, the table, and the conversions in and out.
 */
#include <fenv.h>
#include <string.h>

#include "gpu/kernels/thread/thread_modexp.h"
#include "tests/unit/support/gpu_numbers.h"
#include "tests/unit/support/module_context.h"

enum {
    PRODUCT_CASES = 2000,
    POWER_CASES = 20,
    N_MAX = WARPRSA_HALF_SAMPLES,
};

static BN_CTX *bn;
static BIGNUM *p, *a, *b, *expected, *got, *scratch;
static double samples[N_MAX], operand[N_MAX], modulus[N_MAX];
static double table[(WARPRSA_TABLE_SIZE + 1) * N_MAX];
static double chosen[N_MAX];
static uint32_t exponent[WARPRSA_BLINDED_WORDS];
static uint64_t start[4 * N_MAX];

static int set_up(void **state)
{
    bn = BN_CTX_new();
    BN_CTX_start(bn);
    number_make(bn, &p, &a, &b, &expected, &got, &scratch, NULL);
    return fesetround(FE_TOWARDZERO) != 0;
}

static int tear_down(void **state)
{
    BN_CTX_end(bn);
    BN_CTX_free(bn);
    return 0;
}

/* The value of balanced samples; it may be negative. Each sample must be in its
 * range. */
static void value_of(BIGNUM *to, const double *from, int N)
{
    for (int j = 0; j < N; j++)
        assert_true(from[j] >= -0x1p51 && from[j] < 0x1p51);
    number_from_signed(to, from, N);
}

/* Converts a number to balanced samples, for |from| < 2^(52 N - 2). */
static void balance(double *to, const BIGNUM *from, int N)
{
    assert_non_null(BN_copy(scratch, from));
    BN_set_negative(scratch, 0);
    number_to_samples(samples, scratch, N);
    warprsa_balance(to, samples, 1, 1, N);
    if (BN_is_negative(from)) {
        int64_t carry = 0;

        /* Negates the samples. -2^51 stays as it is: its negative 2^51 is
         * -2^51 and one more in the next sample. */
        for (int j = 0; j < N; j++) {
            int64_t x = carry - (int64_t)to[j];

            carry = x == 1ll << 51;
            to[j] = (double)(carry ? -(1ll << 51) : x);
        }
    }
}

/* A size class, a modulus, and the thread's data for it. */
static warprsa_thread use_modulus(const number_view *view,
                                  random_stream *stream)
{
    const int N = view->limbs;
    warprsa_thread x = {.a = operand,
                        .p = modulus,
                        .stride = 1,
                        .table = table,
                        .chosen = chosen,
                        .near = (int)random_below(stream, (unsigned)N / 2 + 1),
                        .table_stride = 1,
                        .exponent = exponent,
                        .start = start};

    for (int c = 0; c < 4 * N; c++)
        start[c] = warprsa_thread_start(c >= 2 * N, c % (2 * N), N);
    number_modulus(p, stream, number_modulus_bits(view));
    balance(modulus, p, N);
    number_power_of_two(scratch, WARPRSA_SAMPLE_BITS);
    assert_non_null(BN_mod_inverse(scratch, p, scratch, bn));
    x.n0inv = 0x1p52 - (double)BN_get_word(scratch);
    return x;
}

/* A number from -0.29P to 3P, often at the ends of this range. */
static void choose_operand(BIGNUM *to, random_stream *stream, int N)
{
    int kind = (int)random_below(stream, 4);

    memset(samples, 0, sizeof(samples));
    assert_non_null(BN_copy(scratch, p));
    assert_true(BN_mul_word(scratch, 3));
    number_below(to, samples, N, scratch, stream);
    if (kind == 0)
        assert_true(BN_sub(to, scratch, BN_value_one()));
    if (kind == 1) {
        assert_non_null(BN_copy(to, p));
        assert_true(BN_mul_word(to, 29));
        assert_int_not_equal((BN_ULONG)-1, BN_div_word(to, 100));
        BN_set_negative(to, 1);
    }
}

/* The operand must be congruent to `expected` and within (-0.29P, 1.29P). */
static int right(int N)
{
    value_of(got, operand, N);
    assert_non_null(BN_copy(scratch, p));
    assert_true(BN_mul_word(scratch, 129));
    assert_non_null(BN_copy(a, got));
    assert_true(BN_mul_word(a, 100));
    if (BN_cmp(a, scratch) > 0)
        return 0;
    assert_non_null(BN_copy(scratch, p));
    assert_true(BN_mul_word(scratch, 29));
    assert_true(BN_add(a, a, scratch));
    if (BN_is_negative(a))
        return 0;
    assert_true(BN_nnmod(got, got, p, bn));
    return BN_cmp(got, expected) == 0;
}

/* Computes expected = x y / R mod P. */
static void expect_product(const BIGNUM *x, const BIGNUM *y, int N)
{
    number_power_of_two(scratch, WARPRSA_SAMPLE_BITS * N);
    assert_non_null(BN_mod_inverse(scratch, scratch, p, bn));
    assert_true(BN_mul(expected, x, y, bn));
    assert_true(BN_mul(expected, expected, scratch, bn));
    assert_true(BN_nnmod(expected, expected, p, bn));
}

static void product_case(const number_view *view, uint64_t seed,
                         unsigned *wrong)
{
    const int N = view->limbs, W = N / WARPRSA_THREAD_BLOCKS;
    random_stream stream = {seed};
    warprsa_thread x = use_modulus(view, &stream);
    const uint32_t digit = random_below(&stream, WARPRSA_TABLE_SIZE);
    double entry[N_MAX];
    int turn = 0;

    choose_operand(b, &stream, N);
    balance(entry, b, N);
    for (int i = 0; i < WARPRSA_TABLE_SIZE * N; i++)
        table[i] = (double)(random_next(&stream) >> 13);
    for (int j = 0; j < N; j++)
        table[(j / 2 * WARPRSA_TABLE_SIZE + (int)digit) * 2 + j % 2] = entry[j];
    for (int i = 0; i < WARPRSA_WINDOW; i++) {
        choose_operand(a, &stream, N);
        balance(operand, a, N);
        expect_product(a, a, N);
        warprsa_thread_mont_mul(&x, 1, digit, turn, N, W);
        turn += WARPRSA_THREAD_BLOCKS * warprsa_block_turns(N);
        if (!right(N))
            number_wrong(wrong, "square", view, seed);
    }
    choose_operand(a, &stream, N);
    balance(operand, a, N);
    expect_product(a, b, N);
    warprsa_thread_mont_mul(&x, 0, digit, 0, N, W);
    if (!right(N))
        number_wrong(wrong, "product", view, seed);
}

TEST(products)
{
    number_cases_in_pairs(product_case, module_context_scaled(PRODUCT_CASES));
}

static void power_case(const number_view *view, uint64_t seed, unsigned *wrong)
{
    const int N = view->limbs, R_bits = WARPRSA_SAMPLE_BITS * N;
    random_stream stream = {seed};
    warprsa_thread x = use_modulus(view, &stream);

    x.windows = (R_bits + WARPRSA_EXPONENT_BLINDING_BITS) / WARPRSA_WINDOW;
    number_exponent(b, exponent, x.windows * WARPRSA_WINDOW, &stream);
    number_power_of_two(scratch, R_bits);
    assert_true(BN_nnmod(a, scratch, p, bn));
    number_to_samples(samples, a, N);
    warprsa_balance(table, samples, WARPRSA_TABLE_SIZE, 1, N);
    assert_non_null(BN_mod_inverse(got, scratch, p, bn));
    choose_operand(a, &stream, N);
    if (BN_is_negative(a))
        BN_set_negative(a, 0);
    balance(operand, a, N);
    assert_true(BN_mod_mul(a, a, got, p, bn));
    assert_true(BN_mod_exp(expected, a, b, p, bn));
    number_power_of_two(scratch, R_bits);
    assert_true(BN_mod_mul(expected, expected, scratch, p, bn));
    warprsa_thread_modexp(&x, N, N / WARPRSA_THREAD_BLOCKS, 0);
    if (!right(N))
        number_wrong(wrong, "power", view, seed);
    for (int i = 0; i < (WARPRSA_TABLE_SIZE + 1) * N - 2 * x.near; i++)
        assert_true(table[i] == 0);
    warprsa_unbalance(&x, N);
    number_from_samples(got, operand, N);
    assert_true(BN_mul_word(p, 3));
    assert_true(BN_cmp(got, p) < 0);
    assert_int_equal(0, BN_div_word(p, 3));
    assert_true(BN_nnmod(got, got, p, bn));
    if (BN_cmp(got, expected) != 0)
        number_wrong(wrong, "way out", view, seed);
}

TEST(powers)
{
    number_cases_in_pairs(power_case, module_context_scaled(POWER_CASES));
}

/* Converts numbers with samples of exactly 2^52 and of all ones, in and out. */
TEST(balances)
{
    for (int size = 0; size < WARPRSA_CLASS_LARGE; size++) {
        number_view view = number_view_of(2 * size);
        random_stream stream = {number_seed()};
        const int N = view.limbs;

        for (int i = 0; i < PRODUCT_CASES; i++) {
            warprsa_thread x = use_modulus(&view, &stream);

            memset(samples, 0, sizeof(samples));
            assert_non_null(BN_copy(scratch, p));
            assert_true(BN_mul_word(scratch, 3));
            number_below(a, samples, N, scratch, &stream);
            warprsa_balance(operand, samples, 1, 1, N);
            value_of(got, operand, N);
            assert_int_equal(0, BN_cmp(a, got));
            assert_true(BN_add(a, a, p));
            warprsa_unbalance(&x, N);
            number_from_samples(got, operand, N);
            assert_int_equal(0, BN_cmp(a, got));
        }
    }
}

RUN_TESTS(set_up, tear_down)
