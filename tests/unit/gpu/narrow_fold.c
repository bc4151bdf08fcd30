/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tests the narrow fold (gpu/kernels/narrow_fold/) against libcrypto's numbers:
 * where lanes find their parts, the key's matrix, products of the largest
 * samples of either sign, digits of exponents, and powers, on the moduli of
 * gpu_numbers.h. And how powers are shared among blocks.
 */
#include "gpu/kernels/narrow_fold/narrow_host.h"
#include "gpu/kernels/narrow_fold/parts.h"
#include "tests/unit/support/gpu_numbers.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIMBS = WARPRSA_NARROW_LIMBS,
    LANES = WARPRSA_NARROW_LANES,
    BLOCKS = 5,      /* of a number's samples */
    BANK_GROUPS = 8, /* of 16 bytes: as many lanes access memory together */
    BITS_MIN = WARPRSA_FOLD_BITS_MIN(LIMBS),
    LIMBS_PER_THREAD = LIMBS == 20 ? 2 : 3, /* in block arithmetic */
    WORD_SPARE = LIMBS < 40 ? 4 : 3, /* bits of a sample beyond a word's */
    CARRY_MOST = 32 * WARPRSA_NARROW_ROUNDS,
    MODULI = 12,
    OPERANDS = 24,
    CHAIN = 6,
    WINDOWS = 24,
    POWERS_MOST = 1200, /* of a launch */
    /* Of a blinded exponent, for primes as long as samples have room. */
    WINDOWS_MOST = (52 * LIMBS + WARPRSA_EXPONENT_BLINDING_BITS) / 4,
};

/* Samples within this of zero, and a top sample below 2^51.2. */
#define SAMPLE_MOST INT64_C(0x8000000001000)
#define TOP_MOST    INT64_C(2586638741762874)

static const warprsa_narrow_lane_places lanes[LANES] =
    WARPRSA_NARROW_LANE_PLACES;
static const warprsa_narrow_word_places words[] = WARPRSA_NARROW_WORD_PLACES;

static BN_CTX *bn;
static BIGNUM *prime[2], *x, *y, *z;
static warprsa_prepared_key key;
static warprsa_narrow_key keys[2];
static warprsa_narrow_host host;
static random_stream stream;

static int set_up(void **state)
{
    bn = BN_CTX_new();
    BN_CTX_start(bn);
    number_make(bn, &prime[0], &prime[1], &x, &y, &z, NULL);
    stream.state = number_seed();
    return fesetround(FE_TOWARDZERO) != 0;
}

static int tear_down(void **state)
{
    BN_CTX_end(bn);
    BN_CTX_free(bn);
    return 0;
}

/* Which pairs of blocks a lane's part is of: I <= J with I + J or I + J + 1
 * equal to half of the column. */
static int belongs(int left, int right, int pair)
{
    return pair == 2 * (left + right) || pair == 2 * (left + right) + 1 ||
           pair == 2 * (left + right) + 2 || pair == 2 * (left + right) + 3;
}

/* The lane whose product lies `at` bytes from a number's parts, and which of
 * its four pairs of columns; -1 for what holds zeros. */
static int lane_of_part(int at, int *pair)
{
    const int row = at / WARPRSA_NARROW_PARTS_ROW;

    if (row == 4)
        return -1;
    *pair = row;
    assert_true(at % WARPRSA_NARROW_PARTS_ROW < 16 * LANES);
    return at % WARPRSA_NARROW_PARTS_ROW / 16;
}

/* Counts a part that belongs to a pair of columns. */
static void count_part(int counts[BLOCKS][BLOCKS], int at, int pair, int square)
{
    int own;
    const int lane = lane_of_part(at, &own);

    if (lane < 0)
        return;
    assert_int_equal(pair, 2 * (lanes[lane].left + lanes[lane].right) + own);
    assert_int_equal(square, lanes[lane].left == lanes[lane].right);
    counts[lanes[lane].left][lanes[lane].right]++;
}

