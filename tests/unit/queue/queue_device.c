/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Devices that hang, fail, compute wrongly or are not there: no caller waits
 * for ever or gets a wrong answer, and a device that recovers is used again.
 */
#include "tests/unit/support/fake_queue.h"

#include <stdatomic.h>
#include <time.h>

/* A queue on one device, a key, and their counters. */
typedef struct setting {
    warprsa_queue_config config;
    warprsa_counters *c;
    warprsa_queue *queue;
    warprsa_key *key;
} setting;

static setting set_up(unsigned streams, unsigned deadline_ms)
{
    setting s = {.config = fake_config()};

    s.config.engines[0].streams = streams;
    s.config.deadline_ms = deadline_ms;
    s.c = s.config.counters;
    s.queue = fake_ready_queue(&s.config);
    s.key = fake_add_key(s.queue, WARPRSA_CLASS_2048, 1);
    return s;
}

static void tear_down(setting *s)
{
    warprsa_key_release(s->key);
    fake_close_queue(s->queue, &s->config);
    assert_int_equal(s->c->keys, 0);
    warprsa_counters_free(s->c);
}

static warprsa_answer one(setting *s, fake_request *r)
{
    static unsigned seed;
    warprsa_answer answer;

    fake_fill(r, WARPRSA_CLASS_2048, 1, seed++);
    answer = fake_submit(s->queue, s->key, r);
    if (answer == WARPRSA_DONE)
        answer = warprsa_queue_wait(s->queue, r->ticket, r->output);
    if (answer == WARPRSA_DONE)
        assert_true(fake_is_right(r));
    return answer;
}

static void is_used_again(setting *s)
{
    fake_request r;

    WAIT_UNTIL(warprsa_queue_wait_ready(s->queue, 0) == WARPRSA_QUEUE_READY);
    assert_int_equal(s->c->devices, 1);
    /* A slow machine may miss a short deadline. */
    WAIT_UNTIL(one(s, &r) == WARPRSA_DONE);
}

static void wake_counter(void *arg)
{
    atomic_fetch_add((_Atomic unsigned *)arg, 1);
}

/* The batch under way hangs: its callers and those queued behind it are
 * refused; when it ends at last the device is tested and used again. */
TEST_IN(a_hanging_batch, reset, NULL)
{
    setting s = set_up(1, LONG_MS);
    warprsa_notify none = {0};
    _Atomic unsigned woken = 0;
    fake_request running, queued, late;

    FAKE_SET(hold, true);
    fake_fill(&running, WARPRSA_CLASS_2048, 1, 1);
    fake_fill(&queued, WARPRSA_CLASS_2048, 1, 2);
    assert_int_equal(warprsa_queue_submit(s.queue, s.key, running.input, none,
                                          &running.ticket),
                     WARPRSA_DONE);
    FAKE_WAIT(fake.running == 1);
    assert_int_equal(warprsa_queue_submit(
                         s.queue, s.key, queued.input,
                         (warprsa_notify){.wake = wake_counter, .arg = &woken},
                         &queued.ticket),
                     WARPRSA_DONE);
    FAKE_SET(overdue, 1);
    assert_int_equal(
        warprsa_queue_wait(s.queue, running.ticket, running.output),
        WARPRSA_REFUSED);
    WAIT_UNTIL(woken == 1);
    assert_int_equal(
        warprsa_queue_collect(s.queue, queued.ticket, queued.output, NULL),
        WARPRSA_REFUSED);
    WAIT_UNTIL(s.c->device_losses == 1);
    WAIT_UNTIL(warprsa_queue_wait_ready(s.queue, 0) == WARPRSA_QUEUE_DOWN);
    assert_int_equal(s.c->devices, 0);
    assert_int_equal(one(&s, &late), WARPRSA_REFUSED);
    assert_int_equal(s.c->cpu_reason[WARPRSA_CPU_DEADLINE], 1);
    assert_int_equal(s.c->cpu_reason[WARPRSA_CPU_NO_DEVICE], 2);
    FAKE_SET(hold, false);
    is_used_again(&s);
    assert_int_equal(fake.self_tests, 1);
    assert_int_equal(fake.opens, 1);
    assert_int_equal(s.c->device_losses, 1);
    assert_int_equal(woken, 1);
    tear_down(&s);
}

