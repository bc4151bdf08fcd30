/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the queue gives back holds no secret: neither its blocks of the heap nor
 * its mappings, and a slot none once its answer is collected. Linked with
 * --wrap=free and --wrap=munmap, so that each is looked at while it is still
 * the queue's.
 */
#include "tests/unit/support/fake_queue.h"

#include <malloc.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "batching/queue/queue_core.h"

/* Eight bytes over and over: of a private key's numbers, of an input, and of
 * the output that the fake engine makes of it with a modulus of its own. */
#define KEY    UINT64_C(0x9d71c35e0fb264a8)
#define INPUT  UINT64_C(0x1fa86c53e2970bd4)
#define OUTPUT UINT64_C(0xb4e3087f56c19a2d)

static atomic_bool looking;
static atomic_uint blocks, mappings, found;

void __real_free(void *block);
void __wrap_free(void *block);
int __real_munmap(void *block, size_t size);
int __wrap_munmap(void *block, size_t size);

/* Also looks where a worker may be writing: that is the point. */
__attribute__((no_sanitize("thread"))) static unsigned
secrets_in(const void *block, size_t size)
{
    const volatile uint32_t *half = block;
    unsigned count = 0;

    for (size_t i = 0; (i + 2) * sizeof(*half) <= size; i++) {
        uint64_t word = half[i] | (uint64_t)half[i + 1] << 32;

        count += word == KEY || word == INPUT || word == OUTPUT;
    }
    return count;
}

void __wrap_free(void *block)
{
    if (atomic_load(&looking) && block != NULL) {
        atomic_fetch_add(&blocks, 1);
        atomic_fetch_add(&found, secrets_in(block, malloc_usable_size(block)));
    }
    __real_free(block);
}

int __wrap_munmap(void *block, size_t size)
{
    if (atomic_load(&looking)) {
        atomic_fetch_add(&mappings, 1);
        atomic_fetch_add(&found, secrets_in(block, size));
    }
    return __real_munmap(block, size);
}

static void fill(void *to, size_t size, uint64_t word)
{
    for (size_t at = 0; at + sizeof(word) <= size; at += sizeof(word))
        memcpy((uint8_t *)to + at, &word, sizeof(word));
}

/* Its modulus, read backwards by the fake engine, turns INPUT into OUTPUT. */
static warprsa_private_key secret_key(void)
{
    warprsa_private_key key = {.modulus_bytes = 256};
    uint64_t turns = __builtin_bswap64(INPUT ^ OUTPUT);

    fill(key.n + sizeof(key.n) - 256, 256, turns);
    fill(key.p, sizeof(key.p), KEY);
    fill(key.q, sizeof(key.q), KEY);
    fill(key.dp, sizeof(key.dp), KEY);
    fill(key.dq, sizeof(key.dq), KEY);
    key.dp[sizeof(key.dp) - 1] = 0; /* fake_make_wrong() */
    fill(key.qinv, sizeof(key.qinv), KEY);
    return key;
}

static unsigned secrets_in_slots(const warprsa_queue *queue)
{
    return secrets_in(queue->slots.slot,
                      queue->slots.count * sizeof(*queue->slots.slot));
}

static int forget_all(void **state)
{
    fake_reset();
    blocks = mappings = found = 0;
    return 0;
}

TEST_IN(slots_keys_and_mappings, forget_all, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_private_key numbers = secret_key();
    uint8_t id[WARPRSA_KEY_ID_BYTES] = {7};
    warprsa_key *key =
        warprsa_queue_key(queue, WARPRSA_OWNER_SELF, id, &numbers);
    uint8_t input[256], output[256];
    warprsa_notify none = {0};
    warprsa_ticket collected, abandoned;

    assert_non_null(key);
    fill(input, sizeof(input), INPUT);
    FAKE_SET(hold, true);
    assert_int_equal(warprsa_queue_submit(queue, key, input, none, &collected),
                     WARPRSA_DONE);
    assert_int_equal(warprsa_queue_submit(queue, key, input, none, &abandoned),
                     WARPRSA_DONE);
    assert_true(secrets_in_slots(queue) >= 64); /* the test can see */
    FAKE_SET(hold, false);
    assert_int_equal(warprsa_queue_wait(queue, collected, output),
                     WARPRSA_DONE);
    assert_true(secrets_in(output, sizeof(output)) > 0);
    assert_int_equal(warprsa_queue_wait(queue, abandoned, output),
                     WARPRSA_DONE);
    assert_int_equal(secrets_in_slots(queue), 0);
    WAIT_UNTIL(warprsa_queue_depth(queue) == 0);
    assert_true(secrets_in(key->numbers, sizeof(*key->numbers)) > 0);
    atomic_store(&looking, true);
    warprsa_key_release(key);
    FAKE_WAIT(fake.keys == 0);
    fake_close_queue(queue, &config);
    atomic_store(&looking, false);
    assert_true(blocks > 0);
    assert_true(mappings > 1); /* the slots' and the key's among them */
    assert_int_equal(found, 0);
    assert_int_equal(config.counters->keys_wiped, 1);
    warprsa_counters_free(config.counters);
}

/* An answer that nobody comes for goes with its slot's next use, or with the
 * queue: that it wiped it shows in a key evicted and requests refused, too. */
TEST_IN(what_nobody_collects, forget_all, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue;
    warprsa_private_key numbers = secret_key();
    uint8_t id[WARPRSA_KEY_ID_BYTES] = {7};
    uint8_t input[256], output[256];
    warprsa_notify none = {0};
    warprsa_ticket ticket;
    warprsa_key *key;

    config.deadline_ms = 50;
    queue = fake_ready_queue(&config);
    key = warprsa_queue_key(queue, WARPRSA_OWNER_SELF, id, &numbers);
    fill(input, sizeof(input), INPUT);
    FAKE_SET(hold, true);
    assert_int_equal(warprsa_queue_submit(queue, key, input, none, &ticket),
                     WARPRSA_DONE);
    assert_int_equal(warprsa_queue_wait(queue, ticket, output),
                     WARPRSA_REFUSED);
    FAKE_SET(hold, false);
    WAIT_UNTIL(secrets_in_slots(queue) == 0);
    WAIT_UNTIL(warprsa_queue_wait_ready(queue, 0) == WARPRSA_QUEUE_READY);
    atomic_store(&looking, true);
    warprsa_key_release(key);
    fake_close_queue(queue, &config);
    atomic_store(&looking, false);
    assert_int_equal(found, 0);
    warprsa_counters_free(config.counters);
}

RUN_TESTS(NULL, NULL)
