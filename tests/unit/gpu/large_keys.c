/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tests whole operations with keys of the large classes: primes at the edges of
 * their lengths, messages at the edges of n and of a factor, batches between
 * those of other classes, and results that are withheld.
 */
#include "tests/unit/support/gpu_numbers.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/support/gpu_device.h"
#include "tests/unit/support/module_context.h"

enum {
    KEYS = 5,
    SMALL = 4, /* the last key is of no large class */
};

/* n of 6144, 7680 and 8192 bits, and n of 8192 bits with the longest prime that
 * the class holds. */
static const struct {
    key_recipe recipe;
    unsigned distances[2];
    int size;
} rows[KEYS] = {
    {{{PRIME_DOWN, 3072}, {PRIME_UP, 3072}, 65537},
     {46, 7754},
     WARPRSA_CLASS_6144},
    {{{PRIME_DOWN, 3840}, {PRIME_UP, 3840}, 65537},
     {17998, 1172},
     WARPRSA_CLASS_8192},
    {{{PRIME_DOWN, 4096}, {PRIME_UP, 4096}, 3},
     {2548, 578},
     WARPRSA_CLASS_8192},
    {{{PRIME_UP, 4037}, {PRIME_DOWN, 4155}, 65537},
     {3306, 5774},
     WARPRSA_CLASS_8192},
    {{{PRIME_RANDOM, 512}, {PRIME_DOWN, 512}, 65537},
     {0, 0},
     WARPRSA_CLASS_1024},
};

static test_device t;
static made_key keys[KEYS];
static BIGNUM *m, *expected;
/* Vectors in plain C, which take ten seconds for a batch of RSA-8192: a batch
 * of RSA-6144 and its known answer are all that is computed. */
static bool is_slow;

static int set_up(void **state)
{
    m = BN_new();
    expected = BN_new();
    is_slow = getenv("WARPRSA_TEST_KERNEL") != NULL;
    if (m == NULL || expected == NULL || !test_device_open(&t, KEYS + 1))
        return 1;
    for (int i = 0; i < KEYS; i++)
        if (!made_key_at(&keys[i], &rows[i].recipe, rows[i].distances) ||
            warprsa_key_class(&keys[i].key) != rows[i].size ||
            t.engine->load_key(t.device, &keys[i].key, &keys[i].index) !=
                WARPRSA_OK)
            return 1;
    return 0;
}

static int tear_down(void **state)
{
    test_device_close_with(&t, keys, KEYS);
    BN_free(m);
    BN_free(expected);
    return 0;
}

/* m: n - 1, 1, p, q, and random ones from then on. */
static void message(made_key *key, size_t i, random_stream *stream)
{
    const BIGNUM *n = key->numbers.value[NUMBER_N];

    if (i == 0)
        assert_true(BN_sub(m, n, BN_value_one()));
    else if (i == 1)
        assert_true(BN_one(m));
    else if (i < 4)
        assert_non_null(
            BN_copy(m, key->numbers.value[i == 2 ? NUMBER_P : NUMBER_Q]));
    else
        assert_true(made_key_message(key, m, stream));
}

/* A batch of the class of key `first`, the keys of that class in turn. */
static void right_answers(int first, size_t count)
{
    random_stream stream = {number_seed()};
    test_batch batch;

    assert_true(test_batch_new(&batch, count));
    for (size_t i = 0; i < count; i++) {
        int k = (first + (int)i) % KEYS;

        while (rows[k].size != rows[first].size)
            k = (k + 1) % KEYS;
        message(&keys[k], i / 3, &stream);
        assert_true(test_batch_put(&batch, i, &keys[k], m));
    }
    assert_int_equal(WARPRSA_OK,
                     test_batch_run(&batch, &t, 0, rows[first].size));
    for (size_t i = 0; i < count; i++)
        assert_true(test_batch_right(&batch, i));
    test_batch_free(&batch);
}

TEST(answers_are_right)
{
    const bool host = strcmp(t.engine->name, "host") == 0;
    const size_t most = host ? module_context_scaled(4) : 17;

    right_answers(0, 2);
    right_answers(SMALL, 2);
    if (is_slow)
        return;
    right_answers(2, 1);
    right_answers(1, 1);
    right_answers(SMALL, 1);
    right_answers(3, 1);
    right_answers(0, most);
    right_answers(1, most + 2);
}

