/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * HTTP/2 behind TLS, with a wire in memory in the place of TLS: messages of
 * each size arrive as they were sent, however the bytes are cut; and of bytes
 * that were changed, lost or added at random nothing is read beyond its end and
 * no longer message is handed on than is allowed.
 */
#include "tests/unit/support/unit_test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>

#include "batching/remote/wire/http2.h"

enum {
    WIRE = 1 << 20,
    MESSAGE_MAX = 60000,
    ROUNDS = 4000,
};

/* One direction, and how it is spoilt. */
typedef struct wire {
    uint8_t bytes[WIRE];
    size_t from, to;
    size_t step;       /* bytes that arrive at once, at most */
    unsigned spoil_in; /* bytes until the next one is spoilt; 0: never */
} wire;

/* What stands for an SSL: the wires of one side. */
typedef struct side {
    wire *in, *out;
} side;

static wire up, down;
static side client_side = {&down, &up}, server_side = {&up, &down};
static uint32_t seed = 1;
static size_t received, longest;
static unsigned ended; /* conversations that came to a bad end */
static bool sizes_are_right;

static uint32_t next_random(void)
{
    seed = seed * 1664525 + 1013904223;
    return seed >> 8;
}

/* ---- In the place of TLS ---- */

SSL *warprsa_tls_connection(warprsa_tls *tls, warprsa_tls_input *input,
                            const char *name, char why[WARPRSA_TLS_WHY])
{
    return (SSL *)(name != NULL ? &client_side : &server_side);
}

void warprsa_tls_explain(SSL *ssl, int returned, char why[WARPRSA_TLS_WHY])
{
}

int SSL_do_handshake(SSL *ssl)
{
    return 1;
}

int SSL_is_init_finished(const SSL *ssl)
{
    return 0;
}

int SSL_shutdown(SSL *ssl)
{
    return 1;
}

void SSL_free(SSL *ssl)
{
}

void ERR_clear_error(void)
{
}

int SSL_get_error(const SSL *ssl, int returned)
{
    return SSL_ERROR_WANT_READ; /* nothing more there, or no room */
}

void SSL_get0_alpn_selected(const SSL *ssl, const unsigned char **data,
                            unsigned *length)
{
    *data = (const unsigned char *)"h2";
    *length = 2;
}

BIO *SSL_get_rbio(const SSL *ssl)
{
    return NULL;
}

BIO *SSL_get_wbio(const SSL *ssl)
{
    return NULL;
}

uint64_t BIO_number_read(BIO *bio)
{
    return 0;
}

uint64_t BIO_number_written(BIO *bio)
{
    return 0;
}

int SSL_read(SSL *ssl, void *buffer, int size)
{
    wire *w = ((side *)ssl)->in;
    size_t count = w->to - w->from;

    if (count > (size_t)size)
        count = (size_t)size;
    if (count > w->step)
        count = w->step;
    if (count == 0)
        return -1;
    memcpy(buffer, w->bytes + w->from, count);
    w->from += count;
    return (int)count;
}

/* Changes a byte, leaves it out, or puts another one before it. */
static void put(wire *w, uint8_t byte)
{
    if (w->spoil_in > 0 && --w->spoil_in == 0) {
        uint32_t how = next_random();

        w->spoil_in = 1 + next_random() % 2000;
        if (how % 3 == 0)
            return;
        if (how % 3 == 1 && w->to < WIRE)
            w->bytes[w->to++] = (uint8_t)(how >> 8);
        else
            byte ^= (uint8_t)(1u << (how >> 8) % 8);
    }
    if (w->to < WIRE)
        w->bytes[w->to++] = byte;
}

int SSL_write(SSL *ssl, const void *bytes, int size)
{
    wire *w = ((side *)ssl)->out;

    if (w->from == w->to)
        w->from = w->to = 0;
    if ((size_t)size + w->to >= WIRE)
        return -1;
    for (int i = 0; i < size; i++)
        put(w, ((const uint8_t *)bytes)[i]);
    return size;
}

/* ---- The two sides ---- */

static void nothing(warprsa_http2_stream *stream)
{
}

static void connection_nothing(warprsa_http2 *connection)
{
}

static void send_message(warprsa_http2_stream *stream, size_t size)
{
    uint8_t *to = warprsa_http2_reserve(stream, WARPRSA_REMOTE_PREFIX + size);

    assert_non_null(to);
    to[0] = 0;
    for (int i = 0; i < 4; i++)
        to[1 + i] = (uint8_t)(size >> (24 - 8 * i));
    memset(to + WARPRSA_REMOTE_PREFIX, (int)(size & 0xff), size);
    warprsa_http2_sent(stream, WARPRSA_REMOTE_PREFIX + size);
}

static void begin(warprsa_http2_stream *stream)
{
    stream->message_max = MESSAGE_MAX;
}

