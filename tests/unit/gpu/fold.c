/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * gpu/kernels/fold: the parts of the fold for one thread a number, against
 * numbers of libcrypto: the matrix, multiplications and their folds with the
 * operands and primes that strain the bounds most, exact reduction, and the
 * packed tables.
 */
#include "tests/unit/support/fold_work.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/kernels/fold/matrix.h"
#include "tests/unit/support/module_context.h"

enum {
    SIZES = 3,
    PRIMES = 12,
    FOLDS = 6,
    PRODUCTS = 600,
    REDUCTIONS = 60,
    TABLES = 4,
    LIMBS_MAX = WARPRSA_FOLD_LIMBS_MAX,
};

static const int limbs_of[SIZES] = {20, 30, 40};

static BN_CTX *bn;
static BIGNUM *prime, *a, *b, *x, *y;
static fold_work *w;
static uint8_t *matrix;

static int set_up(void **state)
{
    bn = BN_CTX_new();
    BN_CTX_start(bn);
    number_make(bn, &prime, &a, &b, &x, &y, NULL);
    w = fold_work_new();
    if (w == NULL)
        return 1;
    matrix = w->matrix[0];
    w->group.matrix[1] = matrix;
    return fesetround(FE_TOWARDZERO) != 0;
}

static int tear_down(void **state)
{
    BN_CTX_end(bn);
    BN_CTX_free(bn);
    free(w);
    return 0;
}

/* No two digits share a offset, and none is outside. */
TEST(every_digit_has_its_offset)
{
    for (int size = 0; size < SIZES; size++) {
        const int limbs = limbs_of[size];

        memset(matrix, 0, WARPRSA_FOLD_MATRIX_BYTES(LIMBS_MAX));
        for (int k = 0; k < 8 * limbs; k++)
            for (int i = 0; i < limbs; i++)
                for (int d = 0; d < WARPRSA_FOLD_DIGITS; d++) {
                    int offset = warprsa_fold_matrix_offset(k, i, d, limbs);

                    assert_in_range(offset, 0,
                                    WARPRSA_FOLD_MATRIX_BYTES(limbs) - 1);
                    assert_int_equal(0, matrix[offset]);
                    matrix[offset] = 1;
                }
    }
}

/* Rows as the device makes them, from a prepared key, against BN_nnmod(). */
TEST(rows_made_from_a_key)
{
    static const key_recipe recipes[SIZES] = {
        {{PRIME_DOWN, 1024}, {PRIME_UP, 1001}, 3},
        {{PRIME_ONES, 1536}, {PRIME_DOWN, 1536}, 65537},
        {{PRIME_UP, 2048}, {PRIME_STRIPES, 2047}, 3}};

    for (int size = 0; size < SIZES; size++) {
        const int limbs = limbs_of[size], last = 8 * limbs - 1;
        const int some[] = {0, 1, 7, 8, last / 2, last - 1, last, last - 8};
        warprsa_prepared_key key;
        double samples[NUMBER_SAMPLES], qinv[LIMBS_MAX];
        made_key made;
        warprsa_shape shape;

        assert_true(made_key_new(&made, &recipes[size]));
        assert_int_equal(WARPRSA_OK, warprsa_prepare_key(&key, &made.key));
        shape = warprsa_shape_of((warprsa_size_class)key.size);
        assert_int_equal(limbs, shape.limbs);
        for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
            const int k = some[i];
            warprsa_number row;

            warprsa_fold_matrix_row(
                &row, &key,
                k == last ? fold_row_bit(k, limbs)
                          : fold_row_bit(k, limbs) - 52 * limbs,
                k == last, k == warprsa_fold_bias_row(limbs), limbs,
                shape.threads_per_number, shape.limbs_per_thread);
            for (int half = 0; half < 2; half++) {
                fold_row(x, made.numbers.value[half ? NUMBER_Q : NUMBER_P], k,
                         limbs, bn);
                number_to_samples(samples, x, limbs);
                for (int j = 0; j < limbs; j++)
                    assert_true(samples[j] ==
                                row.of[half * shape.threads_per_number +
                                       j / shape.limbs_per_thread]
                                      [j % shape.limbs_per_thread]);
            }
        }
        warprsa_fold_put_qinv(qinv, &key, limbs, shape.threads_per_number,
                              shape.limbs_per_thread);
        number_from_samples(x, qinv, limbs);
        assert_int_equal(0, BN_cmp(x, made.numbers.value[NUMBER_QINV]));
        made_key_free(&made);
    }
}

