/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/support/gpu_numbers.h"

#include <stdlib.h>
#include <string.h>

enum {
    WRONG_SHOWN = 10,
    BYTES = NUMBER_SAMPLES * WARPRSA_SAMPLE_BITS / 8 + 16
};

static const warprsa_sample_t full_sample = (warprsa_sample_t)NUMBER_FULL;

number_view number_view_of(int index)
{
    static const warprsa_shape shapes[2][WARPRSA_CLASS_LARGE] = {
        WARPRSA_SHAPES_FEW, WARPRSA_SHAPES_MANY};
    const warprsa_shape shape = shapes[index / 2 / WARPRSA_CLASS_LARGE]
                                      [index / 2 % WARPRSA_CLASS_LARGE];
    const int factor = index % 2 == 0 ? 1 : 2;

    return (number_view){factor * shape.limbs,
                         factor * shape.threads_per_number,
                         shape.limbs_per_thread, 2 * shape.threads_per_number};
}

int number_subgroups(const number_view *view)
{
    return view->threads_per_request / view->threads_per_number;
}

int number_samples(const number_view *view)
{
    return view->threads_per_number * view->limbs_per_thread;
}

int number_modulus_bits(const number_view *view)
{
    return WARPRSA_SAMPLE_BITS * view->limbs - 5;
}

uint64_t number_seed(void)
{
    const char *seed = getenv("WARPRSA_TEST_SEED");

    return seed != NULL ? strtoull(seed, NULL, 0) : 1;
}

void number_wrong(unsigned *wrong, const char *what, const number_view *view,
                  uint64_t seed)
{
    if ((*wrong)++ < WRONG_SHOWN)
        print_error("%s: wrong: %d limbs, %d threads a number, %d limbs a "
                    "thread, seed %#llx\n",
                    what, view->limbs, view->threads_per_number,
                    view->limbs_per_thread, (unsigned long long)seed);
}

static void cases(number_case *one, unsigned count, int step)
{
    unsigned wrong = 0;

    for (int v = 0; v < NUMBER_VIEWS; v += step) {
        const number_view view = number_view_of(v);

        for (unsigned i = 0; i < count; i++)
            one(&view, number_seed() + i, &wrong);
    }
    assert_int_equal(0, wrong);
}

void number_cases_in_views(number_case *one, unsigned count)
{
    cases(one, count, 1);
}

void number_cases_in_pairs(number_case *one, unsigned count)
{
    cases(one, count, 2);
}

void number_exponent(BIGNUM *to, uint32_t *words, int bits,
                     random_stream *stream)
{
    const unsigned kind = random_below(stream, 6);

    memset(words, 0, WARPRSA_BLINDED_WORDS * sizeof(*words));
    BN_zero(to);
    for (int i = 0; i < bits; i++)
        if (kind == 0 || (kind == 1 && i == 0) ||
            (kind > 2 && random_below(stream, 2))) {
            words[i / 32] |= 1u << (i % 32);
            assert_true(BN_set_bit(to, i));
        }
}

int number_sample_within(warprsa_sample_t sample, uint64_t most)
{
#ifdef WARPRSA_INT32
    return sample <= most;
#else
    return sample >= 0 && sample <= (double)most &&
           sample == (double)(uint64_t)sample;
#endif
}

void number_make(BN_CTX *bn, BIGNUM **first, ...)
{
    va_list others;

    va_start(others, first);
    for (BIGNUM **to = first; to != NULL; to = va_arg(others, BIGNUM **)) {
        *to = BN_CTX_get(bn);
        assert_non_null(*to);
    }
    va_end(others);
}

void number_power_of_two(BIGNUM *to, int bits)
{
    BN_zero(to);
    assert_true(BN_set_bit(to, bits));
}

void number_from_columns(BIGNUM *to, const uint64_t *columns, int count)
{
    unsigned char bytes[BYTES] = {0};
    unsigned __int128 bits = 0;
    int have = 0, length = 0;

    /* `bits` holds what is above the bytes written so far. */
    for (int i = 0; i < count; i++) {
        bits += (unsigned __int128)columns[i] << have;
        for (have += WARPRSA_SAMPLE_BITS; have >= 8; have -= 8) {
            bytes[length++] = (unsigned char)bits;
            bits >>= 8;
        }
    }
    for (; bits != 0; bits >>= 8)
        bytes[length++] = (unsigned char)bits;
    assert_non_null(BN_lebin2bn(bytes, length, to));
    BN_set_negative(to,
                    0); /* BN_lebin2bn() does not reset the sign of a zero */
}

