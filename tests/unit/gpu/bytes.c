/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tests the conversions of gpu/arith/operation.h, bytes to samples and back,
 * and that of random words to blinding factors, in private_operation.h.
 */
#include "tests/unit/support/gpu_numbers.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

enum {
    LENGTH_MIN = WARPRSA_MODULUS_BITS_MIN / 8,
    LENGTH_MAX = 512, /* of the classes that are not large */
};

static BIGNUM *number, *other;

static int set_up(void **state)
{
    number = BN_new();
    other = BN_new();
    return number == NULL || other == NULL || fesetround(FE_TOWARDZERO) != 0;
}

static int tear_down(void **state)
{
    BN_free(number);
    BN_free(other);
    return 0;
}

/* Random bytes, ones or a single bit, in an allocation of exactly that length,
 * so that a sanitizer sees what is read beyond. */
static uint8_t *make_bytes(size_t length, random_stream *stream)
{
    uint8_t *bytes = malloc(length);
    const unsigned kind = random_below(stream, 4);

    assert_non_null(bytes);
    random_bytes(stream, bytes, length);
    if (kind == 0)
        memset(bytes, 0xff, length);
    if (kind == 1) {
        memset(bytes, 0, length);
        bytes[random_below(stream, (unsigned)length)] =
            (uint8_t)(1u << random_below(stream, 8));
    }
    return bytes;
}

TEST(bytes_to_samples_and_back)
{
    for (size_t length = LENGTH_MIN; length <= LENGTH_MAX; length++) {
        random_stream stream = {number_seed() + length};
        uint8_t *bytes = make_bytes(length, &stream);
        warprsa_sample_t samples[NUMBER_SAMPLES], expected[NUMBER_SAMPLES];
        warprsa_sample_bits_t words[NUMBER_SAMPLES];

        assert_non_null(BN_bin2bn(bytes, (int)length, number));
        number_to_samples(expected, number, NUMBER_SAMPLES);
        for (int i = 0; i < NUMBER_SAMPLES; i++) {
            samples[i] = warprsa_sample_of_bytes(bytes, (int)length, i);
            words[i] = (warprsa_sample_bits_t)samples[i];
        }
        assert_memory_equal(expected, samples, sizeof(samples));
        for (size_t i = 0; i < length; i++)
            assert_int_equal(
                bytes[length - 1 - i],
                warprsa_byte_of_samples(words, NUMBER_SAMPLES, (int)i));
        free(bytes);
    }
}

/* As many samples as the class has, in an allocation of exactly that size:
 * nothing beyond is read, and what would be beyond reads as zero. */
TEST(bytes_of_a_class)
{
    for (int size = 0; size < WARPRSA_CLASS_LARGE; size++) {
        number_view view = number_view_of(2 * size + 1);
        random_stream stream = {number_seed()};
        warprsa_sample_bits_t *words =
            malloc((size_t)view.limbs * sizeof(*words));
        warprsa_sample_t samples[NUMBER_SAMPLES];
        uint8_t bytes[LENGTH_MAX + 16];

        assert_non_null(words);
        for (int i = 0; i < view.limbs; i++) {
            words[i] = (warprsa_sample_bits_t)(random_next(&stream) &
                                               WARPRSA_SAMPLE_MASK);
            samples[i] = (warprsa_sample_t)words[i];
        }
        number_from_samples(number, samples, view.limbs);
        assert_true(BN_mask_bits(number, LENGTH_MAX * 8) ||
                    BN_num_bits(number) <= LENGTH_MAX * 8);
        assert_int_equal(LENGTH_MAX, BN_bn2lebinpad(number, bytes, LENGTH_MAX));
        for (int i = 0; i < LENGTH_MAX; i++)
            assert_int_equal(bytes[i],
                             warprsa_byte_of_samples(words, view.limbs, i));
        free(words);
    }
}

/* The random bits that sample i of r comes from: the low bits of a word; or, of
 * 32-bit limbs, half a word. */
static warprsa_sample_t cut_of(const uint64_t *random, int i)
{
#ifdef WARPRSA_INT32
    return i < 2 * WARPRSA_BLINDING_SAMPLES
               ? (uint32_t)(random[i / 2] >> (i % 2 != 0 ? 32 : 0))
               : 0;
#else
    return i < WARPRSA_BLINDING_SAMPLES
               ? (double)(random[i] & WARPRSA_SAMPLE_MASK)
               : 0;
#endif
}

/* r consists of the low bits of the random words, at least one bit fewer than
 * the prime has, and is odd. */
TEST(blinding_factors_are_below_the_prime)
{
    for (int size = 0; size < WARPRSA_CLASS_LARGE; size++) {
        number_view view = number_view_of(2 * size);

        for (int bits = 2; bits <= number_modulus_bits(&view); bits++) {
            random_stream stream = {number_seed() + (uint64_t)bits};
            warprsa_sample_t samples[NUMBER_SAMPLES], words[NUMBER_SAMPLES];
            uint64_t random[WARPRSA_BLINDING_SAMPLES];

            for (int i = 0; i < WARPRSA_BLINDING_SAMPLES; i++)
                random[i] = bits % 2 == 0 ? UINT64_MAX : random_next(&stream);
            for (int i = 0; i < view.limbs; i++) {
                words[i] = cut_of(random, i);
                samples[i] = warprsa_blinding_sample(random, (uint32_t)bits, i);
            }
            number_from_samples(number, samples, view.limbs);
            number_from_samples(other, words, view.limbs);
            assert_true(BN_mask_bits(other, bits - 1) ||
                        BN_num_bits(other) < bits);
            assert_true(BN_set_bit(other, 0));
            assert_int_equal(0, BN_cmp(number, other));
            assert_true(BN_num_bits(number) < bits);
        }
    }
}

RUN_TESTS(set_up, tear_down)
