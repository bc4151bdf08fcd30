/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * gpu/kernels/int32_fold on the CPU, against numbers of libcrypto: products and
 * folds with the operands and moduli that strain the bounds most, the matrix
 * from keys of both forms, how a warp's lanes share a fold, and whole private
 * operations.
 */
#include "tests/unit/support/gpu_numbers.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/kernels/int32_fold/request_host.h"
#include "tests/unit/support/gpu_keys.h"
#include "tests/unit/support/module_context.h"

#define BIG_E 0x8000000000000015u /* beyond 2^63 */

enum {
    SIZES = 3,
    LIMBS_MAX = WARPRSA_INT_FOLD_LIMBS_MAX,
    MODULI = 8,
    OPERANDS = 14,
    PRODUCTS = 40, /* of random ones of these, for each modulus */
    LANES = WARPRSA_INT_FOLD_LANES,
};

static const int limbs_of[SIZES] = {32, 48, 64};

/* Calls a function whose last argument, n, has to be a constant. */
#define BY_SIZE(function, n, ...)                                              \
    ((n) == 32   ? function(__VA_ARGS__, 32)                                   \
     : (n) == 48 ? function(__VA_ARGS__, 48)                                   \
                 : function(__VA_ARGS__, 64))

static BN_CTX *bn;
static BIGNUM *modulus, *a, *b, *x, *y, *m, *s;
static warprsa_int_fold_workspace *w;
static warprsa_int_fold_group g;
static random_stream stream;

static int set_up(void **state)
{
    BIGNUM **const numbers[] = {&modulus, &a, &b, &x, &y, &m, &s};

    bn = BN_CTX_new();
    w = calloc(1, sizeof(*w));
    stream.state = number_seed();
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if ((*numbers[i] = BN_new()) == NULL)
            return 1;
    if (bn == NULL || w == NULL)
        return 1;
    g = warprsa_int_fold_group_of(w);
    return 0;
}

static int tear_down(void **state)
{
    BIGNUM *const numbers[] = {modulus, a, b, x, y, m, s};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        BN_free(numbers[i]);
    BN_CTX_free(bn);
    free(w);
    return 0;
}

/* A number below 2^bits. */
static void random_number(BIGNUM *to, int bits)
{
    unsigned char bytes[8 * LIMBS_MAX];

    random_bytes(&stream, bytes, sizeof(bytes));
    assert_non_null(BN_bin2bn(bytes, bits / 8, to));
}

static void put(uint32_t *to, const BIGNUM *from, int limbs)
{
    uint8_t bytes[8 * LIMBS_MAX];

    assert_int_equal(4 * limbs, BN_bn2lebinpad(from, bytes, 4 * limbs));
    for (int i = 0; i < limbs; i++)
        to[i] = (uint32_t)bytes[4 * i] | (uint32_t)bytes[4 * i + 1] << 8 |
                (uint32_t)bytes[4 * i + 2] << 16 |
                (uint32_t)bytes[4 * i + 3] << 24;
}

static void get(BIGNUM *to, const uint32_t *from, int limbs)
{
    uint8_t bytes[8 * LIMBS_MAX];

    for (int i = 0; i < 4 * limbs; i++)
        bytes[i] = (uint8_t)(from[i / 4] >> (8 * (i % 4)));
    assert_non_null(BN_lebin2bn(bytes, 4 * limbs, to));
}

/* 2^bits - 2^less. */
static void ones(BIGNUM *to, int bits, int less)
{
    number_power_of_two(to, bits);
    number_power_of_two(y, less);
    assert_true(BN_sub(to, to, y));
}