/* Each pair of columns gets the parts of all pairs of blocks that reach it. */
TEST(columns_get_their_parts)
{
    unsigned summed = 0;

    for (int i = 0; i < LANES; i++) {
        const warprsa_narrow_lane_places *l = &lanes[i];

        for (int which = 0; which < 2; which++) {
            const int pair = which ? l->second : l->first;
            const int from = which == 0       ? 0
                             : l->second < 0  ? 5
                             : l->second < 18 ? 3
                                              : 4;
            const int to = which == 1 || l->second < 0 ? 5
                           : l->second < 18            ? 3
                                                       : 4;
            int counts[BLOCKS][BLOCKS] = {{0}};

            if (pair < 0)
                continue;
            summed |= 1u << pair;
            for (int part = from; part < to; part++)
                count_part(counts, l->part[part], pair,
                           which ? part == 4 : part == 0);
            for (int a = 0; a < BLOCKS; a++)
                for (int b = a; b < BLOCKS; b++)
                    assert_int_equal(counts[a][b], belongs(a, b, pair));
        }
    }
    assert_int_equal(summed, (1u << 20) - 1);
}

/* Eight lanes that access memory together use different banks, or the same
 * address. */
static void banks_differ(const int *at)
{
    for (int i = 0; i < BANK_GROUPS; i++)
        for (int j = 0; j < i; j++)
            assert_true(at[i] == at[j] ||
                        at[i] / 16 % BANK_GROUPS != at[j] / 16 % BANK_GROUPS);
}

TEST(places_have_no_conflicts)
{
    for (int first = 0; first < LANES; first += BANK_GROUPS) {
        int at[BANK_GROUPS];

        for (int part = 0; part < 5; part++) {
            for (int i = 0; i < BANK_GROUPS; i++)
                at[i] = lanes[first + i].part[part];
            banks_differ(at);
        }
        for (int i = 0; i < BANK_GROUPS; i++)
            at[i] = warprsa_narrow_place_in_row(lanes[first + i].pair);
        banks_differ(at);
    }
}

/* Whether the round that has a word's part `at` bytes from its number's first
 * reads its row. */
static int is_read(int at)
{
    const int round =
        at % WARPRSA_NARROW_WORDS_ROW >= WARPRSA_NARROW_ROUND ? 1 : 0;

    return at / WARPRSA_NARROW_WORDS_ROW < warprsa_narrow_word_parts(round);
}

/* A sample gets the parts of words that reach it, each in a place of its own;
 * what has no place goes where nobody reads. */
TEST(words_have_places)
{
    static const uint8_t place_of_word[] = WARPRSA_NARROW_PLACE_OF_WORD;
    const int nowhere = WARPRSA_NARROW_WORD_PARTS * WARPRSA_NARROW_WORDS_ROW;
    const int row = WARPRSA_NARROW_WORDS_ROW / 8;
    uint8_t taken[WARPRSA_NARROW_WORD_PARTS * WARPRSA_NARROW_WORDS_ROW] = {0};
    int sample_at[WARPRSA_NARROW_WORDS_ROW / 8];

    memset(sample_at, 0xff, sizeof(sample_at));
    for (int i = 0; i < LIMBS; i++)
        sample_at[warprsa_narrow_pair_in_row(i / 2) / 8 + i % 2] = i;
    for (int i = 0; i < WARPRSA_NARROW_DIGITS / 4; i++) {
        const int bit = 32 * words[i].word;

        assert_int_equal(place_of_word[words[i].word], i);
        assert_int_equal(words[i].shift, bit % 52);
        assert_true(is_read(words[i].low));
        assert_int_equal(sample_at[words[i].low / 8 % row], bit / 52);
        assert_int_equal(taken[words[i].low / 8]++, 0);
        if (words[i].high == nowhere) {
            assert_in_range(bit % 52, 0, WORD_SPARE);
            continue;
        }
        assert_true(is_read(words[i].high));
        assert_int_equal(sample_at[words[i].high / 8 % row], bit / 52 + 1);
        assert_int_equal(taken[words[i].high / 8]++, 0);
    }
}

