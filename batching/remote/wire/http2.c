/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * HTTP/2 over TLS, and the calls of gRPC on it; see http2.h.
 */
#include "batching/remote/wire/http2.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <openssl/err.h>

#include "batching/base/clock.h"

enum {
    READ_BYTES = 16384, /* a record of TLS */
    /* The limits of a turn: bytes of TLS, and time. A longer message takes
     * several turns. A record that is begun is finished: with twelve keys in
     * it, it takes some 0.1 ms. */
    TURN_BYTES = 256 * 1024,
    TURN_NS = 250000,
    /* With so many frames to send, no more is read in this turn. */
    FRAMES_MAX = 256,
    OUT_MAX = 256 * 1024, /* ready for the socket; nghttp2 waits beyond it */
    /* With so many bytes of unread answers, the peer is not read from. */
    QUEUED_MAX = 2 * 1024 * 1024,
    OTHER_MESSAGE_MAX = 1024,
    STREAMS_MAX = 8,
    HEADERS_MAX = 16384,
    HEADER_BYTES = 32, /* that count besides name and value of each */
    WINDOW = 1024 * 1024,
    CONNECTION_WINDOW = 4 * 1024 * 1024,
};

/* ---- Streams ---- */

static warprsa_http2_stream *new_stream(warprsa_http2 *c)
{
    warprsa_http2_stream *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    s->connection = c;
    s->message_max = OTHER_MESSAGE_MAX;
    s->status = WARPRSA_GRPC_UNKNOWN;
    LIST_INSERT_HEAD(&c->streams, s, link);
    return s;
}

static void free_stream(warprsa_http2_stream *s)
{
    s->connection->handlers->closed(s);
    s->connection->queued -= warprsa_bytes_waiting(&s->out);
    LIST_REMOVE(s, link);
    warprsa_bytes_free(&s->in);
    warprsa_bytes_free(&s->out);
    free(s);
}

static warprsa_http2_stream *stream_of(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

static nghttp2_nv header(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name),
                        strlen(value), NGHTTP2_NV_FLAG_NONE};
}

/* grpc-status and grpc-message; returns how many of them there are. */
static size_t status_headers(const warprsa_http2_stream *s, nghttp2_nv *to,
                             char number[16])
{
    snprintf(number, 16, "%d", s->status);
    to[0] = header("grpc-status", number);
    if (s->status_text[0] == '\0')
        return 1;
    to[1] = header("grpc-message", s->status_text);
    return 2;
}

/* The next data of a stream: bytes, its end, or nothing yet. */
static ssize_t next_data(nghttp2_session *session, int32_t id, uint8_t *buffer,
                         size_t length, uint32_t *flags,
                         nghttp2_data_source *source, void *arg)
{
    warprsa_http2_stream *s = source->ptr;
    size_t size = warprsa_bytes_waiting(&s->out);
    nghttp2_nv trailers[2];
    char number[16];

    (void)buffer;
    (void)arg;
    if (size == 0 && !s->ending)
        return NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (size > length)
        return (ssize_t)length;
    if (s->ending) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        if (s->connection->is_server) {
            *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
            if (nghttp2_submit_trailer(session, id, trailers,
                                       status_headers(s, trailers, number)))
                return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        }
    }
    return (ssize_t)size;
}

/* Puts a frame's head and a stream's bytes into the socket's buffer. */
static int send_data(nghttp2_session *session, nghttp2_frame *frame,
                     const uint8_t *head, size_t length,
                     nghttp2_data_source *source, void *arg)
{
    warprsa_http2_stream *s = source->ptr;
    warprsa_http2 *c = arg;
    uint8_t *to;

    (void)session;
    (void)frame;
    if (warprsa_bytes_waiting(&c->out) >= OUT_MAX)
        return NGHTTP2_ERR_WOULDBLOCK;
    to = warprsa_bytes_reserve(&c->out, 9 + length);
    if (to == NULL)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    memcpy(to, head, 9);
    memcpy(to + 9, s->out.bytes + s->out.from, length);
    c->out.to += 9 + length;
    if (length > 0)
        warprsa_bytes_take(&s->out, length);
    c->queued -= length;
    return 0;
}

