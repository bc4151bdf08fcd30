/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tests the exponentiations of gpu/arith/modexp.h against
 * BN_mod_exp(): the public one, the secret one with its table, the parts of the
 * latter, and the check that ends an operation.
 */
#include "tests/unit/support/gpu_numbers.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support/gpu_keys.h"
#include "tests/unit/support/module_context.h"

enum {
    TABLE_CASES = 50,
    PUBLIC_CASES = 40,
    SECRET_CASES = 40,
    STRIDE = 32, /* entries of other requests are in between */
    TABLE_SIZE = WARPRSA_TABLE_DOUBLES * STRIDE
};

/* One subgroup's numbers. */
typedef struct operands {
    BIGNUM *p, *x, *last, *expected, *r_inverse;
    warprsa_sample_t samples[NUMBER_SAMPLES];
} operands;

static BN_CTX *bn;
static operands numbers[NUMBER_SUBGROUPS];
static BIGNUM *scratch;
static warprsa_sample_t table[TABLE_SIZE];
static warprsa_operation_key key;
static uint32_t exponents[2][WARPRSA_BLINDED_WORDS];

static int set_up(void **state)
{
    bn = BN_CTX_new();
    BN_CTX_start(bn);
    for (int i = 0; i < NUMBER_SUBGROUPS; i++)
        number_make(bn, &numbers[i].p, &numbers[i].x, &numbers[i].last,
                    &numbers[i].expected, &numbers[i].r_inverse, NULL);
    number_make(bn, &scratch, NULL);
    return fesetround(FE_TOWARDZERO) != 0;
}

static int tear_down(void **state)
{
    BN_CTX_end(bn);
    BN_CTX_free(bn);
    return 0;
}

/* Each lane asks for an entry of its own. */
TEST(table_gives_each_entry)
{
    for (int size = 0; size < NUMBER_SHAPES; size++) {
        number_view view = number_view_of(2 * size);
        random_stream stream = {number_seed()};
        warprsa_operation op = {.table = table + 3, .table_stride = STRIDE};
        warprsa_number entries[WARPRSA_TABLE_SIZE], got;

        for (int turn = 0; turn < TABLE_CASES; turn++) {
            uint32_t digit[WARPRSA_LANES_EMULATED];

            for (int e = 0; e < WARPRSA_TABLE_SIZE; e++) {
                for (int k = 0; k < view.threads_per_request; k++)
                    for (int i = 0; i < view.limbs_per_thread; i++)
                        entries[e].of[k][i] =
                            (warprsa_sample_t)(random_next(&stream) &
                                               WARPRSA_SAMPLE_MASK);
                warprsa_table_put(&op, e, &entries[e], view.limbs_per_thread,
                                  view.threads_per_request);
            }
            for (uint32_t e = 0; e < WARPRSA_TABLE_SIZE; e++) {
                for (int k = 0; k < view.threads_per_request; k++)
                    digit[k] =
                        ((uint32_t)k * (uint32_t)turn + e) % WARPRSA_TABLE_SIZE;
                warprsa_table_get(&got, &op, digit, view.limbs_per_thread,
                                  view.threads_per_request);
                for (int k = 0; k < view.threads_per_request; k++)
                    assert_memory_equal(entries[digit[k]].of[k], got.of[k],
                                        (size_t)view.limbs_per_thread *
                                            sizeof(warprsa_sample_t));
            }
        }
    }
}

/* Bits of a blinded exponent at most, in whole digits. */
static int exponent_bits(const number_view *view)
{
    return (WARPRSA_SAMPLE_BITS * view->limbs + WARPRSA_EXPONENT_BLINDING_BITS +
            WARPRSA_WINDOW - 1) /
           WARPRSA_WINDOW * WARPRSA_WINDOW;
}