/* As before, but it fails its known-answer test: closed and opened again. */
TEST_IN(a_device_that_fails_its_test_is_reopened, reset, NULL)
{
    setting s = set_up(1, LONG_MS);
    fake_request r;

    FAKE_SET(hold, true);
    FAKE_SET(overdue, 1);
    FAKE_SET(bad_self_tests, 1);
    assert_int_equal(one(&s, &r), WARPRSA_REFUSED);
    FAKE_SET(hold, false);
    FAKE_WAIT(fake.opens == 2);
    is_used_again(&s);
    assert_int_equal(fake.self_tests, 1);
    assert_int_equal(fake.closes, 1);
    assert_int_equal(s.c->device_losses, 1);
    assert_int_equal(s.c->keys_loaded, 2);
    assert_int_equal(s.c->keys_wiped, 1);
    tear_down(&s);
}

/* Two streams hang at once: one loss. */
TEST_IN(both_streams_hang, reset, NULL)
{
    setting s = set_up(2, LONG_MS);
    fake_request a, b;

    FAKE_SET(hold, true);
    fake_fill(&a, WARPRSA_CLASS_2048, 1, 1);
    fake_fill(&b, WARPRSA_CLASS_2048, 1, 2);
    assert_int_equal(fake_submit(s.queue, s.key, &a), WARPRSA_DONE);
    FAKE_WAIT(fake.running == 1);
    assert_int_equal(fake_submit(s.queue, s.key, &b), WARPRSA_DONE);
    FAKE_WAIT(fake.running == 2);
    FAKE_SET(overdue, 2);
    assert_int_equal(warprsa_queue_wait(s.queue, a.ticket, a.output),
                     WARPRSA_REFUSED);
    assert_int_equal(warprsa_queue_wait(s.queue, b.ticket, b.output),
                     WARPRSA_REFUSED);
    assert_int_equal(s.c->cpu_reason[WARPRSA_CPU_DEADLINE], 2);
    WAIT_UNTIL(s.c->device_losses == 1);
    FAKE_SET(hold, false);
    is_used_again(&s);
    assert_int_equal(s.c->device_losses, 1);
    assert_int_equal(fake.opens, 1);
    tear_down(&s);
}

/* A key released while a batch that uses it hangs stays on the device until
 * the batch has ended: the fake engine checks that. */
TEST_IN(a_key_of_a_hanging_batch_is_unloaded_after_it, reset, NULL)
{
    setting s = set_up(2, 30);
    warprsa_key *doomed = fake_add_key(s.queue, WARPRSA_CLASS_2048, 7);
    fake_request r;

    FAKE_SET(hold, true);
    fake_fill(&r, WARPRSA_CLASS_2048, 7, 1);
    assert_int_equal(fake_submit(s.queue, doomed, &r), WARPRSA_DONE);
    FAKE_WAIT(fake.running == 1);
    assert_int_equal(warprsa_queue_wait(s.queue, r.ticket, r.output),
                     WARPRSA_REFUSED);
    warprsa_key_release(doomed);
    WAIT_UNTIL(s.c->device_losses == 1);
    assert_int_equal(fake.unloads, 0);
    FAKE_SET(hold, false);
    FAKE_WAIT(fake.unloads == 1);
    is_used_again(&s);
    WAIT_UNTIL(s.c->keys_wiped == 1);
    tear_down(&s);
}

TEST_IN(a_batch_that_ends_the_device, reset, NULL)
{
    setting s = set_up(2, LONG_MS);
    fake_request r;

    FAKE_SET(wait_failures, 1);
    assert_int_equal(one(&s, &r), WARPRSA_REFUSED);
    assert_int_equal(s.c->cpu_reason[WARPRSA_CPU_ERROR], 1);
    assert_int_equal(s.c->device_losses, 1);
    FAKE_WAIT(fake.opens == 2);
    is_used_again(&s);
    assert_int_equal(fake.closes, 1);
    assert_int_equal(s.c->batches, 2);
    assert_int_equal(s.c->keys_loaded, 2);
    tear_down(&s);
}

/* Only the first stream's thread opens a device again, but any thread may find
 * it lost. The first must be woken then, though it sleeps with nothing to do
 * and the deadline is long. */