/* A batch for which there is no memory is refused, and nothing is touched. */
static void one_too_many(int k, size_t count)
{
    test_batch batch;

    assert_true(test_batch_new(&batch, count));
    assert_true(BN_one(m));
    for (size_t i = 0; i < count; i++)
        assert_true(test_batch_put(&batch, i, &keys[k], m));
    assert_int_equal(WARPRSA_NO_MEMORY,
                     test_batch_run(&batch, &t, 0, rows[k].size));
    test_batch_free(&batch);
}

/* The longest batch that there may be, on a GPU. */
TEST(longest_batches)
{
    if (strcmp(t.engine->name, "cuda") != 0)
        return;
    for (int k = 0; k < 2; k++) {
        const warprsa_size_class size = (warprsa_size_class)rows[k].size;
        const unsigned most =
            warprsa_engine_batch_max(t.engine, t.batch_max, size);

        assert_int_equal(most, t.batch_max / 2);
        right_answers(k, most);
        one_too_many(k, most + 1);
    }
}

/* libcrypto's answer byte by byte, once. */
TEST(answer_is_libcryptos)
{
    const int bytes = (int)keys[1].key.modulus_bytes;
    random_stream stream = {number_seed()};
    uint8_t answer[WARPRSA_MODULUS_BYTES_MAX];
    test_batch batch;

    if (is_slow)
        return;
    assert_true(test_batch_new(&batch, 1));
    message(&keys[1], 4, &stream);
    assert_true(test_batch_put(&batch, 0, &keys[1], m));
    assert_int_equal(WARPRSA_OK,
                     test_batch_run(&batch, &t, 1, WARPRSA_CLASS_8192));
    assert_true(made_key_answer(&keys[1], expected, m));
    assert_int_equal(BN_bn2binpad(expected, answer, bytes), bytes);
    assert_memory_equal(answer, batch.tasks[0].output, (size_t)bytes);
    test_batch_free(&batch);
}

/* With a wrong dp the result would reveal the key. */
TEST(a_wrong_result_is_withheld)
{
    random_stream stream = {number_seed()};
    made_key liar = keys[0];
    test_batch batch;

    if (is_slow)
        return;
    liar.key.dp[WARPRSA_PRIME_BYTES_MAX - 1] ^= 2;
    assert_int_equal(WARPRSA_OK,
                     t.engine->load_key(t.device, &liar.key, &liar.index));
    assert_true(test_batch_new(&batch, 2));
    for (size_t i = 0; i < 2; i++) {
        message(&keys[0], 4, &stream);
        assert_true(test_batch_put(&batch, i, &keys[0], m));
    }
    batch.tasks[0].key = liar.index;
    assert_int_equal(WARPRSA_OK,
                     test_batch_run(&batch, &t, 0, WARPRSA_CLASS_6144));
    assert_true(test_batch_withheld(&batch, 0));
    assert_true(test_batch_right(&batch, 1));
    assert_int_equal(WARPRSA_OK, t.engine->unload_key(t.device, liar.index));
    test_batch_free(&batch);
}

/* Numbers that are no key are refused as those of other classes are. */
TEST(what_is_no_key_is_refused)
{
    warprsa_private_key lie = keys[2].key;
    uint32_t index;

    lie.qinv[WARPRSA_PRIME_BYTES_MAX - 1] ^= 1;
    assert_int_equal(WARPRSA_UNSUPPORTED_KEY,
                     t.engine->load_key(t.device, &lie, &index));
    lie = keys[2].key;
    lie.n[WARPRSA_MODULUS_BYTES_MAX - 1] ^= 2;
    assert_int_equal(WARPRSA_UNSUPPORTED_KEY,
                     t.engine->load_key(t.device, &lie, &index));
}

/* A key's form is that of its class. */
TEST(forms_are_not_mixed_up)
{
    static warprsa_prepared_key prepared;

    assert_int_equal(WARPRSA_UNSUPPORTED_KEY,
                     warprsa_prepare_key(&prepared, &keys[0].key));
    assert_int_equal(WARPRSA_OK,
                     warprsa_prepare_key(&prepared, &keys[SMALL].key));
}

int main(void)
{
    if (test_engine() == NULL)
        return TEST_SKIPPED;
    return cmocka_run_group_tests(unit_tests, set_up, tear_down);
}
