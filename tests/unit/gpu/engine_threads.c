/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tests the engine under threads: two threads with a stream each, both busy,
 * while a third loads and unloads keys; the two load and unload keys of their
 * own as well. Meant for ThreadSanitizer, too. cmocka's assertions are for the
 * main thread: the others count what is wrong.
 */
#include "tests/unit/support/gpu_numbers.h"

#include <pthread.h>
#include <sched.h>

#include "tests/unit/support/gpu_device.h"
#include "tests/unit/support/module_context.h"

enum {
    STREAMS = 2,
    TURNS = 60,
    BATCH_MAX = 9,
    CHURN = 6, /* keys that the third thread has loaded at a time */
    KEYS_MAX = WARPRSA_CLASS_LARGE + STREAMS + CHURN,
};

static const key_recipe recipes[WARPRSA_CLASS_LARGE] = {
    {{PRIME_RANDOM, 512}, {PRIME_DOWN, 512}, 65537},
    {{PRIME_RANDOM, 1024}, {PRIME_UP, 1024}, 3},
    {{PRIME_RANDOM, 1500}, {PRIME_RANDOM, 1510}, 17},
    {{PRIME_RANDOM, 2048}, {PRIME_RANDOM, 2000}, 65537},
};

static test_device t;
static made_key keys[WARPRSA_CLASS_LARGE];
static atomic_uint wrong, running, batches, loads;

static int set_up(void **state)
{
    return test_device_open_with(&t, KEYS_MAX, keys, recipes,
                                 WARPRSA_CLASS_LARGE)
               ? 0
               : 1;
}

static int tear_down(void **state)
{
    test_device_close_with(&t, keys, WARPRSA_CLASS_LARGE);
    return 0;
}

/* Tasks of random messages with the two keys in turn; 1 if all went well. */
static int run_batch(made_key *first, made_key *second, unsigned stream_index,
                     random_stream *stream)
{
    const size_t count = 1 + random_below(stream, BATCH_MAX);
    test_batch batch;
    BIGNUM *m = BN_new();
    int good = m != NULL && test_batch_new(&batch, count);

    if (!good) {
        BN_free(m);
        return 0;
    }
    for (size_t i = 0; good && i < count; i++) {
        made_key *key = i % 2 == 0 ? first : second;

        good = made_key_message(key, m, stream) &&
               test_batch_put(&batch, i, key, m);
    }
    good = good && test_batch_run(&batch, &t, stream_index,
                                  warprsa_key_class(&first->key)) == WARPRSA_OK;
    for (size_t i = 0; good && i < count; i++)
        good = test_batch_right(&batch, i);
    test_batch_free(&batch);
    BN_free(m);
    return good;
}

/* Mostly the smaller classes. */
static int choose_class(random_stream *stream)
{
    const unsigned choice = random_below(stream, 16);

    return choice < 10   ? WARPRSA_CLASS_1024
           : choice < 14 ? WARPRSA_CLASS_2048
           : choice < 15 ? WARPRSA_CLASS_3072
                         : WARPRSA_CLASS_4096;
}

/* A stream's thread; it goes on until the thread that loads keys has had a CPU.
 * The keys' numbers are shared, the BN_CTX is its own. */
static void *use_stream(void *arg)
{
    const unsigned index = (unsigned)(uintptr_t)arg;
    const unsigned turns = module_context_scaled(TURNS);
    random_stream stream = {number_seed() + index};
    BN_CTX *ctx = BN_CTX_new();

    for (unsigned i = 0;
         ctx != NULL && (i < turns || atomic_load(&loads) < CHURN); i++) {
        made_key shared = keys[choose_class(&stream)], own = shared;

        shared.numbers.ctx = own.numbers.ctx = ctx;
        if (t.engine->load_key(t.device, &own.key, &own.index) != WARPRSA_OK) {
            atomic_fetch_add(&wrong, 1);
            continue;
        }
        if (own.index == shared.index ||
            !run_batch(&shared, &own, index, &stream))
            atomic_fetch_add(&wrong, 1);
        t.engine->unload_key(t.device, own.index);
        atomic_fetch_add(&batches, 1);
    }
    BN_CTX_free(ctx);
    atomic_fetch_sub(&running, 1);
    return NULL;
}

/* The third thread: loads CHURN keys and unloads them, over and over. */
static void *load_and_unload(void *arg)
{
    random_stream stream = {number_seed() + STREAMS};

    while (atomic_load(&running) != 0) {
        uint32_t index[CHURN];

        for (int i = 0; i < CHURN; i++) {
            const made_key *key =
                &keys[random_below(&stream, WARPRSA_CLASS_LARGE)];

            if (t.engine->load_key(t.device, &key->key, &index[i]) !=
                WARPRSA_OK)
                atomic_fetch_add(&wrong, 1);
            for (int j = 0; j < i; j++)
                if (index[i] == index[j])
                    atomic_fetch_add(&wrong, 1);
            atomic_fetch_add(&loads, 1);
        }
        for (int i = 0; i < CHURN; i++)
            t.engine->unload_key(t.device, index[i]);
        sched_yield();
    }
    return NULL;
}

TEST(two_streams_and_changing_keys)
{
    pthread_t threads[STREAMS + 1];

    atomic_store(&running, STREAMS);
    for (uintptr_t i = 0; i < STREAMS; i++)
        assert_int_equal(
            0, pthread_create(&threads[i], NULL, use_stream, (void *)i));
    assert_int_equal(
        0, pthread_create(&threads[STREAMS], NULL, load_and_unload, NULL));
    for (int i = 0; i <= STREAMS; i++)
        assert_int_equal(0, pthread_join(threads[i], NULL));
    print_message("%u batches, %u keys loaded meanwhile\n",
                  atomic_load(&batches), atomic_load(&loads));
    assert_true(atomic_load(&batches) >=
                STREAMS * module_context_scaled(TURNS));
    assert_true(atomic_load(&loads) >= CHURN);
    assert_int_equal(0, atomic_load(&wrong));
}

/* Every index is free again, and none is given twice. */
TEST(no_index_was_lost)
{
    uint32_t index[KEYS_MAX], none;
    const int left = KEYS_MAX - WARPRSA_CLASS_LARGE;

    for (int i = 0; i < left; i++) {
        assert_int_equal(WARPRSA_OK,
                         t.engine->load_key(t.device, &keys[0].key, &index[i]));
        for (int j = 0; j < i; j++)
            assert_int_not_equal(index[i], index[j]);
    }
    assert_int_equal(WARPRSA_NO_MEMORY,
                     t.engine->load_key(t.device, &keys[0].key, &none));
    for (int i = 0; i < left; i++)
        t.engine->unload_key(t.device, index[i]);
}

int main(void)
{
    if (test_engine() == NULL)
        return TEST_SKIPPED;
    return cmocka_run_group_tests(unit_tests, set_up, tear_down);
}
