/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The lifetime of keys: one copy however often imported, wiped with the last
 * reference, on the host and on every device.
 */
#include "tests/unit/support/fake_queue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

TEST_IN(imported_twice_held_once, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key *a = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    warprsa_key *b = fake_add_key(queue, WARPRSA_CLASS_2048, 1);

    assert_ptr_equal(a, b);
    assert_int_equal(config.counters->keys, 1);
    assert_int_equal(fake_answer(queue, a, 1), WARPRSA_DONE);
    warprsa_key_release(a);
    assert_int_equal(config.counters->keys, 1);
    assert_int_equal(fake_answer(queue, b, 1), WARPRSA_DONE);
    assert_int_equal(fake.loads, 1);
    warprsa_key_release(b);
    assert_int_equal(config.counters->keys, 0);
    FAKE_WAIT(fake.unloads == 1);
    WAIT_UNTIL(config.counters->keys_wiped == 1);
    fake_finish(queue, &config);
}

/* A key that is not wiped is not counted as wiped. Its device has failed, and
 * closing that wipes what is left. */
TEST_IN(a_wipe_that_fails, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue;
    warprsa_key *key;

    FAKE_SET(bad_wipes, 1);
    queue = fake_ready_queue(&config);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    assert_int_equal(fake_answer(queue, key, 1), WARPRSA_DONE);
    FAKE_SET(hold_open, true);
    warprsa_key_release(key);
    WAIT_UNTIL(config.counters->device_losses == 1);
    FAKE_WAIT(fake.waiting == 1); /* closed, and being opened again */
    assert_int_equal(fake.unloads, 0);
    assert_int_equal(config.counters->keys_wiped, 1);
    assert_int_equal(config.counters->device_of[0].keys, 0);
    FAKE_SET(hold_open, false);
    WAIT_UNTIL(warprsa_queue_wait_ready(queue, 0) == WARPRSA_QUEUE_READY);
    fake_finish(queue, &config);
}

TEST_IN(a_device_closed_without_wiping, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key *key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);

    assert_int_equal(fake_answer(queue, key, 1), WARPRSA_DONE);
    FAKE_SET(bad_wipes, 1);
    assert_true(warprsa_queue_close(queue));
    assert_int_equal(config.counters->keys_loaded, 1);
    assert_int_equal(config.counters->keys_wiped, 0);
    assert_int_equal(config.counters->device_of[0].keys, 0);
    warprsa_key_release(key);
    warprsa_counters_free(config.counters);
}

/* An id is a hash made by the caller; two keys with one id are still two. */
TEST_IN(same_id_other_key, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_private_key one_key = fake_key(WARPRSA_CLASS_2048, 1);
    warprsa_private_key two_key = fake_key(WARPRSA_CLASS_2048, 2);
    uint8_t id[WARPRSA_KEY_ID_BYTES] = {9};
    warprsa_key *a = warprsa_queue_key(queue, WARPRSA_OWNER_SELF, id, &one_key);
    warprsa_key *b = warprsa_queue_key(queue, WARPRSA_OWNER_SELF, id, &two_key);

    assert_non_null(a);
    assert_non_null(b);
    assert_ptr_not_equal(a, b);
    assert_int_equal(fake_answer(queue, a, 1), WARPRSA_DONE);
    assert_int_equal(fake_answer(queue, b, 2), WARPRSA_DONE);
    assert_int_equal(config.counters->keys, 2);
    warprsa_key_release(a);
    warprsa_key_release(b);
    warprsa_key_release(NULL);
    fake_close_queue(queue, &config);
    assert_int_equal(config.counters->keys_wiped, 2);
    warprsa_counters_free(config.counters);
}

TEST_IN(a_key_without_class_is_not_taken, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_private_key odd = fake_key(WARPRSA_CLASS_2048, 1);
    uint8_t id[WARPRSA_KEY_ID_BYTES] = {9};

    odd.modulus_bytes = 200;
    assert_null(warprsa_queue_key(queue, WARPRSA_OWNER_SELF, id, &odd));
    assert_int_equal(config.counters->keys, 0);
    fake_finish(queue, &config);
}

/* More keys than the device holds: the one used longest ago makes room, and
 * comes back when it is used again. */