TEST_IN(a_device_is_reopened_whoever_lost_it, reset, NULL)
{
    setting s = set_up(4, 10 * LONG_MS);
    fake_request r;

    for (unsigned i = 1; i <= 8; i++) {
        FAKE_SET(wait_failures, 1);
        assert_int_equal(one(&s, &r), WARPRSA_REFUSED);
        is_used_again(&s);
        assert_int_equal(s.c->device_losses, i);
    }
    tear_down(&s);
}

TEST_IN(a_launch_that_fails_loses_the_device, reset, NULL)
{
    setting s = set_up(1, LONG_MS);
    fake_request r;

    FAKE_SET(start_status, WARPRSA_DEVICE_ERROR);
    FAKE_SET(start_failures, 1);
    assert_int_equal(one(&s, &r), WARPRSA_REFUSED);
    assert_int_equal(s.c->cpu_reason[WARPRSA_CPU_ERROR], 1);
    assert_int_equal(s.c->device_losses, 1);
    is_used_again(&s);
    assert_int_equal(fake.opens, 2);
    tear_down(&s);
}

/* No randomness or memory for one batch says nothing about the next. */
TEST_IN(a_launch_without_means_keeps_the_device, reset, NULL)
{
    static const warprsa_status means[] = {WARPRSA_NO_RANDOM,
                                           WARPRSA_NO_MEMORY};
    setting s = set_up(1, LONG_MS);
    fake_request r;

    for (unsigned i = 0; i < 2; i++) {
        FAKE_SET(start_status, means[i]);
        FAKE_SET(start_failures, 1);
        assert_int_equal(one(&s, &r), WARPRSA_REFUSED);
        assert_int_equal(s.c->cpu_reason[WARPRSA_CPU_ERROR], i + 1);
        assert_int_equal(one(&s, &r), WARPRSA_DONE);
    }
    assert_int_equal(s.c->device_losses, 0);
    assert_int_equal(fake.opens, 1);
    assert_int_equal(s.c->batches, 2);
    tear_down(&s);
}

TEST_IN(a_key_that_does_not_load_is_refused_alone, reset, NULL)
{
    setting s = set_up(1, LONG_MS);
    warprsa_key *other = fake_add_key(s.queue, WARPRSA_CLASS_2048, 2);
    fake_request first, bad, good;

    assert_int_equal(one(&s, &first), WARPRSA_DONE);
    FAKE_SET(hold, true);
    fake_fill(&first, WARPRSA_CLASS_2048, 1, 1);
    fake_fill(&bad, WARPRSA_CLASS_2048, 2, 2);
    fake_fill(&good, WARPRSA_CLASS_2048, 1, 3);
    assert_int_equal(fake_submit(s.queue, s.key, &first), WARPRSA_DONE);
    FAKE_WAIT(fake.running == 1);
    assert_int_equal(fake_submit(s.queue, other, &bad), WARPRSA_DONE);
    assert_int_equal(fake_submit(s.queue, s.key, &good), WARPRSA_DONE);
    FAKE_SET(load_status, WARPRSA_UNSUPPORTED_KEY);
    FAKE_SET(hold, false);
    assert_int_equal(warprsa_queue_wait(s.queue, first.ticket, first.output),
                     WARPRSA_DONE);
    assert_int_equal(warprsa_queue_wait(s.queue, bad.ticket, bad.output),
                     WARPRSA_REFUSED);
    assert_int_equal(warprsa_queue_wait(s.queue, good.ticket, good.output),
                     WARPRSA_DONE);
    assert_true(fake_is_right(&good));
    assert_int_equal(s.c->cpu_reason[WARPRSA_CPU_UNSUPPORTED_KEY], 1);
    assert_int_equal(s.c->device_losses, 0);
    warprsa_key_release(other);
    tear_down(&s);
}

TEST_IN(a_device_that_fails_while_loading_a_key, reset, NULL)
{
    setting s = set_up(1, LONG_MS);
    fake_request r;

    FAKE_SET(load_status, WARPRSA_DEVICE_ERROR);
    assert_int_equal(one(&s, &r), WARPRSA_REFUSED);
    assert_int_equal(s.c->cpu_reason[WARPRSA_CPU_ERROR], 1);
    assert_int_equal(s.c->device_losses, 1);
    FAKE_SET(load_status, WARPRSA_OK);
    is_used_again(&s);
    assert_int_equal(fake.opens, 2);
    tear_down(&s);
}