/* Moduli at the ends of what the bounds allow, and between. */
static void choose_modulus(int which, int n)
{
    const int bits = 32 * n;

    if (which == 0) { /* the largest: 2^bits - 2^(bits - 16) - 1 */
        ones(modulus, bits, bits - 16);
        assert_true(BN_sub_word(modulus, 1));
    } else if (which == 1) { /* the smallest */
        number_power_of_two(modulus, bits - 1);
        assert_true(BN_add_word(modulus, 1));
    } else if (which == 2) { /* the largest with zeros below */
        ones(modulus, bits, bits - 15);
        assert_true(BN_add_word(modulus, 1));
    } else if (which == 3) { /* -1/P = 1 modulo 2^32: m = y */
        number_power_of_two(modulus, bits - 1);
        assert_true(BN_add_word(modulus, 0xFFFFFFFF));
    } else {
        do {
            number_pattern(modulus, &stream,
                           (int)random_below(&stream, NUMBER_PATTERNS), bits);
            assert_true(BN_rshift(x, modulus, bits - 16));
        } while (BN_is_word(x, 0xFFFF));
    }
}

/* The matrix of the modulus, by libcrypto. */
static void use_modulus(int which, int n)
{
    uint32_t limbs[LIMBS_MAX];

    choose_modulus(which, n);
    put(limbs, modulus, n);
    for (int i = 0; i < n; i++)
        warprsa_int_fold_put_prime(&w->shared.prime, i, limbs[i]);
    w->shared.prime.inverse = warprsa_int_fold_negative_inverse(limbs[0]);
    for (int k = 0; k < 4 * n; k++) {
        number_power_of_two(x, 32 * n + 8 * k);
        assert_true(BN_nnmod(x, x, modulus, bn));
        put(limbs, x, n);
        for (int c = 0; c < 4 * n; c++)
            w->matrix[warprsa_int_fold_matrix_offset(k, c, n)] =
                (uint8_t)(limbs[c / 4] >> (8 * (c % 4)));
    }
}

/* Operands: any number of n limbs is one. */
static void choose_operand(BIGNUM *to, int which, int n)
{
    const int bits = 32 * n;

    random_number(to, bits);
    if (which == 0) {
        BN_zero(to);
    } else if (which == 1) {
        assert_true(BN_one(to));
    } else if (which == 2) { /* all ones: H is, too */
        ones(to, bits, 0);
    } else if (which < 5) { /* P, P - 1 */
        assert_non_null(BN_copy(to, modulus));
        assert_true(BN_sub_word(to, (BN_ULONG)which - 3));
    } else if (which == 5) { /* both halves alike: differences are zero */
        assert_true(BN_rshift(to, to, bits / 2));
        assert_true(BN_lshift(y, to, bits / 2));
        assert_true(BN_add(to, to, y));
    } else if (which == 6) { /* only the upper half, of ones */
        ones(to, bits, bits / 2);
    } else if (which == 7) { /* only the lower half, of ones */
        ones(to, bits / 2, 0);
    } else if (which == 8) { /* halves that differ by one */
        number_power_of_two(to, bits / 2);
        assert_true(BN_add_word(to, 2));
    } else if (which == 9) { /* a one and zeros */
        number_power_of_two(to, bits - 1);
    } else if (which < 12) {
        number_pattern(to, &stream, (int)random_below(&stream, NUMBER_PATTERNS),
                       bits);
    }
}

/* z, a fold of S = x y or of what stands for it: S / 2^32, and within its
 * bound. S is in s. */
static void check_fold(const uint32_t *z, int n)
{
    get(x, z, n);
    assert_true(BN_lshift(y, x, 32));
    assert_true(BN_sub(y, y, s));
    assert_true(BN_nnmod(y, y, modulus, bn));
    assert_true(BN_is_zero(y));
    number_power_of_two(y, 32 * n - 16);
    assert_true(BN_add(y, y, modulus));
    assert_true(BN_cmp(x, y) < 0);
}

/* s, as products leave it, is a b. */
static void check_product(const uint32_t *low, int n)
{
    uint32_t product[2 * LIMBS_MAX];

    memcpy(product, WARPRSA_INT_FOLD_STAGES(n) ? w->stage : low, (size_t)n * 4);
    memcpy(product + n, w->row, (size_t)n * 4);
    get(x, product, 2 * n);
    assert_int_equal(0, BN_cmp(x, s));
}

