/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tests an engine's private operations against libcrypto's: keys and messages
 * on which the arithmetic is most likely to go wrong, batches of all sizes with
 * keys and public exponents mixed, and the indices of keys.
 *
 * WARPRSA_TEST_ENGINE: host (the default), ifma or cuda. WARPRSA_TEST_SCALE:
 * how much of the usual work, in percent.
 */
#include "tests/unit/support/gpu_numbers.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/support/gpu_device.h"
#include "tests/unit/support/module_context.h"

#define BIG_E 0x8000000000000015u /* beyond 2^63 */

/* Of each class: the longest primes, halves of equal and unequal length,
 * lengths that are no multiple of anything. The last ones are such as
 * "int32_fold" is made for. */
static const key_recipe recipes[] = {
    {{PRIME_DOWN, 515}, {PRIME_UP, 515}, 3},
    {{PRIME_RANDOM, 512}, {PRIME_ONES, 512}, 65537},
    {{PRIME_STRIPES, 513}, {PRIME_ZEROS, 513}, 17},
    {{PRIME_RANDOM, 510}, {PRIME_DOWN, 515}, BIG_E},
    {{PRIME_UP, 512}, {PRIME_RANDOM, 514}, 5},
    {{PRIME_UP, 515}, {PRIME_DOWN, 515}, 65537},
    {{PRIME_DOWN, 1035}, {PRIME_UP, 1035}, BIG_E},
    {{PRIME_ONES, 1024}, {PRIME_RANDOM, 1024}, 65537},
    {{PRIME_ZEROS, 1024}, {PRIME_STRIPES, 1023}, 3},
    {{PRIME_RANDOM, 516}, {PRIME_DOWN, 600}, 17},
    {{PRIME_DOWN, 1000}, {PRIME_RANDOM, 301}, 65537},
    {{PRIME_DOWN, 1555}, {PRIME_UP, 1555}, 65537},
    {{PRIME_ONES, 1536}, {PRIME_STRIPES, 1536}, 3},
    {{PRIME_DOWN, 700}, {PRIME_RANDOM, 1347}, BIG_E},
    {{PRIME_RANDOM, 1048}, {PRIME_ZEROS, 1000}, 17},
    {{PRIME_DOWN, 2075}, {PRIME_RANDOM, 2018}, 17},
    {{PRIME_RANDOM, 1026}, {PRIME_DOWN, 2070}, 65537},
    {{PRIME_ONES, 2048}, {PRIME_STRIPES, 2047}, 3},
    {{PRIME_UP, 2047}, {PRIME_RANDOM, 2048}, BIG_E},
    {{PRIME_STRIPES, 1024}, {PRIME_RANDOM, 1024}, 65537},
    {{PRIME_UP, 1024}, {PRIME_ZEROS, 1024}, BIG_E},
    {{PRIME_STRIPES, 1536}, {PRIME_ZEROS, 1536}, 65537},
    {{PRIME_UP, 2048}, {PRIME_RANDOM, 2048}, 17},
};

enum {
    KEYS = sizeof(recipes) / sizeof(recipes[0]),
    KEYS_MAX = KEYS + 2,
    MESSAGES = 22,
    FIRST_ROOT = 16,
};

static test_device t;
static made_key keys[KEYS];
static BIGNUM *m, *expected;

static int set_up(void **state)
{
    m = BN_new();
    expected = BN_new();
    if (m == NULL || expected == NULL ||
        !test_device_open_with(&t, KEYS_MAX, keys, recipes, KEYS))
        return 1;
    print_message("engine %s: %s\n", t.engine->name,
                  t.engine->describe(t.device));
    return 0;
}

static int tear_down(void **state)
{
    test_device_close_with(&t, keys, KEYS);
    BN_free(m);
    BN_free(expected);
    return 0;
}

/* Makes the keys of a class; returns how many. */
static int keys_of(int size, made_key **of)
{
    int count = 0;

    for (int i = 0; i < KEYS; i++)
        if (warprsa_key_class(&keys[i].key) == size)
            of[count++] = &keys[i];
    return count;
}

/* An answer that is special for this key: near the primes, where one half is 0
 * or both are equal, and near n. The message is its public power. */
