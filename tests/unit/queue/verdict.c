/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Wrong results: a device that computes wrongly is taken out of use, and tested
 * before it comes back; a key whose numbers are wrong takes no device away.
 */
#include "tests/unit/support/fake_queue.h"

#include <stdio.h>

#include "batching/queue/queue_core.h"

enum {
    MANY = 1000,
    WRONG_KEYS = 40,
    LINES = 10000, /* more than a second has room for */
};

static warprsa_key *key_with(warprsa_queue *queue, uint64_t owner,
                             unsigned seed, bool wrong)
{
    warprsa_private_key key = fake_key(WARPRSA_CLASS_2048, seed);
    uint8_t id[WARPRSA_KEY_ID_BYTES] = {(uint8_t)seed, wrong};
    warprsa_key *added;

    if (wrong)
        fake_make_wrong(&key);
    added = warprsa_queue_key(queue, owner, id, &key);
    assert_non_null(added);
    return added;
}

/* Asks a device whose results are all wrong, until it is out of use. */
static void wear_out(warprsa_queue *queue, const warprsa_queue_config *config,
                     warprsa_key *key)
{
    const warprsa_counters *c = config->counters;
    const uint64_t before = c->device_of[0].wrong;

    FAKE_SET(bad_checks, MANY);
    while (c->device_of[0].wrong == before)
        assert_int_equal(fake_answer(queue, key, 1), WARPRSA_REFUSED);
    FAKE_SET(bad_checks, 0);
    assert_int_equal(c->checks_failed, c->cpu_reason[WARPRSA_CPU_CHECK_FAILED]);
    assert_int_equal(c->device_of[0].checks_failed, c->checks_failed);
}

static void is_used_again(warprsa_queue *queue, warprsa_key *key)
{
    WAIT_UNTIL(warprsa_queue_wait_ready(queue, 0) == WARPRSA_QUEUE_READY);
    assert_int_equal(fake_answer(queue, key, 1), WARPRSA_DONE);
}

