/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The states of a connection: connecting, handshake, request, response.
 */
#include "bench/handshakes/client.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/x509_vfy.h>

enum {
    /* Source addresses 127.0.0.2 to 127.0.0.65. Each has 28,000 ports, and a
     * port can't be used for a while after its connection (TIME_WAIT). */
    SOURCES = 64,
    SAID_AT_MOST = 10,
};

uint64_t client_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

SSL_CTX *client_ctx(const plan *plan)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    bool done =
        ctx != NULL && SSL_CTX_set_min_proto_version(ctx, plan->version) &&
        SSL_CTX_set_max_proto_version(ctx, plan->version) &&
        (plan->cipher == NULL || SSL_CTX_set_cipher_list(ctx, plan->cipher));

    if (done && plan->ca != NULL) {
        done = SSL_CTX_load_verify_file(ctx, plan->ca);
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    }
    if (done) {
        SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
        return ctx;
    }
    ERR_print_errors_fp(stderr);
    SSL_CTX_free(ctx);
    return NULL;
}

static int open_socket(const plan *plan, uint64_t number)
{
    struct sockaddr_in source = {.sin_family = AF_INET};
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    if (ntohl(plan->server.sin_addr.s_addr) >> 24 == 127) {
        source.sin_addr.s_addr =
            htonl(INADDR_LOOPBACK + 1 + (uint32_t)(number % SOURCES));
        if (setsockopt(fd, SOL_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on)) ||
            bind(fd, (struct sockaddr *)&source, sizeof(source))) {
            close(fd);
            return -1;
        }
    }
    if (connect(fd, (const struct sockaddr *)&plan->server,
                sizeof(plan->server)) == 0 ||
        errno == EINPROGRESS)
        return fd;
    close(fd);
    return -1;
}

/* Has the name in the certificate verified. OpenSSL 4.0 calls SSL_set1_host()
 * deprecated. */
static bool expect_name(SSL *ssl, const char *name)
{
    return X509_VERIFY_PARAM_set1_host(SSL_get0_param(ssl), name, 0) == 1;
}

client_end client_begin(client *client, const plan *plan, SSL_CTX *ctx,
                        int epoll, uint64_t number, uint64_t due_ns)
{
    const char *name = plan->names[number % plan->names_count];
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET,
                                .data.ptr = client};

    *client = (struct client){.state = CLIENT_CONNECTING,
                              .fd = open_socket(plan, number),
                              .ssl = SSL_new(ctx),
                              .due_ns = due_ns};
    if (client->fd < 0) {
        fprintf(stderr, "handshakes: connecting: %s\n", strerror(errno));
        return CLIENT_RESET;
    }
    if (client->ssl == NULL || SSL_set_fd(client->ssl, client->fd) != 1 ||
        SSL_set_tlsext_host_name(client->ssl, name) != 1 ||
        (plan->ca != NULL && !expect_name(client->ssl, name)) ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, client->fd, &event) != 0) {
        ERR_print_errors_fp(stderr);
        fprintf(stderr, "handshakes: setting up: %s\n", strerror(errno));
        return CLIENT_FAILED;
    }
    return CLIENT_GOES_ON;
}

/* Prints a failure; only the first few, since there may be very many. */
static bool may_say(void)
{
    static atomic_int said;

    return atomic_fetch_add(&said, 1) < SAID_AT_MOST;
}

/* What it means that a call of libssl did not succeed. */
static client_end judge(const client *client, int result, const char *doing)
{
    unsigned long error = ERR_peek_error();
    int why = SSL_get_error(client->ssl, result);
    char text[160] = "?";

    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE)
        return CLIENT_GOES_ON;
    if (why == SSL_ERROR_ZERO_RETURN || why == SSL_ERROR_SYSCALL ||
        ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
        return CLIENT_RESET;
    ERR_error_string_n(error, text, sizeof(text));
    if (may_say())
        fprintf(
            stderr, "handshakes: %s: %s (certificate: %s)\n", doing, text,
            X509_verify_cert_error_string(SSL_get_verify_result(client->ssl)));
    return CLIENT_FAILED;
}

static client_end do_handshake(client *client, const plan *plan)
{
    int result = SSL_connect(client->ssl);
    client_end end = CLIENT_GOES_ON;

    if (result == 1) {
        client->handshake_ns = client_now_ns();
        client->state = CLIENT_WRITING;
        return plan->request ? CLIENT_GOES_ON : CLIENT_DONE;
    }
    end = judge(client, result, "handshake");
    if (end == CLIENT_GOES_ON && client->hello_ns == 0 &&
        SSL_want_read(client->ssl)) {
        client->hello_ns = client_now_ns();
        client->abort_ns =
            client->hello_ns +
            1000000 * (uint64_t)(random() % ((long)plan->abort_ms + 1));
    }
    return end;
}

static client_end send_request(client *client)
{
    const char *name =
        SSL_get_servername(client->ssl, TLSEXT_NAMETYPE_host_name);
    char request[400];
    int length = snprintf(request, sizeof(request),
                          "GET / HTTP/1.0\r\nHost: %s\r\n\r\n", name);
    int result = SSL_write(client->ssl, request, length);

    if (result <= 0)
        return judge(client, result, "request");
    client->state = CLIENT_READING;
    return CLIENT_GOES_ON;
}

/* Reads the response to its end, so that the server closes first. */
static client_end read_response(client *client)
{
    char buffer[1024];
    int result = 0;
    client_end end = CLIENT_GOES_ON;

    while ((result = SSL_read(client->ssl, buffer, sizeof(buffer))) > 0) {
        size_t wanted = sizeof(client->response) - client->response_bytes;

        if (wanted > (size_t)result)
            wanted = (size_t)result;
        memcpy(client->response + client->response_bytes, buffer, wanted);
        client->response_bytes += wanted;
    }
    end = judge(client, result, "response");
    if (end != CLIENT_RESET ||
        client->response_bytes < sizeof(client->response))
        return end;
    if (memcmp(client->response, "HTTP/1.", 7) == 0 &&
        memcmp(client->response + 8, " 200 ", 5) == 0)
        return CLIENT_DONE;
    if (may_say())
        fprintf(stderr, "handshakes: response: %.*s\n",
                (int)sizeof(client->response), client->response);
    return CLIENT_FAILED;
}

client_end client_go_on(client *client, const plan *plan)
{
    client_end end = CLIENT_GOES_ON;
    client_state before = CLIENT_IDLE;

    ERR_clear_error();
    do {
        before = client->state;
        if (before == CLIENT_CONNECTING)
            client->state = CLIENT_HANDSHAKE;
        else if (before == CLIENT_HANDSHAKE)
            end = do_handshake(client, plan);
        else if (before == CLIENT_WRITING)
            end = send_request(client);
        else
            end = read_response(client);
    } while (end == CLIENT_GOES_ON && client->state != before);
    return end;
}

void client_close(client *client, bool reset)
{
    static const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    if (client->handshake_ns != 0)
        (void)SSL_shutdown(client->ssl);
    SSL_free(client->ssl);
    if (reset)
        (void)setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &at_once,
                         sizeof(at_once));
    if (client->fd >= 0)
        close(client->fd);
    ERR_clear_error();
    *client = (struct client){.state = CLIENT_IDLE, .fd = -1};
}