static ssize_t send_frame(nghttp2_session *session, const uint8_t *bytes,
                          size_t length, int flags, void *arg)
{
    warprsa_http2 *c = arg;
    uint8_t *to;

    (void)session;
    (void)flags;
    if (warprsa_bytes_waiting(&c->out) >= OUT_MAX)
        return NGHTTP2_ERR_WOULDBLOCK;
    to = warprsa_bytes_reserve(&c->out, length);
    if (to == NULL)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    memcpy(to, bytes, length);
    c->out.to += length;
    return (ssize_t)length;
}

static void answer(warprsa_http2_stream *s)
{
    const nghttp2_data_provider data = {.source.ptr = s,
                                        .read_callback = next_data};
    const nghttp2_nv head[] = {header(":status", "200"),
                               header("content-type", "application/grpc")};

    if (s->answered || !s->connection->is_server) {
        (void)nghttp2_session_resume_data(s->connection->session, s->id);
        return;
    }
    s->answered = true;
    (void)nghttp2_submit_response(s->connection->session, s->id, head, 2,
                                  &data);
}

uint8_t *warprsa_http2_reserve(warprsa_http2_stream *s, size_t room)
{
    return warprsa_bytes_reserve(&s->out, room);
}

void warprsa_http2_sent(warprsa_http2_stream *s, size_t size)
{
    s->out.to += size;
    s->connection->queued += size;
    answer(s);
}

/* Sends a head that is the whole answer. */
static void answer_at_once(warprsa_http2_stream *s)
{
    nghttp2_nv head[4] = {header(":status", s->is_grpc ? "200" : "415"),
                          header("content-type", "application/grpc")};
    char number[16];
    size_t count = 2 + status_headers(s, head + 2, number);

    s->answered = true;
    (void)nghttp2_submit_response(s->connection->session, s->id, head, count,
                                  NULL);
}

void warprsa_http2_finish(warprsa_http2_stream *s, warprsa_grpc_status status,
                          const char *text)
{
    if (s->ending)
        return;
    s->ending = true;
    s->broken = true;
    if (!s->connection->is_server) {
        answer(s);
        return;
    }
    s->status = (int)status;
    snprintf(s->status_text, sizeof(s->status_text), "%s", text);
    if (s->answered)
        answer(s);
    else
        answer_at_once(s);
}

/* ---- What the peer sends ---- */