/* What block arithmetic needs of a prime, and its matrix. */
static void use_primes(void)
{
    static double
        exchange[WARPRSA_EXCHANGE_DOUBLES(16, WARPRSA_LIMBS_PER_THREAD_MAX)];
    const warprsa_operation op = {.key = &key, .exchange = exchange};
    warprsa_narrow_maker maker;

    for (int i = 0; i < 2; i++) {
        warprsa_prepared_half *half = &key.half[i];

        number_to_samples(half->modulus, prime[i], LIMBS);
        number_power_of_two(x, 2 * 52 * LIMBS);
        assert_true(BN_mod(y, x, prime[i], bn));
        number_to_samples(half->r2, y, LIMBS);
        number_power_of_two(x, 52 * WARPRSA_BLOCK_OF(LIMBS));
        assert_non_null(BN_mod_inverse(y, prime[i], x, bn));
        assert_true(BN_sub(y, x, y));
        number_to_samples(half->block_n0inv, y, WARPRSA_BLOCK_OF(LIMBS));
        assert_non_null(BN_mod_inverse(y, x, prime[i], bn));
        number_to_samples(half->block_inv_2_52, y, LIMBS);
    }
    memset(keys, 0xff, sizeof(keys));
    memset(exchange, 0xff, sizeof(exchange));
    warprsa_narrow_new_maker(&maker, &op, 16, LIMBS_PER_THREAD);
    warprsa_narrow_make_bias(&keys[0], &keys[1], &maker, 16, LIMBS_PER_THREAD);
    for (int i = 0; i < WARPRSA_NARROW_MATRIX_COLUMNS; i++) {
        memset(exchange, 0xff, sizeof(exchange));
        warprsa_narrow_new_maker(&maker, &op, 16, LIMBS_PER_THREAD);
        warprsa_narrow_make_column(&keys[0], &keys[1], &maker, i, 16,
                                   LIMBS_PER_THREAD);
    }
}

static void next_primes(int pattern)
{
    for (int i = 0; i < 2; i++)
        number_pattern(prime[i], &stream, (pattern + 5 * i) % NUMBER_PATTERNS,
                       pattern % 3 == i + 1 ? BITS_MIN : WARPRSA_NARROW_BITS);
    use_primes();
}

static void check_rows(int which)
{
    const uint8_t *matrix = (const uint8_t *)keys[which].matrix;

    for (int row = 0; row < WARPRSA_NARROW_STEP_ROWS; row++) {
        unsigned char digits[WARPRSA_NARROW_DIGITS];
        const int bit = row == WARPRSA_NARROW_ROWS - 1 ? 52 * (LIMBS - 1) + 44
                        : row == WARPRSA_NARROW_ROWS - 9
                            ? 52 * LIMBS
                            : 52 * (LIMBS + row / 8) + 8 * (row % 8);

        for (int i = 0; i < WARPRSA_NARROW_DIGITS; i++)
            digits[i] = matrix[warprsa_narrow_row_offset(row) +
                               warprsa_narrow_digit_offset(i)];
        assert_non_null(BN_lebin2bn(digits, sizeof(digits), x));
        if (row >= WARPRSA_NARROW_ROWS) {
            assert_true(BN_is_zero(x));
            continue;
        }
        number_power_of_two(y, bit);
        assert_true(BN_mod(y, y, prime[which], bn));
        assert_int_equal(BN_cmp(x, y), 0);
    }
}

/* The biases of all columns and their negative make a multiple of the prime. */
static void check_bias(int which)
{
    BN_zero(x);
    for (int c = WARPRSA_NARROW_COLUMNS - 1; c >= 0; c--) {
        assert_true(BN_lshift(x, x, 52));
        assert_true(BN_add_word(x, warprsa_narrow_bias(c)));
    }
    assert_true(BN_lshift(x, x, 52));
    number_from_columns(y, keys[which].bias, LIMBS);
    assert_true(BN_add(x, x, y) && BN_mod(x, x, prime[which], bn));
    assert_true(BN_is_zero(x));
}

TEST(matrices)
{
    for (int i = 0; i < NUMBER_PATTERNS; i++) {
        next_primes(i);
        for (int which = 0; which < 2; which++) {
            check_rows(which);
            check_bias(which);
        }
    }
}

/* As the quotients of rows want it, for all that two samples can be. */
TEST(reciprocals)
{
    for (int exponent = 0; exponent < 104; exponent++)
        for (int i = 0; i < 100; i++) {
            uint64_t mantissa = i == 0 ? 0 : WARPRSA_SAMPLE_MASK;
            double x;

            if (i > 1)
                random_bytes(&stream, (unsigned char *)&mantissa, 8);
            x = ldexp(1 + (double)(mantissa & WARPRSA_SAMPLE_MASK) * 0x1p-52,
                      exponent);
            assert_true(fabs(fma(x, warprsa_narrow_reciprocal(x), -1)) <=
                        0x1p-50);
        }
}