TEST_IN(a_failed_check_is_never_released, reset, NULL)
{
    setting s = set_up(1, LONG_MS);
    uint8_t untouched[WARPRSA_MODULUS_BYTES_MAX] = {0};
    fake_request r;

    FAKE_SET(bad_checks, 1);
    assert_int_equal(one(&s, &r), WARPRSA_REFUSED);
    assert_memory_equal(r.output, untouched, sizeof(untouched));
    assert_int_equal(s.c->cpu_reason[WARPRSA_CPU_CHECK_FAILED], 1);
    assert_int_equal(s.c->checks_failed, 1);
    assert_int_equal(s.c->gpu[WARPRSA_CLASS_2048], 0);
    assert_int_equal(one(&s, &r), WARPRSA_DONE);
    assert_int_equal(s.c->device_losses, 0);
    tear_down(&s);
}

/* With two devices the loss of one leaves the queue ready. */
TEST_IN(the_other_device_carries_on, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    setting s = {.config = config, .c = config.counters};
    char text[WARPRSA_COUNTERS_TEXT];
    fake_request r;

    FAKE_SET(devices, 2);
    s.queue = fake_ready_queue(&s.config);
    s.key = fake_add_key(s.queue, WARPRSA_CLASS_2048, 1);
    WAIT_UNTIL(s.c->devices == 2);
    FAKE_SET(open_failures, 1);
    FAKE_SET(wait_failures, 1);
    assert_int_equal(one(&s, &r), WARPRSA_REFUSED);
    assert_int_equal(warprsa_queue_wait_ready(s.queue, 0), WARPRSA_QUEUE_READY);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(one(&s, &r), WARPRSA_DONE);
    WAIT_UNTIL(s.c->devices == 2);
    assert_int_equal(s.c->device_losses, 1);
    warprsa_counters_device(s.c, text);
    assert_string_equal(text, "Fake (fake 0)");
    tear_down(&s);
    assert_int_equal(fake.opens, 3);
}

TEST_IN(no_device_at_all, reset, NULL)
{
    setting s = {.config = fake_config()};
    char text[WARPRSA_COUNTERS_TEXT];
    fake_request r;

    FAKE_SET(devices, 0);
    s.c = s.config.counters;
    s.queue = fake_open_queue(&s.config);
    assert_int_equal(warprsa_queue_wait_ready(s.queue, LONG_MS),
                     WARPRSA_QUEUE_DOWN);
    s.key = fake_add_key(s.queue, WARPRSA_CLASS_2048, 1);
    assert_int_equal(one(&s, &r), WARPRSA_REFUSED);
    assert_int_equal(s.c->cpu_reason[WARPRSA_CPU_NO_DEVICE], 1);
    warprsa_counters_device(s.c, text);
    assert_string_equal(text, "none: no fake device");
    tear_down(&s);
    assert_int_equal(fake.opens, 0);
}

TEST_IN(none_of_the_devices_chosen, reset, NULL)
{
    setting s = {.config = fake_config()};
    char text[WARPRSA_COUNTERS_TEXT];

    s.config.engines[0].devices = 1u << 5;
    s.queue = fake_open_queue(&s.config);
    assert_int_equal(warprsa_queue_wait_ready(s.queue, LONG_MS),
                     WARPRSA_QUEUE_DOWN);
    warprsa_counters_device(s.config.counters, text);
    assert_string_equal(text, "none: none of the 1 devices is chosen");
    fake_finish(s.queue, &s.config);
}

/* Down until it opens at last. */
TEST_IN(a_device_that_opens_late, reset, NULL)
{
    setting s = {.config = fake_config()};
    fake_request r;

    s.config.deadline_ms = 20; /* sets the first pause, too */
    FAKE_SET(open_failures, 2);
    FAKE_SET(hold_open, true);
    s.c = s.config.counters;
    s.queue = fake_open_queue(&s.config);
    s.key = fake_add_key(s.queue, WARPRSA_CLASS_2048, 1);
    FAKE_WAIT(fake.waiting == 1);
    assert_int_equal(warprsa_queue_wait_ready(s.queue, 1),
                     WARPRSA_QUEUE_STARTING);
    assert_int_equal(one(&s, &r), WARPRSA_REFUSED);
    assert_int_equal(s.c->cpu_reason[WARPRSA_CPU_STARTING], 1);
    FAKE_SET(hold_open, false);
    is_used_again(&s);
    assert_int_equal(s.c->device_losses, 0);
    tear_down(&s);
}