void number_from_samples(BIGNUM *to, const warprsa_sample_t *samples, int count)
{
    uint64_t columns[NUMBER_SAMPLES];

    for (int i = 0; i < count; i++)
        columns[i] = (uint64_t)samples[i];
    number_from_columns(to, columns, count);
}

void number_from_signed(BIGNUM *to, const double *samples, int count)
{
    BN_zero(to);
    for (int i = count - 1; i >= 0; i--) {
        const int64_t sample = (int64_t)samples[i];

        assert_true((double)sample == samples[i]);
        assert_true(BN_lshift(to, to, WARPRSA_SAMPLE_BITS));
        assert_true(sample < 0 ? BN_sub_word(to, (BN_ULONG)-sample)
                               : BN_add_word(to, (BN_ULONG)sample));
    }
}

void number_to_samples(warprsa_sample_t *samples, const BIGNUM *from, int count)
{
    unsigned char bytes[BYTES];

    assert_int_equal(BYTES, BN_bn2lebinpad(from, bytes, BYTES));
    assert_true(BN_num_bits(from) <= count * WARPRSA_SAMPLE_BITS);
    for (int i = 0; i < count; i++) {
        uint64_t bits = 0;
        int low = i * WARPRSA_SAMPLE_BITS;

        for (int j = 7; j >= 0; j--)
            bits = bits << 8 | bytes[low / 8 + j];
        samples[i] =
            (warprsa_sample_t)((bits >> (low % 8)) & WARPRSA_SAMPLE_MASK);
    }
}

void number_put(warprsa_number *to, const number_view *view, int subgroup,
                const warprsa_sample_t *samples)
{
    for (int i = 0; i < number_samples(view); i++)
        to->of[subgroup * view->threads_per_number + i / view->limbs_per_thread]
              [i % view->limbs_per_thread] = samples[i];
}

void number_get(warprsa_sample_t *samples, const warprsa_number *from,
                const number_view *view, int subgroup)
{
    for (int i = 0; i < number_samples(view); i++)
        samples[i] =
            from->of[subgroup * view->threads_per_number +
                     i / view->limbs_per_thread][i % view->limbs_per_thread];
}

static void random_bits(BIGNUM *to, random_stream *stream, int bits)
{
    unsigned char bytes[BYTES];

    random_bytes(stream, bytes, sizeof(bytes));
    assert_non_null(BN_bin2bn(bytes, sizeof(bytes), to));
    assert_true(BN_mask_bits(to, bits) || BN_num_bits(to) <= bits);
}

/* Ones and zeros in turn, each run of 1..longest bits. */
static void runs(BIGNUM *to, random_stream *stream, int bits, unsigned longest)
{
    int one = (int)random_below(stream, 2);

    BN_zero(to);
    for (int at = 0; at < bits; one = !one) {
        int end = at + 1 + (int)random_below(stream, longest);

        for (; at < end && at < bits; at++)
            if (one)
                assert_true(BN_set_bit(to, at));
    }
}

/* A sample at the ends of its range. */
static warprsa_sample_t extreme_sample(random_stream *stream)
{
    switch (random_below(stream, 8)) {
    case 0:
    case 1:
        return full_sample;
    case 2:
    case 3:
        return full_sample - 1;
    case 4:
        return (warprsa_sample_t)(1ull << (WARPRSA_SAMPLE_BITS - 1));
    case 5:
        return 1;
    case 6:
        return 0;
    default:
        return (warprsa_sample_t)(random_next(stream) & WARPRSA_SAMPLE_MASK);
    }
}

static void extreme_samples(BIGNUM *to, random_stream *stream, int bits)
{
    warprsa_sample_t samples[NUMBER_SAMPLES];

    for (int i = 0; i < NUMBER_SAMPLES; i++)
        samples[i] = extreme_sample(stream);
    number_from_samples(to, samples, NUMBER_SAMPLES);
    assert_true(BN_mask_bits(to, bits) || BN_num_bits(to) <= bits);
}