/* Operands with the largest samples of one sign, of both, or random ones. */
static void operand(double *a, int turn)
{
    for (int i = 0; i < LIMBS; i++) {
        int64_t sample = 0;

        random_bytes(&stream, (unsigned char *)&sample, 6);
        sample = (sample << 4 & 0xFFFFFFFFFFFFF) - INT64_C(0x8000000000000);
        if (turn % 4 != 3)
            sample = turn % 4 == 0 || (turn % 4 == 1 && i % 2) ? SAMPLE_MOST
                                                               : -SAMPLE_MOST;
        if (i == LIMBS - 1)
            sample = turn % 3 == 0 ? TOP_MOST : turn % 3 == 1 ? 0 : 77;
        a[i] = (double)sample;
    }
}

static void check_result(const BIGNUM *want, int which)
{
    double a[LIMBS];

    warprsa_narrow_host_get(a, host.shared + WARPRSA_NARROW_A);
    number_from_signed(z, a, LIMBS);
    assert_true(BN_nnmod(x, z, prime[which], bn));
    assert_true(BN_nnmod(y, want, prime[which], bn));
    assert_int_equal(BN_cmp(x, y), 0);
    for (int i = 0; i < LIMBS - 1; i++)
        assert_true(fabs(a[i]) <= 0x1p51 + CARRY_MOST);
    assert_true(a[LIMBS - 1] > -2 * CARRY_MOST &&
                a[LIMBS - 1] <= (double)TOP_MOST);
}

/* A chain of squares and multiplications from one pair of operands. */
static void chain(int which, int turn)
{
    double a[LIMBS], b[LIMBS];
    BIGNUM *const value = BN_CTX_get(bn), *const factor = BN_CTX_get(bn);

    assert_non_null(factor);
    operand(a, turn);
    operand(b, turn / 2);
    warprsa_narrow_host_new(&host, &keys[which]);
    warprsa_narrow_host_put(host.shared + WARPRSA_NARROW_A, a);
    warprsa_narrow_host_put(host.shared + WARPRSA_NARROW_B, b);
    number_from_signed(value, a, LIMBS);
    number_from_signed(factor, b, LIMBS);
    for (int i = 0; i < CHAIN; i++) {
        const int multiply = (turn + i) % 2;

        warprsa_narrow_host_step(&host, multiply);
        assert_true(BN_mul(value, value, multiply ? factor : value, bn));
        check_result(value, which);
        assert_non_null(BN_copy(value, z));
    }
}

TEST(products)
{
    for (int i = 0; i < MODULI; i++) {
        next_primes(i);
        for (int turn = 0; turn < OPERANDS; turn++) {
            BN_CTX_start(bn);
            chain(turn % 2, turn);
            BN_CTX_end(bn);
        }
    }
}

/* y = an exponent of so many digits of WARPRSA_WINDOW bits: zeros, ones or
 * random, by `pattern`. */
static void choose_exponent(uint32_t *exponent, int windows, int pattern)
{
    const size_t bytes = 4 * (size_t)((WARPRSA_WINDOW * windows + 31) / 32);

    memset(exponent, pattern % 3 == 1 ? 0xff : 0, bytes);
    if (pattern % 3 == 2)
        random_bytes(&stream, (unsigned char *)exponent, bytes);
    assert_non_null(BN_lebin2bn((unsigned char *)exponent, (int)bytes, y));
    (void)BN_mask_bits(y, WARPRSA_WINDOW * windows); /* fails if it is short */
    assert_int_equal(BN_bn2lebinpad(y, (unsigned char *)exponent, (int)bytes),
                     bytes);
}

/* Each digit is the bits that it stands for, whatever lies behind the exponent,
 * for lengths that are no multiple of a digit's, and from any digit on. */
TEST(digits)
{
    const int bits = WARPRSA_NARROW_WINDOW;
    uint32_t exponent[WINDOWS_MOST / 8 + 1];

    for (int turn = 0; turn < 36; turn++) {
        const int windows = turn < 24 ? turn + 1 : WINDOWS_MOST - turn + 24;
        const int count = warprsa_narrow_windows((uint32_t)windows);

        assert_in_range(bits * count, WARPRSA_WINDOW * windows,
                        WARPRSA_WINDOW * windows + bits - 1);
        choose_exponent(exponent, windows, turn % 2 + 1);
        memset(host.shared, 0xff, sizeof(host.shared));
        for (int low = 0; low < count; low += 7) {
            warprsa_narrow_host_put_exponent(&host, exponent, windows, low);
            for (int i = low; i < count; i++) {
                uint32_t want = 0;

                for (int bit = 0; bit < bits; bit++)
                    want |= (uint32_t)BN_is_bit_set(y, bits * i + bit) << bit;
                assert_int_equal(warprsa_narrow_host_digit(&host, i - low),
                                 want);
            }
        }
    }
}