static int on_begin_headers(nghttp2_session *session,
                            const nghttp2_frame *frame, void *arg)
{
    warprsa_http2 *c = arg;
    warprsa_http2_stream *s;

    if (!c->is_server || frame->hd.type != NGHTTP2_HEADERS ||
        frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    s = new_stream(c);
    if (s == NULL)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    s->id = frame->hd.stream_id;
    return nghttp2_session_set_stream_user_data(session, s->id, s);
}

static bool is(const uint8_t *name, size_t length, const char *text)
{
    return length == strlen(text) && memcmp(name, text, length) == 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
                     const uint8_t *name, size_t name_length,
                     const uint8_t *value, size_t length, uint8_t flags,
                     void *arg)
{
    static const char grpc[] = "application/grpc";
    warprsa_http2_stream *s = stream_of(session, frame->hd.stream_id);

    (void)flags;
    (void)arg;
    if (s == NULL)
        return 0;
    /* The rest of the head is read and dropped: HPACK's table needs it. */
    s->head_bytes += name_length + length + HEADER_BYTES;
    if (s->head_bytes > HEADERS_MAX)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* resets the stream */
    if (is(name, name_length, ":path") && length < sizeof(s->path)) {
        memcpy(s->path, value, length);
        s->path[length] = '\0';
    } else if (is(name, name_length, "content-type")) {
        s->is_grpc = length >= sizeof(grpc) - 1 &&
                     memcmp(value, grpc, sizeof(grpc) - 1) == 0;
    } else if (!s->connection->is_server &&
               is(name, name_length, "grpc-status")) {
        s->status = length < 4 ? atoi((const char *)value) : s->status;
    } else if (!s->connection->is_server &&
               is(name, name_length, "grpc-message")) {
        snprintf(s->status_text, sizeof(s->status_text), "%.*s",
                 length < 127 ? (int)length : 127, (const char *)value);
    }
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame,
                    void *arg)
{
    warprsa_http2_stream *s = stream_of(session, frame->hd.stream_id);
    warprsa_http2 *c = arg;

    if (s == NULL ||
        (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
        return 0;
    if (c->is_server && !s->begun && frame->hd.type == NGHTTP2_HEADERS) {
        s->begun = true;
        if (s->is_grpc)
            c->handlers->begin(s);
        else
            warprsa_http2_finish(s, WARPRSA_GRPC_UNKNOWN, "this is gRPC");
    }
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
        c->handlers->half_closed(s);
    return 0;
}

static void end_message(warprsa_http2_stream *s)
{
    const uint8_t *bytes = s->in.bytes != NULL ? s->in.bytes : s->prefix;
    const char *wrong =
        s->connection->handlers->message(s, bytes, s->message_size);

    if (warprsa_bytes_waiting(&s->in) > 0)
        warprsa_bytes_take(&s->in, warprsa_bytes_waiting(&s->in));
    s->prefix_bytes = 0;
    if (wrong != NULL)
        warprsa_http2_finish(s, WARPRSA_GRPC_INVALID_ARGUMENT, wrong);
}

static const uint8_t *read_prefix(warprsa_http2_stream *s, const uint8_t *from,
                                  const uint8_t *end)
{
    while (s->prefix_bytes < sizeof(s->prefix) && from < end)
        s->prefix[s->prefix_bytes++] = *from++;
    if (s->prefix_bytes < sizeof(s->prefix))
        return from;
    if (!warprsa_remote_read_prefix(s->prefix, &s->message_size) ||
        s->message_size > s->message_max)
        warprsa_http2_finish(s, WARPRSA_GRPC_INVALID_ARGUMENT,
                             "a message is compressed or too long");
    else if (s->message_size == 0)
        end_message(s);
    return from;
}

/* Takes bytes of a message, at most the rest of it. */
static const uint8_t *read_message(warprsa_http2_stream *s, const uint8_t *from,
                                   const uint8_t *end)
{
    size_t size = s->message_size - warprsa_bytes_waiting(&s->in);
    uint8_t *to;

    if (size > (size_t)(end - from))
        size = (size_t)(end - from);
    to = warprsa_bytes_reserve(&s->in, size);
    if (to == NULL) {
        warprsa_http2_finish(s, WARPRSA_GRPC_RESOURCE_EXHAUSTED, "no memory");
        return end;
    }
    memcpy(to, from, size);
    s->in.to += size;
    if (warprsa_bytes_waiting(&s->in) == s->message_size)
        end_message(s);
    return from + size;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id,
                   const uint8_t *from, size_t length, void *arg)
{
    warprsa_http2_stream *s = stream_of(session, id);
    const uint8_t *end = from + length;

    (void)flags;
    (void)arg;
    while (s != NULL && !s->broken && from < end)
        from = s->prefix_bytes < sizeof(s->prefix) ? read_prefix(s, from, end)
                                                   : read_message(s, from, end);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t error,
                    void *arg)
{
    warprsa_http2_stream *s = stream_of(session, id);

    (void)error;
    (void)arg;
    if (s != NULL) {
        (void)nghttp2_session_set_stream_user_data(session, id, NULL);
        free_stream(s);
    }
    return 0;
}

/* ---- Connections ---- */

static nghttp2_session *new_session(warprsa_http2 *c)
{
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADERS_MAX},
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS_MAX},
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
    };
    nghttp2_session_callbacks *callbacks;
    nghttp2_session *session = NULL;

    if (nghttp2_session_callbacks_new(&callbacks) != 0)
        return NULL;
    nghttp2_session_callbacks_set_send_callback(callbacks, send_frame);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, send_data);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks,
                                                            on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks,
                                                              on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    if ((c->is_server
             ? nghttp2_session_server_new(&session, callbacks, c)
             : nghttp2_session_client_new(&session, callbacks, c)) != 0)
        session = NULL;
    nghttp2_session_callbacks_del(callbacks);
    /* A server may not send ENABLE_PUSH. */
    if (session != NULL &&
        (nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings,
                                 c->is_server ? 3 : 4) != 0 ||
         nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0,
                                               CONNECTION_WINDOW) != 0)) {
        nghttp2_session_del(session);
        session = NULL;
    }
    return session;
}

