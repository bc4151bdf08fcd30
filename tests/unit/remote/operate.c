/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A session of the gateway at a daemon's server with a fake engine. HTTP/2 and
 * the map of identities are those of fake_call.h.
 */
#include "tests/unit/support/fake_call.h"

#include <errno.h>
#include <sys/eventfd.h>

#include "batching/base/clock.h"
#include "batching/queue/queue_core.h"

enum {
    SLOTS = 16,
    KEYS = 3 * WARPRSA_SHM_MESSAGES,
    KEY = 3,
    TICK_MS = 1,
    ROUNDS = 60000,
};

/* What the gateway has sent. */
static struct {
    unsigned welcomes, keys_loaded, results, draining;
    unsigned right;    /* of the results */
    uint32_t last_key; /* of the last KeyLoaded */
    char why[256];
    warprsa_operate *closes; /* when a call is refused; NULL: none */
} seen;

/* The daemon reads no ATTACHED. */
static bool is_full;

bool __real_warprsa_control_connection_attached(
    const warprsa_control_connection *control, uint32_t number);
bool __wrap_warprsa_control_connection_attached(
    const warprsa_control_connection *control, uint32_t number);

bool __wrap_warprsa_control_connection_attached(
    const warprsa_control_connection *control, uint32_t number)
{
    errno = EAGAIN;
    return !is_full &&
           __real_warprsa_control_connection_attached(control, number);
}

/* Where a notifier comes, whatever the daemon does. -1: nowhere. */
static int early_socket = -1;

warprsa_received __real_warprsa_message_receive(int socket,
                                                warprsa_message *message,
                                                int fds[WARPRSA_MESSAGE_FDS]);
warprsa_received __wrap_warprsa_message_receive(int socket,
                                                warprsa_message *message,
                                                int fds[WARPRSA_MESSAGE_FDS]);

warprsa_received __wrap_warprsa_message_receive(int socket,
                                                warprsa_message *message,
                                                int fds[WARPRSA_MESSAGE_FDS])
{
    if (socket != early_socket)
        return __real_warprsa_message_receive(socket, message, fds);
    early_socket = -1;
    *message = (warprsa_message){.type = WARPRSA_MESSAGE_NOTIFIER};
    for (unsigned i = 0; i < WARPRSA_MESSAGE_FDS; i++)
        fds[i] = -1;
    fds[0] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    assert_true(fds[0] >= 0);
    return WARPRSA_RECEIVED;
}

void fake_call_response(const warprsa_remote_response *response)
{
    assert_int_equal(fake_call.ended, 0);
    seen.welcomes += response->kind == WARPRSA_REMOTE_WELCOME;
    seen.draining += response->kind == WARPRSA_REMOTE_DRAINING;
    if (response->kind == WARPRSA_REMOTE_KEY_LOADED) {
        seen.keys_loaded += response->status == WARPRSA_REMOTE_OK;
        seen.last_key = response->key;
    }
    if (response->kind != WARPRSA_REMOTE_RESULTS)
        return;
    seen.results += (unsigned)response->count;
    for (size_t i = 0; i < response->count; i++)
        seen.right += response->result[i].status == WARPRSA_REMOTE_OK;
}

static void refuse(warprsa_operate *session, warprsa_grpc_status status,
                   const char *why)
{
    warprsa_operate *other = seen.closes;

    assert_non_null(session->stream);
    snprintf(seen.why, sizeof(seen.why), "%s", why);
    warprsa_http2_finish(session->stream, status, why);
    seen.closes = NULL;
    if (other != NULL)
        warprsa_operate_closed(other);
}

static test_server server;
static warprsa_operate *session;

/* A round of the thread's. */
static void run(void)
{
    fake_call_run(session != NULL && !STAILQ_EMPTY(&session->held) ? session
                                                                   : NULL,
                  TICK_MS);
}

#define RUN_UNTIL(condition)                                                   \
    do {                                                                       \
        unsigned rounds = 0;                                                   \
                                                                               \
        while (!(condition) && rounds++ < ROUNDS)                              \
            run();                                                             \
        assert_true(condition);                                                \
    } while (0)

static void send_message(const uint8_t *message, size_t size)
{
    assert_true(size > WARPRSA_REMOTE_PREFIX);
    assert_null(warprsa_operate_message(session,
                                        message + WARPRSA_REMOTE_PREFIX,
                                        size - WARPRSA_REMOTE_PREFIX));
}