TEST_IN(more_keys_than_the_device_holds, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_key *keys[4];
    warprsa_queue *queue;

    config.keys_max = 3;
    queue = fake_ready_queue(&config);
    for (unsigned i = 0; i < 4; i++)
        keys[i] = fake_add_key(queue, WARPRSA_CLASS_2048, i);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(fake_answer(queue, keys[i], i), WARPRSA_DONE);
    assert_int_equal(fake_answer(queue, keys[0], 0), WARPRSA_DONE);
    assert_int_equal(fake.loads, 3);
    assert_int_equal(fake_answer(queue, keys[3], 3),
                     WARPRSA_DONE); /* instead of 1 */
    assert_int_equal(fake.loads, 4);
    assert_int_equal(config.counters->keys_evicted, 1);
    assert_int_equal(fake_answer(queue, keys[0], 0), WARPRSA_DONE);
    assert_int_equal(fake_answer(queue, keys[2], 2), WARPRSA_DONE);
    assert_int_equal(fake.loads, 4);
    assert_int_equal(fake_answer(queue, keys[1], 1),
                     WARPRSA_DONE); /* instead of 3 */
    assert_int_equal(fake.loads, 5);
    assert_int_equal(fake.keys, 3);
    assert_int_equal(config.counters->device_of[0].keys, 3);
    assert_int_equal(config.counters->keys_evicted, 2);
    assert_int_equal(config.counters->keys, 4);
    for (unsigned i = 0; i < 4; i++)
        warprsa_key_release(keys[i]);
    FAKE_WAIT(fake.keys == 0);
    fake_close_queue(queue, &config);
    assert_int_equal(config.counters->keys_loaded, 5);
    assert_int_equal(config.counters->device_of[0].keys, 0);
    assert_int_equal(config.counters->keys, 0);
    warprsa_counters_free(config.counters);
}

/* Keys of batches under way stay, and a request whose key finds no room is
 * refused for that reason; a key released while in use goes when its batch has
 * ended. */
TEST_IN(keys_in_use_are_not_evicted, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_key *keys[4];
    fake_request r[4];
    warprsa_queue *queue;

    config.keys_max = 2;
    config.engines[0].streams = 2;
    queue = fake_ready_queue(&config);
    for (unsigned i = 0; i < 4; i++) {
        keys[i] = fake_add_key(queue, WARPRSA_CLASS_2048, i);
        fake_fill(&r[i], WARPRSA_CLASS_2048, i, i);
    }
    FAKE_SET(hold, true);
    assert_int_equal(fake_submit(queue, keys[0], &r[0]), WARPRSA_DONE);
    FAKE_WAIT(fake.running == 1);
    warprsa_key_release(keys[0]);
    assert_int_equal(fake_submit(queue, keys[1], &r[1]), WARPRSA_DONE);
    FAKE_WAIT(fake.running == 2);
    assert_int_equal(fake.unloads, 0);
    FAKE_SET(hold, false);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(warprsa_queue_wait(queue, r[i].ticket, r[i].output),
                         WARPRSA_DONE);
        assert_true(fake_is_right(&r[i]));
    }
    FAKE_WAIT(fake.keys == 1);
    FAKE_SET(hold, true);
    assert_int_equal(fake_submit(queue, keys[1], &r[1]), WARPRSA_DONE);
    FAKE_WAIT(fake.running == 1);
    assert_int_equal(fake_submit(queue, keys[2], &r[2]), WARPRSA_DONE);
    FAKE_WAIT(fake.running == 2);
    FAKE_SET(hold, false);
    assert_int_equal(warprsa_queue_wait(queue, r[2].ticket, r[2].output),
                     WARPRSA_DONE);
    assert_int_equal(warprsa_queue_wait(queue, r[1].ticket, r[1].output),
                     WARPRSA_DONE);
    assert_int_equal(fake_answer(queue, keys[3], 3), WARPRSA_DONE);
    assert_int_equal(config.counters->keys_evicted, 1);
    for (unsigned i = 1; i < 4; i++)
        warprsa_key_release(keys[i]);
    fake_finish(queue, &config);
}

/* A device is lost with a batch that still reads its key, while the load of
 * another key lacks room: the first does not make room for it. `overdue`: the
 * batch had missed its deadline before. */