static void multiply_and_fold(int n)
{
    uint32_t z[LIMBS_MAX], product[2 * LIMBS_MAX];

    put(z, a, n);
    put(w->row, b, n);
    assert_true(BN_mul(s, a, b, bn));
    BY_SIZE(warprsa_int_fold_multiply, n, product, z, w->row, w->stage);
    check_product(product, n);
    BY_SIZE(warprsa_int_fold, n, z, product, &g);
    check_fold(z, n);
}

/* A square, and some squares of what that leaves. */
static void square_and_fold(int n)
{
    uint32_t z[LIMBS_MAX], product[2 * LIMBS_MAX];

    put(z, a, n);
    for (int i = 0; i < 4; i++) {
        get(x, z, n);
        assert_true(BN_sqr(s, x, bn));
        BY_SIZE(warprsa_int_fold_square, n, product, z, w->row, w->stage);
        check_product(product, n);
        BY_SIZE(warprsa_int_fold, n, z, product, &g);
        check_fold(z, n);
    }
}

TEST(products_and_folds)
{
    const unsigned random = module_context_scaled(PRODUCTS);

    for (int size = 0; size < SIZES; size++)
        for (int which = 0; which < MODULI; which++) {
            const int n = limbs_of[size];

            use_modulus(which, n);
            for (int i = 0; i < OPERANDS; i++) {
                choose_operand(a, i, n);
                square_and_fold(n);
                for (int j = 0; j < OPERANDS; j++) {
                    choose_operand(b, j, n);
                    multiply_and_fold(n);
                }
            }
            for (unsigned i = 0; i < random; i++) {
                random_number(a, 32 * n);
                random_number(b, 32 * n);
                multiply_and_fold(n);
                square_and_fold(n);
            }
        }
}

/* Numbers that are no product: L and H of all ones, and others. */
TEST(folds_of_any_number)
{
    for (int size = 0; size < SIZES; size++)
        for (int which = 0; which < MODULI; which++) {
            const int n = limbs_of[size];

            use_modulus(which, n);
            for (int i = 0; i < OPERANDS * OPERANDS; i++) {
                uint32_t z[LIMBS_MAX], low[2 * LIMBS_MAX];

                choose_operand(a, i / OPERANDS, n);
                choose_operand(b, i % OPERANDS, n);
                put(low, a, n);
                put(w->stage, a, n);
                put(w->row, b, n);
                assert_true(BN_lshift(s, b, 32 * n));
                assert_true(BN_add(s, s, a));
                BY_SIZE(warprsa_int_fold, n, z, low, &g);
                check_fold(z, n);
            }
        }
}

/* Numbers below 2 P, at the ends: 0, P - 1, P, 2 P - 1 or what has n limbs. */
TEST(exact_ends)
{
    for (int size = 0; size < SIZES; size++)
        for (int i = 0; i < 16; i++) {
            const int n = limbs_of[size];
            uint32_t z[LIMBS_MAX], less[LIMBS_MAX];

            use_modulus(i % 4, n);
            BN_zero(a);
            if (i / 4 > 0) {
                assert_non_null(BN_copy(a, modulus));
                assert_true(i / 4 != 1 || BN_sub_word(a, 1));
            }
            if (i / 4 == 3) {
                ones(b, 32 * n, 0);
                assert_true(BN_lshift1(a, modulus));
                assert_true(BN_sub_word(a, 1));
                if (BN_cmp(a, b) > 0)
                    assert_non_null(BN_copy(a, b));
            }
            put(z, a, n);
            BY_SIZE(warprsa_int_fold_reduce, n, z, &w->shared.prime);
            get(x, z, n);
            assert_true(BN_nnmod(y, a, modulus, bn));
            assert_int_equal(0, BN_cmp(x, y));
            /* z - a, and z - 1. */
            for (int j = 0; j < 2; j++) {
                if (j == 1)
                    assert_true(BN_one(a));
                put(less, a, n);
                put(z, y, n);
                BY_SIZE(warprsa_int_fold_subtract, n, z, z, less,
                        &w->shared.prime);
                get(x, z, n);
                assert_true(BN_sub(b, y, a));
                assert_true(BN_nnmod(b, b, modulus, bn));
                assert_int_equal(0, BN_cmp(x, b));
            }
        }
}