static void load_key(uint32_t number)
{
    const warprsa_private_key key = fake_key(WARPRSA_CLASS_2048, 1 + number);
    uint8_t message[sizeof(key) + 128];

    send_message(message, warprsa_remote_write_load_key(
                              message, sizeof(message), number, &key));
}

/* Sends one operation. */
static void operate(uint32_t id, uint32_t key)
{
    const uint8_t input[WARPRSA_MODULUS_BYTES_MAX] = {0};
    const warprsa_remote_operation operation = {
        .id = id, .key = key, .bytes = 256, .input = input};
    uint8_t message[WARPRSA_REMOTE_PREFIX + 64 + WARPRSA_REMOTE_OPERATION_MAX];

    send_message(message, warprsa_remote_write_operations(
                              message, sizeof(message), &operation, 1));
}

static void new_session(void)
{
    memset(&seen, 0, sizeof(seen));
    session = fake_call_begin();
}

/* A session that has been asked for, at a daemon of its own. */
static int begin(void **state)
{
    fake_reset();
    is_full = false;
    test_server_open(&server, SLOTS, LONG_MS);
    test_server_stop(&server);
    server.config.limits.keys = KEYS;
    server.config.limits.slots = SLOTS;
    server.config.gateway_uid = geteuid();
    test_server_start(&server);
    fake_call_open(server.path, KEYS, SLOTS);
    fake_host.refuse = refuse;
    new_session();
    return 0;
}

static void close_session(void)
{
    fake_call_end(session);
    warprsa_operate_free(session);
    session = NULL;
}

static int end(void **state)
{
    if (session != NULL)
        close_session();
    fake_call_close();
    test_server_close(&server);
    return 0;
}

static bool has_keys(unsigned count)
{
    return atomic_load(&server.queue_config.counters->keys) == count;
}

/* What comes before there is a session waits, in its order. */
TEST_IN(messages_wait_for_the_session, begin, end)
{
    load_key(KEY);
    operate(1, KEY);
    assert_int_equal(fake_call.holds, 1);
    assert_int_equal(seen.welcomes, 0);
    RUN_UNTIL(seen.results == 1);
    assert_int_equal(seen.welcomes, 1);
    assert_int_equal(seen.keys_loaded, 1);
    assert_int_equal(seen.right, 1);
    assert_int_equal(fake_call.holds, 0);
    assert_true(
        test_server_logged(&server, "for dns:web.example.org connected"));
}

/* A wrong one among them ends the call, and the host hears why. */
TEST_IN(a_wrong_message_may_have_waited, begin, end)
{
    static const uint8_t wrong[] = {0xff};

    load_key(KEY);
    assert_null(warprsa_operate_message(session, wrong, sizeof(wrong)));
    operate(1, KEY);
    RUN_UNTIL(fake_call.ended == 1);
    assert_int_equal(fake_call.status, WARPRSA_GRPC_INVALID_ARGUMENT);
    assert_string_not_equal(seen.why, "");
    assert_int_equal(seen.keys_loaded, 1);
    assert_int_equal(seen.results, 0);
    assert_int_equal(fake_call.holds, 0);
}

/* So does what the daemon has no room for. */
TEST_IN(keys_wait_for_room, begin, end)
{
    RUN_UNTIL(seen.welcomes == 1);
    for (uint32_t i = 0; i < KEYS; i++)
        load_key(i);
    operate(1, KEYS - 1);
    assert_int_equal(fake_call.holds, 1);
    RUN_UNTIL(seen.results == 1);
    assert_int_equal(seen.keys_loaded, KEYS);
    assert_int_equal(seen.last_key, KEYS - 1);
    assert_int_equal(seen.right, 1);
    RUN_UNTIL(has_keys(KEYS));
    assert_int_equal(fake_call.ended, 0);
    close_session();
    RUN_UNTIL(has_keys(0));
}

/* Requests whose answers nobody waits for. */
static unsigned abandoned(void)
{
    const warprsa_slots *slots = &server.queue->slots;
    unsigned count = 0;

    for (unsigned i = 0; i < slots->count; i++)
        count += (atomic_load(&slots->slot[i].word) & WARPRSA_SLOT_STATE) ==
                 WARPRSA_SLOT_ABANDONED;
    return count;
}

