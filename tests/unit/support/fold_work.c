/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/support/fold_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/kernels/fold/matrix.h"

enum {
    LEFT = 12345, /* a status that nobody has set */
};

/* At and about where a difference of samples makes a carry, and the most. */
static double edge(uint64_t random)
{
    static const double edges[] = {0,      1,          0x1p51 - 2, 0x1p51 - 1,
                                   0x1p51, 0x1p51 + 1, 0x1p52 - 1, 0x1p52};

    return edges[random % (sizeof(edges) / sizeof(edges[0]))];
}

void fold_operand(double *samples, int limbs, random_stream *stream)
{
    const unsigned kind = random_below(stream, 10);
    const int half = limbs / 2;

    for (int i = 0; i < limbs; i++) {
        const uint64_t random = random_next(stream) & WARPRSA_SAMPLE_MASK;

        samples[i] = kind == 0   ? 0x1p52
                     : kind == 1 ? 0x1p52 - 1
                     : kind == 2 ? (random % 3 == 0 ? 0x1p52 : 0x1p52 - 1)
                     : kind == 3 ? (random % 2 == 0 ? 0x1p52 - 1 : 0)
                     : kind == 4 ? (double)(random >> random % 53)
                     : kind == 5 ? (i < half ? 0x1p52 : 0)
                     : kind == 6 ? (i < half ? 0 : 0x1p52)
                     : kind == 7 ? edge(random >> 8)
                     : kind == 8 ? (i % half < half / 2 ? 0x1p52 : 0)
                                 : (double)random;
    }
    samples[half - 1] = fmin(samples[half - 1], 0x1p52 - 1);
    samples[limbs - 1] = fmin(samples[limbs - 1], 0x1.6ap51);
}

void fold_columns_are_right(uint64_t *plain, const double *m, const double *n,
                            int limbs, BN_CTX *bn)
{
    BIGNUM *a, *b, *x, *y;

    BN_CTX_start(bn);
    a = BN_CTX_get(bn);
    b = BN_CTX_get(bn);
    x = BN_CTX_get(bn);
    y = BN_CTX_get(bn);
    assert_non_null(y);
    assert_int_equal(1, plain[2 * limbs - 2] >> 56);
    plain[2 * limbs - 2] -= (uint64_t)1 << 56;
    for (int c = 0; c < 2 * limbs; c++)
        assert_true(plain[c] <= (uint64_t)(3 * limbs + 3) << 52);
    assert_true(plain[2 * limbs - 1] <= (uint64_t)1 << 52);
    number_from_columns(y, plain, 2 * limbs);
    number_power_of_two(x, 52 * (limbs / 2 * 3) + 2);
    assert_true(BN_sub(y, y, x));
    number_from_samples(a, m, limbs);
    number_from_samples(b, n, limbs);
    assert_true(BN_mul(a, a, b, bn));
    assert_int_equal(0, BN_cmp(a, y));
    BN_CTX_end(bn);
}

void fold_result_is_right(const double *samples, const BIGNUM *expected,
                          const BIGNUM *prime, int limbs, BN_CTX *bn)
{
    static const int bits_most[] = {1040, 1553, 2073}; /* as fold.h has it */
    BIGNUM *x;

    BN_CTX_start(bn);
    x = BN_CTX_get(bn);
    assert_non_null(x);
    for (int i = 0; i < limbs; i++)
        assert_true(number_sample_within(samples[i], 1ull << 52));
    assert_true(samples[limbs / 2 - 1] < 0x1p52 &&
                samples[limbs - 1] <= 0x1.6ap51);
    number_from_samples(x, samples, limbs);
    assert_true(BN_num_bits(x) <= bits_most[limbs / 10 - 2]);
    assert_true(BN_nnmod(x, x, prime, bn));
    assert_int_equal(0, BN_cmp(x, expected));
    BN_CTX_end(bn);
}

int fold_row_bit(int k, int limbs)
{
    return k == 8 * limbs - 1 ? 52 * (limbs - 1) + 44
           : k == warprsa_fold_bias_row(limbs)
               ? 52 * (limbs / 2 * 3) + 2
               : 52 * (limbs + k / 8) + 8 * (k % 8);
}

void fold_row(BIGNUM *to, const BIGNUM *p, int k, int limbs, BN_CTX *bn)
{
    number_power_of_two(to, fold_row_bit(k, limbs));
    BN_set_negative(to, k == warprsa_fold_bias_row(limbs));
    assert_true(BN_nnmod(to, to, p, bn));
}

void fold_matrix(uint8_t *matrix, const BIGNUM *prime, int limbs, BN_CTX *bn)
{
    double samples[NUMBER_SAMPLES];
    BIGNUM *x;

    BN_CTX_start(bn);
    x = BN_CTX_get(bn);
    assert_non_null(x);
    memset(matrix, 0, (size_t)WARPRSA_FOLD_MATRIX_BYTES(limbs));
    for (int k = 0; k < 8 * limbs; k++) {
        fold_row(x, prime, k, limbs, bn);
        number_to_samples(samples, x, limbs);
        for (int i = 0; i < limbs; i++)
            for (int digit = 0; digit < WARPRSA_FOLD_DIGITS; digit++) {
                const int low = warprsa_fold_digit_shift(digit, limbs);
                const int next = warprsa_fold_digit_shift(digit + 1, limbs);

                matrix[warprsa_fold_matrix_offset(k, i, digit, limbs)] =
                    (uint8_t)((uint64_t)samples[i] >> low &
                              ((1u << (next - low)) - 1));
            }
    }
    BN_CTX_end(bn);
}