/* Powers with digits that windows may get wrong: all zero, all ones, random.
 * One in two is cut, as those are that two blocks share. */
TEST(powers)
{
    uint32_t exponent[WINDOWS / 8];
    double a[LIMBS];

    for (int i = 0; i < 12; i++) {
        const int windows = WINDOWS - i / 2;
        const int all = warprsa_narrow_windows((uint32_t)windows);
        const int cut = i % 2 * (i + all / 4);
        double power[LIMBS] = {1};

        next_primes(i / 2);
        choose_exponent(exponent, windows, i / 2);
        operand(a, i / 2);
        number_from_signed(x, a, LIMBS);
        assert_true(BN_nnmod(x, x, prime[i / 2 % 2], bn));
        assert_true(BN_mod_exp(x, x, y, prime[i / 2 % 2], bn));
        warprsa_narrow_host_power(power, a, &keys[i / 2 % 2], exponent, windows,
                                  cut, all - cut);
        if (cut > 0)
            warprsa_narrow_host_power(power, a, &keys[i / 2 % 2], exponent,
                                      windows, 0, cut);
        number_from_signed(z, power, LIMBS);
        assert_true(BN_nnmod(z, z, prime[i / 2 % 2], bn));
        assert_int_equal(BN_cmp(x, z), 0);
    }
}

/* What the blocks of a launch do, and when. */
typedef struct timetable {
    warprsa_fold_item items[POWERS_MOST / 2];
    uint32_t shorts[POWERS_MOST]; /* of item i at 2 i */
    warprsa_narrow_line line;
    uint32_t blocks, load;
    int done[POWERS_MOST];        /* digits of a power, the highest first */
    uint32_t stored[POWERS_MOST]; /* when its first part was stored */
    uint32_t by[POWERS_MOST];     /* the block that did that */
} timetable;

/* Every item, none, every third or a random third of them is short. */
static void make_items(timetable *t, uint32_t count, int kind)
{
    uint32_t shorts = 0;

    for (uint32_t i = 0; i < count; i++) {
        unsigned char random = 0;
        bool is_short = kind == 1 || (kind == 2 && i % 3 == 2);

        if (kind == 3) {
            random_bytes(&stream, &random, 1);
            is_short = random < 85;
        }
        t->items[i] =
            (warprsa_fold_item){8 * i, is_short ? 1 + i % 4 : 5 + i % 4};
        t->shorts[2 * i] = shorts;
        shorts += is_short;
    }
}

static bool has_both(const timetable *t, uint32_t item)
{
    return t->line.both && t->items[item].count <= 4;
}

static uint32_t time_of_digit(const timetable *t, uint32_t power)
{
    return has_both(t, power / 2) ? WARPRSA_NARROW_TIME_OF_BOTH
                                  : WARPRSA_NARROW_TIME;
}

/* The load of one of so many blocks, if short items have powers of both primes
 * or not: its part of all powers, or the longest of them. */
static uint32_t expected_load(const timetable *t, uint32_t blocks, bool both)
{
    const uint32_t each =
        (uint32_t)t->line.windows + WARPRSA_NARROW_TABLE_DIGITS;
    uint32_t sum = 0, longest = WARPRSA_NARROW_TIME;

    for (uint32_t i = 0; i < t->line.count; i++) {
        const bool joined = both && t->items[i].count <= 4;

        sum += joined ? WARPRSA_NARROW_TIME_OF_BOTH : 2 * WARPRSA_NARROW_TIME;
        if (joined)
            longest = WARPRSA_NARROW_TIME_OF_BOTH;
    }
    sum = (sum * each + blocks - 1) / blocks;
    return sum > longest * each ? sum : longest * each;
}

/* Runs the parts of a block, of which those that begin a power or those that
 * end one. Returns when it is done. */
