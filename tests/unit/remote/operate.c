/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A session of the network's server on a queue with a fake engine. HTTP/2 and
 * the map of identities are replaced by what stands here.
 */
#include "tests/unit/support/fake_queue.h"

#include "batching/remote/operate.h"

enum {
    OPERATIONS = 16,
    KEY = 3,
};

/* What the server has sent, and what the identity has in flight. */
static struct {
    uint8_t out[WARPRSA_REMOTE_PREFIX + WARPRSA_REMOTE_MESSAGE_MAX];
    unsigned messages, draining; /* all, and those that say it drains */
    unsigned ended;
    warprsa_grpc_status status;
    atomic_uint operations;
    atomic_uint pushed;
} seen;

uint8_t *warprsa_http2_reserve(warprsa_http2_stream *stream, size_t room)
{
    assert_non_null(stream);
    assert_true(room <= sizeof(seen.out));
    return seen.out;
}

void warprsa_http2_sent(warprsa_http2_stream *stream, size_t size)
{
    uint8_t draining[16];

    assert_non_null(stream);
    assert_true(size > WARPRSA_REMOTE_PREFIX);
    assert_int_equal(seen.ended, 0);
    seen.messages++;
    seen.draining +=
        size == warprsa_remote_write_draining(draining, sizeof(draining)) &&
        memcmp(seen.out, draining, size) == 0;
}

void warprsa_http2_finish(warprsa_http2_stream *stream,
                          warprsa_grpc_status status, const char *text)
{
    assert_non_null(stream);
    assert_non_null(text);
    seen.status = status;
    seen.ended++;
}

bool warprsa_identity_begin_operation(warprsa_identity *identity,
                                      uint64_t now_ns)
{
    (void)identity;
    (void)now_ns;
    atomic_fetch_add(&seen.operations, 1);
    return true;
}

void warprsa_identity_end_operation(warprsa_identity *identity)
{
    (void)identity;
    atomic_fetch_sub(&seen.operations, 1);
}

/* A stack, as the server's threads have it. */
static _Atomic(warprsa_operate_pending *) answered;

static void push_answered(warprsa_operate_host *host,
                          warprsa_operate_pending *pending)
{
    (void)host;
    pending->next = atomic_load(&answered);
    while (!atomic_compare_exchange_weak(&answered, &pending->next, pending))
        ;
    atomic_fetch_add(&seen.pushed, 1);
}

static bool key_id(const warprsa_private_key *key,
                   uint8_t id[WARPRSA_KEY_ID_BYTES])
{
    memset(id, key->n[sizeof(key->n) - 1], WARPRSA_KEY_ID_BYTES);
    return true;
}

static warprsa_operate_host host = {
    .deadline_ms = LONG_MS,
    .key_id = key_id,
    .push_answered = push_answered,
};
static warprsa_identity identity;
static warprsa_http2_stream stream;

static void send(warprsa_operate *session, const uint8_t *message, size_t size)
{
    assert_true(size > WARPRSA_REMOTE_PREFIX);
    assert_null(warprsa_operate_message(session,
                                        message + WARPRSA_REMOTE_PREFIX,
                                        size - WARPRSA_REMOTE_PREFIX));
}

static void load_key(warprsa_operate *session)
{
    const warprsa_private_key key = fake_key(WARPRSA_CLASS_2048, 1);
    uint8_t message[sizeof(key) + 128];

    send(session, message,
         warprsa_remote_write_load_key(message, sizeof(message), KEY, &key));
    assert_int_equal(session->keys[KEY].status, WARPRSA_REMOTE_OK);
}

/* A session with a key, of a queue that is ready. */
static warprsa_operate *begin(const warprsa_queue_config *config)
{
    warprsa_operate *session;

    memset(&seen, 0, sizeof(seen));
    fake_reset();
    host.queue = fake_ready_queue(config);
    atomic_store(&identity.keys_max, KEY + 1);
    atomic_store(&identity.operations_max, OPERATIONS);
    session = warprsa_operate_new(&host, &stream, &identity);
    assert_non_null(session);
    load_key(session);
    return session;
}