void fold_prime(BIGNUM *to, unsigned i, int limbs, random_stream *stream)
{
    number_pattern(to, stream, (int)(i % NUMBER_PATTERNS),
                   WARPRSA_FOLD_BITS(limbs) -
                       (i % 4 == 3 ? (int)random_below(stream, 16) : 0));
}

void fold_prime_to_reduce_by(BIGNUM *to, unsigned i, int limbs,
                             random_stream *stream)
{
    const int most = WARPRSA_FOLD_BITS(limbs);
    const int least = WARPRSA_FOLD_BITS_MIN(limbs);

    number_pattern(
        to, stream, (int)(i % NUMBER_PATTERNS),
        i % 3 == 0 ? least
        : i % 3 == 1
            ? most
            : least + (int)random_below(stream, (unsigned)(most - least)));
}

void fold_about_a_multiple(BIGNUM *to, const BIGNUM *prime, int about,
                           int limbs, random_stream *stream, BN_CTX *bn)
{
    const uint64_t q = random_next(stream) >> (25 + random_below(stream, 39));

    assert_true(BN_set_word(to, q));
    assert_true(BN_mul(to, to, prime, bn));
    if (BN_num_bits(to) > 52 * limbs)
        assert_true(BN_rshift(to, to, 24));
    if (about < 0 && !BN_is_zero(to))
        assert_true(BN_sub_word(to, (BN_ULONG)-about));
    else
        assert_true(BN_add_word(to, (BN_ULONG)(about + 2)));
}

fold_work *fold_work_new(void)
{
    fold_work *w = calloc(1, sizeof(*w));

    if (w != NULL)
        w->group = (warprsa_fold_group){
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
    return w;
}

int fold_use_key(fold_work *w, const key_recipe *recipe)
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
    return shape.limbs;
}

static void special_message(BIGNUM *m, const rsa_numbers *numbers, int which,
                            random_stream *stream)
{
    BIGNUM *const *v = numbers->value;
    unsigned char bytes[WARPRSA_MODULUS_BYTES_MAX + 8];

    random_bytes(stream, bytes, sizeof(bytes));
    assert_non_null(BN_bin2bn(bytes, sizeof(bytes), m));
    if (which < 3) {
        assert_true(BN_set_word(m, (BN_ULONG)which));
    } else if (which < 5) {
        assert_non_null(BN_copy(m, v[NUMBER_N]));
        assert_true(BN_sub_word(m, (BN_ULONG)which - 2));
    } else if (which < 9) {
        assert_non_null(BN_copy(m, v[which % 2 ? NUMBER_P : NUMBER_Q]));
        if (which >= 7) {
            assert_true(BN_mul_word(m, random_next(stream)));
            assert_true(BN_sub_word(m, 1));
        }
    } else if (which == 9) {
        number_power_of_two(m, BN_num_bits(v[NUMBER_N]) - 1);
        assert_true(BN_sub_word(m, 1));
    }
    assert_true(BN_nnmod(m, m, v[NUMBER_N], numbers->ctx));
}

void fold_use_message(fold_work *w, int i, int which, random_stream *stream)
{
    BIGNUM *m = BN_new();

    assert_non_null(m);
    special_message(m, &w->made.numbers, which, stream);
    random_bytes(stream, (unsigned char *)w->random[i], sizeof(w->random[i]));
    w->random[i][0] |= 1;
    assert_true(BN_bn2binpad(m, w->input[i], (int)w->key.modulus_bytes) > 0);
    w->status[i] = LEFT;
    w->operations[i] = (warprsa_operation){
        .key = &w->key,
        .input = w->input[i],
        .output = w->output[i],
        .random = w->random[i],
        .exponent = w->exponent[i][0],
        .windows = (int)w->key.windows,
        .status = &w->status[i],
    };
    BN_free(m);
}

void fold_answers_are_right(fold_work *w)
{
    const int bytes = (int)w->key.modulus_bytes;
    uint8_t answer[WARPRSA_MODULUS_BYTES_MAX];
    BIGNUM *m = BN_new(), *s = BN_new();

    assert_true(m != NULL && s != NULL);
    for (int i = 0; i < WARPRSA_FOLD_GROUP; i++) {
        assert_non_null(BN_bin2bn(w->input[i], bytes, m));
        assert_true(made_key_answer(&w->made, s, m));
        assert_int_equal(bytes, BN_bn2binpad(s, answer, bytes));
        assert_memory_equal(answer, w->output[i], (size_t)bytes);
        assert_int_equal(WARPRSA_OK, w->status[i]);
    }
    BN_free(m);
    BN_free(s);
}

void fold_wrong_half_does_not_pass(fold_work *w, const key_recipe *recipe,
                                   int half, void (*run)(void),
                                   random_stream *stream)
{
    (void)fold_use_key(w, recipe);
    w->key.half[half].exponent[3] ^= 1u << 7;
    for (int i = 0; i < WARPRSA_FOLD_GROUP; i++)
        fold_use_message(w, i, i == 0 ? 0 : 10, stream);
    run();
    for (int i = 0; i < WARPRSA_FOLD_GROUP; i++)
        assert_int_equal(i == 0 ? WARPRSA_OK : WARPRSA_CHECK_FAILED,
                         w->status[i]);
    made_key_free(&w->made);
}