static void a_wrong_device(warprsa_queue_config config)
{
    const warprsa_counters *c = config.counters;
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key *key = key_with(queue, WARPRSA_OWNER_SELF, 1, false);
    uint64_t failed;

    wear_out(queue, &config, key);
    failed = c->checks_failed;
    assert_in_range(failed, 3, MANY / 2);
    assert_int_equal(c->device_losses, 1);
    /* It takes nothing more. */
    assert_int_equal(fake_answer(queue, key, 1), WARPRSA_REFUSED);
    assert_int_equal(c->cpu_reason[WARPRSA_CPU_NO_DEVICE], 1);
    assert_int_equal(c->checks_failed, failed);
    assert_false(warprsa_queue_has_lost_device(queue));
    is_used_again(queue, key);
    assert_int_equal(fake_class_tests(WARPRSA_CLASS_2048), 1);
    assert_int_equal(c->keys_wrong, 0);
    for (int i = 0; i < WARPRSA_CLASSES; i++)
        assert_true(i == WARPRSA_CLASS_2048 ||
                    fake_class_tests((warprsa_size_class)i) == 0);
    assert_int_equal(fake.opens, 2);
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

TEST_IN(a_device_of_this_machine, reset, NULL)
{
    a_wrong_device(fake_config());
}

TEST_IN(another_host, reset, NULL)
{
    warprsa_queue_config config = fake_config();

    config.engines[0].engine = fake_engine_hosts();
    a_wrong_device(config);
}

/* It fails the test once, and stays out of use for that time. */
TEST_IN(it_comes_back_when_it_passes, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    const warprsa_counters *c = config.counters;
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key *key = key_with(queue, WARPRSA_OWNER_SELF, 1, false);

    FAKE_SET(bad_class_tests, 1);
    wear_out(queue, &config, key);
    FAKE_WAIT(fake.class_tests[WARPRSA_CLASS_2048] == 1);
    assert_false(warprsa_queue_has_lost_device(queue));
    is_used_again(queue, key);
    assert_int_equal(fake_class_tests(WARPRSA_CLASS_2048), 2);
    assert_int_equal(fake.opens, 3);
    assert_int_equal(c->device_losses, 1);
    assert_int_equal(c->device_of[0].wrong, 1);
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

/* One failure is its own, and all that follow never reach the device. Others
 * keep it. */
TEST_IN(a_key_with_wrong_numbers, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    const warprsa_counters *c = config.counters;
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key *wrong = key_with(queue, 1001, 1, true);
    warprsa_key *right = key_with(queue, 1000, 2, false);

    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(fake_answer(queue, wrong, 1), WARPRSA_REFUSED);
        assert_int_equal(fake_answer(queue, right, 2), WARPRSA_DONE);
    }
    assert_int_equal(c->checks_failed, 1);
    assert_int_equal(c->cpu_reason[WARPRSA_CPU_CHECK_FAILED], 1);
    assert_int_equal(c->cpu_reason[WARPRSA_CPU_WRONG_KEY], 19);
    assert_int_equal(c->keys_wrong, 1);
    assert_int_equal(fake.checked_keys, 1);
    assert_int_equal(c->device_losses, 0);
    assert_true(warprsa_queue_refuses_key(wrong));
    assert_false(warprsa_queue_refuses_key(right));
    warprsa_key_release(wrong);
    warprsa_key_release(right);
    fake_finish(queue, &config);
}

/* However many there are. */
TEST_IN(many_keys_with_wrong_numbers, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    const warprsa_counters *c = config.counters;
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key *right = key_with(queue, 1000, 200, false);

    for (unsigned i = 0; i < WRONG_KEYS; i++) {
        warprsa_key *wrong = key_with(queue, 1001, i, true);

        assert_int_equal(fake_answer(queue, wrong, i), WARPRSA_REFUSED);
        warprsa_key_release(wrong);
    }
    assert_int_equal(fake_answer(queue, right, 200), WARPRSA_DONE);
    assert_int_equal(c->device_losses, 0);
    assert_in_range(fake.checked_keys, 1, WRONG_KEYS);
    assert_int_equal(c->keys_wrong, fake.checked_keys);
    warprsa_key_release(right);
    fake_finish(queue, &config);
}

/* Owners have the same numbers, which are wrong. What is found out with one
 * owner's requests is held against no other owner's. */
TEST_IN(a_shared_key_is_blamed_on_who_asks, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    const warprsa_counters *c = config.counters;
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key *asks = key_with(queue, 1000, 1, true);
    warprsa_key *other = key_with(queue, 1001, 1, true);

    assert_int_equal(fake_answer(queue, asks, 1), WARPRSA_REFUSED);
    assert_int_equal(c->keys_wrong, 1);
    assert_true(warprsa_queue_refuses_key(asks));
    assert_false(warprsa_queue_refuses_key(other));
    warprsa_key_release(asks);
    warprsa_key_release(other);
    fake_finish(queue, &config);
}

/* Lines of the trace, any thread's: about whom, and how many were left out. */
typedef struct traced {
    atomic_uint noisy, quiet, left_out;
} traced;

static void count_lines(void *arg, int level, const char *line)
{
    traced *t = arg;
    unsigned left_out;

    t->noisy += strcmp(line, "user 1001: a wrong key") == 0;
    t->quiet += strcmp(line, "user 1000: a wrong key") == 0;
    if (sscanf(line, "%u lines about keys of user 1001 were", &left_out) == 1)
        t->left_out += left_out;
}

static bool are_all_told(warprsa_queue *queue, const traced *t)
{
    warprsa_queue_trace_left_out(queue);
    return t->noisy + t->left_out == LINES;
}

/* Each key with wrong numbers is a line. Whoever brings thousands leaves room
 * for what is said about others. */
TEST_IN(lines_about_many_keys, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue;
    traced t = {0};

    config.trace = count_lines;
    config.trace_arg = &t;
    queue = fake_ready_queue(&config);
    for (unsigned i = 0; i < LINES; i++)
        warprsa_queue_trace_about(queue, 1001, 1, "a wrong key");
    warprsa_queue_trace_about(queue, 1000, 1, "a wrong key");
    assert_int_equal(t.quiet, 1);
    WAIT_UNTIL(are_all_told(queue, &t));
    assert_true(t.left_out > 0);
    fake_finish(queue, &config);
}

RUN_TESTS(NULL, NULL)
