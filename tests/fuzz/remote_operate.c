/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzer: a host's call of Operate, from its messages to the daemon's answers,
 * and sessions of the gateway that come and go. The bytes are a script. Each
 * operation is answered once at most, and all of them if the call goes on; what
 * is held lets go in the end. HTTP/2 and the map of identities are replaced by
 * what stands here.
 */
#include "tests/fuzz/fuzz_daemon.h"
#include "tests/fuzz/fuzz_input.h"

#include <sys/epoll.h>

#include "batching/remote/server/operate.h"

enum {
    STEPS = 64,
    OPERATIONS = 16, /* of the identity, and of the daemon for each client */
    AT_ONCE = 32,
    KEYS = 8, /* in the dictionary */
    EVENTS = 16,
    ROUNDS = 20000,
    IDS = STEPS * AT_ONCE,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
    uint8_t out[WARPRSA_REMOTE_PREFIX + WARPRSA_REMOTE_MESSAGE_MAX];
    bool asked[IDS]; /* operations without a result yet */
    uint32_t ids, results;
    bool ended; /* the stream */
    unsigned holds, operations;
} seen;

uint8_t *warprsa_http2_reserve(warprsa_http2_stream *stream, size_t room)
{
    (void)stream;
    assert_true(room <= sizeof(seen.out));
    return seen.out;
}

void warprsa_http2_sent(warprsa_http2_stream *stream, size_t size)
{
    static warprsa_remote_response response;

    (void)stream;
    assert_null(warprsa_remote_read_response(seen.out + WARPRSA_REMOTE_PREFIX,
                                             size - WARPRSA_REMOTE_PREFIX,
                                             &response));
    if (response.kind != WARPRSA_REMOTE_RESULTS)
        return;
    for (size_t i = 0; i < response.count; i++) {
        assert_true(response.result[i].id < IDS);
        assert_true(seen.asked[response.result[i].id]);
        seen.asked[response.result[i].id] = false;
        seen.results++;
    }
}

void warprsa_http2_finish(warprsa_http2_stream *stream,
                          warprsa_grpc_status status, const char *text)
{
    (void)stream;
    (void)status;
    assert_non_null(text);
    seen.ended = true;
}

void warprsa_http2_hold(warprsa_http2 *connection, bool hold)
{
    (void)connection;
    seen.holds += hold ? 1u : 0u - 1u;
}

bool warprsa_identity_begin_operation(warprsa_identity *identity,
                                      uint64_t now_ns)
{
    (void)now_ns;
    if (seen.operations == atomic_load(&identity->operations_max))
        return false;
    seen.operations++;
    return true;
}

void warprsa_identity_end_operation(warprsa_identity *identity)
{
    (void)identity;
    seen.operations--;
}

static void written(warprsa_operate *session)
{
    assert_non_null(session->stream);
}

static void refuse(warprsa_operate *session, warprsa_grpc_status status,
                   const char *why)
{
    warprsa_http2_finish(session->stream, status, why);
}

static warprsa_operate_host host;
static warprsa_identity identity = {.number = WARPRSA_IDENTITY_FIRST,
                                    .name = "dns:web.example.org"};
static warprsa_http2_stream stream;
static warprsa_operate *session, *closed;

static void begin(void)
{
    memset(&seen, 0, sizeof(seen));
    session = warprsa_operate_new(&host, &stream, &identity);
    assert_non_null(session);
}

/* Freed after the events of the round. */
static void end(void)
{
    warprsa_operate_closed(session);
    assert_int_equal(session->in_flight, 0);
    assert_int_equal(seen.operations, 0);
    assert_int_equal(seen.holds, 0);
    assert_int_equal(host.holding, 0);
    closed = session;
    session = NULL;
}

static void run(int timeout_ms)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(host.upstream.epoll, events, EVENTS, timeout_ms);

    warprsa_event_source_dispatch(events, count);
    if (session != NULL)
        warprsa_operate_tick(session);
    warprsa_upstream_tick(&host.upstream, warprsa_clock_ns());
    if (closed != NULL)
        warprsa_operate_free(closed);
    closed = NULL;
}

/* Whether the call goes on, as the server would have it. */
static void give(const uint8_t *bytes, size_t size)
{
    const char *wrong;

    if (seen.ended)
        return;
    wrong = warprsa_operate_message(session, bytes, size);
    if (wrong != NULL)
        warprsa_http2_finish(&stream, WARPRSA_GRPC_INVALID_ARGUMENT, wrong);
}

