/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * gpu/kernels/fold/pair.h and pair_operation.h, numbers of 20, 30 or 40 samples
 * shared by two threads, against numbers of libcrypto: multiplications, folds
 * and reductions with the operands and primes that strain the bounds most,
 * tables, and whole private operations.
 */
#include "tests/unit/support/fold_work.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/kernels/fold/pair_operation.h"
#include "tests/unit/support/module_context.h"

#define BIG_E 0x8000000000000015u /* beyond 2^63 */

enum {
    LIMBS = WARPRSA_FOLD_PAIR_LIMBS,
    PART_LIMBS = WARPRSA_FOLD_PART_LIMBS,
    BITS = WARPRSA_FOLD_BITS(LIMBS),
    GROUP = WARPRSA_FOLD_GROUP,
    PRODUCTS = 40,
    PRIMES = 11,
    FOLDS = 4,
    REDUCTIONS = 60,
    TABLES = 2,
};

_Static_assert(sizeof(((fold_work *)NULL)->smem_pieces) >=
                   sizeof(uint32_t) * WARPRSA_FOLD_SMEM_WORDS(PART_LIMBS),
               "a group's pieces fit");

static BN_CTX *bn;
static BIGNUM *prime, *a, *b, *x, *y;
static fold_work *w;
static random_stream stream;

static int set_up(void **state)
{
    bn = BN_CTX_new();
    BN_CTX_start(bn);
    number_make(bn, &prime, &a, &b, &x, &y, NULL);
    w = fold_work_new();
    stream.state = number_seed();
    return w == NULL || fesetround(FE_TOWARDZERO) != 0;
}

static int tear_down(void **state)
{
    BN_CTX_end(bn);
    BN_CTX_free(bn);
    free(w);
    return 0;
}

/* Request k's number to both of its parts, and back. */
static void put_number(warprsa_fold_number *to, int k, const double *samples)
{
    memcpy(to->of[k], samples, PART_LIMBS * sizeof(*samples));
    memcpy(to->of[k + GROUP], samples + PART_LIMBS,
           PART_LIMBS * sizeof(*samples));
}

static void get_number(double *samples, const warprsa_fold_number *from, int k)
{
    memcpy(samples, from->of[k], PART_LIMBS * sizeof(*samples));
    memcpy(samples + PART_LIMBS, from->of[k + GROUP],
           PART_LIMBS * sizeof(*samples));
}

static void operands(warprsa_fold_number *to)
{
    for (int k = 0; k < GROUP; k++) {
        double samples[LIMBS];

        fold_operand(samples, LIMBS, &stream);
        put_number(to, k, samples);
    }
}

/* The columns of m n, or of m m without n, of all requests. */
static void check_columns(warprsa_fold_columns *s, const warprsa_fold_number *m,
                          const warprsa_fold_number *n)
{
    static warprsa_fold_pair_smem_stash stash;

    if (n == NULL)
        warprsa_fold_pair_sqr(s, m, &stash);
    else
        warprsa_fold_pair_mul(s, m, n, &stash);
    for (int k = 0; k < GROUP; k++) {
        uint64_t plain[2 * LIMBS];
        double left[LIMBS], right[LIMBS];

        for (int c = 0; c < 2 * LIMBS; c++)
            plain[c] = s->of[k + c / PART_LIMBS % 2 * GROUP]
                            [c % PART_LIMBS + c / LIMBS * PART_LIMBS];
        get_number(left, m, k);
        get_number(right, n == NULL ? m : n, k);
        fold_columns_are_right(plain, left, right, LIMBS, bn);
    }
}

TEST(products)
{
    static warprsa_fold_number m, n;
    static warprsa_fold_columns s;
    const unsigned count = module_context_scaled(PRODUCTS);

    for (unsigned i = 0; i < count; i++) {
        operands(&m);
        operands(&n);
        check_columns(&s, &m, &n);
        check_columns(&s, &m, NULL);
    }
}

/* Folds all requests' columns. */
static void fold_all(warprsa_fold_number *r, warprsa_fold_columns *s,
                     BIGNUM *const *expected)
{
    static const warprsa_fold_table_work none = {-1, -1, -1, -1};
    uint32_t digit[WARPRSA_MESSAGES] = {0};

    warprsa_fold_pair_fold(r, &w->group, s, &none, digit);
    for (int k = 0; k < GROUP; k++) {
        double samples[LIMBS];

        get_number(samples, r, k);
        fold_result_is_right(samples, expected[k], prime, LIMBS, bn);
    }
}

