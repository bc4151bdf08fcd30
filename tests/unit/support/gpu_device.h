/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A device for the tests of an engine, and batches on it. The engine is
 * WARPRSA_TEST_ENGINE, host, ifma or cuda, its kernel WARPRSA_TEST_KERNEL if
 * set, with direct table reads if WARPRSA_TEST_DIRECT_TABLE_READS is; the
 * blinding factors are from a seeded source that can be told to fail.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_GPU_DEVICE_H
#define WARPRSA_TESTS_UNIT_SUPPORT_GPU_DEVICE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/engine.h"
#include "tests/unit/support/gpu_keys.h"

enum {
    TEST_SKIPPED = 77,    /* exit status */
    TEST_BATCH_MAX = 256, /* host; on a GPU more, see batch_max */
    TEST_TIMEOUT_MS = 600000,
    TEST_GUARD = 16, /* bytes after an output that nobody writes */
};

typedef enum test_random {
    RANDOM_GOOD,
    RANDOM_FAILS, /* says so, having written nothing */
    RANDOM_ZEROS, /* no number that could be inverted */
    RANDOM_ONES,
} test_random;

typedef struct test_device {
    const warprsa_engine *engine;
    warprsa_device *device;
    unsigned batch_max;
    atomic_int random; /* test_random */
    atomic_ullong state;
} test_device;

/* NULL with a line on stdout if there is no such engine or no device. */
const warprsa_engine *test_engine(void);

/* Opens device 0 with two streams: 1, or 0 with a line on stderr. */
int test_device_open(test_device *t, unsigned keys_max);
void test_device_close(test_device *t);

/* The same, and makes keys and loads them. */
int test_device_open_with(test_device *t, unsigned keys_max, made_key *keys,
                          const key_recipe *recipes, int count);
/* After that one, even if it failed. */
void test_device_close_with(test_device *t, made_key *keys, int count);

/* Tasks with inputs and outputs of their own. */
typedef struct test_batch {
    size_t count;
    warprsa_task *tasks;
    made_key **keys;
    uint8_t *bytes; /* input, output and guard of each task */
} test_batch;

int test_batch_new(test_batch *batch, size_t count);
void test_batch_free(test_batch *batch);

/* Task i: m^d mod n of this key, which is loaded; m below n. 1 or 0. */
int test_batch_put(test_batch *batch, size_t i, made_key *key, const BIGNUM *m);

/* start() and wait(). */
warprsa_status test_batch_run(test_batch *batch, test_device *t,
                              unsigned stream, warprsa_size_class size);

/* Of task i: the right answer, status WARPRSA_OK, guard untouched; checked by
 * raising it to e. 1 or 0. */
int test_batch_right(test_batch *batch, size_t i);

/* Of task i: WARPRSA_CHECK_FAILED and zeros. */
int test_batch_withheld(const test_batch *batch, size_t i);

#endif