/* No two bytes share an offset, and none is outside. */
TEST(every_byte_has_its_offset)
{
    for (int size = 0; size < SIZES; size++) {
        const int n = limbs_of[size];

        memset(w->matrix, 0, sizeof(w->matrix));
        for (int k = 0; k < 4 * n; k++)
            for (int c = 0; c < 4 * n; c++) {
                const uint32_t at = warprsa_int_fold_matrix_offset(k, c, n);

                assert_in_range(at, 0, WARPRSA_INT_FOLD_MATRIX_BYTES(n) - 1);
                assert_int_equal(0, w->matrix[at]);
                w->matrix[at] = 1;
            }
    }
}

/* The buffer of a warp, and addresses in it as group.cuh has them. */
static uint8_t buffer[LANES * (4 * LIMBS_MAX + 16)];

static unsigned chunk_at(unsigned lane, unsigned chunk, int n)
{
    return lane * WARPRSA_INT_FOLD_ROW(n) +
           16 * (WARPRSA_INT_FOLD_PERMUTES(n) ? chunk ^ lane % 8 : chunk);
}

/* ldmatrix.x4: lane l has the address of row l % 8 of matrix l / 8. Lane 4 g +
 * t gets bytes 4 t to 4 t + 3 of row g of each. `chunk` is the first of a
 * step. */
static void load_first_factor(uint8_t (*to)[4][4], int tile, int chunk, int n)
{
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned matrix = 0; matrix < 4; matrix++) {
            const unsigned from = matrix * 8 + lane / 4;
            const unsigned row = 16 * (unsigned)tile + from % 16;

            memcpy(to[lane][matrix],
                   buffer + chunk_at(row, (unsigned)chunk + from / 16, n) +
                       lane % 4 * 4,
                   4);
        }
}

/* mma.m16n8k32 of unsigned bytes, as the PTX manual defines it: of A, lane
 * 4 g + t has rows g and g + 8, columns 4 t to 4 t + 3, and then the same 16
 * columns further; of B rows 4 t to 4 t + 3 of column g, and then 16 rows
 * further; of C rows g and g + 8, columns 2 t and 2 t + 1. */
static void multiply_tile(uint32_t (*c)[4], uint8_t (*first)[4][4],
                          uint8_t (*second)[2][4])
{
    for (int row = 0; row < 16; row++)
        for (int column = 0; column < 8; column++) {
            uint32_t sum = 0;

            for (int k = 0; k < 32; k++)
                sum += first[row % 8 * 4 + k % 16 / 4][row / 8 + k / 16 * 2]
                            [k % 4] *
                       (uint32_t)second[column * 4 + k % 16 / 4][k / 16][k % 4];
            c[row % 8 * 4 + column / 2][row / 8 * 2 + column % 2] += sum;
        }
}

/* Both tiles of an n-tile of the matrix, and where its digits go. */
static void sum_tile(uint32_t (*digits)[4][4], int j, int h, int n)
{
    for (int tile = 0; tile < 2; tile++) {
        uint32_t c[LANES][4] = {{0}};

        for (int step = 0; step < n / 8; step++) {
            uint8_t first[LANES][4][4], second[LANES][2][4];

            load_first_factor(first, tile, 2 * step, n);
            for (int lane = 0; lane < LANES; lane++)
                memcpy(second[lane],
                       w->matrix +
                           (((8 * h + j) * (n / 16) + step / 2) * 32 + lane) *
                               16 +
                           step % 2 * 8,
                       8);
            multiply_tile(c, first, second);
        }
        for (int lane = 0; lane < LANES; lane++)
            for (int r = 0; r < 2; r++)
                digits[lane][2 * tile + r][j % 4] =
                    c[lane][2 * r] + (c[lane][2 * r + 1] << 8);
    }
}

/* What the lanes of a warp read as their digits is what a number by itself
 * has: the layout of the matrix and of the buffer, and the instructions. */
