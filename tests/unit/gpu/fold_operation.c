/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whole private operations by gpu/kernels/fold/fold_operation.h, on the CPU,
 * against those of libcrypto: keys from awkward primes, messages whose halves
 * meet, exponents that windows may get wrong, and results that must not pass.
 */
#include "tests/unit/support/gpu_numbers.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/kernels/fold/fold_operation.h"
#include "gpu/kernels/fold/matrix.h"
#include "tests/unit/support/gpu_keys.h"
#include "tests/unit/support/module_context.h"

#define BIG_E 0x8000000000000015u /* beyond 2^63 */

enum {
    LIMBS_MAX = WARPRSA_FOLD_LIMBS_MAX,
};

/* One group's memory, and the key it is for. */
typedef struct workspace {
    warprsa_prepared_key key;
    made_key made;
    uint8_t matrix[2][WARPRSA_FOLD_MATRIX_BYTES(LIMBS_MAX)];
    double qinv[LIMBS_MAX];
    double registers[WARPRSA_FOLD_REGISTERS * LIMBS_MAX * WARPRSA_MESSAGES];
    uint32_t table[WARPRSA_FOLD_ENTRIES * WARPRSA_FOLD_WORDS(LIMBS_MAX) *
                   WARPRSA_MESSAGES];
    uint32_t smem_pieces[WARPRSA_FOLD_PIECES_PER_PHASE(LIMBS_MAX) *
                         WARPRSA_FOLD_ENTRIES * WARPRSA_FOLD_PIECE_WORDS *
                         WARPRSA_MESSAGES];
    uint32_t selected[WARPRSA_FOLD_WORDS(LIMBS_MAX) * WARPRSA_MESSAGES];
    uint64_t random[WARPRSA_FOLD_GROUP][WARPRSA_RANDOM_WORDS];
    uint32_t exponent[WARPRSA_FOLD_GROUP][2][WARPRSA_BLINDED_WORDS];
    uint8_t input[WARPRSA_FOLD_GROUP][WARPRSA_MODULUS_BYTES_MAX];
    uint8_t output[WARPRSA_FOLD_GROUP][WARPRSA_MODULUS_BYTES_MAX];
    uint32_t status[WARPRSA_FOLD_GROUP];
    warprsa_operation operations[WARPRSA_FOLD_GROUP];
    warprsa_fold_program program;
} workspace;

static BN_CTX *bn;
static BIGNUM *m, *s, *half[2];
static workspace *w;
static random_stream stream;

static int set_up(void **state)
{
    bn = BN_CTX_new();
    m = BN_new();
    s = BN_new();
    half[0] = BN_new();
    half[1] = BN_new();
    w = calloc(1, sizeof(*w));
    stream.state = number_seed();
    return !bn || !m || !s || !half[0] || !half[1] || !w ||
           fesetround(FE_TOWARDZERO) != 0;
}

static int tear_down(void **state)
{
    BN_CTX_free(bn);
    BN_free(m);
    BN_free(s);
    BN_free(half[0]);
    BN_free(half[1]);
    free(w);
    return 0;
}

/* A key with its matrices. */
static void use_key(const key_recipe *recipe)
{
    warprsa_shape shape;

    memset(w->matrix, 0, sizeof(w->matrix));
    assert_true(made_key_new(&w->made, recipe));
    assert_int_equal(WARPRSA_OK, warprsa_prepare_key(&w->key, &w->made.key));
    shape = warprsa_shape_of((warprsa_size_class)w->key.size);
    for (int row = 0; row < 8 * shape.limbs; row++)
        warprsa_fold_make_row(w->matrix[0], w->matrix[1], &w->key, row,
                              shape.limbs, shape.threads_per_number,
                              shape.limbs_per_thread);
    warprsa_fold_put_qinv(w->qinv, &w->key, shape.limbs,
                          shape.threads_per_number, shape.limbs_per_thread);
    warprsa_fold_program_make(&w->program, w->key.e, false);
    assert_true(w->program.count <= WARPRSA_FOLD_INSTRUCTIONS_MAX);
}

/* Operation i: its message, and blinding that is as long as it may be. */
static void use_message(int i, const BIGNUM *message)
{
    random_bytes(&stream, (unsigned char *)w->random[i], sizeof(w->random[i]));
    w->random[i][0] |= 1;
    assert_true(BN_bn2binpad(message, w->input[i], (int)w->key.modulus_bytes) >
                0);
    w->status[i] = 12345;
    w->operations[i] = (warprsa_operation){
        .key = &w->key,
        .input = w->input[i],
        .output = w->output[i],
        .random = w->random[i],
        .exponent = w->exponent[i][0],
        .windows = (int)w->key.windows,
        false,
        .status = &w->status[i],
    };
}