/* Products and squares of fresh operands, and then of what comes out. */
static void folds_of(void)
{
    static warprsa_fold_number m, n;
    static warprsa_fold_columns s;
    BIGNUM *expected[GROUP];

    operands(&m);
    for (int k = 0; k < GROUP; k++)
        assert_non_null(expected[k] = BN_new());
    for (int turn = 0; turn < FOLDS; turn++) {
        const warprsa_fold_number *factor = turn % 2 ? &m : &n;

        operands(&n);
        for (int k = 0; k < GROUP; k++) {
            double samples[LIMBS];

            get_number(samples, &m, k);
            number_from_samples(a, samples, LIMBS);
            get_number(samples, factor, k);
            number_from_samples(b, samples, LIMBS);
            assert_true(BN_mod_mul(expected[k], a, b, prime, bn));
        }
        check_columns(&s, &m, factor == &m ? NULL : factor);
        fold_all(&m, &s, expected);
    }
    for (int k = 0; k < GROUP; k++)
        BN_free(expected[k]);
}

TEST(folds)
{
    const unsigned primes = module_context_scaled(PRIMES);

    w->group.prime = 0;
    for (unsigned i = 0; i < primes; i++) {
        fold_prime(prime, i, LIMBS, &stream);
        fold_matrix(w->matrix[0], prime, LIMBS, bn);
        folds_of();
    }
}

TEST(reductions)
{
    static warprsa_fold_number m, r;
    const unsigned count = module_context_scaled(REDUCTIONS);

    for (unsigned i = 0; i < count; i++) {
        double samples[NUMBER_SAMPLES], p[NUMBER_SAMPLES];

        fold_prime_to_reduce_by(prime, i, LIMBS, &stream);
        number_to_samples(p, prime, LIMBS);
        for (int k = 0; k < GROUP; k++) {
            fold_about_a_multiple(a, prime, k % 5 - 2, LIMBS, &stream, bn);
            number_to_samples(samples, a, LIMBS);
            put_number(&m, k, samples);
        }
        r = m;
        warprsa_fold_pair_reduce(&r, p);
        for (int k = 0; k < GROUP; k++) {
            get_number(samples, &m, k);
            number_from_samples(a, samples, LIMBS);
            assert_true(BN_nnmod(b, a, prime, bn));
            get_number(samples, &r, k);
            number_from_samples(x, samples, LIMBS);
            assert_int_equal(0, BN_cmp(x, b));
            for (int j = 0; j < LIMBS; j++)
                assert_true(samples[j] >= 0 && samples[j] < 0x1p52);
        }
    }
}

/* Differences of two numbers below the prime, negative ones, too. */
TEST(differences)
{
    static warprsa_fold_number m, n, r;

    for (unsigned i = 0; i < module_context_scaled(REDUCTIONS); i++) {
        double samples[NUMBER_SAMPLES], p[NUMBER_SAMPLES];

        number_pattern(prime, &stream, (int)(i % NUMBER_PATTERNS), BITS);
        number_to_samples(p, prime, LIMBS);
        for (int k = 0; k < GROUP; k++) {
            number_below(a, samples, LIMBS, prime, &stream);
            number_to_samples(samples, a, LIMBS);
            put_number(&m, k, samples);
            number_below(b, samples, LIMBS, prime, &stream);
            number_to_samples(samples, k == 0 ? a : b, LIMBS);
            put_number(&n, k, samples);
        }
        r = m;
        warprsa_fold_pair_subtract(&r, &n, p);
        for (int k = 0; k < GROUP; k++) {
            get_number(samples, &m, k);
            number_from_samples(a, samples, LIMBS);
            get_number(samples, &n, k);
            number_from_samples(b, samples, LIMBS);
            assert_true(BN_mod_sub(y, a, b, prime, bn));
            get_number(samples, &r, k);
            number_from_samples(x, samples, LIMBS);
            assert_int_equal(0, BN_cmp(x, y));
        }
    }
}

/* A table of numbers of all bits; each request asks for another entry,
 * and its parts for the same. */