void number_pattern(BIGNUM *to, random_stream *stream, int pattern, int bits)
{
    const BN_ULONG small = 2 * (BN_ULONG)random_below(stream, 1000);

    BN_zero(to);
    if (pattern == 0 || (pattern == 1 && bits > 12)) {
        /* 2^k - 1, 2^k - small */
        number_power_of_two(to, bits);
        assert_true(BN_sub_word(to, pattern == 0 ? 1 : 1 + small));
    } else if (pattern == 2 && bits > 12) { /* 2^(k-1) + small */
        assert_true(BN_set_word(to, small));
    } else if (pattern == 3) { /* ones over zeros */
        number_power_of_two(to, bits - bits / 2);
        assert_true(BN_sub_word(to, 1) && BN_lshift(to, to, bits / 2));
    } else if (pattern == 4) { /* zeros over ones */
        number_power_of_two(to, bits / 2 + 1);
        assert_true(BN_sub_word(to, 1));
    } else if (pattern == 5 || pattern == 6) { /* alternating */
        for (int i = pattern - 5; i < bits; i += 2)
            assert_true(BN_set_bit(to, i));
    } else if (pattern == 7) {
        runs(to, stream, bits, 200);
    } else if (pattern == 8) {
        extreme_samples(to, stream, bits);
    } else if (pattern == 9) {
        random_bits(to, stream, bits);
    } /* else 2^(k-1) + 1 */
    if (BN_num_bits(to) > bits)
        BN_zero(to);
    assert_true(BN_set_bit(to, bits - 1) && BN_set_bit(to, 0));
}

void number_modulus(BIGNUM *to, random_stream *stream, int max_bits)
{
    int bits = max_bits;
    unsigned length = random_below(stream, 8);

    if (length == 0)
        bits = 2 + (int)random_below(stream, (unsigned)max_bits - 1);
    else if (length == 1) /* about a whole number of samples */
        bits = WARPRSA_SAMPLE_BITS *
                   (1 + (int)random_below(stream, (unsigned)max_bits /
                                                      WARPRSA_SAMPLE_BITS)) -
               2 + (int)random_below(stream, 5);
    else if (length == 2)
        bits = max_bits - (int)random_below(stream, 60);
    if (bits > max_bits)
        bits = max_bits;
    number_pattern(to, stream, (int)random_below(stream, NUMBER_PATTERNS),
                   bits);
}

#ifndef WARPRSA_INT32
/* The same value with samples of 2^52 where a zero lies below something. */
static void make_redundant(warprsa_sample_t *samples, int count,
                           random_stream *stream)
{
    for (int i = count - 2; i >= 0; i--)
        if (samples[i] == 0 && samples[i + 1] >= 1 &&
            random_below(stream, 4) != 0) {
            samples[i] = full_sample;
            samples[i + 1] -= 1;
        }
}

#endif

/* Extreme samples, cut at the top until the number is below the limit. */
static void extreme_below(BIGNUM *value, warprsa_sample_t *samples, int count,
                          const BIGNUM *limit, random_stream *stream)
{
    const int all_full = random_below(stream, 4) == 0;
    int top = (BN_num_bits(limit) - 1) / WARPRSA_SAMPLE_BITS;
    warprsa_sample_t limit_samples[NUMBER_SAMPLES + 1];

    number_to_samples(limit_samples, limit, NUMBER_SAMPLES + 1);
    for (int i = 0; i < count; i++)
        samples[i] = i > top    ? 0
                     : all_full ? full_sample
                                : extreme_sample(stream);
    if (top < count)
        samples[top] =
            limit_samples[top] - (warprsa_sample_t)random_below(stream, 2);
    else
        top = count - 1;
    number_from_samples(value, samples, count);
    while (BN_cmp(value, limit) >= 0) {
        if (samples[top] == 0)
            top--;
        samples[top] = samples[top] > 2 ? samples[top] - 2 : 0;
        number_from_samples(value, samples, count);
    }
}

void number_below(BIGNUM *value, warprsa_sample_t *samples, int count,
                  const BIGNUM *limit, random_stream *stream)
{
    const int bits = BN_num_bits(limit);
    const unsigned kind = random_below(stream, 10);

    BN_zero(value);
    if (kind <= 2) {
        assert_non_null(BN_copy(value, limit));
        assert_true(
            BN_sub_word(value, kind == 0 ? 1 : random_below(stream, 1000)));
        if (BN_is_negative(value) || BN_cmp(value, limit) >= 0)
            BN_zero(value);
    } else if (kind == 3) {
        assert_true(BN_set_word(value, random_below(stream, 3)));
    } else if (kind == 4) {
        number_power_of_two(value, (int)random_below(stream, (unsigned)bits));
    } else if (kind == 5) {
        runs(value, stream, bits, 200);
    } else if (kind == 6) {
        random_bits(value, stream, bits);
    } else {
        extreme_below(value, samples, count, limit, stream);
        return;
    }
    if (BN_cmp(value, limit) >= 0)
        assert_true(BN_sub(value, value, limit));
    if (BN_cmp(value, limit) >= 0)
        BN_zero(value);
    number_to_samples(samples, value, count);
#ifndef WARPRSA_INT32
    make_redundant(samples, count, stream);
#endif
}
