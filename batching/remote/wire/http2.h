/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A connection of HTTP/2 (RFC 9113, by nghttp2) over TLS, and the calls of gRPC
 * on it as streams of whole messages: for both sides. It knows none of
 * warprsa's messages. The peer may be anyone with a certificate. Lengths, heads
 * and the order of frames are checked here or by nghttp2. A peer that sends
 * more than it reads is not read from until it has read what is ready for it.
 * This bounds the cost of a connection: some 2 MiB of answers, 256 KiB of
 * frames for the socket, and the answers to one read.
 *
 * Messages may hold private keys: their bytes are wiped everywhere once they
 * have been used or sent.
 *
 * A connection belongs to one thread at a time.
 */
#ifndef WARPRSA_BATCHING_REMOTE_WIRE_HTTP2_H
#define WARPRSA_BATCHING_REMOTE_WIRE_HTTP2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <nghttp2/nghttp2.h>

#include "batching/remote/wire/bytes.h"
#include "batching/remote/wire/messages.h"
#include "batching/remote/wire/tls.h"

/* The statuses of gRPC that are used here. */
typedef enum warprsa_grpc_status {
    WARPRSA_GRPC_OK = 0,
    WARPRSA_GRPC_UNKNOWN = 2,
    WARPRSA_GRPC_INVALID_ARGUMENT = 3,
    WARPRSA_GRPC_NOT_FOUND = 5,
    WARPRSA_GRPC_PERMISSION_DENIED = 7,
    WARPRSA_GRPC_RESOURCE_EXHAUSTED = 8,
    WARPRSA_GRPC_UNIMPLEMENTED = 12,
    WARPRSA_GRPC_UNAVAILABLE = 14,
} warprsa_grpc_status;

struct warprsa_http2;

/* A call. */
typedef struct warprsa_http2_stream {
    struct warprsa_http2 *connection;
    LIST_ENTRY(warprsa_http2_stream) link;
    int32_t id;
    void *owner;       /* the role's; NULL at first */
    char path[64];     /* empty: too long, or none */
    size_t head_bytes; /* of the peer's heads, as RFC 9113 counts them */
    bool is_grpc;      /* by its content-type */
    bool begun;        /* the peer's head is complete */
    /* Messages being read. */
    uint8_t prefix[WARPRSA_REMOTE_PREFIX];
    size_t prefix_bytes, message_size;
    size_t message_max; /* what is allowed; 1 KiB unless the role says more */
    warprsa_bytes in;
    bool broken; /* what comes is not looked at any more */
    /* Messages being sent, then the end. */
    warprsa_bytes out;
    bool answered; /* the head was sent */
    bool ending;
    int status;            /* sent in the end, or received */
    char status_text[128]; /* empty: none */
} warprsa_http2_stream;

/* What a role (server or client) does. No handler may free the connection. */
typedef struct warprsa_http2_handlers {
    /* The TLS handshake is done: the peer's certificate is good. */
    void (*connected)(struct warprsa_http2 *connection);
    /* At a server: a client has begun a call; its path is known. */
    void (*begin)(warprsa_http2_stream *stream);
    /* A message has come; it is wiped afterwards. A returned text says what is
     * wrong with the message. */
    const char *(*message)(warprsa_http2_stream *stream, const uint8_t *bytes,
                           size_t size);
    /* The peer will send no more messages. */
    void (*half_closed)(warprsa_http2_stream *stream);
    /* The stream is about to be freed; at a client `status` says how it ended.
     */
    void (*closed)(warprsa_http2_stream *stream);
} warprsa_http2_handlers;

typedef struct warprsa_http2 {
    const warprsa_http2_handlers *handlers;
    void *owner; /* the role's */
    bool is_server;
    SSL *ssl;
    warprsa_tls_input input;
    nghttp2_session *session; /* NULL during the handshake */
    LIST_HEAD(, warprsa_http2_stream) streams;
    warprsa_bytes out; /* for the socket */
    size_t queued;     /* bytes that wait in streams */
    unsigned holds;    /* of hold(): not 0: it is not read from */
    bool wants_write;  /* TLS does, before anything else */
    bool unread;       /* there may be more to read, without an event */
    uint64_t turn_until_ns;
    uint64_t heard_ns;  /* when the peer was last heard */
    uint64_t pinged_ns; /* when it was last asked for a sign of life */
    uint64_t bytes_read, bytes_written;
    char why[WARPRSA_TLS_WHY]; /* why it has ended */
} warprsa_http2;

/* Makes a connection on a connected, non-blocking socket, which it takes over.
 * `name` as in tls.h: NULL for a server. NULL: no memory, and the socket is
 * closed. */
warprsa_http2 *warprsa_http2_new(warprsa_tls *tls, int socket, const char *name,
                                 const warprsa_http2_handlers *handlers,
                                 void *owner);

/* Closes all streams, wipes and frees. */
void warprsa_http2_free(warprsa_http2 *connection);

/* Reads and writes without waiting, for a millisecond or so and 256 KiB, as far
 * as the peer reads the answers. `unread` says that there is more. False: the
 * connection has ended, and `why` says why. */
bool warprsa_http2_run(warprsa_http2 *connection);

/* As warprsa_http2_run(), but only writes. */
bool warprsa_http2_flush(warprsa_http2 *connection);

/* What to wait for: EPOLLIN, EPOLLOUT. */
uint32_t warprsa_http2_events(const warprsa_http2 *connection);

/* Each of the following functions takes effect with the next run(). */

/* At a client: makes a call of this path. NULL: no memory. */
warprsa_http2_stream *warprsa_http2_call(warprsa_http2 *connection,
                                         const char *host, const char *path);

/* Returns `room` bytes at the end of a stream's output. warprsa_http2_sent()
 * takes the first `size` of them, a message with its prefix. NULL: no memory,
 * and the connection has to be ended. */
uint8_t *warprsa_http2_reserve(warprsa_http2_stream *stream, size_t room);
void warprsa_http2_sent(warprsa_http2_stream *stream, size_t size);

/* Ends a stream once everything is sent; at a server with this status, whose
 * text is a constant and is cut at 127 bytes. Does nothing a second time. */
void warprsa_http2_finish(warprsa_http2_stream *stream,
                          warprsa_grpc_status status, const char *text);

/* True: a role has no room for more. The connection is not read from until this
 * was called with false as often as with true; then `unread` is set. */
void warprsa_http2_hold(warprsa_http2 *connection, bool hold);

/* Bytes on the wire so far, with what TLS adds. */
void warprsa_http2_traffic(const warprsa_http2 *connection, uint64_t *sent,
                           uint64_t *received);

/* Asks a peer that was not heard of for so long for a sign of life, once.
 * Whether it was asked now. */
bool warprsa_http2_keep_alive(warprsa_http2 *connection, uint64_t now_ns,
                              unsigned quiet_ms);

/* Whether it has had so long for that, and gave none. */
bool warprsa_http2_is_silent(const warprsa_http2 *connection, uint64_t now_ns,
                             unsigned answer_ms);

/* Tells the peer to make no more calls here (GOAWAY). */
void warprsa_http2_go_away(warprsa_http2 *connection);

#endif