TEST(lanes_share_a_fold)
{
    for (int size = 0; size < SIZES; size++) {
        const int n = limbs_of[size];
        static uint8_t upper[LANES][4 * LIMBS_MAX];

        random_bytes(&stream, w->matrix, sizeof(w->matrix));
        random_bytes(&stream, (unsigned char *)upper, sizeof(upper));
        for (int h = 0; h < n / WARPRSA_INT_FOLD_BLOCK; h++) {
            uint32_t digits[2][LANES][4][4];

            for (unsigned lane = 0; lane < LANES; lane++)
                for (int c = 0; c < n / 4; c++)
                    memcpy(buffer + chunk_at(lane, (unsigned)c, n),
                           upper[lane] + 16 * c, 16);
            for (int j = 0; j < 8; j++)
                sum_tile(digits[j / 4], j, h, n);
            for (unsigned i = 0; i < 2 * LANES * 4; i++) {
                const unsigned q = i / 4 / LANES, lane = i / 4 % LANES;

                memcpy(buffer + chunk_at(lane / 4 + 8 * (i % 4),
                                         2 * (lane % 4) + q, n),
                       digits[q][lane][i % 4], 16);
            }
            for (unsigned lane = 0; lane < LANES; lane++) {
                uint32_t even[WARPRSA_INT_FOLD_BLOCK],
                    odd[WARPRSA_INT_FOLD_BLOCK], got[4];
                warprsa_int_fold_bytes bytes;

                memcpy(w->row, upper[lane], (size_t)n * 4);
                warprsa_int_fold_get_bytes(&bytes, &g, n);
                warprsa_int_fold_digits(even, odd, &bytes, &g, h, n);
                for (unsigned c = 0; c < 8; c++) {
                    memcpy(got, buffer + chunk_at(lane, c, n), sizeof(got));
                    for (unsigned i = 0; i < 2; i++) {
                        assert_int_equal(even[2 * c + i], got[2 * i]);
                        assert_int_equal(odd[2 * c + i], got[2 * i + 1]);
                    }
                }
            }
        }
    }
}

/* Keys, one of a size at least. */
static const key_recipe recipes[] = {
    {{PRIME_STRIPES, 1024}, {PRIME_RANDOM, 1024}, 65537},
    {{PRIME_UP, 1024}, {PRIME_ZEROS, 1024}, 3},
    {{PRIME_ZEROS, 1024}, {PRIME_STRIPES, 1024}, BIG_E},
    {{PRIME_STRIPES, 1536}, {PRIME_UP, 1536}, 17},
    {{PRIME_ZEROS, 2048}, {PRIME_STRIPES, 2048}, 65537},
};

enum {
    RECIPES = sizeof(recipes) / sizeof(recipes[0]),
};

/* A key in both forms. */
static made_key made;
static warprsa_int32_key limbs_key;
static warprsa_prepared_key samples_key;

static int use_key(const key_recipe *recipe)
{
    assert_true(made_key_new(&made, recipe));
    assert_int_equal(WARPRSA_OK,
                     warprsa_prepare_int32_key(&limbs_key, &made.key));
    assert_int_equal(WARPRSA_OK, warprsa_prepare_key(&samples_key, &made.key));
    for (int i = 0; i < 2; i++)
        assert_true(warprsa_int_fold_fits(
            limbs_key.half[i].modulus,
            WARPRSA_INT_FOLD_LIMBS(
                warprsa_shape_of((warprsa_size_class)limbs_key.size).limbs)));
    return WARPRSA_INT_FOLD_LIMBS(
        warprsa_shape_of((warprsa_size_class)limbs_key.size).limbs);
}

static warprsa_int_fold_key key_of(bool limbs, int which)
{
    return limbs ? warprsa_int_fold_key_of_limbs(&limbs_key, which)
                 : warprsa_int_fold_key_of_samples(&samples_key, which);
}