/* How many lines with a certain word the tracer got. */
typedef struct traced {
    const char *word;
    _Atomic unsigned lines;
} traced;

static void count_lines(void *arg, int level, const char *line)
{
    traced *t = arg;

    if (strstr(line, t->word) != NULL)
        atomic_fetch_add(&t->lines, 1);
}

/* The clock of this program, moved on by so many seconds. */
static _Atomic time_t moved_on_s;
int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    const int result = __real_clock_gettime(clock, time);

    time->tv_sec += atomic_load(&moved_on_s);
    return result;
}

/* A driver may have to compile the kernels, for a GPU that is newer than they
 * are. After ten seconds the trace says so, once. No request waits for it. */
TEST_IN(a_device_that_opens_slowly, reset, NULL)
{
    setting s = {.config = fake_config()};
    traced t = {.word = "still being opened"};
    fake_request r;

    s.config.engines[0].streams = 3;
    s.config.deadline_ms = 10;
    s.config.trace = count_lines;
    s.config.trace_arg = &t;
    FAKE_SET(hold_open, true);
    s.c = s.config.counters;
    s.queue = fake_open_queue(&s.config);
    s.key = fake_add_key(s.queue, WARPRSA_CLASS_2048, 1);
    FAKE_WAIT(fake.waiting == 1);
    assert_int_equal(one(&s, &r), WARPRSA_REFUSED);
    assert_int_equal(t.lines, 0);
    atomic_store(&moved_on_s, 11);
    WAIT_UNTIL(t.lines == 1);
    atomic_store(&moved_on_s, 0);
    assert_int_equal(one(&s, &r), WARPRSA_REFUSED);
    assert_int_equal(s.c->cpu_reason[WARPRSA_CPU_STARTING], 2);
    FAKE_SET(hold_open, false);
    is_used_again(&s);
    assert_int_equal(t.lines, 1);
    tear_down(&s);
}

/* Like a GPU whose context has died: CUDA does not take it back in the same
 * process. It is tried again and again, and traced once. */
TEST_IN(a_device_that_is_gone_for_good, reset, NULL)
{
    setting s = {.config = fake_config()};
    traced t = {.word = "not opened"};
    fake_request r;

    s.config.trace = count_lines;
    s.config.trace_arg = &t;
    s.c = s.config.counters;
    s.queue = fake_ready_queue(&s.config);
    s.key = fake_add_key(s.queue, WARPRSA_CLASS_2048, 1);
    FAKE_SET(open_failures, 2);
    FAKE_SET(wait_failures, 1);
    assert_int_equal(one(&s, &r), WARPRSA_REFUSED);
    FAKE_WAIT(fake.open_failures == 0);
    is_used_again(&s);
    assert_int_equal(t.lines, 1);
    assert_int_equal(s.c->device_losses, 1);
    tear_down(&s);
}

TEST_IN(a_device_lost_to_the_process, reset, NULL)
{
    setting s = set_up(2, LONG_MS);
    fake_request r;

    assert_false(warprsa_queue_has_lost_device(s.queue));
    FAKE_SET(open_failures, 1000000);
    FAKE_SET(wait_failures, 1);
    assert_int_equal(one(&s, &r), WARPRSA_REFUSED);
    WAIT_UNTIL(warprsa_queue_has_lost_device(s.queue));
    FAKE_SET(open_failures, 0);
    is_used_again(&s);
    assert_false(warprsa_queue_has_lost_device(s.queue));
    tear_down(&s);
}

/* One that misses its deadline may still come back, and counts as lost only
 * when it takes too long. */
TEST_IN(a_device_that_hangs_is_lost, reset, NULL)
{
    setting s = set_up(2, 40);
    fake_request r;

    FAKE_SET(hold, true);
    assert_int_equal(one(&s, &r), WARPRSA_REFUSED);
    assert_false(warprsa_queue_has_lost_device(s.queue));
    WAIT_UNTIL(warprsa_queue_has_lost_device(s.queue));
    FAKE_SET(hold, false);
    is_used_again(&s);
    assert_false(warprsa_queue_has_lost_device(s.queue));
    tear_down(&s);
}

