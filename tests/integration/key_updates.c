/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A TLS 1.3 client that sends key updates and nothing else (RFC 8446, 4.6.3):
 *
 *   key_updates PORT CA CERTIFICATE KEY COUNT
 *
 * Prints "closed" if the server of 127.0.0.1 ends the connection before it has
 * taken all of them, else "taken".
 */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

enum {
    CLOSE_MS = 10000,
};

static int fail(const char *what)
{
    fprintf(stderr, "key_updates: %s\n", what);
    ERR_print_errors_fp(stderr);
    return EXIT_FAILURE;
}

static SSL *connect_to(int port, char **files)
{
    static const unsigned char h2[] = {2, 'h', '2'};
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = NULL;

    if (fd >= 0 && context != NULL &&
        connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        SSL_CTX_load_verify_file(context, files[0]) == 1 &&
        SSL_CTX_use_certificate_file(context, files[1], SSL_FILETYPE_PEM) ==
            1 &&
        SSL_CTX_use_PrivateKey_file(context, files[2], SSL_FILETYPE_PEM) == 1 &&
        SSL_CTX_set_alpn_protos(context, h2, sizeof(h2)) == 0 &&
        (ssl = SSL_new(context)) != NULL && SSL_set_fd(ssl, fd) == 1 &&
        SSL_connect(ssl) == 1)
        return ssl;
    return NULL;
}

int main(int argc, char **argv)
{
    SSL *ssl = argc == 6 ? connect_to(atoi(argv[1]), argv + 2) : NULL;
    struct pollfd its_end = {.events = POLLRDHUP};
    int left;

    if (ssl == NULL)
        return fail("no connection, or not five arguments");
    signal(SIGPIPE, SIG_IGN);
    for (left = atoi(argv[5]); left > 0; left--)
        if (SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED) != 1 ||
            SSL_do_handshake(ssl) != 1)
            break;
    /* What it has sent may be on its way still. */
    its_end.fd = SSL_get_fd(ssl);
    if (left == 0)
        (void)poll(&its_end, 1, CLOSE_MS);
    puts(left > 0 || (its_end.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0
             ? "closed"
             : "taken");
    return EXIT_SUCCESS;
}