static void special_answer(const made_key *key, int which,
                           random_stream *stream)
{
    BIGNUM *const *v = key->numbers.value;

    if (which < 2) { /* q - 1, p - 1 */
        assert_true(BN_sub(m, v[which ? NUMBER_P : NUMBER_Q], BN_value_one()));
    } else if (which < 4) { /* q + 1, p + 1 */
        assert_true(
            BN_add(m, v[which % 2 ? NUMBER_P : NUMBER_Q], BN_value_one()));
    } else if (which == 4) { /* k q + k */
        assert_non_null(BN_copy(m, v[NUMBER_Q]));
        assert_true(BN_add_word(m, 1));
        assert_true(BN_mul_word(m, random_next(stream) >> 2));
    } else if (which == 5) { /* n - small */
        assert_non_null(BN_copy(m, v[NUMBER_N]));
        assert_true(BN_sub_word(m, 3 + random_below(stream, 1000)));
    }
    assert_true(BN_mod_exp(m, m, v[NUMBER_E], v[NUMBER_N], key->numbers.ctx));
}

/* One of the messages that are special for this key; all below n. */
static void special_message(const made_key *key, int which,
                            random_stream *stream)
{
    BIGNUM *const *v = key->numbers.value;
    const BIGNUM *n = v[NUMBER_N];
    const int bits = BN_num_bits(n);

    if (which < 3) {
        assert_true(BN_set_word(m, (BN_ULONG)which));
    } else if (which < 5) { /* n - 1, n - 2 */
        assert_non_null(BN_copy(m, n));
        assert_true(BN_sub_word(m, (BN_ULONG)which - 2));
    } else if (which < 9) { /* p, q, k p, k q */
        const BIGNUM *prime = v[which % 2 ? NUMBER_P : NUMBER_Q];
        BN_ULONG k = which < 7 ? 1 : random_next(stream);

        assert_non_null(BN_copy(m, prime));
        assert_true(BN_mul_word(m, k));
    } else if (which < 11) { /* multiples of p less one: -1 modulo it */
        assert_non_null(BN_copy(m, v[which % 2 ? NUMBER_P : NUMBER_Q]));
        assert_true(BN_sub_word(m, 1));
    } else if (which < 13) {
        number_power_of_two(m, (int)random_below(stream, (unsigned)bits - 1));
    } else if (which < 15) { /* all ones, of n's length less one, and fewer */
        number_power_of_two(
            m, which == 13 ? bits - 1
                           : 1 + (int)random_below(stream, (unsigned)bits - 1));
        assert_true(BN_sub_word(m, 1));
    } else {
        assert_true(made_key_message(key, m, stream));
    }
    assert_true(BN_cmp(m, n) < 0);
}

/* Every special message with every key of a class, all in one batch. With a
 * small WARPRSA_TEST_SCALE every message and every key, but not every pair;
 * below 5, which is for sanitizers, not every message in each class. */
static void special_messages_of(int size)
{
    made_key *of[KEYS];
    const int count = keys_of(size, of);
    const int scaled = (int)module_context_scaled((unsigned)count);
    const int each = scaled < count ? scaled : count; /* keys of a message */
    const int most = (int)module_context_scaled(20 * MESSAGES);
    const int messages = most < MESSAGES ? most : MESSAGES;
    const int first = size * messages; /* others for the next class */
    random_stream stream = {number_seed()};
    test_batch batch;
    int wrong = 0;

    assert_true(count > 3 && count <= MESSAGES);
    assert_true(test_batch_new(&batch, (size_t)(each * messages)));
    for (int i = 0; i < each * messages; i++) {
        const int which = (first + i / each) % MESSAGES;
        made_key *key = of[(i / each + i % each) % count];

        if (which < FIRST_ROOT)
            special_message(key, which, &stream);
        else
            special_answer(key, which - FIRST_ROOT, &stream);
        assert_true(test_batch_put(&batch, (size_t)i, key, m));
    }
    assert_int_equal(WARPRSA_OK, test_batch_run(&batch, &t, 0, size));
    for (int i = 0; i < each * messages; i++) {
        const int k = (i / each + i % each) % count;
        const int bytes = (int)of[k]->key.modulus_bytes;
        uint8_t answer[WARPRSA_MODULUS_BYTES_MAX];

        assert_non_null(BN_bin2bn(batch.tasks[i].input, bytes, m));
        assert_true(made_key_answer(of[k], expected, m));
        assert_int_equal(bytes, BN_bn2binpad(expected, answer, bytes));
        if (!test_batch_right(&batch, (size_t)i) ||
            memcmp(answer, batch.tasks[i].output, (size_t)bytes) != 0) {
            print_error("class %d, key %d, message %d, seed %llu: %s\n", size,
                        k, (first + i / each) % MESSAGES,
                        (unsigned long long)number_seed(),
                        warprsa_status_text(batch.tasks[i].status));
            wrong++;
        }
    }
    test_batch_free(&batch);
    assert_int_equal(0, wrong);
}

