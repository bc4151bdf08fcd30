/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Messages sent and echoed by batching/remote/wire/http2.c: the counterpart of
 * grpc_echo.cc, which prints the same line. Two processes, mutual TLS 1.3 over
 * the loopback interface, one stream.
 *
 *   http2_echo DIRECTORY BYTES IN_FLIGHT SECONDS
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/remote/wire/address.h"
#include "batching/remote/wire/http2.h"

enum {
    BYTES_MAX = 1 << 20,
    IN_FLIGHT_MAX = 256,
    TIMES_MAX = 1 << 22,
};

typedef struct client {
    warprsa_http2_stream *stream;
    size_t bytes;
    unsigned in_flight, next; /* the oldest message under way */
    uint64_t sent_ns[IN_FLIGHT_MAX];
    uint64_t end_ns;
    uint32_t *times_us;
    size_t count;
} client;

static void die(const char *what)
{
    fprintf(stderr, "http2_echo: %s\n", what);
    exit(EXIT_FAILURE);
}

static void send_message(warprsa_http2_stream *stream, const uint8_t *from,
                         size_t size)
{
    uint8_t *to = warprsa_http2_reserve(stream, size + WARPRSA_REMOTE_PREFIX);

    if (to == NULL)
        die("no memory");
    to[0] = 0; /* not compressed; then the length, as gRPC has it */
    for (int i = 0; i < 4; i++)
        to[1 + i] = (uint8_t)(size >> (24 - 8 * i));
    memcpy(to + WARPRSA_REMOTE_PREFIX, from, size);
    warprsa_http2_sent(stream, size + WARPRSA_REMOTE_PREFIX);
}

static void nothing(warprsa_http2_stream *stream)
{
    (void)stream;
}

static void serve_connected(warprsa_http2 *connection)
{
    (void)connection;
}

static void serve_begin(warprsa_http2_stream *stream)
{
    stream->message_max = BYTES_MAX;
}

static const char *serve_message(warprsa_http2_stream *stream,
                                 const uint8_t *bytes, size_t size)
{
    send_message(stream, bytes, size);
    return NULL;
}

static void send_next(client *c, unsigned place)
{
    static uint8_t bytes[BYTES_MAX];

    c->sent_ns[place] = warprsa_clock_ns();
    send_message(c->stream, bytes, c->bytes);
}

static void use_connected(warprsa_http2 *connection)
{
    client *c = connection->owner;

    c->stream = warprsa_http2_call(connection, "localhost", "/echo");
    if (c->stream == NULL)
        die("no memory");
    c->stream->owner = c;
    c->stream->message_max = BYTES_MAX;
    for (unsigned i = 0; i < c->in_flight; i++)
        send_next(c, i);
}

static const char *use_message(warprsa_http2_stream *stream,
                               const uint8_t *bytes, size_t size)
{
    client *c = stream->owner;
    uint64_t now_ns = warprsa_clock_ns();

    (void)bytes;
    if (size != c->bytes)
        die("a message of another size");
    if (c->count < TIMES_MAX)
        c->times_us[c->count++] =
            (uint32_t)((now_ns - c->sent_ns[c->next]) / 1000);
    if (now_ns < c->end_ns)
        send_next(c, c->next);
    c->next = (c->next + 1) % c->in_flight;
    return NULL;
}

/* Until the connection ends, or the time is over. */
static void run(warprsa_http2 *connection, uint64_t end_ns)
{
    while (warprsa_http2_run(connection) && warprsa_clock_ns() < end_ns) {
        struct pollfd wait = {.fd = connection->socket};

        wait.events = (short)warprsa_http2_events(connection);
        (void)poll(&wait, 1, connection->unread ? 0 : 100);
    }
}