/* The digits of both exponents, put together, are the exponents. */
TEST(digits_cover_the_exponents)
{
    for (int size = 0; size < NUMBER_SHAPES; size++) {
        number_view view = number_view_of(2 * size);
        random_stream stream = {number_seed()};
        warprsa_operation op = {.exponent = exponents[0]};
        const int bits = exponent_bits(&view);
        const int digits = bits / WARPRSA_WINDOW;
        uint32_t seen[2][WARPRSA_BLINDED_WORDS] = {{0}};

        assert_true(bits <= 32 * WARPRSA_BLINDED_WORDS);
        memset(exponents, 0, sizeof(exponents));
        for (int half = 0; half < 2; half++)
            for (int i = 0; i < bits; i++)
                exponents[half][i / 32] |= random_below(&stream, 2) << (i % 32);
        for (int index = 0; index < digits; index++) {
            uint32_t digit[WARPRSA_LANES_EMULATED];
            int bit = index * WARPRSA_WINDOW;

            warprsa_secret_digit(digit, &op, index, view.threads_per_number,
                                 view.threads_per_request);
            for (int k = 0; k < view.threads_per_request; k++) {
                assert_true(digit[k] < WARPRSA_TABLE_SIZE);
                assert_int_equal(digit[k / view.threads_per_number *
                                       view.threads_per_number],
                                 digit[k]);
            }
            for (int half = 0; half < 2; half++)
                seen[half][bit / 32] |= digit[half * view.threads_per_number]
                                        << (bit % 32);
        }
        for (int half = 0; half < 2; half++)
            assert_memory_equal(exponents[half], seen[half],
                                sizeof(seen[half]));
    }
}

/* Chooses a modulus for each subgroup and loads its constants; `one` gets R mod
 * P. */
static void use_moduli(const number_view *view, random_stream *stream,
                       warprsa_modulus *p, warprsa_number *one)
{
    const int bits = WARPRSA_SAMPLE_BITS * view->limbs;

    for (int i = 0; i < number_subgroups(view); i++) {
        operands *o = &numbers[i];

        number_modulus(o->p, stream, number_modulus_bits(view));
        number_to_samples(o->samples, o->p, number_samples(view));
        number_put(&p->p, view, i, o->samples);
        number_power_of_two(scratch, WARPRSA_SAMPLE_BITS);
        assert_non_null(BN_mod_inverse(o->x, scratch, o->p, bn));
        number_to_samples(o->samples, o->x, number_samples(view));
#ifndef WARPRSA_INT32
        number_put(&p->inv_2_52, view, i, o->samples);
#endif
        assert_non_null(BN_mod_inverse(scratch, o->p, scratch, bn));
        for (int k = 0; k < view->threads_per_number; k++)
            p->n0inv[i * view->threads_per_number + k] =
                (warprsa_sample_t)(WARPRSA_SAMPLE_MASK + 1 -
                                   BN_get_word(scratch));
        number_power_of_two(scratch, bits);
        assert_true(BN_nnmod(o->x, scratch, o->p, bn));
        number_to_samples(o->samples, o->x, number_samples(view));
        number_put(one, view, i, o->samples);
        assert_non_null(BN_mod_inverse(o->r_inverse, scratch, o->p, bn));
    }
}

/* Chooses a base below 3P in Montgomery form; o->x gets its value out of that
 * form. */
static void choose_base(operands *o, const number_view *view, int subgroup,
                        random_stream *stream, warprsa_number *x)
{
    memset(o->samples, 0, sizeof(o->samples));
    assert_non_null(BN_copy(scratch, o->p));
    assert_true(BN_mul_word(scratch, 3));
    number_below(o->x, o->samples, view->limbs, scratch, stream);
    number_put(x, view, subgroup, o->samples);
    assert_true(BN_mod_mul(o->x, o->x, o->r_inverse, o->p, bn));
}

/* Whether a result is below 3P and congruent to the expected value. */
static int right(const warprsa_number *r, const number_view *view, int subgroup)
{
    operands *o = &numbers[subgroup];

    number_get(o->samples, r, view, subgroup);
    number_from_samples(o->last, o->samples, number_samples(view));
    assert_non_null(BN_copy(scratch, o->p));
    assert_true(BN_mul_word(scratch, 3));
    if (BN_cmp(o->last, scratch) >= 0)
        return 0;
    assert_true(BN_nnmod(o->last, o->last, o->p, bn));
    return BN_cmp(o->last, o->expected) == 0;
}