/* The columns of m n, or of m m without n. */
static void check_columns(uint64_t *s, const double *m, const double *n,
                          int limbs)
{
    uint64_t plain[2 * LIMBS_MAX];
    warprsa_fold_smem_stash stash = {{0}};

    if (n == NULL)
        warprsa_fold_sqr(s, m, &stash, limbs);
    else
        warprsa_fold_mul(s, m, n, &stash, limbs);
    memcpy(plain, s, sizeof(plain));
    fold_columns_are_right(plain, m, n == NULL ? m : n, limbs, bn);
}

TEST(products)
{
    random_stream stream = {number_seed()};
    const unsigned count = module_context_scaled(PRODUCTS);

    for (int size = 0; size < SIZES; size++)
        for (unsigned i = 0; i < count; i++) {
            double m[LIMBS_MAX], n[LIMBS_MAX];
            uint64_t s[2 * LIMBS_MAX];

            fold_operand(m, limbs_of[size], &stream);
            fold_operand(n, limbs_of[size], &stream);
            check_columns(s, m, n, limbs_of[size]);
            check_columns(s, m, NULL, limbs_of[size]);
        }
}

/* Folds all messages' columns. */
static void fold_all(warprsa_fold_number *r, warprsa_fold_columns *s,
                     BIGNUM *const *expected, int limbs)
{
    static const warprsa_fold_table_work none = {-1, -1, -1, -1};
    uint32_t digit[WARPRSA_MESSAGES] = {0};

    warprsa_fold_fold(r, &w->group, s, &none, digit, limbs);
    for (int k = 0; k < WARPRSA_MESSAGES; k++)
        fold_result_is_right(r->of[k], expected[k], prime, limbs, bn);
}

/* Products and squares of fresh operands, and then of what comes out. */
static void folds_of(int limbs, random_stream *stream)
{
    static warprsa_fold_number m, n;
    static warprsa_fold_columns s;
    BIGNUM *expected[WARPRSA_MESSAGES];

    for (int k = 0; k < WARPRSA_MESSAGES; k++) {
        fold_operand(m.of[k], limbs, stream);
        assert_non_null(expected[k] = BN_new());
    }
    for (int turn = 0; turn < FOLDS; turn++) {
        for (int k = 0; k < WARPRSA_MESSAGES; k++) {
            const int square = (k + turn) % 2;

            if (!square)
                fold_operand(n.of[k], limbs, stream);
            number_from_samples(a, m.of[k], limbs);
            number_from_samples(b, square ? m.of[k] : n.of[k], limbs);
            assert_true(BN_mod_mul(expected[k], a, b, prime, bn));
            check_columns(s.of[k], m.of[k], square ? NULL : n.of[k], limbs);
        }
        fold_all(&m, &s, expected, limbs);
    }
    for (int k = 0; k < WARPRSA_MESSAGES; k++)
        BN_free(expected[k]);
}

/* The largest columns there can be, for a prime whose powers of two are any:
 * every byte and every digit at its most. */
TEST(digit_sums_at_their_most)
{
    for (int size = 0; size < SIZES; size++) {
        const int limbs = limbs_of[size];
        const uint64_t most =
            (uint64_t)(3 * limbs + 3) << 52 | WARPRSA_SAMPLE_MASK;
        uint64_t s[2 * LIMBS_MAX];
        uint32_t d[WARPRSA_FOLD_DIGITS], over = 0;

        for (int c = limbs; c < 2 * limbs; c++)
            s[c] = c == 2 * limbs - 1 ? ~0ull : most | ((1ull << 56) - 1);
        for (int k = 0; k < 8 * limbs; k++)
            for (int digit = 0; digit < WARPRSA_FOLD_DIGITS; digit++)
                matrix[warprsa_fold_matrix_offset(k, 0, digit, limbs)] =
                    (uint8_t)((1u
                               << (warprsa_fold_digit_shift(digit + 1, limbs) -
                                   warprsa_fold_digit_shift(digit, limbs))) -
                              1);
        warprsa_fold_digit_sums(d, matrix, s + limbs, 0, limbs);
        BN_zero(x);
        for (int digit = WARPRSA_FOLD_DIGITS - 1; digit >= 0; digit--) {
            assert_true(BN_set_word(y, d[digit]));
            assert_true(
                BN_lshift(y, y, warprsa_fold_digit_shift(digit, limbs)));
            assert_true(BN_add(x, x, y));
        }
        /* Once more with what comes in from such a sample below. */
        for (int turn = 0; turn < 2; turn++) {
            const uint32_t in = over;
            uint64_t joined = warprsa_fold_join(d, &over, limbs);

            assert_true(joined < ~0ull - (1ull << 59));
            assert_true(BN_set_word(y, over));
            assert_true(BN_lshift(y, y, 52));
            assert_true(BN_set_word(a, joined));
            assert_true(BN_add(y, y, a));
            assert_true(BN_sub_word(y, in));
            assert_int_equal(0, BN_cmp(x, y));
        }
    }
}