static void lose_a_key_in_use(bool overdue)
{
    warprsa_queue_config config = fake_config();
    warprsa_key *keys[2];
    fake_request r[2];
    warprsa_queue *queue;

    config.engines[0].streams = 2;
    queue = fake_ready_queue(&config);
    for (unsigned i = 0; i < 2; i++) {
        keys[i] = fake_add_key(queue, WARPRSA_CLASS_2048, i);
        fake_fill(&r[i], WARPRSA_CLASS_2048, i, i);
    }
    FAKE_SET(hold, true);
    assert_int_equal(fake_submit(queue, keys[0], &r[0]), WARPRSA_DONE);
    FAKE_WAIT(fake.running == 1);
    FAKE_SET(hold_load, true);
    assert_int_equal(fake_submit(queue, keys[1], &r[1]), WARPRSA_DONE);
    FAKE_WAIT(fake.waiting == 1);
    FAKE_SET(overdue, overdue);
    if (overdue)
        FAKE_WAIT(fake.overdue == 0);
    FAKE_SET(wait_failures, 1);
    FAKE_SET(hold, false);
    assert_int_equal(warprsa_queue_wait(queue, r[0].ticket, r[0].output),
                     WARPRSA_REFUSED);
    FAKE_WAIT(fake.wait_failures == 0);
    FAKE_SET(hold_load, false);
    assert_int_equal(warprsa_queue_wait(queue, r[1].ticket, r[1].output),
                     WARPRSA_REFUSED);
    WAIT_UNTIL(warprsa_queue_wait_ready(queue, 0) == WARPRSA_QUEUE_READY);
    assert_int_equal(fake.unloads, 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(fake_answer(queue, keys[i], i), WARPRSA_DONE);
        warprsa_key_release(keys[i]);
    }
    fake_finish(queue, &config);
}

TEST_IN(a_key_lost_in_use_is_not_evicted, reset, NULL)
{
    lose_a_key_in_use(false);
}

TEST_IN(nor_is_one_lost_after_the_deadline, reset, NULL)
{
    lose_a_key_in_use(true);
}

/* Of a batch with more keys than fit, the rest is left to the CPU. */
TEST_IN(a_batch_of_too_many_keys, reset, NULL)
{
    enum {
        KEYS = 6,
        ROOM = 4,
    };
    warprsa_queue_config config = fake_config();
    warprsa_key *keys[KEYS], *first;
    fake_request r[KEYS], held;
    warprsa_queue *queue;
    unsigned done = 0;

    config.keys_max = ROOM;
    queue = fake_ready_queue(&config);
    first = fake_add_key(queue, WARPRSA_CLASS_2048, 100);
    fake_fill(&held, WARPRSA_CLASS_2048, 100, 0);
    FAKE_SET(hold, true);
    assert_int_equal(fake_submit(queue, first, &held), WARPRSA_DONE);
    FAKE_WAIT(fake.running == 1);
    for (unsigned i = 0; i < KEYS; i++) {
        keys[i] = fake_add_key(queue, WARPRSA_CLASS_2048, i);
        fake_fill(&r[i], WARPRSA_CLASS_2048, i, i);
        assert_int_equal(fake_submit(queue, keys[i], &r[i]), WARPRSA_DONE);
    }
    FAKE_SET(hold, false);
    for (unsigned i = 0; i < KEYS; i++) {
        if (warprsa_queue_wait(queue, r[i].ticket, r[i].output) != WARPRSA_DONE)
            continue;
        assert_true(fake_is_right(&r[i]));
        done++;
    }
    assert_int_equal(done, ROOM);
    assert_int_equal(config.counters->cpu_reason[WARPRSA_CPU_KEY_CACHE_FULL],
                     KEYS - ROOM);
    assert_int_equal(warprsa_queue_wait(queue, held.ticket, held.output),
                     WARPRSA_DONE);
    assert_int_equal(config.counters->device_losses, 0);
    for (unsigned i = 0; i < KEYS; i++)
        warprsa_key_release(keys[i]);
    warprsa_key_release(first);
    fake_finish(queue, &config);
}

/* A key is loaded beside batches: a request that came together with one of a
 * new key is answered while that key is still being loaded. */
