/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tests what an engine does with inconsistent keys and without randomness: it
 * withholds the result, and the other tasks of the batch are not affected.
 * libcrypto's numbers show that a withheld result would have revealed the key.
 */
#include "tests/unit/support/gpu_numbers.h"

#include <stdbool.h>
#include <string.h>

#include "tests/unit/support/gpu_device.h"
#include "tests/unit/support/module_context.h"

static const key_recipe recipes[WARPRSA_CLASSES] = {
    {{PRIME_RANDOM, 512}, {PRIME_DOWN, 512}, 65537},
    {{PRIME_RANDOM, 1024}, {PRIME_UP, 1024}, 3},
    {{PRIME_RANDOM, 1000}, {PRIME_RANDOM, 1048}, 17},
    {{PRIME_RANDOM, 2048}, {PRIME_RANDOM, 2000}, 65537},
    {{PRIME_DOWN, 3072}, {PRIME_UP, 3072}, 65537},
    {{PRIME_UP, 4037}, {PRIME_DOWN, 4155}, 65537},
};

/* How far the primes of the last two are from where the search for them
 * begins. */
static const unsigned distances[WARPRSA_CLASSES - WARPRSA_CLASS_LARGE][2] = {
    {46, 7754}, {3306, 5774}};

enum {
    KEYS_MAX = 64,
    NEIGHBOURS = 2, /* good tasks before and after each bad one */
};

static test_device t;
static made_key keys[WARPRSA_CLASSES];
static int classes; /* of which there are keys */
static BIGNUM *m, *s, *x;

/* The keys of the large classes, for the engine on GPUs: those on the CPU take
 * seconds for what is done here. */
static bool load_large(void)
{
    for (int i = WARPRSA_CLASS_LARGE;
         strcmp(t.engine->name, "cuda") == 0 && i < WARPRSA_CLASSES; i++) {
        if (!made_key_at(&keys[i], &recipes[i],
                         distances[i - WARPRSA_CLASS_LARGE]) ||
            t.engine->load_key(t.device, &keys[i].key, &keys[i].index) !=
                WARPRSA_OK)
            return false;
        classes = i + 1;
    }
    return true;
}

static int set_up(void **state)
{
    m = BN_new();
    s = BN_new();
    x = BN_new();
    if (m == NULL || s == NULL || x == NULL ||
        !test_device_open_with(&t, KEYS_MAX, keys, recipes,
                               WARPRSA_CLASS_LARGE))
        return 1;
    classes = WARPRSA_CLASS_LARGE;
    if (!load_large())
        return 1;
    for (int i = 0; i < classes; i++)
        if (warprsa_key_class(&keys[i].key) != i)
            return 1;
    return 0;
}

static int tear_down(void **state)
{
    test_device_close_with(&t, keys, classes);
    BN_free(m);
    BN_free(s);
    BN_free(x);
    return 0;
}

/* A batch of `count` tasks of random messages, all of this key. */
static void fill(test_batch *batch, size_t count, made_key *key, uint64_t seed)
{
    random_stream stream = {seed};

    assert_true(test_batch_new(batch, count));
    for (size_t i = 0; i < count; i++) {
        assert_true(made_key_message(key, m, &stream));
        assert_true(test_batch_put(batch, i, key, m));
    }
}

/* The loaded ones come first. */
static const char *const parts[] = {"dp", "dq", "qinv", "p", "q", "n"};

enum {
    PARTS = sizeof(parts) / sizeof(parts[0]),
    LOADED = 2,
    BITS = 3, /* that are changed, one after the other */
};

/* The key with bit `bit` of this part changed. */
static warprsa_private_key lying(const made_key *key, size_t part, int bit)
{
    warprsa_private_key lie = key->key;
    uint8_t *const bytes[PARTS] = {lie.dp, lie.dq, lie.qinv,
                                   lie.p,  lie.q,  lie.n};
    const size_t length =
        part == PARTS - 1 ? WARPRSA_MODULUS_BYTES_MAX : WARPRSA_PRIME_BYTES_MAX;

    bytes[part][length - 1 - (size_t)bit / 8] ^= (uint8_t)(1u << (bit % 8));
    return lie;
}