/* Sends one operation. */
static void operate(warprsa_operate *session, uint32_t id)
{
    const uint8_t input[WARPRSA_MODULUS_BYTES_MAX] = {0};
    const warprsa_remote_operation operation = {
        .id = id, .key = KEY, .bytes = 256, .input = input};
    uint8_t message[WARPRSA_REMOTE_PREFIX + 64 + WARPRSA_REMOTE_OPERATION_MAX];

    send(session, message,
         warprsa_remote_write_operations(message, sizeof(message), &operation,
                                         1));
}

/* Takes back what was pushed, until nothing is in flight. */
static void drain(warprsa_operate *session)
{
    while (session->in_flight > 0) {
        warprsa_operate_pending *p, *next;

        WAIT_UNTIL(atomic_load(&answered) != NULL);
        for (p = atomic_exchange(&answered, NULL); p != NULL; p = next) {
            next = p->next;
            warprsa_operate_answered(p);
        }
        assert_true(warprsa_operate_flush(session));
    }
}

/* Of a client that has gone, a batch under way is the last that is computed. */
static void what_is_queued_ends_with_the_session(void **state)
{
    warprsa_queue_config config = fake_config();
    warprsa_operate *session;

    (void)state;
    config.engines[0].batch_max = 1;
    session = begin(&config);
    FAKE_SET(hold, true);
    operate(session, 0);
    FAKE_WAIT(fake.running == 1);
    for (uint32_t i = 1; i < OPERATIONS; i++)
        operate(session, i);
    assert_int_equal(session->in_flight, OPERATIONS);
    assert_int_equal(seen.ended, 0);
    warprsa_operate_closed(session);
    assert_null(session->stream);
    assert_int_equal(session->in_flight, 0);
    assert_int_equal(seen.operations, 0);
    warprsa_operate_free(session);
    FAKE_SET(hold, false);
    fake_close_queue(host.queue, &config);
    assert_int_equal(fake.batches, 1);
    assert_int_equal(seen.pushed, 0);
    warprsa_counters_free(config.counters);
}

/* One that was answered, and whose answer the thread has not seen yet, is
 * collected as ever. */
static void an_answer_that_is_there_is_collected(void **state)
{
    warprsa_queue_config config = fake_config();
    warprsa_operate *session = begin(&config);

    (void)state;
    for (uint32_t i = 0; i < OPERATIONS; i++)
        operate(session, i);
    WAIT_UNTIL(atomic_load(&seen.pushed) == OPERATIONS);
    warprsa_operate_closed(session);
    assert_int_equal(session->in_flight, OPERATIONS);
    drain(session);
    assert_int_equal(seen.operations, 0);
    warprsa_operate_free(session);
    fake_close_queue(host.queue, &config);
    assert_int_equal(fake_sum(config.counters->gpu, WARPRSA_CLASSES),
                     OPERATIONS);
    warprsa_counters_free(config.counters);
}

/* The host begins to drain before the session is told: answers collected in
 * between don't end the call. */
static void who_is_there_is_told_before_the_end(void **state)
{
    warprsa_queue_config config = fake_config();
    warprsa_operate *session = begin(&config);

    (void)state;
    operate(session, 0);
    host.draining = true;
    operate(session, 1); /* refused, in a message of its own */
    drain(session);
    assert_int_equal(seen.messages, 4); /* with the welcome and the key's */
    assert_int_equal(seen.draining, 0);
    assert_int_equal(seen.ended, 0);
    warprsa_operate_drain(session);
    assert_int_equal(seen.draining, 1);
    assert_int_equal(seen.ended, 1);
    assert_int_equal(seen.status, WARPRSA_GRPC_UNAVAILABLE);
    host.draining = false;
    warprsa_operate_free(session);
    fake_close_queue(host.queue, &config);
    warprsa_counters_free(config.counters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_queued_ends_with_the_session),
        cmocka_unit_test(an_answer_that_is_there_is_collected),
        cmocka_unit_test(who_is_there_is_told_before_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