static void load_key(fuzz_input *in)
{
    warprsa_private_key key =
        fake_key(WARPRSA_CLASS_2048, 1 + fuzz_byte(in) % KEYS);
    uint8_t message[sizeof(key) + 128];
    const uint32_t number = fuzz_number(in);
    const uint32_t wrong = fuzz_byte(in);

    if (wrong > 200)
        key.n[fuzz_number(in) % sizeof(key.n)] ^= (uint8_t)wrong;
    give(message + WARPRSA_REMOTE_PREFIX,
         warprsa_remote_write_load_key(message, sizeof(message), number, &key) -
             WARPRSA_REMOTE_PREFIX);
}

static void unload_key(fuzz_input *in)
{
    uint8_t message[64];

    give(message + WARPRSA_REMOTE_PREFIX,
         warprsa_remote_write_unload_key(message, sizeof(message),
                                         fuzz_number(in)) -
             WARPRSA_REMOTE_PREFIX);
}

static void operate(fuzz_input *in)
{
    static uint8_t message[WARPRSA_REMOTE_PREFIX + WARPRSA_REMOTE_MESSAGE_MAX];
    static const uint8_t zeros[WARPRSA_MODULUS_BYTES_MAX];
    static uint8_t ones[WARPRSA_MODULUS_BYTES_MAX];
    warprsa_remote_operation operation[AT_ONCE];
    const uint32_t count = 1 + fuzz_byte(in) % AT_ONCE;
    const uint32_t key = fuzz_number(in), how = fuzz_byte(in);

    memset(ones, 0xFF, sizeof(ones));
    if (seen.ended || seen.ids + count > IDS)
        return;
    for (uint32_t i = 0; i < count; i++) {
        seen.asked[seen.ids] = true;
        operation[i] =
            (warprsa_remote_operation){.id = seen.ids++,
                                       .key = key,
                                       .padding = how == 255,
                                       .bytes = how > 240 ? 1 + how : 256,
                                       .input = how % 16 == 15 ? ones : zeros};
    }
    give(message + WARPRSA_REMOTE_PREFIX,
         warprsa_remote_write_operations(message, sizeof(message), operation,
                                         count) -
             WARPRSA_REMOTE_PREFIX);
}

static void any_message(fuzz_input *in)
{
    size_t size = fuzz_byte(in);

    if (size > (size_t)(in->end - in->at))
        size = (size_t)(in->end - in->at);
    give(in->at, size);
    in->at += size;
    /* Its operations have numbers of their own. */
    memset(seen.asked, true, sizeof(seen.asked));
    seen.ids = IDS;
}

static void step(fuzz_input *in)
{
    switch (fuzz_byte(in) % 10) {
    case 0:
    case 1:
        load_key(in);
        break;
    case 2:
        unload_key(in);
        break;
    case 3:
    case 4:
        operate(in);
        break;
    case 5:
        any_message(in);
        break;
    case 6:
        if (!seen.ended)
            warprsa_operate_half_closed(session);
        break;
    case 7:
        end();
        run(0);
        begin();
        break;
    case 8:
        run(0);
        break;
    default:
        run(1);
    }
}

static bool has_unanswered(void)
{
    for (uint32_t i = 0; i < IDS && seen.ids < IDS; i++)
        if (seen.asked[i])
            return true;
    return session->in_flight > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const test_server *server = fuzz_daemon();
    fuzz_input in = {data, data + size};

    memset(&host, 0, sizeof(host));
    host.written = written;
    host.refuse = refuse;
    atomic_store(&identity.keys_max, KEYS * 2);
    atomic_store(&identity.operations_max, OPERATIONS);
    warprsa_upstream_init(&host.upstream, epoll_create1(EPOLL_CLOEXEC),
                          server->path);
    begin();
    for (unsigned i = 0; i < STEPS && in.at < in.end; i++)
        step(&in);
    for (unsigned i = 0; i < ROUNDS && !seen.ended && has_unanswered(); i++)
        run(1);
    assert_true(seen.ended || !has_unanswered());
    end();
    run(0);
    warprsa_upstream_close(&host.upstream);
    close(host.upstream.epoll);
    fuzz_daemon_check();
    return 0;
}
