/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Checks of results by gpu/ifma, held against libcrypto: by the CPU's AVX-512
 * IFMA, or with WARPRSA_TEST_KERNEL=ifma by the same source in plain C, which
 * every CPU runs.
 */
#include "tests/unit/support/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/engine.h"
#define WARPRSA_IFMA_PORTABLE
#include "gpu/ifma/limbs.h"
#include "gpu/ifma/public_key.h"
#include "tests/unit/support/gpu_keys.h"
#include "tests/unit/support/random_keys.h"

enum {
    LANES = WARPRSA_IFMA_LANES,
    KEYS = 4, /* of each class */
    CLASSES = WARPRSA_CLASS_LARGE,
    SKIPPED = 77, /* exit status */
};
#define PRIME_E 0xffffffffffffffc5u /* 2^64 - 59, the largest of 64 bits */

/* The longest modulus of each class, lengths that are no multiple of 8, and the
 * public exponents 3, 65537, 17 and the largest prime of 64 bits. */
static const key_recipe recipes[CLASSES][KEYS] = {
    {{{PRIME_DOWN, 515}, {PRIME_UP, 515}, 65537},
     {{PRIME_RANDOM, 514}, {PRIME_STRIPES, 512}, 3},
     {{PRIME_DOWN, 512}, {PRIME_ONES, 512}, PRIME_E},
     {{PRIME_ZEROS, 513}, {PRIME_RANDOM, 512}, 17}},
    {{{PRIME_DOWN, 1035}, {PRIME_UP, 1035}, 65537},
     {{PRIME_RANDOM, 1026}, {PRIME_STRIPES, 1023}, 3},
     {{PRIME_DOWN, 1024}, {PRIME_ONES, 1024}, PRIME_E},
     {{PRIME_RANDOM, 600}, {PRIME_DOWN, 700}, 17}},
    {{{PRIME_DOWN, 1555}, {PRIME_UP, 1555}, 65537},
     {{PRIME_RANDOM, 1510}, {PRIME_UP, 1536}, 3},
     {{PRIME_DOWN, 1536}, {PRIME_ONES, 1536}, PRIME_E},
     {{PRIME_ZEROS, 1536}, {PRIME_RANDOM, 1048}, 17}},
    {{{PRIME_DOWN, 2048}, {PRIME_RANDOM, 2048}, 65537},
     {{PRIME_DOWN, 2075}, {PRIME_RANDOM, 2018}, 3},
     {{PRIME_UP, 2048}, {PRIME_ONES, 2048}, PRIME_E},
     {{PRIME_STRIPES, 2045}, {PRIME_UP, 2041}, 17}},
};

typedef struct a_key {
    made_key made;
    warprsa_ifma_public_key *public;
    size_t bytes;
} a_key;

/* Eight results, and their numbers. */
typedef struct eight {
    warprsa_ifma_result results[LANES];
    uint8_t input[LANES][WARPRSA_MODULUS_BYTES_MAX];
    uint8_t output[LANES][WARPRSA_MODULUS_BYTES_MAX];
} eight;

static a_key keys[CLASSES][KEYS];
static bool in_plain_c;

static void run_check(warprsa_ifma_result *results, size_t count)
{
    static void (*const of_class[CLASSES])(warprsa_ifma_result *, size_t) = {
        warprsa_portable_check_20, warprsa_portable_check_40,
        warprsa_portable_check_60, warprsa_portable_check_80};

    if (in_plain_c)
        of_class[results[0].key->size](results, count);
    else
        warprsa_ifma_check(results, count);
}

static int set_up(void **state)
{
    for (int size = 0; size < CLASSES; size++)
        for (int i = 0; i < KEYS; i++) {
            a_key *key = &keys[size][i];

            if (!made_key_new(&key->made, &recipes[size][i]) ||
                warprsa_key_class(&key->made.key) != size ||
                warprsa_ifma_public_key_prepare(&key->made.key, &key->public) !=
                    WARPRSA_OK)
                return 1;
            key->bytes = key->made.key.modulus_bytes;
        }
    return 0;
}

static int tear_down(void **state)
{
    for (int size = 0; size < CLASSES; size++)
        for (int i = 0; i < KEYS; i++) {
            warprsa_ifma_public_key_free(keys[size][i].public);
            made_key_free(&keys[size][i].made);
        }
    return 0;
}

static void put(uint8_t *to, const BIGNUM *number, const a_key *key)
{
    assert_int_equal(BN_bn2binpad(number, to, (int)key->bytes), key->bytes);
}