/* Of a client that has gone, a batch under way is the last that is computed. */
TEST_IN(what_is_queued_ends_with_the_session, begin, end)
{
    const unsigned streams = server.queue_config.engines[0].streams;

    assert_true(streams < SLOTS);
    RUN_UNTIL(seen.welcomes == 1);
    load_key(KEY);
    FAKE_SET(hold, true);
    /* A batch of one for each stream, and the rest waits. */
    for (uint32_t i = 0; i < SLOTS; i++) {
        operate(i, KEY);
        if (i < streams)
            FAKE_WAIT(fake.running == i + 1);
    }
    assert_int_equal(session->in_flight, SLOTS);
    WAIT_UNTIL(warprsa_queue_depth(server.queue) == SLOTS);
    close_session();
    WAIT_UNTIL(test_server_logged(&server, "for dns:web.example.org left"));
    /* That comes before its requests are withdrawn. */
    WAIT_UNTIL(abandoned() == SLOTS);
    FAKE_SET(hold, false);
    RUN_UNTIL(has_keys(0));
    WAIT_UNTIL(warprsa_queue_depth(server.queue) == 0);
    FAKE_WAIT(fake.running == 0);
    assert_int_equal(fake.batches, streams);
}

TEST_IN(all_are_answered, begin, end)
{
    RUN_UNTIL(seen.welcomes == 1);
    load_key(KEY);
    for (uint32_t round = 1; round <= 8; round++) {
        for (uint32_t i = 0; i < SLOTS; i++)
            operate(i, KEY);
        /* One more than there may be. */
        operate(SLOTS, KEY);
        assert_int_equal(seen.results, (round - 1) * (SLOTS + 1) + 1);
        RUN_UNTIL(seen.results == round * (SLOTS + 1));
        assert_int_equal(seen.right, round * SLOTS);
        assert_int_equal(fake_call.operations, 0);
    }
    warprsa_operate_half_closed(session);
    assert_int_equal(fake_call.ended, 1);
    assert_int_equal(fake_call.status, WARPRSA_GRPC_OK);
}

/* The host begins to drain before the session is told: answers collected in
 * between don't end the call. */
TEST_IN(who_is_there_is_told_before_the_end, begin, end)
{
    RUN_UNTIL(seen.welcomes == 1);
    load_key(KEY);
    operate(0, KEY);
    fake_host.draining = true;
    operate(1, KEY); /* refused, in a message of its own */
    RUN_UNTIL(seen.results == 2);
    assert_int_equal(seen.right, 1);
    assert_int_equal(seen.draining, 0);
    assert_int_equal(fake_call.ended, 0);
    warprsa_operate_drain(session);
    assert_int_equal(seen.draining, 1);
    assert_int_equal(fake_call.ended, 1);
    assert_int_equal(fake_call.status, WARPRSA_GRPC_UNAVAILABLE);
}

/* The daemon goes: the call ends, and another one is served once it is back. */
TEST_IN(a_daemon_that_goes_ends_the_call, begin, end)
{
    RUN_UNTIL(seen.welcomes == 1);
    RUN_UNTIL(warprsa_upstream_is_ready(&fake_host.upstream));
    load_key(KEY);
    test_server_stop(&server);
    RUN_UNTIL(fake_call.ended == 1);
    assert_int_equal(fake_call.status, WARPRSA_GRPC_UNAVAILABLE);
    assert_non_null(strstr(seen.why, "warprsad"));
    close_session();
    RUN_UNTIL(!warprsa_upstream_is_ready(&fake_host.upstream));
    new_session();
    /* At once, or when the end of the control connection is seen. */
    RUN_UNTIL(fake_call.ended == 1);
    assert_int_equal(fake_call.status, WARPRSA_GRPC_UNAVAILABLE);
    close_session();
    test_server_start(&server);
    RUN_UNTIL(warprsa_upstream_is_ready(&fake_host.upstream));
    new_session();
    load_key(KEY);
    operate(1, KEY);
    RUN_UNTIL(seen.right == 1);
}

/* It goes and comes before the gateway has seen that. */
TEST_IN(a_daemon_that_is_new_before_it_is_missed, begin, end)
{
    RUN_UNTIL(warprsa_upstream_is_ready(&fake_host.upstream));
    close_session();
    test_server_stop(&server);
    test_server_start(&server);
    new_session();
    RUN_UNTIL(fake_call.ended + seen.welcomes == 1);
    if (fake_call.ended == 1) {
        assert_non_null(strstr(seen.why, "warprsad has gone"));
        close_session();
        RUN_UNTIL(warprsa_upstream_is_ready(&fake_host.upstream));
        new_session();
    }
    load_key(KEY);
    operate(1, KEY);
    RUN_UNTIL(seen.right == 1);
    assert_int_equal(fake_call.ended, 0);
}

/* Two calls wait for their sessions too long, and the end of one closes the
 * stream of the other, as a write can. */