warprsa_http2 *warprsa_http2_new(warprsa_tls *tls, int socket, const char *name,
                                 const warprsa_http2_handlers *handlers,
                                 void *owner)
{
    warprsa_http2 *c = calloc(1, sizeof(*c));

    if (c != NULL) {
        c->input.socket = socket;
        c->ssl = warprsa_tls_connection(tls, &c->input, name, c->why);
    }
    if (c == NULL || c->ssl == NULL) {
        free(c);
        close(socket);
        return NULL;
    }
    c->handlers = handlers;
    c->owner = owner;
    c->is_server = name == NULL;
    c->heard_ns = warprsa_clock_ns();
    LIST_INIT(&c->streams);
    return c;
}

void warprsa_http2_free(warprsa_http2 *c)
{
    while (!LIST_EMPTY(&c->streams))
        free_stream(LIST_FIRST(&c->streams));
    nghttp2_session_del(c->session);
    if (SSL_is_init_finished(c->ssl))
        (void)SSL_shutdown(c->ssl); /* says goodbye, if there is room */
    ERR_clear_error();
    SSL_free(c->ssl);
    close(c->input.socket);
    warprsa_bytes_free(&c->out);
    free(c);
}

static bool end_with(warprsa_http2 *c, const char *why)
{
    if (c->why[0] == '\0')
        snprintf(c->why, sizeof(c->why), "%s", why);
    return false;
}

/* After a call of libssl that did not succeed: whether it only has to wait. */
static bool waits(warprsa_http2 *c, int returned)
{
    switch (SSL_get_error(c->ssl, returned)) {
    case SSL_ERROR_WANT_WRITE:
        c->wants_write = true;
        return true;
    case SSL_ERROR_WANT_READ:
        c->unread = c->input.stopped;
        return true;
    }
    if (c->input.flooded)
        return end_with(c, "too many messages of TLS that carry nothing");
    warprsa_tls_explain(c->ssl, returned, c->why);
    return false;
}

/* True: the handshake is done and there is a session. */
static bool shake_hands(warprsa_http2 *c)
{
    const unsigned char *protocol = NULL;
    unsigned length = 0;
    int done;

    ERR_clear_error();
    done = SSL_do_handshake(c->ssl);
    if (done != 1)
        return waits(c, done);
    SSL_get0_alpn_selected(c->ssl, &protocol, &length);
    if (length != 2 || memcmp(protocol, "h2", 2) != 0)
        return end_with(c, "the peer does not speak HTTP/2");
    c->session = new_session(c);
    if (c->session == NULL)
        return end_with(c, "no memory");
    c->handlers->connected(c);
    return true;
}

/* Whether the peer is not read from, because it leaves too much unread or has
 * sent too much. */
static bool is_backed_up(const warprsa_http2 *c)
{
    return c->holds > 0 || c->queued >= QUEUED_MAX ||
           warprsa_bytes_waiting(&c->out) >= OUT_MAX;
}

static bool read_all(warprsa_http2 *c)
{
    uint8_t buffer[READ_BYTES];

    do {
        ssize_t used;
        int size;

        if (is_backed_up(c))
            return true;
        ERR_clear_error();
        size = SSL_read(c->ssl, buffer, sizeof(buffer));
        if (size <= 0)
            return waits(c, size);
        c->heard_ns = warprsa_clock_ns();
        c->bytes_read += (unsigned)size;
        used = nghttp2_session_mem_recv(c->session, buffer, (size_t)size);
        explicit_bzero(buffer, (size_t)size);
        if (used < 0)
            return end_with(c, nghttp2_strerror((int)used));
    } while (warprsa_clock_ns() < c->turn_until_ns &&
             nghttp2_session_get_outbound_queue_size(c->session) < FRAMES_MAX);
    c->unread = true;
    return true;
}

