/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * gpu/kernels/fold/pair.h and pair_operation.h, numbers of 20, 30 or 40 samples
 * shared by two threads, against numbers of libcrypto: multiplications, folds
 * and reductions with the operands and primes that strain the bounds most,
 * tables, and whole private operations.
 */
#include "tests/unit/support/gpu_numbers.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/kernels/fold/matrix.h"
#include "gpu/kernels/fold/pair_operation.h"
#include "tests/unit/support/gpu_keys.h"
#include "tests/unit/support/module_context.h"

#define BIG_E 0x8000000000000015u /* beyond 2^63 */

enum {
    LIMBS = WARPRSA_FOLD_PAIR_LIMBS,
    PART_LIMBS = WARPRSA_FOLD_PART_LIMBS,
    BITS = WARPRSA_FOLD_BITS(LIMBS),
    /* Of a fold's result, as fold.h has it. */
    BITS_MOST = LIMBS == 20 ? 1040 : LIMBS == 30 ? 1553 : 2073,
    GROUP = WARPRSA_FOLD_GROUP,
    PRODUCTS = 40,
    PRIMES = 11,
    FOLDS = 4,
    REDUCTIONS = 60,
    TABLES = 2,
};

/* One group's memory, and the key it is for. */
typedef struct workspace {
    warprsa_prepared_key key;
    made_key made;
    uint8_t matrix[2][WARPRSA_FOLD_MATRIX_BYTES(LIMBS)];
    double qinv[LIMBS];
    double registers[WARPRSA_FOLD_REGISTERS * PART_LIMBS * WARPRSA_MESSAGES];
    double roots[GROUP][2][WARPRSA_HALF_SAMPLES];
    uint32_t table[WARPRSA_FOLD_ENTRIES * WARPRSA_FOLD_WORDS(PART_LIMBS) *
                   WARPRSA_MESSAGES];
    uint32_t smem_pieces[WARPRSA_FOLD_SMEM_WORDS(PART_LIMBS)];
    uint32_t selected[WARPRSA_FOLD_WORDS(PART_LIMBS) * WARPRSA_MESSAGES];
    uint64_t random[GROUP][WARPRSA_RANDOM_WORDS];
    uint32_t exponent[GROUP][2][WARPRSA_BLINDED_WORDS];
    uint8_t input[GROUP][WARPRSA_MODULUS_BYTES_MAX];
    uint8_t output[GROUP][WARPRSA_MODULUS_BYTES_MAX];
    uint32_t status[GROUP];
    warprsa_operation operations[GROUP];
    warprsa_fold_program program;
} workspace;

static BN_CTX *bn;
static BIGNUM *prime, *a, *b, *x, *y;
static workspace *w;
static warprsa_fold_group group;
static random_stream stream;

static int set_up(void **state)
{
    bn = BN_CTX_new();
    prime = BN_new();
    a = BN_new();
    b = BN_new();
    x = BN_new();
    y = BN_new();
    w = calloc(1, sizeof(*w));
    if (!bn || !prime || !a || !b || !x || !y || !w)
        return 1;
    stream.state = number_seed();
    group = (warprsa_fold_group){
        .memory = {.registers = w->registers,
                   .table = w->table,
                   .selected = w->selected,
                   .smem_pieces = w->smem_pieces,
                   .qinv = w->qinv,
                   .stride = WARPRSA_MESSAGES},
        .operations = w->operations,
        .matrix = {w->matrix[0], w->matrix[1]},
        .roots = w->roots[0][0],
    };
    return fesetround(FE_TOWARDZERO) != 0;
}