/* input = output^e mod n by libcrypto, for an output of `bytes`. */
static void put_right(eight *e, int lane, a_key *key, const BIGNUM *output)
{
    BIGNUM *const *v = key->made.numbers.value;
    BIGNUM *input = BN_new();

    assert_non_null(input);
    assert_true(BN_mod_exp(input, output, v[NUMBER_E], v[NUMBER_N],
                           key->made.numbers.ctx));
    put(e->input[lane], input, key);
    put(e->output[lane], output, key);
    e->results[lane] = (warprsa_ifma_result){
        .key = key->public, .input = e->input[lane], .output = e->output[lane]};
    BN_free(input);
}

static void put_random(eight *e, int lane, a_key *key, random_stream *stream)
{
    BIGNUM *output = BN_new();

    assert_true(output != NULL && made_key_message(&key->made, output, stream));
    put_right(e, lane, key, output);
    BN_free(output);
}

/* Marks in the other way, so that each result must be set. */
static void expect(eight *e, size_t count, unsigned wrong)
{
    for (size_t i = 0; i < LANES; i++)
        e->results[i].is_right = wrong >> i & 1;
    run_check(e->results, count);
    for (size_t i = 0; i < LANES; i++)
        assert_int_equal(e->results[i].is_right,
                         i < count ? !(wrong >> i & 1) : wrong >> i & 1);
}

/* Groups of 1 to 8, each lane with a key and an exponent of its own, and of one
 * key alone. */
TEST(right_results_pass)
{
    random_stream stream = {1};
    eight e;

    for (int size = 0; size < CLASSES; size++) {
        for (int i = 0; i < LANES; i++)
            put_random(&e, i, &keys[size][i % KEYS], &stream);
        for (size_t count = 1; count <= LANES; count++)
            expect(&e, count, 0);
        for (int k = 0; k < KEYS; k++) {
            for (int i = 0; i < LANES; i++)
                put_random(&e, i, &keys[size][k], &stream);
            expect(&e, LANES, 0);
        }
    }
}

/* 0, 1 and n - 1 are their own powers; beside them n and n + 1, whose powers
 * are the same. */
TEST(numbers_at_the_edges)
{
    BIGNUM *output = BN_new();
    eight e;

    for (int size = 0; size < CLASSES; size++)
        for (int k = 0; k < KEYS; k++) {
            a_key *key = &keys[size][k];
            const BIGNUM *n = key->made.numbers.value[NUMBER_N];

            for (int i = 0; i < LANES; i++) {
                assert_true(BN_set_word(output, (BN_ULONG)(i % 2)));
                put_right(&e, i, key, output);
            }
            assert_true(BN_sub(output, n, BN_value_one()));
            put_right(&e, 2, key, output);
            put(e.output[3], output, key); /* of 1: wrong */
            put(e.output[4], n, key);      /* of 0 */
            assert_true(BN_add(output, n, BN_value_one()));
            put(e.output[5], output, key);                  /* of 1 */
            memset(e.output[6], 0xff, sizeof(e.output[6])); /* of 0 */
            expect(&e, LANES, 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6);
        }
    BN_free(output);
}

/* A key of a class whose modulus has bits to spare in its first byte. */
static a_key *key_with_room(int size)
{
    for (int k = 0; k < KEYS; k++)
        if (BN_num_bits(keys[size][k].made.numbers.value[NUMBER_N]) % 8 != 0)
            return &keys[size][k];
    fail();
    return NULL;
}

/* n more than the right number, where there is room, on either side. */
TEST(numbers_above_n_are_refused)
{
    random_stream stream = {2};
    BIGNUM *number = BN_new();
    eight e;

    for (int size = 0; size < CLASSES; size++) {
        a_key *key = key_with_room(size);
        const BIGNUM *n = key->made.numbers.value[NUMBER_N];

        for (int i = 0; i < LANES; i++)
            put_random(&e, i, key, &stream);
        expect(&e, LANES, 0);
        for (int i = 0; i < 2; i++) {
            uint8_t *bytes = i == 0 ? e.output[1] : e.input[6];

            assert_non_null(BN_bin2bn(bytes, (int)key->bytes, number));
            assert_true(BN_add(number, number, n));
            put(bytes, number, key);
        }
        expect(&e, LANES, 1 << 1 | 1 << 6);
    }
    BN_free(number);
}

/* Each bit of a result, and of the input that it is held against, in one lane
 * after the other: that lane alone is refused. */