TEST(special_messages)
{
    for (int size = 0; size < WARPRSA_CLASS_LARGE; size++)
        special_messages_of(size);
}

/* Answers from p up to q differ from their half modulo p by a multiple of p.
 * What the recombination multiplies by is then 0, which may appear as p before
 * it is reduced. */
static void answers_between_the_primes_of(made_key *key, size_t count)
{
    BIGNUM **v = key->numbers.value;
    random_stream stream = {number_seed()};
    uint8_t bytes[WARPRSA_MODULUS_BYTES_MAX];
    test_batch batch;

    assert_true(test_batch_new(&batch, count));
    for (size_t i = 0; i < count; i++) {
        assert_true(BN_sub(expected, v[NUMBER_Q], v[NUMBER_P]));
        random_bytes(&stream, bytes, sizeof(bytes));
        assert_non_null(BN_bin2bn(bytes, sizeof(bytes), m));
        assert_true(BN_nnmod(m, m, expected, key->numbers.ctx));
        assert_true(BN_add(m, m, v[NUMBER_P]));
        assert_true(
            BN_mod_exp(m, m, v[NUMBER_E], v[NUMBER_N], key->numbers.ctx));
        assert_true(test_batch_put(&batch, i, key, m));
    }
    assert_int_equal(WARPRSA_OK, test_batch_run(&batch, &t, 0,
                                                warprsa_key_class(&key->key)));
    for (size_t i = 0; i < count; i++)
        assert_true(test_batch_right(&batch, i));
    test_batch_free(&batch);
}

TEST(answers_between_the_primes)
{
    int tried = 0;

    for (int i = 0; i < KEYS; i++)
        if (BN_cmp(keys[i].numbers.value[NUMBER_P],
                   keys[i].numbers.value[NUMBER_Q]) < 0) {
            const int small =
                warprsa_key_class(&keys[i].key) == WARPRSA_CLASS_1024;

            answers_between_the_primes_of(
                &keys[i], module_context_scaled(small ? 200 : 10));
            tried += small;
        }
    assert_true(tried > 0);
}

/* A batch of random messages with the keys in turn, from a random one on. */
static unsigned random_batch(int size, size_t count, unsigned stream_index)
{
    const uint64_t seed = number_seed() + count;
    random_stream stream = {seed};
    made_key *of[KEYS];
    const unsigned of_class = (unsigned)keys_of(size, of);
    const unsigned first = random_below(&stream, of_class);
    test_batch batch;
    unsigned wrong = 0;

    assert_true(test_batch_new(&batch, count));
    for (size_t i = 0; i < count; i++) {
        made_key *key = of[(first + i) % of_class];

        assert_true(made_key_message(key, m, &stream));
        assert_true(test_batch_put(&batch, i, key, m));
    }
    assert_int_equal(WARPRSA_OK,
                     test_batch_run(&batch, &t, stream_index, size));
    for (size_t i = 0; i < count; i++)
        if (!test_batch_right(&batch, i) && wrong++ < 10)
            print_error("class %d, task %zu of %zu, seed %llu: %s\n", size, i,
                        count, (unsigned long long)seed,
                        warprsa_status_text(batch.tasks[i].status));
    test_batch_free(&batch);
    return wrong;
}

/* Counts around the number of requests in a vector, in a warp, in a block, and
 * in many of them. The host engine computes so many operations for the smallest
 * class only. The arithmetic of "ifma" computes eight at a time, however few
 * there are: it fills its vectors twice and begins a third. */
