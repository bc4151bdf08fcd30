/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A device that adds streams while all others are busy: how many it has, what
 * their batches may hold, and what happens without memory or threads for them.
 */
#include "tests/unit/support/fake_queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "batching/queue/queue_core.h"
#include "batching/queue/queue_device.h"

enum {
    STREAMS = 24,
    BATCH_MAX = 64,
    ADDED_BATCH_MAX = BATCH_MAX / WARPRSA_ADDED_STREAM_SHARE,
    LINES_MAX = 64,
};

static pthread_mutex_t lines_lock = PTHREAD_MUTEX_INITIALIZER;
static char lines[LINES_MAX][160];
static unsigned line_count;

static void keep_line(void *arg, int level, const char *line)
{
    (void)arg;
    if (level > 1)
        return;
    pthread_mutex_lock(&lines_lock);
    if (line_count < LINES_MAX)
        snprintf(lines[line_count++], sizeof(lines[0]), "%s", line);
    pthread_mutex_unlock(&lines_lock);
}

/* How many lines of the trace have this in them. */
static unsigned traced(const char *what)
{
    unsigned count = 0;

    pthread_mutex_lock(&lines_lock);
    for (unsigned i = 0; i < line_count; i++)
        count += strstr(lines[i], what) != NULL;
    pthread_mutex_unlock(&lines_lock);
    return count;
}

static _Atomic bool refuses_threads;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *arg)
{
    return atomic_load(&refuses_threads)
               ? EAGAIN
               : __real_pthread_create(thread, attributes, start, arg);
}

/* A queue whose device may add streams, with a key, and whose batches do not
 * end. Its first workers are idle. */
typedef struct subject {
    warprsa_queue_config config;
    warprsa_queue *queue;
    warprsa_key *key;
    fake_request *request[STREAMS + 1];
    unsigned submitted;
} subject;

static void wait_for_idle(const subject *s)
{
    WAIT_UNTIL(atomic_load(&s->queue->activity[0].eventcount.idle) ==
               WARPRSA_FIRST_STREAMS);
}

static void open_subject(subject *s)
{
    memset(s, 0, sizeof(*s));
    line_count = 0;
    atomic_store(&refuses_threads, false);
    s->config = fake_config();
    s->config.engines[0].engine = fake_engine_adding();
    s->config.engines[0].streams = STREAMS;
    s->config.engines[0].batch_max = BATCH_MAX;
    s->config.slots = 4 * BATCH_MAX;
    s->config.trace = keep_line;
    s->queue = fake_ready_queue(&s->config);
    s->key = fake_add_key(s->queue, WARPRSA_CLASS_2048, 1);
    wait_for_idle(s);
}

/* The key has been loaded, and batches do not end from now on. */

static void begin(subject *s)
{
    open_subject(s);
    fake_wait_for_all(
        s->queue, fake_submit_many(s->queue, s->key, WARPRSA_CLASS_2048, 1, 1),
        1);
    wait_for_idle(s);
    FAKE_SET(added, 0);
    FAKE_SET(batches, 0);
    FAKE_SET(hold, true);
}

static void submit_one(subject *s)
{
    s->request[s->submitted++] =
        fake_submit_many(s->queue, s->key, WARPRSA_CLASS_2048, 1, 1);
}

/* As many batches of one request under way as that. */
static void make_busy(subject *s, unsigned batches)
{
    while (s->submitted < batches) {
        submit_one(s);
        FAKE_WAIT(fake.running == s->submitted);
    }
}

static void finish(subject *s)
{
    FAKE_SET(hold, false);
    while (s->submitted > 0)
        fake_wait_for_all(s->queue, s->request[--s->submitted], 1);
    warprsa_key_release(s->key);
    fake_finish(s->queue, &s->config);
}

/* The streams of the batches so far, a bit each. */
static uint32_t streams_used(void)
{
    uint32_t used = 0;

    pthread_mutex_lock(&fake.lock);
    for (unsigned i = 0; i < fake.batches; i++)
        used |= UINT32_C(1) << fake.log[i].stream;
    pthread_mutex_unlock(&fake.lock);
    return used;
}

