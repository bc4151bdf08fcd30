/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Addresses and sockets; see address.h.
 */
#include "batching/remote/wire/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BACKLOG = 512,
};

static bool copy(char *to, size_t room, const char *from, size_t length)
{
    if (length == 0 || length >= room || memchr(from, '\0', length) != NULL)
        return false;
    memcpy(to, from, length);
    to[length] = '\0';
    return true;
}

bool warprsa_address_parse(const char *text, size_t length,
                           warprsa_address *address)
{
    const char *end = text + length, *colon = end;

    while (colon > text && *colon != ':')
        colon--;
    if (colon == text || colon == end ||
        !copy(address->port, sizeof(address->port), colon + 1,
              (size_t)(end - colon - 1)) ||
        strspn(address->port, "0123456789") != strlen(address->port) ||
        strtoul(address->port, NULL, 10) > 65535)
        return false;
    if (*text == '[' && colon[-1] == ']') {
        text++;
        colon--;
    } else if (memchr(text, ':', (size_t)(colon - text)) != NULL) {
        return false;
    }
    return copy(address->host, sizeof(address->host), text,
                (size_t)(colon - text));
}

static bool bind_there(int one, const struct addrinfo *to, unsigned *port)
{
    const int on = 1;
    struct sockaddr_storage bound;
    socklen_t size = sizeof(bound);

    if (setsockopt(one, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        bind(one, to->ai_addr, to->ai_addrlen) != 0 ||
        listen(one, BACKLOG) != 0 ||
        getsockname(one, (struct sockaddr *)&bound, &size) != 0)
        return false;
    /* Both families have the port at one place. */
    *port = ntohs(((struct sockaddr_in *)&bound)->sin_port);
    return true;
}

/* Whether a socket becomes connected within *ms milliseconds; else see errno.
 */
static bool connect_there(int one, const struct addrinfo *to, unsigned *ms)
{
    struct pollfd wait = {.fd = one, .events = POLLOUT};
    int error = 0;
    socklen_t size = sizeof(error);

    if (connect(one, to->ai_addr, to->ai_addrlen) == 0)
        return true;
    if (errno != EINPROGRESS)
        return false;
    if (poll(&wait, 1, (int)*ms) != 1) {
        errno = ETIMEDOUT;
        return false;
    }
    if (getsockopt(one, SOL_SOCKET, SO_ERROR, &error, &size) == 0)
        errno = error;
    return errno == 0;
}

/* A socket of the first address found that can be used; -1 with the reason. */
static int open_first(const warprsa_address *address, int flags,
                      bool (*use)(int one, const struct addrinfo *to,
                                  unsigned *number),
                      unsigned *number, char *why, size_t why_size)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = flags};
    struct addrinfo *found = NULL;
    int error = getaddrinfo(address->host, address->port, &hints, &found);
    int one = -1;

    if (error != 0) {
        snprintf(why, why_size, "%s:%s: %s", address->host, address->port,
                 gai_strerror(error));
        return -1;
    }
    for (struct addrinfo *to = found; to != NULL && one < 0; to = to->ai_next) {
        one = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                     0);
        if (one >= 0 && use(one, to, number))
            break;
        snprintf(why, why_size, "%s:%s: %s", address->host, address->port,
                 strerror(errno));
        if (one >= 0)
            close(one);
        one = -1;
    }
    freeaddrinfo(found);
    return one;
}

int warprsa_address_listen(const warprsa_address *address, unsigned *port,
                           char *why, size_t why_size)
{
    return open_first(address, AI_PASSIVE, bind_there, port, why, why_size);
}

int warprsa_address_connect(const warprsa_address *address, unsigned ms,
                            char *why, size_t why_size)
{
    return open_first(address, 0, connect_there, &ms, why, why_size);
}

void warprsa_address_no_delay(int socket)
{
    const int on = 1;

    (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}