static int tear_down(void **state)
{
    BN_CTX_free(bn);
    BN_free(prime);
    BN_free(a);
    BN_free(b);
    BN_free(x);
    BN_free(y);
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

/* At and about where a difference of samples makes a carry, and the most. */
static double edge(uint64_t random)
{
    static const double edges[] = {0,      1,          0x1p51 - 2, 0x1p51 - 1,
                                   0x1p51, 0x1p51 + 1, 0x1p52 - 1, 0x1p52};

    return edges[random % (sizeof(edges) / sizeof(edges[0]))];
}

/* An operand: samples may be 2^52, but for those that fold.h bounds. */
static void operand(double *samples)
{
    const unsigned kind = random_below(&stream, 10);

    for (int i = 0; i < LIMBS; i++) {
        const uint64_t random = random_next(&stream) & WARPRSA_SAMPLE_MASK;

        samples[i] = kind == 0   ? 0x1p52
                     : kind == 1 ? 0x1p52 - 1
                     : kind == 2 ? (random % 3 == 0 ? 0x1p52 : 0x1p52 - 1)
                     : kind == 3 ? (random % 2 == 0 ? 0x1p52 - 1 : 0)
                     : kind == 4 ? (double)(random >> random % 53)
                     : kind == 5 ? (i < PART_LIMBS ? 0x1p52 : 0)
                     : kind == 6 ? (i < PART_LIMBS ? 0 : 0x1p52)
                     : kind == 7 ? edge(random >> 8)
                     : kind == 8
                         ? (i % PART_LIMBS < PART_LIMBS / 2 ? 0x1p52 : 0)
                         : (double)random;
    }
    samples[PART_LIMBS - 1] = fmin(samples[PART_LIMBS - 1], 0x1p52 - 1);
    samples[LIMBS - 1] = fmin(samples[LIMBS - 1], 0x1.6ap51);
}

static void operands(warprsa_fold_number *to)
{
    for (int k = 0; k < GROUP; k++) {
        double samples[LIMBS];

        operand(samples);
        put_number(to, k, samples);
    }
}

/* The columns of m n, or of m m without n, of all requests stand for that, none
 * is negative or above the bound that fold.h states, and byte 7 of the last is
 * free. */
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
        double samples[LIMBS];

        for (int c = 0; c < 2 * LIMBS; c++)
            plain[c] = s->of[k + c / PART_LIMBS % 2 * GROUP]
                            [c % PART_LIMBS + c / LIMBS * PART_LIMBS];
        assert_int_equal(1, plain[2 * LIMBS - 2] >> 56);
        plain[2 * LIMBS - 2] -= (uint64_t)1 << 56;
        for (int c = 0; c < 2 * LIMBS; c++)
            assert_true(plain[c] <= (uint64_t)(3 * LIMBS + 3) << 52);
        assert_true(plain[2 * LIMBS - 1] <= (uint64_t)1 << 52);
        number_from_columns(y, plain, 2 * LIMBS);
        number_power_of_two(x, 52 * (LIMBS / 2 * 3) + 2);
        assert_true(BN_sub(y, y, x));
        get_number(samples, m, k);
        number_from_samples(a, samples, LIMBS);
        get_number(samples, n == NULL ? m : n, k);
        number_from_samples(b, samples, LIMBS);
        assert_true(BN_mul(a, a, b, bn));
        assert_int_equal(0, BN_cmp(a, y));
    }
}

static void products(void **state)
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

/* Row k of the matrix of `prime`, from libcrypto's numbers. */
static void make_row(int k)
{
    const bool bias = k == warprsa_fold_bias_row(LIMBS);
    double samples[NUMBER_SAMPLES];

    number_power_of_two(x, k == 8 * LIMBS - 1 ? 52 * (LIMBS - 1) + 44
                           : bias             ? 52 * (LIMBS / 2 * 3) + 2
                                  : 52 * (LIMBS + k / 8) + 8 * (k % 8));
    BN_set_negative(x, bias);
    assert_true(BN_nnmod(x, x, prime, bn));
    number_to_samples(samples, x, LIMBS);
    for (int i = 0; i < LIMBS; i++)
        for (int digit = 0; digit < WARPRSA_FOLD_DIGITS; digit++) {
            int low = warprsa_fold_digit_shift(digit, LIMBS);
            int next = warprsa_fold_digit_shift(digit + 1, LIMBS);

            w->matrix[0][warprsa_fold_matrix_offset(k, i, digit, LIMBS)] =
                (uint8_t)((uint64_t)samples[i] >> low &
                          ((1u << (next - low)) - 1));
        }
}

/* All requests' columns folded: the same number modulo the prime, in samples
 * up to 2^52, below the bound that fold.h states. */