static unsigned threads_of(const subject *s)
{
    warprsa_queue_device *device = &s->queue->devices[0];
    unsigned threads;

    pthread_mutex_lock(&device->lock);
    threads = device->threads;
    pthread_mutex_unlock(&device->lock);
    return threads;
}

/* A device has all streams when it is opened, and as many threads as it has
 * first ones. While one worker stays idle, no thread is started, which would
 * ask for its stream. */
TEST_IN(few_requests_use_few_streams, reset, NULL)
{
    subject s;

    begin(&s);
    make_busy(&s, WARPRSA_FIRST_STREAMS - 1);
    assert_int_equal(threads_of(&s), WARPRSA_FIRST_STREAMS);
    assert_int_equal(fake.added, 0);
    finish(&s);
}

/* Each batch that leaves no worker idle has another stream added, up to what is
 * configured. The request beyond that waits for the end of a batch. */
TEST_IN(streams_follow_the_load, reset, NULL)
{
    subject s;

    begin(&s);
    make_busy(&s, STREAMS);
    assert_int_equal(streams_used(), (1u << STREAMS) - 1);
    assert_int_equal(fake.added, STREAMS - WARPRSA_FIRST_STREAMS);
    assert_int_equal(threads_of(&s), STREAMS);
    submit_one(&s);
    FAKE_SET(let_end, 1);
    FAKE_WAIT(fake.batches == STREAMS + 1);
    assert_int_equal(fake.running, STREAMS);
    finish(&s);
    assert_int_equal(traced("at once"), 0);
}

/* What waits for a stream to be added goes in batches that it has memory for;
 * one of the first streams takes all. */
TEST_IN(added_streams_have_shorter_batches, reset, NULL)
{
    enum {
        MANY = 3 * ADDED_BATCH_MAX
    };
    fake_request *many, *others;
    unsigned sum = 0;
    subject s;

    begin(&s);
    FAKE_SET(hold_add, true);
    make_busy(&s, WARPRSA_FIRST_STREAMS);
    many = fake_submit_many(s.queue, s.key, WARPRSA_CLASS_2048, 1, MANY);
    FAKE_WAIT(fake.waiting == 1); /* it has been started, and adds its stream */
    FAKE_SET(let_end, 1);
    FAKE_WAIT(fake.batches == WARPRSA_FIRST_STREAMS + 1);
    assert_int_equal(fake.log[WARPRSA_FIRST_STREAMS].count, MANY);

    others = fake_submit_many(s.queue, s.key, WARPRSA_CLASS_2048, 1, MANY);
    FAKE_SET(hold_add, false);
    FAKE_WAIT(fake.batches == WARPRSA_FIRST_STREAMS + 4);
    for (unsigned i = 1; i <= 3; i++) {
        assert_in_range(fake.log[WARPRSA_FIRST_STREAMS + i].stream,
                        WARPRSA_FIRST_STREAMS, STREAMS - 1);
        sum += (unsigned)fake.log[WARPRSA_FIRST_STREAMS + i].count;
    }
    assert_int_equal(sum, MANY);
    FAKE_SET(hold, false);
    fake_wait_for_all(s.queue, many, MANY);
    fake_wait_for_all(s.queue, others, MANY);
    finish(&s);
}

/* Without memory for stream `fails_at` and later ones those below it go on,
 * nothing is refused, and one line says so. Once there is memory, and a second
 * has passed, the stream is added after all. */
static void goes_on_without(unsigned fails_at)
{
    subject s;

    fake.add_fails_at = fails_at;
    fake.add_status = WARPRSA_NO_MEMORY;
    open_subject(&s);
    FAKE_SET(hold, true);
    make_busy(&s, fails_at);
    submit_one(&s);
    WAIT_UNTIL(threads_of(&s) == fails_at &&
               traced("no memory for more than") == 1);
    assert_int_equal(fake.batches, fails_at);
    FAKE_SET(let_end, 1);
    FAKE_WAIT(fake.batches == fails_at + 1);
    assert_int_equal(streams_used(), (1u << fails_at) - 1);

    FAKE_SET(add_fails_at, 0);
    atomic_store(&s.queue->devices[0].another_ns, 0);
    FAKE_SET(let_end, 2);
    FAKE_WAIT(fake.running == fails_at - 1);
    submit_one(&s); /* all are busy again, and the next stream is added */
    FAKE_WAIT(fake.running == fails_at);
    submit_one(&s);
    FAKE_WAIT(fake.running == fails_at + 1);
    assert_int_equal(streams_used(), (1u << (fails_at + 1)) - 1);
    finish(&s);
    assert_int_equal(traced("no memory for more than"), 1);
}