TEST_IN(a_new_key_holds_up_no_batch, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key *known = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    warprsa_key *fresh = fake_add_key(queue, WARPRSA_CLASS_2048, 2);
    fake_request r[3];

    assert_int_equal(fake_answer(queue, known, 1), WARPRSA_DONE);
    FAKE_SET(hold, true);
    FAKE_SET(hold_load, true);
    for (unsigned i = 0; i < 3; i++) {
        fake_fill(&r[i], WARPRSA_CLASS_2048, i == 1 ? 2 : 1, i);
        assert_int_equal(fake_submit(queue, i == 1 ? fresh : known, &r[i]),
                         WARPRSA_DONE);
        if (i == 0)
            FAKE_WAIT(fake.running == 1);
    }
    FAKE_SET(hold, false);
    for (unsigned i = 0; i < 3; i += 2) {
        assert_int_equal(warprsa_queue_wait(queue, r[i].ticket, r[i].output),
                         WARPRSA_DONE);
        assert_true(fake_is_right(&r[i]));
    }
    FAKE_WAIT(fake.waiting == 1);
    FAKE_SET(hold_load, false);
    assert_int_equal(warprsa_queue_wait(queue, r[1].ticket, r[1].output),
                     WARPRSA_DONE);
    assert_true(fake_is_right(&r[1]));
    warprsa_key_release(known);
    warprsa_key_release(fresh);
    fake_finish(queue, &config);
}

/* Requests that wait for their keys and are given up: a key that nobody else
 * waits for is not loaded, and none of them is computed. */
TEST_IN(withdrawn_requests_load_no_keys, reset, NULL)
{
    enum {
        LOADING, /* under way when its request is withdrawn */
        ALONE,   /* only withdrawn requests wait for it */
        WANTED,  /* and for this one another */
        KEYS,
    };
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key *keys[KEYS];
    fake_request r[KEYS], wanted;

    FAKE_SET(hold_load, true);
    for (unsigned i = 0; i < KEYS; i++) {
        keys[i] = fake_add_key(queue, WARPRSA_CLASS_2048, i);
        fake_fill(&r[i], WARPRSA_CLASS_2048, i, i);
        assert_int_equal(fake_submit(queue, keys[i], &r[i]), WARPRSA_DONE);
        FAKE_WAIT(fake.waiting == 1);
    }
    fake_fill(&wanted, WARPRSA_CLASS_2048, WANTED, 9);
    assert_int_equal(fake_submit(queue, keys[WANTED], &wanted), WARPRSA_DONE);
    for (unsigned i = 0; i < KEYS; i++)
        assert_true(warprsa_queue_withdraw(queue, r[i].ticket));
    FAKE_SET(hold_load, false);
    assert_int_equal(warprsa_queue_wait(queue, wanted.ticket, wanted.output),
                     WARPRSA_DONE);
    assert_true(fake_is_right(&wanted));
    WAIT_UNTIL(warprsa_queue_depth(queue) == 0);
    assert_int_equal(config.counters->keys_loaded, 2);
    assert_int_equal(config.counters->batch_operations, 1);
    for (unsigned i = 0; i < KEYS; i++)
        warprsa_key_release(keys[i]);
    fake_finish(queue, &config);
}

/* As a certificate authority or a hosting company has them. */
TEST_IN(ten_thousand_keys, reset, NULL)
{
    enum {
        KEYS = 10000,
        ROOM = 64,
    };
    warprsa_queue_config config = fake_config();
    warprsa_key **keys = calloc(KEYS, sizeof(warprsa_key *));
    warprsa_queue *queue;

    assert_non_null(keys);
    config.keys_max = ROOM;
    queue = fake_ready_queue(&config);
    for (unsigned i = 0; i < KEYS; i++)
        keys[i] = fake_add_key(queue, WARPRSA_CLASS_2048, i);
    assert_int_equal(config.counters->keys, KEYS);
    for (unsigned i = 0; i < KEYS; i++) {
        /* The same again, as each new connection imports it. */
        assert_ptr_equal(fake_add_key(queue, WARPRSA_CLASS_2048, i), keys[i]);
        assert_int_equal(fake_answer(queue, keys[i], i), WARPRSA_DONE);
        warprsa_key_release(keys[i]);
        assert_true(config.counters->device_of[0].keys <= ROOM);
    }
    assert_int_equal(config.counters->keys, KEYS);
    assert_int_equal(config.counters->keys_loaded, KEYS);
    assert_int_equal(config.counters->keys_evicted, KEYS - ROOM);
    for (unsigned i = 0; i < KEYS; i++)
        warprsa_key_release(keys[i]);
    assert_int_equal(config.counters->keys, 0);
    FAKE_WAIT(fake.keys == 0);
    fake_finish(queue, &config);
    free(keys);
}