static void fold_all(warprsa_fold_number *r, warprsa_fold_columns *s,
                     BIGNUM *const *expected)
{
    static const warprsa_fold_table_work none = {-1, -1, -1, -1};
    uint32_t digit[WARPRSA_MESSAGES] = {0};

    warprsa_fold_pair_fold(r, &group, s, &none, digit);
    for (int k = 0; k < GROUP; k++) {
        double samples[LIMBS];

        get_number(samples, r, k);
        for (int i = 0; i < LIMBS; i++)
            assert_true(samples[i] >= 0 && samples[i] <= 0x1p52 &&
                        samples[i] == (double)(uint64_t)samples[i]);
        assert_true(samples[PART_LIMBS - 1] < 0x1p52 &&
                    samples[LIMBS - 1] <= 0x1.6ap51);
        number_from_samples(x, samples, LIMBS);
        assert_true(BN_num_bits(x) <= BITS_MOST);
        assert_true(BN_nnmod(x, x, prime, bn));
        assert_int_equal(0, BN_cmp(x, expected[k]));
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

static void folds(void **state)
{
    const unsigned primes = module_context_scaled(PRIMES);

    group.prime = 0;
    for (unsigned i = 0; i < primes; i++) {
        number_pattern(prime, &stream, (int)(i % NUMBER_PATTERNS),
                       i % 4 == 3 ? BITS - (int)random_below(&stream, 16)
                                  : BITS);
        memset(w->matrix[0], 0, sizeof(w->matrix[0]));
        for (int k = 0; k < 8 * LIMBS; k++)
            make_row(k);
        folds_of();
    }
}

/* A number around a multiple of the prime, below 2^39.5 p. */
static void about_a_multiple(double *samples, int about)
{
    uint64_t q = random_next(&stream) >> (25 + random_below(&stream, 39));

    number_power_of_two(b, 52 * LIMBS);
    assert_true(BN_set_word(a, q));
    assert_true(BN_mul(a, a, prime, bn));
    if (BN_cmp(a, b) >= 0)
        assert_true(BN_rshift(a, a, 24));
    if (about < 0 && !BN_is_zero(a))
        assert_true(BN_sub_word(a, (BN_ULONG)-about));
    else
        assert_true(BN_add_word(a, (BN_ULONG)(about + 2)));
    number_to_samples(samples, a, LIMBS);
}

static void reductions(void **state)
{
    static warprsa_fold_number m, r;
    const unsigned count = module_context_scaled(REDUCTIONS);
    const int least = WARPRSA_FOLD_BITS_MIN(LIMBS);

    for (unsigned i = 0; i < count; i++) {
        double samples[NUMBER_SAMPLES], p[NUMBER_SAMPLES];

        number_pattern(prime, &stream, (int)(i % NUMBER_PATTERNS),
                       i % 3 == 0 ? least
                       : i % 3 == 1
                           ? BITS
                           : least + (int)random_below(&stream, BITS - least));
        number_to_samples(p, prime, LIMBS);
        for (int k = 0; k < GROUP; k++) {
            about_a_multiple(samples, k % 5 - 2);
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
static void differences(void **state)
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
static void tables(void **state)
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
            warprsa_fold_pair_put_entry(&group.memory, e, &entry[e]);
        }
        for (int digit = 0; digit <= most; digit++) {
            for (int phase = 0; phase < WARPRSA_FOLD_PHASES(PART_LIMBS);
                 phase++)
                for (int k = 0; k < WARPRSA_MESSAGES; k++) {
                    warprsa_fold_fetch(&group, phase, k, PART_LIMBS);
                    warprsa_fold_pair_select_pieces(
                        &group.memory, phase,
                        (uint32_t)(digit + k % GROUP) % (uint32_t)(most + 1),
                        k);
                }
            warprsa_fold_pair_get_selected(&got, &group.memory);
            for (int k = 0; k < WARPRSA_MESSAGES; k++)
                for (int i = 0; i < PART_LIMBS; i++)
                    assert_true(
                        got.of[k][i] ==
                        entry[(digit + k % GROUP) % (most + 1)].of[k][i]);
        }
    }
}

/* A key with its matrices. */
static void use_key(const key_recipe *recipe)
{
    warprsa_shape shape;

    memset(w->matrix, 0, sizeof(w->matrix));
    assert_true(made_key_new(&w->made, recipe));
    assert_int_equal(WARPRSA_OK, warprsa_prepare_key(&w->key, &w->made.key));
    shape = warprsa_shape_of((warprsa_size_class)w->key.size);
    assert_int_equal(LIMBS, shape.limbs);
    for (int row = 0; row < 8 * LIMBS; row++)
        warprsa_fold_make_row(w->matrix[0], w->matrix[1], &w->key, row, LIMBS,
                              shape.threads_per_number, shape.limbs_per_thread);
    warprsa_fold_put_qinv(w->qinv, &w->key, LIMBS, shape.threads_per_number,
                          shape.limbs_per_thread);
}

/* Request i: its message in `a`, and blinding that is as long as it may be. */
static void use_message(int i)
{
    random_bytes(&stream, (unsigned char *)w->random[i], sizeof(w->random[i]));
    w->random[i][0] |= 1;
    assert_true(BN_bn2binpad(a, w->input[i], (int)w->key.modulus_bytes) > 0);
    w->status[i] = 12345;
    w->operations[i] = (warprsa_operation){
        .key = &w->key,
        .input = w->input[i],
        .output = w->output[i],
        .random = w->random[i],
        .exponent = w->exponent[i][0],
        .windows = (int)w->key.windows,
        .status = &w->status[i],
    };
}

/* A message in `a`: 0, 1, 2, n - 1, n - 2, p, q, -1 modulo one of them, all
 * ones, or any. */
static void special_message(int which)
{
    BIGNUM *const *v = w->made.numbers.value;
    unsigned char bytes[WARPRSA_MODULUS_BYTES_MAX + 8];

    random_bytes(&stream, bytes, sizeof(bytes));
    assert_non_null(BN_bin2bn(bytes, sizeof(bytes), a));
    if (which < 3) {
        assert_true(BN_set_word(a, (BN_ULONG)which));
    } else if (which < 5) {
        assert_true(BN_set_word(b, (BN_ULONG)which - 2));
        assert_true(BN_sub(a, v[NUMBER_N], b));
    } else if (which < 9) {
        assert_non_null(BN_copy(a, v[which % 2 ? NUMBER_P : NUMBER_Q]));
        if (which >= 7) {
            assert_true(BN_mul_word(a, random_next(&stream)));
            assert_true(BN_sub_word(a, 1));
        }
    } else if (which == 9) {
        number_power_of_two(a, BN_num_bits(v[NUMBER_N]) - 1);
        assert_true(BN_sub_word(a, 1));
    }
    assert_true(BN_nnmod(a, a, v[NUMBER_N], bn));
}

static void run_pass(int pass)
{
    group.prime = warprsa_fold_pass_prime(pass);
    warprsa_fold_pass_program(&w->program, w->key.e, pass);
    assert_true(w->program.count <= WARPRSA_FOLD_INSTRUCTIONS_MAX);
    warprsa_fold_pair_run(&group, &w->program, pass,
                          pass == WARPRSA_FOLD_PASS_ROOT_P ||
                              pass == WARPRSA_FOLD_PASS_ROOT_Q,
                          (int)w->key.windows);
}

static void run_whole(void)
{
    warprsa_fold_pair_blind_exponents(&group);
    for (int pass = 0; pass < WARPRSA_FOLD_PASSES; pass++)
        run_pass(pass);
}

/* Both roots as different blocks make them, and then the rest. */
static void run_cut(void)
{
    warprsa_fold_pair_blind_exponents(&group);
    for (int half = 0; half < 2; half++) {
        run_pass(WARPRSA_FOLD_PASS_ROOT_P + half);
        warprsa_fold_pair_put_root(&group);
    }
    memset(w->registers, 0, sizeof(w->registers));
    warprsa_fold_pair_take_roots(&group);
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
        use_key(&recipes[i]);
        for (int j = 0; j < GROUP; j++) {
            special_message(j);
            use_message(j);
        }
        run();
        for (int j = 0; j < GROUP; j++) {
            uint8_t answer[WARPRSA_MODULUS_BYTES_MAX];
            const int bytes = (int)w->key.modulus_bytes;

            assert_non_null(BN_bin2bn(w->input[j], bytes, a));
            assert_true(made_key_answer(&w->made, b, a));
            assert_int_equal(bytes, BN_bn2binpad(b, answer, bytes));
            assert_memory_equal(answer, w->output[j], (size_t)bytes);
            assert_int_equal(WARPRSA_OK, w->status[j]);
        }
        made_key_free(&w->made);
    }
}

static void private_operations(void **state)
{
    run_operations(run_whole);
}

static void cut_operations(void **state)
{
    run_operations(run_cut);
}

/* One wrong bit in one half's exponent: a factor for whoever got the result. */
static void a_wrong_half_does_not_pass(void **state)
{
    static const key_recipe recipe = {
        {PRIME_RANDOM, BITS}, {PRIME_ONES, BITS}, 3};

    for (int half = 0; half < (int)module_context_scaled(2) && half < 2;
         half++) {
        use_key(&recipe);
        w->key.half[half].exponent[3] ^= 1u << 7;
        for (int j = 0; j < GROUP; j++) {
            special_message(j == 0 ? 0 : 10);
            use_message(j);
        }
        if (half == 0)
            run_whole();
        else
            run_cut();
        /* 0 has the same root whatever the exponent. */
        for (int j = 0; j < GROUP; j++)
            assert_int_equal(j == 0 ? WARPRSA_OK : WARPRSA_CHECK_FAILED,
                             w->status[j]);
        made_key_free(&w->made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(folds),
        cmocka_unit_test(reductions),
        cmocka_unit_test(differences),
        cmocka_unit_test(tables),
        cmocka_unit_test(private_operations),
        cmocka_unit_test(cut_operations),
        cmocka_unit_test(a_wrong_half_does_not_pass),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