/* A device that is opened with fewer than the first streams. */
TEST_IN(goes_on_without_memory_for_first_ones, reset, NULL)
{
    for (unsigned fails_at = 1; fails_at < WARPRSA_FIRST_STREAMS; fails_at++) {
        fake_reset();
        goes_on_without(fails_at);
    }
}

TEST_IN(goes_on_without_memory_for_any, reset, NULL)
{
    goes_on_without(WARPRSA_FIRST_STREAMS);
}

TEST_IN(goes_on_without_memory_for_later_ones, reset, NULL)
{
    for (unsigned fails_at = WARPRSA_FIRST_STREAMS + 1; fails_at < STREAMS - 1;
         fails_at += 6) {
        fake_reset();
        goes_on_without(fails_at);
    }
}

/* A device on which no stream can be added because it has failed is opened
 * again, and adds them then. */
TEST_IN(a_failure_while_adding_is_the_devices, reset, NULL)
{
    fake_request *more;
    subject s;

    begin(&s);
    make_busy(&s, WARPRSA_FIRST_STREAMS + 1);
    fake.add_fails_at = WARPRSA_FIRST_STREAMS + 1;
    fake.add_status = WARPRSA_DEVICE_ERROR;
    more = fake_submit_many(s.queue, s.key, WARPRSA_CLASS_2048, 1, 1);
    WAIT_UNTIL(s.config.counters->device_losses == 1);
    FAKE_SET(add_fails_at, 0);
    FAKE_SET(hold, false);
    for (unsigned i = 0; i < s.submitted; i++) {
        (void)warprsa_queue_wait(s.queue, s.request[i]->ticket,
                                 s.request[i]->output);
        free(s.request[i]);
    }
    (void)warprsa_queue_wait(s.queue, more->ticket, more->output);
    free(more);
    s.submitted = 0;
    FAKE_WAIT(fake.opens == 2);
    assert_int_equal(warprsa_queue_wait_ready(s.queue, LONG_MS),
                     WARPRSA_QUEUE_READY);
    FAKE_SET(added, 0);
    FAKE_SET(batches, 0);
    FAKE_SET(hold, true);
    make_busy(&s, STREAMS);
    assert_int_equal(streams_used(), (1u << STREAMS) - 1);
    assert_int_equal(fake.added, STREAMS - WARPRSA_FIRST_STREAMS);
    finish(&s);
}

/* A process that may start no more threads goes on with those that it has. */
TEST_IN(goes_on_without_threads, reset, NULL)
{
    subject s;

    begin(&s);
    atomic_store(&refuses_threads, true);
    make_busy(&s, WARPRSA_FIRST_STREAMS);
    submit_one(&s);
    WAIT_UNTIL(traced("no thread for more than 4 of 24 batches") == 1);
    assert_int_equal(fake.batches, WARPRSA_FIRST_STREAMS);
    FAKE_SET(let_end, 1);
    FAKE_WAIT(fake.batches == WARPRSA_FIRST_STREAMS + 1);
    assert_int_equal(threads_of(&s), WARPRSA_FIRST_STREAMS);
    finish(&s);
    atomic_store(&refuses_threads, false);
}

/* A queue is closed while a stream is being added: the thread ends first. */
static void *close_queue(void *arg)
{
    subject *s = arg;

    finish(s);
    return NULL;
}

TEST_IN(a_queue_closes_while_a_stream_is_added, reset, NULL)
{
    pthread_t thread;
    subject s;

    begin(&s);
    FAKE_SET(hold_add, true);
    make_busy(&s, WARPRSA_FIRST_STREAMS);
    submit_one(&s);
    FAKE_WAIT(fake.waiting == 1);
    assert_int_equal(pthread_create(&thread, NULL, close_queue, &s), 0);
    WAIT_UNTIL(atomic_load(&s.queue->board.closing));
    FAKE_SET(hold_add, false);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

RUN_TESTS(NULL, NULL)