static void check_row(const warprsa_int_fold_key *key, const BIGNUM *prime,
                      int k, int n)
{
    uint32_t limbs[LIMBS_MAX];

    BY_SIZE(warprsa_int_fold_make_row, n, w->matrix, &w->shared, key, k);
    number_power_of_two(x, 32 * n + 8 * k);
    assert_true(BN_nnmod(x, x, prime, bn));
    put(limbs, x, n);
    for (int c = 0; c < 4 * n; c++)
        assert_int_equal(limbs[c / 4] >> (8 * (c % 4)) & 0xFF,
                         w->matrix[warprsa_int_fold_matrix_offset(k, c, n)]);
}

/* Rows, and 1/q, as a block makes them of a key of either form. */
TEST(rows_made_from_keys)
{
    for (int i = 0; i < RECIPES; i++) {
        const int n = use_key(&recipes[i]);

        for (int turn = 0; turn < 4; turn++) {
            const warprsa_int_fold_key key = key_of(turn % 2, turn / 2);
            const BIGNUM *prime =
                made.numbers.value[key.which ? NUMBER_Q : NUMBER_P];

            for (int j = 0; j < n; j++)
                warprsa_int_fold_make_limb(&w->shared, &key, j);
            for (int j = 0; j < n; j++) {
                get(x, &w->shared.q[0], n);
                assert_int_equal(0, BN_cmp(x, made.numbers.value[NUMBER_Q]));
            }
            for (int k = 0; k < 4 * n; k += k < 4 || k > 4 * n - 4 ? 1 : 3)
                check_row(&key, prime, k, n);
            if (key.which == 1)
                continue;
            BY_SIZE(warprsa_int_fold_make_row, n, w->matrix, &w->shared, &key,
                    4 * n);
            assert_non_null(
                BN_mod_inverse(x, made.numbers.value[NUMBER_Q], prime, bn));
            assert_true(BN_lshift(x, x, 32));
            assert_true(BN_nnmod(x, x, prime, bn));
            get(y, w->shared.qinv, n);
            assert_int_equal(0, BN_cmp(x, y));
        }
        made_key_free(&made);
    }
}

/* A request of m: its output is s, and its status is returned. */
static uint32_t operate(bool limbs, const uint64_t *random, int n)
{
    const warprsa_int_fold_key key[2] = {key_of(limbs, 0), key_of(limbs, 1)};
    uint8_t input[WARPRSA_MODULUS_BYTES_MAX], output[WARPRSA_MODULUS_BYTES_MAX];
    const int bytes = (int)limbs_key.modulus_bytes;
    uint32_t status = 12345;

    assert_int_equal(bytes, BN_bn2binpad(m, input, bytes));
    memset(output, 0xA5, sizeof(output));
    memset(w, 0xA5, sizeof(*w));
    BY_SIZE(warprsa_int_fold_operate, n, w, key, input, random, output,
            &status);
    assert_int_equal(0xA5, output[bytes]);
    assert_non_null(BN_bin2bn(output, bytes, s));
    return status;
}

/* Messages that are special for the key. */
static void special_message(int which)
{
    BIGNUM *const *v = made.numbers.value;

    random_number(m, BN_num_bits(v[NUMBER_N]));
    if (which < 3) {
        assert_true(BN_set_word(m, (BN_ULONG)which));
    } else if (which < 5) { /* n - 1, n - 2 */
        assert_non_null(BN_copy(m, v[NUMBER_N]));
        assert_true(BN_sub_word(m, (BN_ULONG)which - 2));
    } else if (which < 7) { /* p, q */
        assert_non_null(BN_copy(m, v[which % 2 ? NUMBER_P : NUMBER_Q]));
    } else if (which < 9) { /* -1 modulo one of them */
        assert_non_null(BN_copy(m, v[which % 2 ? NUMBER_P : NUMBER_Q]));
        assert_true(BN_mul_word(m, random_next(&stream)));
        assert_true(BN_sub_word(m, 1));
    } else if (which == 9) { /* all ones */
        ones(m, BN_num_bits(v[NUMBER_N]) - 1, 0);
    }
    assert_true(BN_nnmod(m, m, v[NUMBER_N], bn));
}