TEST(folds)
{
    random_stream stream = {number_seed()};
    const unsigned primes = module_context_scaled(PRIMES);

    for (int size = 0; size < SIZES; size++)
        for (unsigned i = 0; i < primes; i++) {
            fold_prime(prime, i, limbs_of[size], &stream);
            fold_matrix(matrix, prime, limbs_of[size], bn);
            folds_of(limbs_of[size], &stream);
        }
}

/* One number below 2^39.5 p, and the same modulo p. */
static void reduce_one(int limbs)
{
    double samples[NUMBER_SAMPLES], p[NUMBER_SAMPLES];

    number_to_samples(p, prime, limbs);
    number_to_samples(samples, a, limbs);
    warprsa_fold_reduce(samples, p, limbs);
    assert_true(BN_nnmod(b, a, prime, bn));
    number_from_samples(x, samples, limbs);
    assert_int_equal(0, BN_cmp(x, b));
    for (int i = 0; i < limbs; i++)
        assert_true(samples[i] >= 0 && samples[i] < 0x1p52);
}

/* Around multiples of the prime, small ones and the largest, and others. */
TEST(reductions)
{
    random_stream stream = {number_seed()};
    const unsigned count = module_context_scaled(REDUCTIONS);

    for (int size = 0; size < SIZES; size++)
        for (unsigned i = 0; i < count; i++) {
            const int limbs = limbs_of[size];

            fold_prime_to_reduce_by(prime, i, limbs, &stream);
            for (int about = -2; about <= 2; about++) {
                fold_about_a_multiple(a, prime, about, limbs, &stream, bn);
                reduce_one(limbs);
            }
        }
}

/* Differences of two numbers below the prime, negative ones, too. */
TEST(differences)
{
    random_stream stream = {number_seed()};

    for (int size = 0; size < SIZES; size++)
        for (unsigned i = 0; i < module_context_scaled(REDUCTIONS); i++) {
            const int limbs = limbs_of[size];
            double m[NUMBER_SAMPLES], n[NUMBER_SAMPLES], p[NUMBER_SAMPLES];

            number_pattern(prime, &stream, (int)(i % NUMBER_PATTERNS),
                           WARPRSA_FOLD_BITS(limbs));
            number_below(a, m, limbs, prime, &stream);
            number_below(b, n, limbs, prime, &stream);
            number_to_samples(m, a, limbs);
            number_to_samples(n, b, limbs);
            number_to_samples(p, prime, limbs);
            warprsa_fold_subtract(m, n, p, limbs);
            assert_true(BN_mod_sub(y, a, b, prime, bn));
            number_from_samples(x, m, limbs);
            assert_int_equal(0, BN_cmp(x, y));
        }
}

/* Every message has a table of its own, and asks for another entry. */
TEST(tables)
{
    static double entry[WARPRSA_FOLD_ENTRIES + 1][WARPRSA_MESSAGES][LIMBS_MAX];
    random_stream stream = {number_seed()};

    memset(entry, 0, sizeof(entry));
    for (int k = 0; k < WARPRSA_MESSAGES; k++)
        entry[0][k][0] = 1;
    for (int turn = 0; turn < SIZES * TABLES; turn++) {
        const int limbs = limbs_of[turn % SIZES];

        for (int e = 1; e <= WARPRSA_FOLD_ENTRIES; e++)
            for (int k = 0; k < WARPRSA_MESSAGES; k++) {
                const int top = WARPRSA_FOLD_BITS(limbs) - 52 * (limbs - 1);

                for (int i = 0; i < limbs; i++)
                    entry[e][k][i] =
                        (double)(random_next(&stream) &
                                 (i == limbs - 1 ? (1ull << top) - 1
                                                 : WARPRSA_SAMPLE_MASK));
                warprsa_fold_put_entry(&w->group.memory, e, entry[e][k], k,
                                       limbs);
            }
        for (uint32_t digit = 0; digit <= (uint32_t)WARPRSA_FOLD_ENTRIES;
             digit++)
            for (int k = 0; k < WARPRSA_MESSAGES; k++) {
                const uint32_t own = (digit + (uint32_t)k) %
                                     ((uint32_t)WARPRSA_FOLD_ENTRIES + 1);
                double got[LIMBS_MAX];

                for (int phase = 0; phase < WARPRSA_FOLD_PHASES(limbs);
                     phase++) {
                    warprsa_fold_fetch(&w->group, phase, k, limbs);
                    warprsa_fold_select_pieces(&w->group.memory, phase, own, k,
                                               limbs);
                }
                warprsa_fold_get_selected(got, &w->group.memory, k, limbs);
                for (int i = 0; i < limbs; i++)
                    assert_true(got[i] == entry[own][k][i]);
            }
    }
}

RUN_TESTS(set_up, tear_down)