/* One key, held by thousands, is one copy. */
TEST_IN(the_same_key_thousands_of_times, reset, NULL)
{
    enum {
        TIMES = 5000
    };
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key *key = fake_add_key(queue, WARPRSA_CLASS_3072, 1);

    for (unsigned i = 1; i < TIMES; i++)
        assert_ptr_equal(fake_add_key(queue, WARPRSA_CLASS_3072, 1), key);
    assert_int_equal(config.counters->keys, 1);
    for (unsigned i = 0; i < TIMES; i++) {
        assert_int_equal(config.counters->keys, 1);
        warprsa_key_release(key);
    }
    assert_int_equal(config.counters->keys, 0);
    fake_finish(queue, &config);
}

TEST_IN(unloaded_from_every_device, reset, NULL)
{
    enum {
        DEVICES = 3
    };
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue;
    warprsa_key *key;
    fake_request r[DEVICES];

    FAKE_SET(devices, DEVICES);
    queue = fake_ready_queue(&config);
    WAIT_UNTIL(config.counters->devices == DEVICES);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    FAKE_SET(hold, true);
    for (unsigned i = 0; i < DEVICES; i++) {
        fake_fill(&r[i], WARPRSA_CLASS_2048, 1, i);
        assert_int_equal(fake_submit(queue, key, &r[i]), WARPRSA_DONE);
        FAKE_WAIT(fake.running == i + 1);
    }
    FAKE_SET(hold, false);
    for (unsigned i = 0; i < DEVICES; i++)
        assert_int_equal(warprsa_queue_wait(queue, r[i].ticket, r[i].output),
                         WARPRSA_DONE);
    assert_int_equal(fake.keys, DEVICES);
    WAIT_UNTIL(warprsa_queue_depth(queue) == 0);
    warprsa_key_release(key);
    FAKE_WAIT(fake.keys == 0);
    assert_int_equal(fake.unloads, DEVICES);
    fake_close_queue(queue, &config);
    assert_int_equal(config.counters->keys_wiped, DEVICES);
    warprsa_counters_free(config.counters);
}

/* As a server with a certificate per connection has it: import, use, release,
 * from many threads, the same few keys over and over. */
enum {
    IMPORTERS = 8,
    IMPORTS = 300,
};

typedef struct importer {
    pthread_t thread;
    warprsa_queue *queue;
    unsigned number;
    unsigned wrong;
} importer;

static void *import_main(void *arg)
{
    importer *me = arg;

    for (unsigned i = 0; i < IMPORTS; i++) {
        unsigned seed = (i * 7 + me->number) % 5;
        warprsa_key *key = fake_add_key(me->queue, WARPRSA_CLASS_2048, seed);

        me->wrong += fake_answer(me->queue, key, seed) != WARPRSA_DONE;
        warprsa_key_release(key);
    }
    return NULL;
}

TEST_IN(imported_used_and_released_by_many, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    importer importers[IMPORTERS] = {0};
    warprsa_queue *queue;

    FAKE_SET(devices, 2);
    config.engines[0].streams = 2;
    queue = fake_ready_queue(&config);
    for (unsigned i = 0; i < IMPORTERS; i++) {
        importers[i] = (importer){.queue = queue, .number = i};
        assert_int_equal(pthread_create(&importers[i].thread, NULL, import_main,
                                        &importers[i]),
                         0);
    }
    for (unsigned i = 0; i < IMPORTERS; i++) {
        pthread_join(importers[i].thread, NULL);
        assert_int_equal(importers[i].wrong, 0);
    }
    assert_int_equal(config.counters->keys, 0);
    FAKE_WAIT(fake.keys == 0);
    fake_close_queue(queue, &config);
    assert_int_equal(config.counters->keys_loaded, fake.loads);
    assert_int_equal(config.counters->keys_wiped, fake.unloads);
    warprsa_counters_free(config.counters);
}

RUN_TESTS(NULL, NULL)