TEST(tables)
{
    static warprsa_fold_number entry[WARPRSA_FOLD_ENTRIES + 1], got;
    const int most = WARPRSA_FOLD_ENTRIES;

    for (int k = 0; k < GROUP; k++)
        entry[0].of[k][0] = 1;
    for (int turn = 0; turn < TABLES; turn++) {
        for (int e = 1; e <= most; e++) {
            for (int k = 0; k < GROUP; k++) {
                double samples[NUMBER_SAMPLES];

                number_pattern(a, &stream, (e + k) % NUMBER_PATTERNS, BITS);
                number_to_samples(samples, a, LIMBS);
                put_number(&entry[e], k, samples);
            }
            warprsa_fold_pair_put_entry(&w->group.memory, e, &entry[e]);
        }
        for (int digit = 0; digit <= most; digit++) {
            for (int phase = 0; phase < WARPRSA_FOLD_PHASES(PART_LIMBS);
                 phase++)
                for (int k = 0; k < WARPRSA_MESSAGES; k++) {
                    warprsa_fold_fetch(&w->group, phase, k, PART_LIMBS);
                    warprsa_fold_pair_select_pieces(
                        &w->group.memory, phase,
                        (uint32_t)(digit + k % GROUP) % (uint32_t)(most + 1),
                        k);
                }
            warprsa_fold_pair_get_selected(&got, &w->group.memory);
            for (int k = 0; k < WARPRSA_MESSAGES; k++)
                for (int i = 0; i < PART_LIMBS; i++)
                    assert_true(
                        got.of[k][i] ==
                        entry[(digit + k % GROUP) % (most + 1)].of[k][i]);
        }
    }
}

static void run_pass(int pass)
{
    w->group.prime = warprsa_fold_pass_prime(pass);
    warprsa_fold_pass_program(&w->program, w->key.e, pass);
    assert_true(w->program.count <= WARPRSA_FOLD_INSTRUCTIONS_MAX);
    warprsa_fold_pair_run(&w->group, &w->program, pass,
                          pass == WARPRSA_FOLD_PASS_ROOT_P ||
                              pass == WARPRSA_FOLD_PASS_ROOT_Q,
                          (int)w->key.windows);
}

static void run_whole(void)
{
    warprsa_fold_pair_blind_exponents(&w->group);
    for (int pass = 0; pass < WARPRSA_FOLD_PASSES; pass++)
        run_pass(pass);
}

/* Both roots as different blocks make them, and then the rest. */
static void run_cut(void)
{
    warprsa_fold_pair_blind_exponents(&w->group);
    for (int half = 0; half < 2; half++) {
        run_pass(WARPRSA_FOLD_PASS_ROOT_P + half);
        warprsa_fold_pair_put_root(&w->group);
    }
    memset(w->registers, 0, sizeof(w->registers));
    warprsa_fold_pair_take_roots(&w->group);
    run_pass(WARPRSA_FOLD_PASS_RECOMBINE);
    run_pass(WARPRSA_FOLD_PASS_CHECK);
}

static void run_operations(void (*run)(void))
{
    static const key_recipe recipes[] = {
        {{PRIME_ONES, BITS}, {PRIME_UP, BITS - 7}, 65537},
        {{PRIME_STRIPES, BITS - 3}, {PRIME_DOWN, BITS}, BIG_E},
    };
    const unsigned most = sizeof(recipes) / sizeof(recipes[0]);

    for (unsigned i = 0; i < module_context_scaled(most) && i < most; i++) {
        assert_int_equal(LIMBS, fold_use_key(w, &recipes[i]));
        for (int j = 0; j < GROUP; j++)
            fold_use_message(w, j, j, &stream);
        run();
        fold_answers_are_right(w);
        made_key_free(&w->made);
    }
}

TEST(private_operations)
{
    run_operations(run_whole);
}

TEST(cut_operations)
{
    run_operations(run_cut);
}

/* One wrong bit in one half's exponent: a factor for whoever got the result. */
TEST(a_wrong_half_does_not_pass)
{
    static const key_recipe recipe = {
        {PRIME_RANDOM, BITS}, {PRIME_ONES, BITS}, 3};

    for (int half = 0; half < (int)module_context_scaled(2) && half < 2; half++)
        fold_wrong_half_does_not_pass(w, &recipe, half,
                                      half == 0 ? run_whole : run_cut, &stream);
}

RUN_TESTS(set_up, tear_down)