TEST(private_operations)
{
    for (int i = 0; i < RECIPES; i++) {
        const int n = use_key(&recipes[i]);
        const int count = (int)module_context_scaled(n == 32 ? 12 : 4);

        for (int j = 0; j < count; j++) {
            uint64_t random[WARPRSA_RANDOM_WORDS];

            random_bytes(&stream, (unsigned char *)random, sizeof(random));
            if (j % 4 == 1) /* blinding of all ones */
                memset(random, 0xFF, sizeof(random));
            if (j % 4 == 2) /* r F is 1, and exponents are as they are */
                memset(random, 0, sizeof(random));
            special_message(n == 32 ? j : 3 * j);
            assert_true(made_key_answer(&made, a, m));
            assert_int_equal(WARPRSA_OK, operate(j % 2 == 0, random, n));
            assert_int_equal(0, BN_cmp(a, s));
        }
        made_key_free(&made);
    }
}

/* One wrong bit in one half's exponent: a factor for whoever got the result. 0
 * has the same root whatever the exponent. */
TEST(a_wrong_half_does_not_pass)
{
    const int n = use_key(&recipes[0]);

    for (int i = 0; i < 4; i++) {
        uint64_t random[WARPRSA_RANDOM_WORDS];

        random_bytes(&stream, (unsigned char *)random, sizeof(random));
        limbs_key.half[i % 2].exponent[3 * i] ^= 1u << (7 + i);
        special_message(10);
        assert_int_equal(WARPRSA_CHECK_FAILED, operate(true, random, n));
        BN_zero(m);
        assert_int_equal(WARPRSA_OK, operate(true, random, n));
        assert_true(BN_is_zero(s));
        limbs_key.half[i % 2].exponent[3 * i] ^= 1u << (7 + i);
    }
    made_key_free(&made);
}

/* The exponent of a half: 1, all ones, one bit... */
static void put_exponent(uint32_t *words, int which, int n)
{
    for (int i = 0; i < n; i++)
        words[i] = which == 0   ? i == 0
                   : which == 1 ? 0xFFFFFFFFu
                   : which == 2 ? 0x11111111u
                   : which == 3 ? (uint32_t)(i == n - 1) << 31
                                : (uint32_t)random_next(&stream);
    words[0] |= 1;
}

/* x = m^d r^(e d - 1) modulo a prime, where r is 2^-32: what an exponent d that
 * does not belong to e leaves of the blinding. */
static void power_of(const BIGNUM *d, const BIGNUM *prime)
{
    number_power_of_two(a, 32);
    assert_non_null(BN_mod_inverse(a, a, prime, bn));
    assert_non_null(BN_copy(y, d));
    assert_true(BN_mul_word(y, (BN_ULONG)limbs_key.e));
    assert_true(BN_sub_word(y, 1));
    assert_true(BN_mod_exp(a, a, y, prime, bn));
    assert_true(BN_mod_exp(x, m, d, prime, bn));
    assert_true(BN_mod_mul(x, x, a, prime, bn));
}

/* Exponents that do not belong to e: the halves are still those of libcrypto,
 * and the check says that the whole is no root of m. */
TEST(other_exponents)
{
    const int n = use_key(&recipes[0]);

    for (int which = 0; which < 5; which++) {
        uint64_t random[WARPRSA_RANDOM_WORDS] = {1};

        put_exponent(limbs_key.half[0].exponent, which, n);
        put_exponent(limbs_key.half[1].exponent, 4 - which, n);
        random[WARPRSA_RANDOM_WORDS - 1] =
            which % 2 == 0 ? random_next(&stream) : 0;
        special_message(10);
        assert_int_equal(WARPRSA_CHECK_FAILED, operate(true, random, n));
        assert_true(BN_cmp(s, made.numbers.value[NUMBER_N]) < 0);
        for (int i = 0; i < 2; i++) {
            const BIGNUM *prime = made.numbers.value[i ? NUMBER_Q : NUMBER_P];

            get(b, limbs_key.half[i].exponent, n);
            power_of(b, prime);
            assert_true(BN_nnmod(y, s, prime, bn));
            assert_int_equal(0, BN_cmp(x, y));
        }
    }
    made_key_free(&made);
}

RUN_TESTS(set_up, tear_down)