/* Submits a request of a caller that does not sleep, with whose key the driver
 * hangs. */
static void hang_with(setting *s, fake_request *r, _Atomic unsigned *woken)
{
    FAKE_SET(hold_load, true);
    fake_fill(r, WARPRSA_CLASS_2048, 1, 1);
    assert_int_equal(warprsa_queue_submit(
                         s->queue, s->key, r->input,
                         (warprsa_notify){.wake = wake_counter, .arg = woken},
                         &r->ticket),
                     WARPRSA_DONE);
    FAKE_WAIT(fake.waiting == 1);
}

/* A worker that hangs in its driver cannot notify its callers; another worker
 * does. */
TEST_IN(callers_of_a_hanging_driver_are_told, reset, NULL)
{
    setting s = set_up(2, 40);
    _Atomic unsigned woken = 0;
    fake_request r, blocked;

    hang_with(&s, &r, &woken);
    WAIT_UNTIL(woken == 1);
    assert_int_equal(warprsa_queue_collect(s.queue, r.ticket, r.output, NULL),
                     WARPRSA_REFUSED);
    assert_int_equal(one(&s, &blocked), WARPRSA_REFUSED);
    /* The second one may find the device out of use already. */
    assert_int_equal(s.c->cpu_reason[WARPRSA_CPU_DEADLINE] +
                         s.c->cpu_reason[WARPRSA_CPU_NO_DEVICE],
                     2);
    FAKE_SET(hold_load, false);
    WAIT_UNTIL(warprsa_queue_depth(s.queue) == 0);
    assert_int_equal(woken, 1);
    is_used_again(&s);
    tear_down(&s);
}

/* If it is the only worker, a thread of the program does. */
TEST_IN(a_tick_tells_callers_of_the_only_worker, reset, NULL)
{
    setting s = set_up(1, 40);
    _Atomic unsigned woken = 0;
    fake_request r;

    hang_with(&s, &r, &woken);
    WAIT_UNTIL((warprsa_queue_tick(s.queue), woken == 1));
    assert_int_equal(warprsa_queue_collect(s.queue, r.ticket, r.output, NULL),
                     WARPRSA_REFUSED);
    assert_int_equal(s.c->cpu_reason[WARPRSA_CPU_DEADLINE], 1);
    assert_int_equal(fake.waiting, 1);
    warprsa_queue_tick(s.queue);
    FAKE_SET(hold_load, false);
    WAIT_UNTIL(warprsa_queue_depth(s.queue) == 0);
    assert_int_equal(woken, 1);
    is_used_again(&s);
    tear_down(&s);
}

/* A driver that hangs with one key holds up no answer of another batch. */
TEST_IN(a_hanging_key_holds_up_no_answer, reset, NULL)
{
    setting s = set_up(2, LONG_MS);
    warprsa_key *other = fake_add_key(s.queue, WARPRSA_CLASS_2048, 2);
    fake_request running, loading;

    assert_int_equal(one(&s, &running), WARPRSA_DONE);
    FAKE_SET(hold, true);
    fake_fill(&running, WARPRSA_CLASS_2048, 1, 1);
    fake_fill(&loading, WARPRSA_CLASS_2048, 2, 2);
    assert_int_equal(fake_submit(s.queue, s.key, &running), WARPRSA_DONE);
    FAKE_WAIT(fake.running == 1);
    FAKE_SET(hold_load, true);
    assert_int_equal(fake_submit(s.queue, other, &loading), WARPRSA_DONE);
    FAKE_WAIT(fake.waiting == 1);
    FAKE_SET(hold, false);
    assert_int_equal(
        warprsa_queue_wait(s.queue, running.ticket, running.output),
        WARPRSA_DONE);
    assert_true(fake_is_right(&running));
    assert_int_equal(fake.waiting, 1);
    FAKE_SET(hold_load, false);
    assert_int_equal(
        warprsa_queue_wait(s.queue, loading.ticket, loading.output),
        WARPRSA_DONE);
    warprsa_key_release(other);
    tear_down(&s);
}

/* ... and a second thread that comes to load one does not wait for ever: the
 * device is out of use until the first is back. */