/* One batch: a task with each inconsistency, good ones around it. */
static void one_batch_of_lies(int size, int bit)
{
    const size_t step = NEIGHBOURS + 1, count = LOADED * step + NEIGHBOURS;
    made_key liars[LOADED];
    test_batch batch;

    fill(&batch, count, &keys[size], number_seed() + (uint64_t)bit);
    for (size_t i = 0; i < LOADED; i++) {
        liars[i] = keys[size];
        liars[i].key = lying(&keys[size], i, bit);
        assert_int_equal(WARPRSA_OK, t.engine->load_key(t.device, &liars[i].key,
                                                        &liars[i].index));
        batch.tasks[i * step + NEIGHBOURS].key = liars[i].index;
    }
    assert_int_equal(WARPRSA_OK, test_batch_run(&batch, &t, 0, size));
    for (size_t i = 0; i < count; i++) {
        const int lie = i % step == NEIGHBOURS;

        if (lie ? !test_batch_withheld(&batch, i)
                : !test_batch_right(&batch, i)) {
            print_error("class %d, task %zu, %s with bit %d changed: %s\n",
                        size, i, lie ? parts[i / step] : "none", bit,
                        warprsa_status_text(batch.tasks[i].status));
            fail();
        }
    }
    for (size_t i = 0; i < LOADED; i++)
        t.engine->unload_key(t.device, liars[i].index);
    test_batch_free(&batch);
}

/* n is not p q, or nothing shows that p and q have no factor in common. Yet
 * results are checked modulo p and q. */
TEST(wrong_moduli_are_refused)
{
    for (int size = 0; size < classes; size++)
        for (size_t part = LOADED; part < PARTS; part++)
            for (int bit = 1; bit < 500; bit += 83) {
                const warprsa_private_key lie = lying(&keys[size], part, bit);
                uint32_t index;

                assert_int_equal(WARPRSA_UNSUPPORTED_KEY,
                                 t.engine->load_key(t.device, &lie, &index));
            }
}

TEST(wrong_keys_are_withheld)
{
    for (int size = 0; size < classes; size++) {
        BIGNUM *const *v = keys[size].numbers.value;
        const int p_bits = BN_num_bits(v[NUMBER_P]);
        const int q_bits = BN_num_bits(v[NUMBER_Q]);

        const unsigned scaled = module_context_scaled(BITS);
        /* The last is near the top, yet of the same length. */
        const int bits[BITS] = {1, 257,
                                (p_bits < q_bits ? p_bits : q_bits) - 3};

        /* If they are not all, they are others for the next class. */
        for (unsigned i = 0; i < scaled && i < BITS; i++)
            one_batch_of_lies(size, bits[((unsigned)size + i) % BITS]);
    }
}

/* The result with a wrong dp, released, is right modulo q alone, and
 * gcd(s^e - m, n) = q: one such signature and the key is known. */
TEST(a_wrong_half_would_factor_the_modulus)
{
    for (int size = 0; size < classes; size++) {
        made_key *key = &keys[size];
        BIGNUM **v = key->numbers.value;
        warprsa_private_key lie = lying(key, 0, 7);
        test_batch batch;

        fill(&batch, 1, key, number_seed());
        assert_true(BN_is_bit_set(v[NUMBER_DP], 7)
                        ? BN_clear_bit(v[NUMBER_DP], 7)
                        : BN_set_bit(v[NUMBER_DP], 7));
        assert_true(made_key_answer(key, s, m));
        assert_true(
            BN_mod_exp(x, s, v[NUMBER_E], v[NUMBER_N], key->numbers.ctx));
        assert_true(BN_sub(x, x, m));
        assert_true(BN_gcd(x, x, v[NUMBER_N], key->numbers.ctx));
        assert_int_equal(0, BN_cmp(x, v[NUMBER_Q]));
        /* The engine, given the same key and message, withholds it. */
        assert_int_equal(WARPRSA_OK, t.engine->load_key(t.device, &lie,
                                                        &batch.tasks[0].key));
        assert_int_equal(WARPRSA_OK, test_batch_run(&batch, &t, 1, size));
        assert_true(test_batch_withheld(&batch, 0));
        t.engine->unload_key(t.device, batch.tasks[0].key);
        assert_true(BN_set_word(x, 0) && rsa_numbers_crt(&key->numbers));
        test_batch_free(&batch);
    }
}

/* n = pq, but the key's "primes" are p and q times others, and all its other
 * numbers fit these. The root modulo their product passes the check, yet it
 * is not below n. Such a key must not be taken. */