static void public_case(const number_view *view, uint64_t e, uint64_t seed,
                        unsigned *wrong)
{
    random_stream stream = {seed};
    warprsa_modulus p;
    warprsa_number one, x, r;

    use_moduli(view, &stream, &p, &one);
    for (int i = 0; i < number_subgroups(view); i++) {
        operands *o = &numbers[i];

        choose_base(o, view, i, &stream, &x);
        assert_true(BN_set_word(scratch, e));
        assert_true(BN_mod_exp(o->expected, o->x, scratch, o->p, bn));
        assert_true(BN_lshift(o->expected, o->expected,
                              WARPRSA_SAMPLE_BITS * view->limbs));
        assert_true(BN_nnmod(o->expected, o->expected, o->p, bn));
    }
    warprsa_public_modexp(&r, &x, &one, e, &p, view->limbs,
                          view->threads_per_number, view->limbs_per_thread,
                          view->threads_per_request);
    for (int i = 0; i < number_subgroups(view); i++)
        if (!right(&r, view, i))
            number_wrong(wrong, "public power", view, seed);
}

TEST(public_modexps)
{
    static const uint64_t fixed[] = {
        2,          3,          4,           5,           7,
        16,         17,         65536,       65537,       0x7ffffffe,
        0x7fffffff, 0x80000001, 0xffffffffu, 0x100000001, 0x8000000000000001u,
        UINT64_MAX};
    const unsigned fixed_count = sizeof(fixed) / sizeof(fixed[0]);
    const unsigned count = module_context_scaled(PUBLIC_CASES);
    unsigned wrong = 0;

    for (int v = 0; v < NUMBER_VIEWS; v++) {
        number_view view = number_view_of(v);

        for (unsigned i = 0; i < fixed_count + count; i++) {
            random_stream stream = {number_seed() + i};
            uint64_t e = random_next(&stream) >> random_below(&stream, 62);

            e = i < fixed_count ? fixed[i] : e | 2;
            public_case(&view, e, number_seed() + i, &wrong);
        }
    }
    assert_int_equal(0, wrong);
}

static void words_to_bn(BIGNUM *to, const uint32_t *words, int count)
{
    BN_zero(to);
    for (int i = 0; i < 32 * count; i++)
        if ((words[i / 32] >> (i % 32)) & 1)
            assert_true(BN_set_bit(to, i));
}

/* dp + k (p - 1), less one if it is odd, of the greatest length: all words
 * ones, or random. */
TEST(blinds_exponents)
{
    for (int size = 0; size < NUMBER_SHAPES; size++) {
        number_view view = number_view_of(2 * size);
        random_stream stream = {number_seed()};
        const int words = (WARPRSA_SAMPLE_BITS * view.limbs + 31) / 32;

        for (int turn = 0; turn < SECRET_CASES; turn++) {
            uint64_t random[WARPRSA_RANDOM_WORDS] = {0};
            warprsa_operation op = {
                .key = &key, .random = random, .exponent = exponents[0]};

            random[WARPRSA_BLINDING_SAMPLES] =
                turn == 0 ? UINT64_MAX : random_next(&stream);
            memset(&key, 0, sizeof(key));
            for (int i = 0; i < 2 * words; i++) {
                warprsa_operation_half *half = &key.half[i / words];

                half->exponent[i % words] =
                    turn < 2 ? UINT32_MAX : (uint32_t)random_next(&stream);
                half->p_minus_1[i % words] =
                    turn < 2 ? UINT32_MAX : (uint32_t)random_next(&stream);
            }
            for (int which = 0; which < 2; which++) {
                operands *o = &numbers[which];

                warprsa_blind_exponent(&op, which, view.limbs);
                words_to_bn(o->x, key.half[which].p_minus_1, words);
                words_to_bn(o->expected, key.half[which].exponent, words);
                words_to_bn(o->last, exponents[which], words + 1);
                assert_true(BN_mul_word(
                    o->x, (uint32_t)(random[WARPRSA_BLINDING_SAMPLES] >>
                                     (32 * which))));
                assert_true(BN_add(o->x, o->x, o->expected));
                if (BN_is_odd(o->x))
                    assert_true(BN_sub_word(o->x, 1));
                assert_int_equal(0, BN_cmp(o->x, o->last));
            }
        }
    }
}

