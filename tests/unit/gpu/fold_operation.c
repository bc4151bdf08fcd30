/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whole private operations by gpu/kernels/fold/fold_operation.h, on the CPU,
 * against those of libcrypto: keys from awkward primes, messages whose halves
 * meet, exponents that windows may get wrong, and results that must not pass.
 */
#include "tests/unit/support/fold_work.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support/module_context.h"

#define BIG_E 0x8000000000000015u /* beyond 2^63 */

static BN_CTX *bn;
static BIGNUM *m, *s, *half[2];
static fold_work *w;
static random_stream stream;

static int set_up(void **state)
{
    bn = BN_CTX_new();
    BN_CTX_start(bn);
    number_make(bn, &m, &s, &half[0], &half[1], NULL);
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

static void run(void)
{
    warprsa_fold_program_make(&w->program, w->key.e, false);
    assert_true(w->program.count <= WARPRSA_FOLD_INSTRUCTIONS_MAX);
    warprsa_fold_run(&w->group, &w->program, (int)w->key.windows, false,
                     warprsa_shape_of((warprsa_size_class)w->key.size).limbs);
}

TEST(private_operations)
{
    static const key_recipe recipes[] = {
        {{PRIME_ONES, 1024}, {PRIME_RANDOM, 1024}, 65537},
        {{PRIME_DOWN, 1024}, {PRIME_UP, 1001}, 3},
        {{PRIME_UP, 1001}, {PRIME_STRIPES, 1024}, BIG_E},
        {{PRIME_DOWN, 1536}, {PRIME_ZEROS, 1536}, 17},
    };
    const unsigned count =
        module_context_scaled(sizeof(recipes) / sizeof(recipes[0]));

    for (unsigned i = 0; i < count && i < sizeof(recipes) / sizeof(recipes[0]);
         i++) {
        (void)fold_use_key(w, &recipes[i]);
        for (int j = 0; j < WARPRSA_FOLD_GROUP; j++)
            fold_use_message(w, j, j, &stream);
        run();
        fold_answers_are_right(w);
        made_key_free(&w->made);
    }
}

/* The exponent of a half: 0, 1, all ones, ... */
static void put_exponent(uint32_t *words, int which, int bits)
{
    for (int i = 0; i < bits / 32; i++)
        words[i] = which == 0   ? 0
                   : which == 1 ? i == 0
                   : which == 2 ? 0xffffffffu
                   : which == 3 ? 0x11111111u
                   : which == 4 ? (uint32_t)(i == bits / 32 - 1) << 31
                                : (uint32_t)random_next(&stream);
}

/* x^exponent mod p with the exponents that the key has now. An even one, which
 * no key has, counts as the next: what is computed is x^(exponent - 1) x. */
static void power(BIGNUM *r, const BIGNUM *x, int which)
{
    const BIGNUM *p = w->made.numbers.value[which ? NUMBER_Q : NUMBER_P];
    uint8_t bytes[4 * WARPRSA_EXPONENT_WORDS];
    BIGNUM *exponent = NULL;

    memcpy(bytes, w->key.half[which].exponent, sizeof(bytes));
    bytes[0] |= 1;
    exponent = BN_lebin2bn(bytes, sizeof(bytes), NULL);
    assert_non_null(exponent);
    assert_true(BN_mod_exp(r, x, exponent, p, bn));
    BN_free(exponent);
}

/* Exponents that do not belong to e: the halves are still those of libcrypto,
 * and the check says that the whole is no root of m. The exponents' own
 * blinding adds multiples of p - 1, and with it, zero. */
TEST(other_exponents)
{
    static const key_recipe recipe = {
        {PRIME_RANDOM, 1024}, {PRIME_DOWN, 1023}, 65537};
    const int bytes = 256;

    (void)fold_use_key(w, &recipe);
    for (int which = 0; which < (int)module_context_scaled(6) && which < 6;
         which++) {
        put_exponent(w->key.half[0].exponent, which, 1024);
        put_exponent(w->key.half[1].exponent, 5 - which, 1024);
        for (int j = 0; j < WARPRSA_FOLD_GROUP; j++) {
            fold_use_message(w, j, 10, &stream);
            /* r = 1: another factor comes out only with the right exponent. */
            memset(w->random[j], 0, sizeof(w->random[j]));
            w->random[j][0] = 1;
            if (j % 2 == 0)
                w->random[j][WARPRSA_RANDOM_WORDS - 1] = random_next(&stream);
        }
        run();
        for (int j = 0; j < WARPRSA_FOLD_GROUP; j++) {
            assert_non_null(BN_bin2bn(w->input[j], bytes, m));
            assert_non_null(BN_bin2bn(w->output[j], bytes, s));
            assert_true(BN_cmp(s, w->made.numbers.value[NUMBER_N]) < 0);
            assert_int_equal(WARPRSA_CHECK_FAILED, w->status[j]);
            for (int i = 0; i < 2; i++) {
                power(half[i], m, i);
                assert_true(BN_nnmod(
                    m, s, w->made.numbers.value[i ? NUMBER_Q : NUMBER_P], bn));
                assert_int_equal(0, BN_cmp(m, half[i]));
                assert_non_null(BN_bin2bn(w->input[j], bytes, m));
            }
        }
    }
    made_key_free(&w->made);
}

/* One wrong bit in one half's exponent: a factor for whoever got the result. */
TEST(a_wrong_half_does_not_pass)
{
    static const key_recipe recipe = {
        {PRIME_RANDOM, 1024}, {PRIME_ONES, 1024}, 3};

    fold_wrong_half_does_not_pass(w, &recipe, 1, run, &stream);
}

RUN_TESTS(set_up, tear_down)