TEST(primes_longer_than_the_modulus_are_refused)
{
    static const key_recipe inner = {
        {PRIME_RANDOM, 512}, {PRIME_DOWN, 512}, 17};
    static const key_recipe outer = {
        {PRIME_RANDOM, 600}, {PRIME_DOWN, 600}, 17};
    made_key key, more;
    uint32_t index;
    BIGNUM *phi = BN_new();

    assert_non_null(phi);
    assert_true(made_key_new(&key, &inner) && made_key_new(&more, &outer));
    BIGNUM **v = key.numbers.value, **w = more.numbers.value;
    BN_CTX *ctx = key.numbers.ctx;
    for (int i = NUMBER_P; i <= NUMBER_Q; i++) {
        const int exponent = i == NUMBER_P ? NUMBER_DP : NUMBER_DQ;

        assert_true(BN_sub(phi, v[i], BN_value_one()) &&
                    BN_sub(x, w[i], BN_value_one()) &&
                    BN_mul(phi, phi, x, ctx));
        assert_non_null(BN_mod_inverse(v[exponent], v[NUMBER_E], phi, ctx));
        assert_true(BN_mul(v[i], v[i], w[i], ctx));
    }
    assert_non_null(
        BN_mod_inverse(v[NUMBER_QINV], v[NUMBER_Q], v[NUMBER_P], ctx));
    assert_true(private_key_from_numbers(&key.key, &key.numbers));
    if (t.engine->load_key(t.device, &key.key, &index) == WARPRSA_OK) {
        test_batch batch;

        key.index = index;
        fill(&batch, 1, &key, number_seed());
        assert_int_equal(
            WARPRSA_OK,
            test_batch_run(&batch, &t, 0, warprsa_key_class(&key.key)));
        print_error("the key was taken; %s, the result is %s\n",
                    warprsa_status_text(batch.tasks[0].status),
                    test_batch_right(&batch, 0) ? "right" : "wrong");
        test_batch_free(&batch);
        fail();
    }
    BN_free(phi);
    made_key_free(&key);
    made_key_free(&more);
}

/* There is no result without blinding factors, and the next batch is correct
 * again. */
TEST(failing_random_source)
{
    for (int size = 0; size < classes; size++) {
        test_batch batch;

        fill(&batch, 3, &keys[size], number_seed());
        atomic_store(&t.random, RANDOM_FAILS);
        assert_int_equal(WARPRSA_NO_RANDOM,
                         test_batch_run(&batch, &t, 0, size));
        for (size_t i = 0; i < batch.count; i++)
            assert_false(test_batch_right(&batch, i));
        atomic_store(&t.random, RANDOM_GOOD);
        assert_int_equal(WARPRSA_OK, test_batch_run(&batch, &t, 0, size));
        for (size_t i = 0; i < batch.count; i++)
            assert_true(test_batch_right(&batch, i));
        test_batch_free(&batch);
    }
}

/* Zeros make the factor 1, all ones are as good a factor as any. */
TEST(random_source_of_one_value)
{
    for (int size = 0; size < classes; size++) {
        test_batch batch;

        fill(&batch, 2, &keys[size], number_seed());
        atomic_store(&t.random, RANDOM_ZEROS);
        assert_int_equal(WARPRSA_OK, test_batch_run(&batch, &t, 0, size));
        for (size_t i = 0; i < batch.count; i++)
            assert_true(test_batch_right(&batch, i));
        atomic_store(&t.random, RANDOM_ONES);
        assert_int_equal(WARPRSA_OK, test_batch_run(&batch, &t, 0, size));
        for (size_t i = 0; i < batch.count; i++)
            assert_true(test_batch_right(&batch, i));
        atomic_store(&t.random, RANDOM_GOOD);
        test_batch_free(&batch);
    }
}

/* An engine may keep what blinds full batches of one key from one to the next:
 * more of them than one random factor is for, some others in between. */
TEST(many_batches_of_one_key)
{
    for (int size = 0; size < classes; size++) {
        test_batch full, few;

        fill(&full, WARPRSA_IFMA_LANES, &keys[size], number_seed());
        fill(&few, 3, &keys[size], number_seed());
        for (int turn = 0; turn < (size == 0 ? 70 : 3); turn++) {
            test_batch *batch = turn % 16 == 2 ? &few : &full;

            assert_int_equal(WARPRSA_OK, test_batch_run(batch, &t, 0, size));
            for (size_t i = 0; i < batch->count; i++)
                assert_true(test_batch_right(batch, i));
        }
        test_batch_free(&full);
        test_batch_free(&few);
    }
}

int main(void)
{
    if (test_engine() == NULL)
        return TEST_SKIPPED;
    return cmocka_run_group_tests(unit_tests, set_up, tear_down);
}