TEST_IN(a_hanging_key_takes_the_device_out, reset, NULL)
{
    setting s = set_up(2, 100);
    warprsa_key *other = fake_add_key(s.queue, WARPRSA_CLASS_2048, 2);
    _Atomic unsigned woken = 0;
    fake_request a, b;

    FAKE_SET(hold_load, true);
    fake_fill(&a, WARPRSA_CLASS_2048, 1, 1);
    fake_fill(&b, WARPRSA_CLASS_2048, 2, 2);
    assert_int_equal(warprsa_queue_submit(
                         s.queue, s.key, a.input,
                         (warprsa_notify){.wake = wake_counter, .arg = &woken},
                         &a.ticket),
                     WARPRSA_DONE);
    FAKE_WAIT(fake.waiting == 1);
    assert_int_equal(warprsa_queue_submit(
                         s.queue, other, b.input,
                         (warprsa_notify){.wake = wake_counter, .arg = &woken},
                         &b.ticket),
                     WARPRSA_DONE);
    WAIT_UNTIL(woken == 2);
    assert_int_equal(warprsa_queue_collect(s.queue, a.ticket, a.output, NULL),
                     WARPRSA_REFUSED);
    assert_int_equal(warprsa_queue_collect(s.queue, b.ticket, b.output, NULL),
                     WARPRSA_REFUSED);
    /* On a slow machine no worker had taken `b` yet when it expired. */
    while (s.c->device_losses == 0) {
        fake_fill(&b, WARPRSA_CLASS_2048, 2, 3);
        if (fake_submit(s.queue, other, &b) == WARPRSA_DONE)
            assert_int_equal(warprsa_queue_wait(s.queue, b.ticket, b.output),
                             WARPRSA_REFUSED);
    }
    WAIT_UNTIL(warprsa_queue_wait_ready(s.queue, 0) == WARPRSA_QUEUE_DOWN);
    assert_int_equal(s.c->device_losses, 1);
    FAKE_SET(hold_load, false);
    is_used_again(&s);
    assert_int_equal(woken, 2);
    warprsa_key_release(other);
    tear_down(&s);
}

/* A setting of the fake engine, that a call of it does not return. */
static void set_hold(bool *hold, bool value)
{
    pthread_mutex_lock(&fake.lock);
    *hold = value;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
}

/* The only worker hangs in a call of its driver. Its device stays in use for
 * longer than a deadline, which is how long the first request waits. Then the
 * device is out of use, though the call has not returned, and the next request
 * is refused at once. Once the call has returned, the device is tested and used
 * again. `released`: whether it hangs with a key that is released, before the
 * request. */
static void hang_in(bool *hold, bool released)
{
    setting s = set_up(1, 40);
    warprsa_key *doomed = fake_add_key(s.queue, WARPRSA_CLASS_2048, 7);
    fake_request r, next;
    uint64_t late;

    if (released)
        WAIT_UNTIL(fake_answer(s.queue, doomed, 7) == WARPRSA_DONE);
    late = s.c->cpu_reason[WARPRSA_CPU_DEADLINE];
    set_hold(hold, true);
    warprsa_key_release(doomed);
    if (released)
        FAKE_WAIT(fake.waiting == 1);
    fake_fill(&r, WARPRSA_CLASS_2048, 1, 1);
    assert_int_equal(fake_submit(s.queue, s.key, &r), WARPRSA_DONE);
    FAKE_WAIT(fake.waiting == 1);
    assert_int_equal(warprsa_queue_wait(s.queue, r.ticket, r.output),
                     WARPRSA_REFUSED);
    assert_int_equal(s.c->cpu_reason[WARPRSA_CPU_DEADLINE], late + 1);
    assert_int_equal(s.c->device_losses, 0);
    WAIT_UNTIL((warprsa_queue_tick(s.queue),
                warprsa_queue_wait_ready(s.queue, 0) == WARPRSA_QUEUE_DOWN));
    assert_int_equal(s.c->device_losses, 1);
    fake_fill(&next, WARPRSA_CLASS_2048, 1, 2);
    assert_int_equal(fake_submit(s.queue, s.key, &next), WARPRSA_REFUSED);
    assert_int_equal(s.c->cpu_reason[WARPRSA_CPU_NO_DEVICE], 1);
    WAIT_UNTIL(
        (warprsa_queue_tick(s.queue), warprsa_queue_has_lost_device(s.queue)));
    assert_int_equal(fake.waiting, 1);
    assert_int_equal(fake.self_tests, 0);
    set_hold(hold, false);
    is_used_again(&s);
    assert_int_equal(fake.self_tests, 1);
    assert_int_equal(fake.opens, 1);
    assert_int_equal(s.c->device_losses, 1);
    tear_down(&s);
}