static void run(void)
{
    const warprsa_fold_group group = {
        .memory = {.registers = w->registers,
                   .table = w->table,
                   .selected = w->selected,
                   .smem_pieces = w->smem_pieces,
                   .qinv = w->qinv,
                   .stride = WARPRSA_MESSAGES},
        .operations = w->operations,
        .matrix = {w->matrix[0], w->matrix[1]},
    };

    warprsa_fold_run(&group, &w->program, (int)w->key.windows, false,
                     warprsa_shape_of((warprsa_size_class)w->key.size).limbs);
}

/* Messages that are special for the key. */
static void special_message(int which)
{
    BIGNUM *const *v = w->made.numbers.value;
    unsigned char bytes[WARPRSA_MODULUS_BYTES_MAX + 8];

    random_bytes(&stream, bytes, sizeof(bytes));
    assert_non_null(BN_bin2bn(bytes, sizeof(bytes), m));
    if (which < 3) {
        assert_true(BN_set_word(m, (BN_ULONG)which));
    } else if (which < 5) { /* n - 1, n - 2 */
        assert_true(BN_set_word(s, (BN_ULONG)which - 2));
        assert_true(BN_sub(m, v[NUMBER_N], s));
    } else if (which < 7) { /* p, q */
        assert_non_null(BN_copy(m, v[which % 2 ? NUMBER_P : NUMBER_Q]));
    } else if (which < 9) { /* -1 modulo one of them */
        assert_non_null(BN_copy(m, v[which % 2 ? NUMBER_P : NUMBER_Q]));
        assert_true(BN_mul_word(m, random_next(&stream)));
        assert_true(BN_sub_word(m, 1));
    } else if (which == 9) { /* all ones */
        number_power_of_two(m, BN_num_bits(v[NUMBER_N]) - 1);
        assert_true(BN_sub_word(m, 1));
    }
    assert_true(BN_nnmod(m, m, v[NUMBER_N], bn));
}

static void private_operations(void **state)
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
        use_key(&recipes[i]);
        for (int j = 0; j < WARPRSA_FOLD_GROUP; j++) {
            special_message(j);
            use_message(j, m);
        }
        run();
        for (int j = 0; j < WARPRSA_FOLD_GROUP; j++) {
            uint8_t answer[WARPRSA_MODULUS_BYTES_MAX];
            const int bytes = (int)w->key.modulus_bytes;

            assert_non_null(BN_bin2bn(w->input[j], bytes, m));
            assert_true(made_key_answer(&w->made, s, m));
            assert_int_equal(bytes, BN_bn2binpad(s, answer, bytes));
            assert_memory_equal(answer, w->output[j], (size_t)bytes);
            assert_int_equal(WARPRSA_OK, w->status[j]);
        }
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
static void other_exponents(void **state)
{
    static const key_recipe recipe = {
        {PRIME_RANDOM, 1024}, {PRIME_DOWN, 1023}, 65537};
    const int bytes = 256;

    use_key(&recipe);
    for (int which = 0; which < (int)module_context_scaled(6) && which < 6;
         which++) {
        put_exponent(w->key.half[0].exponent, which, 1024);
        put_exponent(w->key.half[1].exponent, 5 - which, 1024);
        for (int j = 0; j < WARPRSA_FOLD_GROUP; j++) {
            special_message(10);
            use_message(j, m);
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
static void a_wrong_half_does_not_pass(void **state)
{
    static const key_recipe recipe = {
        {PRIME_RANDOM, 1024}, {PRIME_ONES, 1024}, 3};

    use_key(&recipe);
    w->key.half[1].exponent[3] ^= 1u << 7;
    for (int j = 0; j < WARPRSA_FOLD_GROUP; j++) {
        special_message(j == 0 ? 0 : 10);
        use_message(j, m);
    }
    run();
    /* 0 has the same root whatever the exponent. */
    for (int j = 0; j < WARPRSA_FOLD_GROUP; j++)
        assert_int_equal(j == 0 ? WARPRSA_OK : WARPRSA_CHECK_FAILED,
                         w->status[j]);
    made_key_free(&w->made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(private_operations),
        cmocka_unit_test(other_exponents),
        cmocka_unit_test(a_wrong_half_does_not_pass),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