static bool write_all(warprsa_http2 *c)
{
    for (;;) {
        int error = nghttp2_session_send(c->session), size;

        if (error != 0)
            return end_with(c, nghttp2_strerror(error));
        if (warprsa_bytes_waiting(&c->out) == 0)
            return true;
        ERR_clear_error();
        size = SSL_write(c->ssl, c->out.bytes + c->out.from,
                         (int)warprsa_bytes_waiting(&c->out));
        if (size <= 0)
            return waits(c, size);
        c->bytes_written += (unsigned)size;
        warprsa_bytes_take(&c->out, (size_t)size);
    }
}

/* Whether the peer has gone. If the peer is not read from, no read would
 * notice, and epoll would report it again and again. */
static bool has_gone(const warprsa_http2 *c)
{
    struct pollfd end = {.fd = c->input.socket};

    return is_backed_up(c) && poll(&end, 1, 0) > 0;
}

bool warprsa_http2_run(warprsa_http2 *c)
{
    c->unread = c->wants_write = false;
    c->input.allowed = TURN_BYTES;
    c->turn_until_ns = warprsa_clock_ns() + TURN_NS;
    if (c->session == NULL && !shake_hands(c))
        return false;
    if (has_gone(c))
        return end_with(c, "the peer has gone");
    if (c->session != NULL && !read_all(c))
        return false;
    return warprsa_http2_flush(c);
}

bool warprsa_http2_flush(warprsa_http2 *c)
{
    if (c->session == NULL)
        return true;
    if (!write_all(c))
        return false;
    if (nghttp2_session_want_read(c->session) == 0 &&
        nghttp2_session_want_write(c->session) == 0 &&
        warprsa_bytes_waiting(&c->out) == 0)
        return end_with(c, "done");
    return true;
}

uint32_t warprsa_http2_events(const warprsa_http2 *c)
{
    uint32_t events = is_backed_up(c) ? 0 : EPOLLIN;

    return c->wants_write || warprsa_bytes_waiting(&c->out) > 0
               ? events | EPOLLOUT
               : events;
}

warprsa_http2_stream *warprsa_http2_call(warprsa_http2 *c, const char *host,
                                         const char *path)
{
    warprsa_http2_stream *s = new_stream(c);
    const nghttp2_data_provider data = {.source.ptr = s,
                                        .read_callback = next_data};
    const nghttp2_nv head[] = {
        header(":method", "POST"),
        header(":scheme", "https"),
        header(":path", path),
        header(":authority", host),
        header("content-type", "application/grpc"),
        header("te", "trailers"),
    };

    if (s == NULL)
        return NULL;
    s->id = nghttp2_submit_request(c->session, NULL, head,
                                   sizeof(head) / sizeof(head[0]), &data, s);
    if (s->id > 0)
        return s;
    free_stream(s);
    return NULL;
}

void warprsa_http2_hold(warprsa_http2 *c, bool hold)
{
    c->holds += hold ? 1u : 0u - 1u;
    c->unread = c->unread || c->holds == 0;
}

void warprsa_http2_traffic(const warprsa_http2 *c, uint64_t *sent,
                           uint64_t *received)
{
    *sent = BIO_number_written(SSL_get_wbio(c->ssl));
    *received = BIO_number_read(SSL_get_rbio(c->ssl));
}

bool warprsa_http2_keep_alive(warprsa_http2 *c, uint64_t now_ns,
                              unsigned quiet_ms)
{
    if (c->pinged_ns > c->heard_ns ||
        now_ns <= c->heard_ns + quiet_ms * WARPRSA_NS_PER_MS)
        return false;
    c->pinged_ns = now_ns;
    if (c->session != NULL)
        (void)nghttp2_submit_ping(c->session, NGHTTP2_FLAG_NONE, NULL);
    return true;
}

bool warprsa_http2_is_silent(const warprsa_http2 *c, uint64_t now_ns,
                             unsigned answer_ms)
{
    return c->pinged_ns > c->heard_ns &&
           now_ns > c->pinged_ns + answer_ms * WARPRSA_NS_PER_MS;
}

void warprsa_http2_go_away(warprsa_http2 *c)
{
    if (c->session != NULL)
        (void)nghttp2_submit_goaway(
            c->session, NGHTTP2_FLAG_NONE,
            nghttp2_session_get_last_proc_stream_id(c->session),
            NGHTTP2_NO_ERROR, NULL, 0);
}