static void secret_case(const number_view *view, uint64_t seed, unsigned *wrong)
{
    random_stream stream = {seed};
    warprsa_operation op = {.exponent = exponents[0],
                            .windows = exponent_bits(view) / WARPRSA_WINDOW,
                            .table = table + 3,
                            .table_stride = STRIDE};
    warprsa_modulus p;
    warprsa_number one, x;

    use_moduli(view, &stream, &p, &one);
    for (int i = 0; i < 2; i++) {
        operands *o = &numbers[i];

        number_exponent(o->expected, exponents[i], exponent_bits(view),
                        &stream);
        choose_base(o, view, i, &stream, &x);
        assert_true(BN_mod_exp(o->expected, o->x, o->expected, o->p, bn));
        number_power_of_two(scratch, WARPRSA_SAMPLE_BITS * view->limbs);
        assert_true(BN_mod_mul(o->expected, o->expected, scratch, o->p, bn));
    }
    memset(table, 0, sizeof(table));
    warprsa_secret_modexp(&x, &one, &op, &p, view->limbs,
                          view->threads_per_number, view->limbs_per_thread,
                          view->threads_per_request);
    for (int i = 0; i < 2; i++)
        if (!right(&x, view, i))
            number_wrong(wrong, "secret power", view, seed);
    for (int i = 0; i < TABLE_SIZE; i++)
        if (table[i] != 0) {
            number_wrong(wrong, "table not wiped", view, seed);
            break;
        }
}

TEST(secret_modexps)
{
    number_cases_in_pairs(secret_case, module_context_scaled(SECRET_CASES));
}

/* The check that ends an operation, for any s, and for s^e with each bit
 * changed in turn: a difference must be seen in every lane. Below half of the
 * usual work it is some bits of each lane's sample. */
static void check_with(made_key *made, random_stream *stream)
{
    BIGNUM **v = made->numbers.value;
    const int size = warprsa_key_class(&made->key);
    const number_view view = number_view_of(2 * size + 1);
    warprsa_sample_bits_t result[NUMBER_SAMPLES];
    const int bytes = (int)made->key.modulus_bytes;
    uint8_t input[WARPRSA_MODULUS_BYTES_MAX];
    warprsa_operation op = {.key = &key, .input = input, .result = result};
    operands *o = &numbers[0];
    const unsigned fewer = 50 / module_context_scaled(100);
    const int step = fewer < 1 ? 1 : fewer < 10 ? (int)fewer : 10;
    warprsa_number s;

    assert_int_equal(WARPRSA_OK,
                     warprsa_prepare_operation_key(&key, &made->key));
    memset(o->samples, 0, sizeof(o->samples));
    number_below(o->x, o->samples, view.limbs, v[NUMBER_N], stream);
    number_put(&s, &view, 0, o->samples);
    warprsa_put_result(&s, &op, view.limbs_per_thread,
                       view.threads_per_request);
    assert_true(BN_mod_exp(o->expected, o->x, v[NUMBER_E], v[NUMBER_N], bn));
    assert_int_equal(bytes, BN_bn2binpad(o->expected, input, bytes));
    for (int bit = -1; bit < 8 * bytes; bit += step) {
        uint8_t *changed = bit < 0 ? input : input + bit / 8;
        uint8_t mask = bit < 0 ? 0 : (uint8_t)(1 << (bit % 8));

        *changed ^= mask;
        assert_int_equal(bit < 0 ? WARPRSA_OK : WARPRSA_CHECK_FAILED,
                         warprsa_check(&op, view.limbs / 2,
                                       view.threads_per_request / 2,
                                       view.limbs_per_thread));
        *changed ^= mask;
    }
}

TEST(check_sees_every_bit)
{
    static const key_recipe recipes[] = {
        {{PRIME_RANDOM, 512}, {PRIME_DOWN, 512}, 3},
        {{PRIME_RANDOM, 1024}, {PRIME_UP, 1024}, 17},
        {{PRIME_DOWN, 1555}, {PRIME_UP, 1555}, 3},
        {{PRIME_UP, 2048}, {PRIME_ONES, 2048}, 3},
    };

    for (size_t i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++) {
        random_stream stream = {number_seed() + i};
        made_key made;

        assert_true(made_key_new(&made, &recipes[i]));
        for (unsigned turn = 0; turn < module_context_scaled(2); turn++)
            check_with(&made, &stream);
        made_key_free(&made);
    }
}

RUN_TESTS(set_up, tear_down)