TEST_IN(a_lost_call_closes_the_next, begin, end)
{
    warprsa_operate *other =
        warprsa_operate_new(&fake_host, &fake_stream, &fake_identity, false);

    assert_non_null(other);
    seen.closes = other;
    warprsa_upstream_tick(&fake_host.upstream,
                          warprsa_clock_ns() + LONG_MS * WARPRSA_NS_PER_MS);
    assert_int_equal(fake_call.ended, 1);
    warprsa_operate_free(other);
    close_session();
    RUN_UNTIL(warprsa_upstream_is_ready(&fake_host.upstream));
}

/* A client that sends no more gets its session all the same: it can't ask for
 * another one before. */
TEST_IN(a_call_is_not_done_before_it_has_begun, begin, end)
{
    warprsa_operate_half_closed(session);
    assert_int_equal(fake_call.ended, 0);
    RUN_UNTIL(fake_call.ended == 1);
    assert_int_equal(seen.welcomes, 1);
    assert_int_equal(fake_call.status, WARPRSA_GRPC_OK);
}

/* The daemon has a session to make for a call that has ended. */
TEST_IN(a_call_counts_until_the_daemon_has_replied, begin, end)
{
    fake_call_end(session);
    assert_false(warprsa_operate_is_over(session));
    RUN_UNTIL(warprsa_operate_is_over(session));
    assert_int_equal(seen.welcomes, 0);
    WAIT_UNTIL((run(), warprsa_server_clients(server.server) == 1));
}

/* The same of a daemon that never will, and of a host that drains. */
TEST_IN(a_call_does_not_count_for_ever, begin, end)
{
    fake_call_end(session);
    fake_host.draining = true;
    assert_true(warprsa_operate_is_over(session));
    fake_host.draining = false;
    assert_false(warprsa_operate_is_over(session));
    warprsa_upstream_tick(&fake_host.upstream,
                          warprsa_clock_ns() + LONG_MS * WARPRSA_NS_PER_MS);
    assert_true(warprsa_operate_is_over(session));
}

/* A session that can't be accepted now is accepted later, whether or not its
 * call has ended meanwhile. */
TEST_IN(the_daemon_reads_no_more_for_a_while, begin, end)
{
    warprsa_operate *first = session, *second;

    RUN_UNTIL(warprsa_upstream_is_ready(&fake_host.upstream) &&
              seen.welcomes == 1);
    is_full = true;
    new_session();
    second = session;
    RUN_UNTIL(second->session.unaccepted != 0);
    new_session();
    RUN_UNTIL(session->session.unaccepted != 0);
    fake_call_end(second);
    assert_false(warprsa_operate_is_over(second));
    is_full = false;
    fake_call_end(first);
    warprsa_operate_free(first);
    first = warprsa_operate_new(&fake_host, &fake_stream, &fake_identity,
                                false); /* there is an event */
    assert_non_null(first);
    RUN_UNTIL(seen.welcomes == 2);
    assert_true(warprsa_operate_is_over(second));
    assert_int_equal(fake_call.ended, 0);
    fake_call_end(first);
    warprsa_operate_free(first);
    warprsa_operate_free(second);
    WAIT_UNTIL((run(), warprsa_server_clients(server.server) == 2));
}

/* No daemon opens a session before it is accepted. One that does loses it: the
 * session would never be over. */
TEST_IN(a_session_is_not_open_before_it_is_accepted, begin, end)
{
    warprsa_event_source *source;

    RUN_UNTIL(seen.welcomes == 1);
    close_session();
    is_full = true;
    new_session();
    RUN_UNTIL(session->session.unaccepted != 0);
    source = &session->session.socket_source;
    early_socket = session->session.connection->socket.fd;
    source->ready(source);
    assert_int_equal(early_socket, -1);
    fake_call_end(session);
    assert_true(warprsa_operate_is_over(session));
    assert_int_equal(seen.welcomes, 0);
    assert_int_equal(fake_call.ended, 1);
    assert_int_equal(fake_call.status, WARPRSA_GRPC_UNAVAILABLE);
    assert_non_null(strstr(seen.why, "before"));
}

/* A call that ends before its session is there. The seat goes back. */
TEST_IN(a_call_that_ends_at_once, begin, end)
{
    for (unsigned i = 0; i < 100; i++) {
        close_session();
        run();
        new_session(); /* some are refused: there are eight seats */
    }
    close_session();
    WAIT_UNTIL((run(), warprsa_server_clients(server.server) == 1));
}

RUN_TESTS(NULL, NULL)