TEST(each_bit_counts)
{
    const size_t step = in_plain_c ? 37 : 1; /* plain C takes long */
    random_stream stream = {3};
    eight e;

    for (int size = 0; size < CLASSES; size++) {
        for (int i = 0; i < LANES; i++)
            put_random(&e, i, &keys[size][i % 2], &stream);
        for (size_t bit = 0; bit < 8 * keys[size][0].bytes; bit += step) {
            const size_t lane = (bit / step + bit / 64) % LANES;
            const size_t bytes = keys[size][lane % 2].bytes;
            const size_t at = bytes - 1 - bit / 8 % bytes;
            const uint8_t mask = (uint8_t)(1u << bit % 8);

            e.output[lane][at] ^= mask;
            expect(&e, LANES, 1u << lane);
            e.output[lane][at] ^= mask;
            e.input[lane][at] ^= mask;
            expect(&e, LANES, 1u << lane);
            e.input[lane][at] ^= mask;
        }
        expect(&e, LANES, 0);
    }
}

/* Any set of lanes, and results that were exchanged. */
TEST(wrong_lanes_are_told_apart)
{
    random_stream stream = {4};
    eight e;

    for (int i = 0; i < LANES; i++)
        put_random(&e, i, &keys[WARPRSA_CLASS_2048][i % KEYS], &stream);
    for (unsigned wrong = 0; wrong < 256; wrong += in_plain_c ? 51 : 1) {
        for (int i = 0; i < LANES; i++)
            e.output[i][100] ^= (uint8_t)(wrong >> i & 1);
        expect(&e, LANES, wrong);
        for (int i = 0; i < LANES; i++)
            e.output[i][100] ^= (uint8_t)(wrong >> i & 1);
    }
    e.results[1].output = e.output[5]; /* of the same key */
    e.results[5].output = e.output[1];
    expect(&e, LANES, 1 << 1 | 1 << 5);
}

/* Powers in some lanes, beside checks in the others; of a number that is not
 * below n, too, and with an input that is wrong. */
TEST(powers_are_given_out)
{
    static uint8_t powers[LANES][WARPRSA_MODULUS_BYTES_MAX + 1];
    random_stream stream = {5};
    eight e;

    for (int size = 0; size < CLASSES; size++)
        for (unsigned asked = 0; asked < 256; asked += 51) {
            memset(powers, 0xa5, sizeof(powers));
            for (int i = 0; i < LANES; i++) {
                put_random(&e, i, &keys[size][i % KEYS], &stream);
                if (asked >> i & 1) {
                    e.results[i].power = powers[i];
                    e.results[i].input = NULL;
                }
            }
            put(e.output[7], keys[size][7 % KEYS].made.numbers.value[NUMBER_N],
                &keys[size][7 % KEYS]);
            expect(&e, LANES, 1 << 7);
            for (int i = 0; i < LANES; i++) {
                const size_t bytes = keys[size][i % KEYS].bytes;

                if (!(asked >> i & 1))
                    assert_int_equal(powers[i][0], 0xa5);
                else if (i < 7)
                    assert_memory_equal(powers[i], e.input[i], bytes);
                assert_int_equal(powers[i][bytes], 0xa5);
            }
        }
}

/* Of the large classes, and what is no key. */
TEST(other_keys_are_refused)
{
    const key_recipe recipe = {{PRIME_DOWN, 3072}, {PRIME_UP, 3072}, 65537};
    const unsigned distances[2] = {46, 7754};
    const warprsa_status expected =
        in_plain_c && warprsa_engine_ifma()->count((char[128]){0}, 128) == 0
            ? WARPRSA_NO_DEVICE
            : WARPRSA_UNSUPPORTED_KEY;
    warprsa_private_key none = keys[0][0].made.key;
    warprsa_ifma_public_key *public;
    made_key large;

    assert_true(made_key_at(&large, &recipe, distances));
    assert_int_equal(warprsa_ifma_public_key_new(&large.key, &public),
                     expected);
    assert_null(public);
    none.n[WARPRSA_MODULUS_BYTES_MAX - 1] ^= 1; /* even */
    assert_int_equal(warprsa_ifma_public_key_new(&none, &public), expected);
    assert_null(public);
    made_key_free(&large);
}

int main(void)
{
    char why[128];

    in_plain_c = getenv("WARPRSA_TEST_KERNEL") != NULL;
    if (!in_plain_c && warprsa_engine_ifma()->count(why, sizeof(why)) == 0) {
        printf("skipped: %s\n", why);
        return SKIPPED;
    }
    return cmocka_run_group_tests(unit_tests, set_up, tear_down);
}