TEST(batches_of_all_sizes)
{
    static const size_t sizes[] = {
        1,   2,    3,    4,    5,    7,    8,    9,    15,  16,  17,
        31,  32,   33,   63,   64,   65,   127,  128,  129, 255, 256,
        257, 1023, 1024, 1025, 2111, 2112, 4096, 8191, 8192};
    static const size_t host_most[WARPRSA_CLASS_LARGE] = {129, 33, 9, 5};
    const int host = strcmp(t.engine->name, "host") == 0;
    const char *kernel = getenv("WARPRSA_TEST_KERNEL");
    const int ifma = strcmp(t.engine->name, "ifma") == 0 ||
                     (kernel != NULL && strcmp(kernel, "ifma") == 0);

    for (int size = 0; size < WARPRSA_CLASS_LARGE; size++) {
        size_t most = host ? module_context_scaled((unsigned)host_most[size])
                           : t.batch_max;

        if (ifma && most > 17)
            most = 17;
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
            if (sizes[i] <= most)
                assert_int_equal(0,
                                 random_batch(size, sizes[i], (unsigned)i % 2));
    }
}

/* A batch with a single key, and after it a batch of another class on the same
 * stream: nothing of the first may be left for the second. */
TEST(one_stream_many_classes)
{
    for (unsigned turn = 0; turn < module_context_scaled(6); turn++)
        for (int size = WARPRSA_CLASS_LARGE - 1; size >= 0; size--)
            assert_int_equal(0, random_batch(size, 1 + (size_t)turn, 0));
}

TEST(self_test_passes_on_each_stream)
{
    for (unsigned stream = 0; stream < 2; stream++)
        assert_int_equal(WARPRSA_OK, t.engine->self_test(t.device, stream));
}

/* All indices are taken; one is given back and is used again. */
TEST(indices_of_keys)
{
    uint32_t extra[KEYS_MAX - KEYS], none = 12345;
    made_key *of[KEYS];
    uint32_t before;

    for (int i = 0; i < KEYS_MAX - KEYS; i++)
        assert_int_equal(WARPRSA_OK,
                         t.engine->load_key(t.device, &keys[0].key, &extra[i]));
    assert_int_equal(WARPRSA_NO_MEMORY,
                     t.engine->load_key(t.device, &keys[1].key, &none));
    assert_true(extra[0] != extra[1]);
    for (int i = 0; i < KEYS; i++)
        assert_true(keys[i].index != extra[0] && keys[i].index != extra[1]);
    /* Another class at a used index. */
    keys_of(WARPRSA_CLASS_3072, of);
    before = of[0]->index;
    t.engine->unload_key(t.device, extra[1]);
    assert_int_equal(WARPRSA_OK,
                     t.engine->load_key(t.device, &of[0]->key, &of[0]->index));
    assert_int_equal(extra[1], of[0]->index);
    for (int size = 0; size < WARPRSA_CLASS_LARGE; size++)
        assert_int_equal(0, random_batch(size, 4, 1));
    t.engine->unload_key(t.device, of[0]->index);
    of[0]->index = before;
    t.engine->unload_key(t.device, extra[0]);
}

/* A key that is refused takes no index. */
TEST(refused_keys_take_no_index)
{
    warprsa_private_key even = keys[0].key, no_key = keys[0].key;
    uint32_t extra[KEYS_MAX - KEYS], none;

    even.n[WARPRSA_MODULUS_BYTES_MAX - 1] ^= 1;
    memset(no_key.qinv, 0xff, sizeof(no_key.qinv));
    for (int i = 0; i < 2 * KEYS_MAX; i++)
        assert_int_equal(
            WARPRSA_UNSUPPORTED_KEY,
            t.engine->load_key(t.device, i % 2 == 0 ? &even : &no_key, &none));
    for (int i = 0; i < KEYS_MAX - KEYS; i++)
        assert_int_equal(WARPRSA_OK,
                         t.engine->load_key(t.device, &keys[0].key, &extra[i]));
    for (int i = 0; i < KEYS_MAX - KEYS; i++)
        t.engine->unload_key(t.device, extra[i]);
}

int main(void)
{
    if (test_engine() == NULL)
        return TEST_SKIPPED;
    return cmocka_run_group_tests(unit_tests, set_up, tear_down);
}