static const char *note(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) /* all of it is memory of ours */
        sizes_are_right &= bytes[i] == (uint8_t)(size & 0xff);
    received++;
    if (size > longest)
        longest = size;
    return NULL;
}

/* The server sends each message back, as long as it says it is. */
static const char *server_message(warprsa_http2_stream *stream,
                                  const uint8_t *bytes, size_t size)
{
    (void)note(bytes, size);
    send_message(stream, size);
    return NULL;
}

static const char *client_message(warprsa_http2_stream *stream,
                                  const uint8_t *bytes, size_t size)
{
    return note(bytes, size);
}

static const warprsa_http2_handlers server_handlers = {
    connection_nothing, begin, server_message, nothing, nothing};
static warprsa_http2_stream *call; /* the client's; NULL once it has closed */

static void client_closed(warprsa_http2_stream *stream)
{
    if (stream == call)
        call = NULL;
}

static void client_connected(warprsa_http2 *connection)
{
    call = warprsa_http2_call(connection, "host", "/call");
    assert_non_null(call);
    call->message_max = MESSAGE_MAX;
}

static const warprsa_http2_handlers client_handlers = {
    client_connected, nothing, client_message, nothing, client_closed};

/* A conversation of some messages. Returns how many the client has sent. */
static size_t converse(unsigned messages)
{
    warprsa_http2 *client =
        warprsa_http2_new(NULL, dup(0), "host", &client_handlers, NULL);
    warprsa_http2 *server =
        warprsa_http2_new(NULL, dup(0), NULL, &server_handlers, NULL);
    bool client_runs = true, server_runs = true;
    size_t sent = 0, size;

    assert_true(client != NULL && server != NULL);
    received = longest = 0;
    sizes_are_right = true;
    up.from = up.to = down.from = down.to = 0;
    client_runs = warprsa_http2_run(client);
    for (unsigned i = 0; i < messages; i++) {
        size = next_random() % (i % 8 == 0 ? MESSAGE_MAX : 600);
        if (client_runs && call != NULL && !call->broken) {
            send_message(call, size);
            sent++;
        }
        for (unsigned turn = 0; turn < 40; turn++) {
            client_runs = client_runs && warprsa_http2_run(client);
            server_runs = server_runs && warprsa_http2_run(server);
        }
    }
    for (unsigned turn = 0; turn < 100000 && client_runs && server_runs &&
                            received < 2 * sent && up.step < WIRE;
         turn++) {
        client_runs = warprsa_http2_run(client);
        server_runs = warprsa_http2_run(server);
    }
    ended += !client_runs || !server_runs || call == NULL;
    warprsa_http2_free(client);
    warprsa_http2_free(server);
    return sent;
}

/* A peer that is not read from, and goes. */
TEST(who_is_held_and_goes)
{
    int ends[2];
    warprsa_http2 *client, *server;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    client = warprsa_http2_new(NULL, ends[0], "host", &client_handlers, NULL);
    server = warprsa_http2_new(NULL, ends[1], NULL, &server_handlers, NULL);
    assert_true(client != NULL && server != NULL);
    up = down = (wire){.step = WIRE - 1};
    assert_true(warprsa_http2_run(client));
    assert_true(warprsa_http2_run(server));
    warprsa_http2_hold(server, true);
    assert_true(warprsa_http2_run(server));
    assert_int_equal(warprsa_http2_events(server), 0);
    warprsa_http2_free(client);
    assert_false(warprsa_http2_run(server));
    assert_string_equal(server->why, "the peer has gone");
    warprsa_http2_free(server);
}

TEST(cut_anywhere)
{
    static const size_t steps[] = {1, 3, 8, 9, 10, 100, 16383, WIRE - 1};

    up.spoil_in = down.spoil_in = 0;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        up.step = down.step = steps[i];
        assert_int_equal(converse(10), 10);
        assert_int_equal(received, 20);
        assert_int_equal(ended, 0);
        assert_true(sizes_are_right);
    }
}

TEST(changed_at_random)
{
    const char *scale = getenv("WARPRSA_TEST_SCALE");
    unsigned rounds = ROUNDS * (scale != NULL ? (unsigned)atoi(scale) : 100);
    size_t arrived = 0;

    for (unsigned i = 0; i < rounds / 100; i++) {
        seed = i + 1;
        up.step = down.step = 1 + next_random() % 3000;
        up.spoil_in = i % 3 == 0 ? 0 : 1 + next_random() % 3000;
        down.spoil_in = i % 3 == 1 ? 0 : 1 + next_random() % 3000;
        (void)converse(4);
        arrived += received;
        assert_true(longest <= MESSAGE_MAX);
    }
    /* Else nothing was looked at, or nothing was spoilt. */
    assert_true(arrived > 0 && ended > 0);
}

RUN_TESTS(NULL, NULL)