TEST_IN(a_driver_that_hangs_with_a_new_key, reset, NULL)
{
    hang_in(&fake.hold_load, false);
}

TEST_IN(a_driver_that_hangs_with_an_old_key, reset, NULL)
{
    hang_in(&fake.hold_unload, true);
}

TEST_IN(a_driver_that_hangs_as_it_starts_a_batch, reset, NULL)
{
    hang_in(&fake.hold_start, false);
}

TEST_IN(a_driver_that_hangs_as_it_is_asked_for_a_batch, reset, NULL)
{
    hang_in(&fake.hold_wait, false);
}

/* How often the only device of this engine is lost if start() takes twice the
 * deadline for a key of this class, as the clock says. */
static uint64_t losses_by_a_long_start(const warprsa_engine *engine,
                                       warprsa_size_class size)
{
    setting s = {.config = fake_config()};
    uint64_t losses;
    fake_request r;

    s.config.engines[0].engine = engine;
    s.c = s.config.counters;
    s.queue = fake_ready_queue(&s.config);
    s.key = fake_add_key(s.queue, size, 1);
    FAKE_SET(hold_start, true);
    fake_fill(&r, size, 1, 1);
    assert_int_equal(fake_submit(s.queue, s.key, &r), WARPRSA_DONE);
    FAKE_WAIT(fake.waiting == 1);
    atomic_store(&moved_on_s, 2 * LONG_MS / 1000);
    warprsa_queue_tick(s.queue);
    atomic_store(&moved_on_s, 0);
    losses = s.c->device_losses;
    FAKE_SET(hold_start, false);
    assert_int_equal(warprsa_queue_wait(s.queue, r.ticket, r.output),
                     WARPRSA_DONE);
    is_used_again(&s);
    tear_down(&s);
    return losses;
}

/* CPUs compute in start(), for as long as that takes, and hosts have no driver
 * here. */
TEST_IN(only_a_driver_can_hang, reset, NULL)
{
    const warprsa_size_class size = WARPRSA_CLASS_2048;

    assert_int_equal(losses_by_a_long_start(fake_engine_get(), size), 1);
    assert_int_equal(losses_by_a_long_start(fake_engine_hosts(), size), 0);
    assert_int_equal(losses_by_a_long_start(fake_engine_cpus(), size), 0);
}

/* The first batch of a large class may wait for the driver to compile. A
 * process that is replaced meanwhile would never get beyond it. */
TEST_IN(a_large_class_takes_its_time, reset, NULL)
{
    assert_int_equal(
        losses_by_a_long_start(fake_engine_get(), WARPRSA_CLASS_6144), 0);
}

/* The driver may have other threads wait meanwhile. */
TEST_IN(a_large_class_takes_others_time, reset, NULL)
{
    setting s = set_up(2, LONG_MS);
    warprsa_key *large = fake_add_key(s.queue, WARPRSA_CLASS_6144, 2);
    fake_request first, second;

    FAKE_SET(hold_start, true);
    fake_fill(&first, WARPRSA_CLASS_6144, 2, 1);
    assert_int_equal(fake_submit(s.queue, large, &first), WARPRSA_DONE);
    FAKE_WAIT(fake.waiting == 1);
    fake_fill(&second, WARPRSA_CLASS_2048, 1, 2);
    assert_int_equal(fake_submit(s.queue, s.key, &second), WARPRSA_DONE);
    FAKE_WAIT(fake.waiting == 2);
    atomic_store(&moved_on_s, 2 * LONG_MS / 1000);
    warprsa_queue_tick(s.queue);
    atomic_store(&moved_on_s, 0);
    assert_int_equal(s.c->device_losses, 0);
    FAKE_SET(hold_start, false);
    assert_int_equal(warprsa_queue_wait(s.queue, first.ticket, first.output),
                     WARPRSA_DONE);
    assert_int_equal(warprsa_queue_wait(s.queue, second.ticket, second.output),
                     WARPRSA_DONE);
    warprsa_key_release(large);
    tear_down(&s);
}

RUN_TESTS(NULL, NULL)