static uint32_t run_block(timetable *t, uint32_t block, bool ends)
{
    warprsa_narrow_share share =
        warprsa_narrow_share_of(&t->line, t->blocks, block);
    warprsa_narrow_part part;
    uint32_t now = 0;

    for (int i = 0; warprsa_narrow_take_part(&part, &share, &t->line); i++) {
        const bool is_end = part.low + part.digits < t->line.windows;

        assert_true(part.power < 2 * t->line.count);
        assert_true(part.power % 2 == 0 || !has_both(t, part.power / 2));
        assert_true(part.low >= 0 && part.digits > 0);
        /* The first part alone may leave something, the last one end it. */
        assert_true(part.low == 0 || i == 0);
        if (is_end && ends) {
            /* By a block that starts sooner, for loads are given in reverse. */
            assert_true(t->by[part.power] > block);
            if (now < t->stored[part.power])
                now = t->stored[part.power];
        }
        now += (uint32_t)(WARPRSA_NARROW_TABLE_DIGITS + part.digits) *
               time_of_digit(t, part.power);
        if (is_end != ends)
            continue;
        assert_int_equal(t->done[part.power],
                         t->line.windows - part.low - part.digits);
        t->done[part.power] += part.digits;
        t->stored[part.power] = now;
        t->by[part.power] = block;
    }
    return now;
}

/* Of a launch whose items are one in so many of the device's. */
static void check_launch(timetable *t, uint32_t count, uint32_t others,
                         int windows)
{
    const uint32_t tables =
        3 * WARPRSA_NARROW_TABLE_DIGITS * WARPRSA_NARROW_TIME_OF_BOTH;
    const uint32_t share = t->blocks < others ? 1 : t->blocks / others;

    t->line = (warprsa_narrow_line){.items = t->items,
                                    .count = count,
                                    .shorts = t->shorts,
                                    .shorts_stride = 2,
                                    .windows = windows};
    warprsa_narrow_choose_both(&t->line, others * count, t->blocks);
    assert_int_equal(t->line.both,
                     LIMBS == 40 && expected_load(t, share, true) <
                                        expected_load(t, share, false));
    t->load = expected_load(t, t->blocks, t->line.both);
    assert_int_equal(warprsa_narrow_time_of_load(&t->line, t->blocks), t->load);
    memset(t->done, 0, sizeof(t->done));
    for (uint32_t block = 0; block < t->blocks; block++)
        (void)run_block(t, block, false);
    for (uint32_t block = t->blocks; block-- > 0;)
        assert_true(run_block(t, block, true) <= t->load + tables);
    for (uint32_t i = 0; i < 2 * count; i++)
        assert_int_equal(t->done[i],
                         i % 2 != 0 && has_both(t, i / 2) ? 0 : windows);
}

/* One block for each power as long as they fit at once and the last ones do not
 * make each SM slower for few of them; as many as fit, if there are more. */
TEST(blocks_fill_the_sms)
{
    static const struct {
        uint32_t powers, most, blocks;
    } of_132_sms[] = {
        {2, 1, 2},     {131, 1, 131}, {132, 1, 132}, {133, 1, 132},
        {900, 1, 132}, {131, 2, 131}, {184, 2, 132}, {185, 2, 185},
        {264, 2, 264}, {265, 2, 264}, {184, 4, 132}, {185, 4, 185},
        {369, 4, 264}, {370, 4, 370}, {501, 4, 396}, {502, 4, 502},
        {528, 4, 528}, {529, 4, 528},
    };

    for (size_t i = 0; i < sizeof(of_132_sms) / sizeof(of_132_sms[0]); i++)
        assert_int_equal(warprsa_narrow_power_blocks(of_132_sms[i].powers, 132,
                                                     of_132_sms[i].most),
                         of_132_sms[i].blocks);
}

/* Each digit of each power is computed once, in order, and no block is busy for
 * longer than its load and two tables, nor waits for longer than one. */
TEST(blocks_share_the_powers)
{
    static timetable t;
    static const uint32_t sms[] = {1, 2, 7, 132};

    for (uint32_t items = 1; items <= POWERS_MOST / 2; items++)
        for (int kind = 0; kind < 4; kind++) {
            make_items(&t, items, kind);
            for (size_t i = 0; i < sizeof(sms) / sizeof(sms[0]); i++)
                for (uint32_t most = 1; most <= 4; most++) {
                    t.blocks =
                        warprsa_narrow_power_blocks(2 * items, sms[i], most);
                    assert_true(t.blocks >= 1 && t.blocks <= 2 * items &&
                                t.blocks <= most * sms[i]);
                    check_launch(&t, items, 1 + items % 5 / 3 * 8,
                                 WINDOWS_MOST - (int)(items + most) % 31);
                }
        }
}

RUN_TESTS(set_up, tear_down)
