/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A call of Operate without a network; see fake_call.h.
 */
#include "tests/unit/support/fake_call.h"

#include <sys/epoll.h>

#include "batching/base/clock.h"

enum {
    EVENTS = 16,
};

fake_call_seen fake_call;
warprsa_operate_host fake_host;
warprsa_identity fake_identity = {.number = WARPRSA_IDENTITY_FIRST,
                                  .name = "dns:web.example.org"};
warprsa_http2_stream fake_stream;

uint8_t *warprsa_http2_reserve(warprsa_http2_stream *stream, size_t room)
{
    assert_non_null(stream);
    assert_true(room <= sizeof(fake_call.out));
    return fake_call.out;
}

void warprsa_http2_sent(warprsa_http2_stream *stream, size_t size)
{
    static warprsa_remote_response response;

    assert_non_null(stream);
    assert_true(size > WARPRSA_REMOTE_PREFIX);
    assert_null(
        warprsa_remote_read_response(fake_call.out + WARPRSA_REMOTE_PREFIX,
                                     size - WARPRSA_REMOTE_PREFIX, &response));
    fake_call_response(&response);
}

void warprsa_http2_finish(warprsa_http2_stream *stream,
                          warprsa_grpc_status status, const char *text)
{
    assert_non_null(stream);
    assert_non_null(text);
    if (fake_call.ended++ == 0)
        fake_call.status = status;
}

void warprsa_http2_hold(warprsa_http2 *connection, bool hold)
{
    (void)connection;
    fake_call.holds += hold ? 1u : 0u - 1u;
}

bool warprsa_identity_begin_operation(warprsa_identity *identity,
                                      uint64_t now_ns)
{
    (void)now_ns;
    if (fake_call.operations == atomic_load(&identity->operations_max))
        return false;
    fake_call.operations++;
    return true;
}

void warprsa_identity_end_operation(warprsa_identity *identity)
{
    (void)identity;
    fake_call.operations--;
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

void fake_call_open(const char *path, unsigned keys, unsigned operations)
{
    memset(&fake_host, 0, sizeof(fake_host));
    fake_host.written = written;
    fake_host.refuse = refuse;
    atomic_store(&fake_identity.keys_max, keys);
    atomic_store(&fake_identity.operations_max, operations);
    warprsa_upstream_init(&fake_host.upstream, epoll_create1(EPOLL_CLOEXEC),
                          path);
}

void fake_call_close(void)
{
    warprsa_upstream_close(&fake_host.upstream);
    close(fake_host.upstream.epoll);
}

warprsa_operate *fake_call_begin(void)
{
    warprsa_operate *session;

    memset(&fake_call, 0, sizeof(fake_call));
    session =
        warprsa_operate_new(&fake_host, &fake_stream, &fake_identity, false);
    assert_non_null(session);
    return session;
}

void fake_call_end(warprsa_operate *session)
{
    warprsa_operate_closed(session);
    assert_int_equal(session->in_flight, 0);
    assert_int_equal(fake_call.operations, 0);
    assert_int_equal(fake_call.holds, 0);
    assert_int_equal(fake_host.holding, 0);
}

void fake_call_run(warprsa_operate *session, int timeout_ms)
{
    struct epoll_event events[EVENTS];
    int count =
        epoll_wait(fake_host.upstream.epoll, events, EVENTS, timeout_ms);

    warprsa_event_source_dispatch(events, count);
    if (session != NULL)
        warprsa_operate_tick(session);
    warprsa_upstream_tick(&fake_host.upstream, warprsa_clock_ns());
}