static double cpu_us(int who)
{
    struct rusage used;

    getrusage(who, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static int compare(const void *left, const void *right)
{
    const uint32_t *l = left, *r = right;

    return (*l > *r) - (*l < *r);
}

static _Noreturn void serve(warprsa_tls *tls, int listener)
{
    static const warprsa_http2_handlers handlers = {
        serve_connected, serve_begin, serve_message, nothing, nothing};
    struct pollfd wait = {.fd = listener, .events = POLLIN};
    warprsa_http2 *connection;
    int one;

    (void)poll(&wait, 1, -1);
    one = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    if (one < 0)
        die(strerror(errno));
    warprsa_address_no_delay(one);
    connection = warprsa_http2_new(tls, one, NULL, &handlers, NULL);
    if (connection == NULL)
        die("no memory");
    run(connection, UINT64_MAX);
    exit(EXIT_SUCCESS);
}

static void use(warprsa_tls *tls, unsigned port, client *c)
{
    static const warprsa_http2_handlers handlers = {
        use_connected, nothing, use_message, nothing, nothing};
    warprsa_address address = {.host = "127.0.0.1"};
    warprsa_http2 *connection;
    char why[256];
    int one;

    snprintf(address.port, sizeof(address.port), "%u", port % 65536);
    one = warprsa_address_connect(&address, 3000, why, sizeof(why));
    if (one < 0)
        die(why);
    warprsa_address_no_delay(one);
    connection = warprsa_http2_new(tls, one, "127.0.0.1", &handlers, c);
    if (connection == NULL)
        die("no memory");
    run(connection, c->end_ns + 200 * WARPRSA_NS_PER_MS);
    warprsa_http2_free(connection);
}

static warprsa_tls open_tls(bool is_server, const char *directory)
{
    char certificate[4096], key[4096], ca[4096], why[256];
    const warprsa_tls_files files = {certificate, key, ca};
    warprsa_tls tls;

    snprintf(certificate, sizeof(certificate), "%s/host.pem", directory);
    snprintf(key, sizeof(key), "%s/host.key", directory);
    snprintf(ca, sizeof(ca), "%s/ca.pem", directory);
    if (!warprsa_tls_open(&tls, is_server, &files, why, sizeof(why)))
        die(why);
    return tls;
}

int main(int argc, char **argv)
{
    static client c;
    const warprsa_address any = {.host = "127.0.0.1", .port = "0"};
    warprsa_tls tls;
    char why[256];
    unsigned port;
    int listener;
    pid_t server;

    if (argc != 5)
        die("DIRECTORY BYTES IN_FLIGHT SECONDS");
    c.bytes = (size_t)strtoul(argv[2], NULL, 10);
    c.in_flight = (unsigned)strtoul(argv[3], NULL, 10);
    c.times_us = calloc(TIMES_MAX, sizeof(*c.times_us));
    if (c.bytes > BYTES_MAX || c.in_flight < 1 || c.in_flight > IN_FLIGHT_MAX ||
        c.times_us == NULL)
        die("too many bytes or messages");
    listener = warprsa_address_listen(&any, &port, why, sizeof(why));
    if (listener < 0)
        die(why);
    server = fork();
    if (server == 0) {
        tls = open_tls(true, argv[1]);
        serve(&tls, listener);
    }
    tls = open_tls(false, argv[1]);
    c.end_ns = warprsa_clock_ns() + (uint64_t)(strtod(argv[4], NULL) * 1e9);
    use(&tls, port, &c);
    waitpid(server, NULL, 0);
    if (c.count == 0)
        die("no message came back");
    qsort(c.times_us, c.count, sizeof(*c.times_us), compare);
    printf("nghttp2 %8zu %9u %9zu %9.1f %9.1f %9u %9u\n", c.bytes, c.in_flight,
           c.count, cpu_us(RUSAGE_SELF) / (double)c.count,
           cpu_us(RUSAGE_CHILDREN) / (double)c.count, c.times_us[c.count / 2],
           c.times_us[c.count * 99 / 100]);
    return EXIT_SUCCESS;
}
