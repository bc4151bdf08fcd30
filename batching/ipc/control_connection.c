/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See control_connection.h.
 */
#include "batching/ipc/control_connection.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "batching/ipc/message.h"

bool warprsa_is_same_file(int fd, dev_t dev, ino_t ino)
{
    struct stat st;

    return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == dev &&
           st.st_ino == ino;
}

static void explain(const warprsa_control_connection *control_connection,
                    char *why, size_t why_size)
{
    snprintf(why, why_size, "no warprsad at %s: %s", control_connection->path,
             strerror(errno));
}

/* A connected socket, or -1 and errno. Does not block: a daemon with too many
 * connections waiting to be accepted counts as none. */
static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int error;

    if (fd < 0)
        return -1;
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

static bool reopen(warprsa_control_connection *control_connection)
{
    struct stat st;
    int fd = connect_to(control_connection->path);

    if (fd < 0)
        return false;
    warprsa_control_connection_close(control_connection);
    if (fstat(fd, &st) != 0) {
        close(fd);
        return false;
    }
    control_connection->dev = st.st_dev;
    control_connection->ino = st.st_ino;
    control_connection->fd = fd;
    return true;
}

bool warprsa_control_connection_open(
    warprsa_control_connection *control_connection, const char *path, char *why,
    size_t why_size)
{
    control_connection->fd = -1;
    snprintf(control_connection->path, sizeof(control_connection->path), "%s",
             path);
    if (reopen(control_connection))
        return true;
    explain(control_connection, why, why_size);
    return false;
}

void warprsa_control_connection_close(
    warprsa_control_connection *control_connection)
{
    int fd = control_connection->fd;

    control_connection->fd = -1;
    if (warprsa_is_same_file(fd, control_connection->dev,
                             control_connection->ino))
        close(fd);
}

static bool send_through(const warprsa_control_connection *control_connection,
                         const warprsa_message *wanted, int end)
{
    warprsa_message message;

    if (!warprsa_is_same_file(control_connection->fd, control_connection->dev,
                              control_connection->ino)) {
        errno = ENOTCONN;
        return false;
    }
    memcpy(&message, wanted, WARPRSA_MESSAGE_SHORT);
    message.type = WARPRSA_MESSAGE_CONNECT;
    return warprsa_message_send(control_connection->fd, &message, &end, 1);
}

int warprsa_control_connection_request(
    warprsa_control_connection *control_connection,
    const warprsa_message *wanted, char *why, size_t why_size)
{
    int ends[2];
    bool sent;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
                   ends) != 0) {
        snprintf(why, why_size, "no socket: %s", strerror(errno));
        return -1;
    }
    sent = send_through(control_connection, wanted, ends[1]) ||
           (reopen(control_connection) &&
            send_through(control_connection, wanted, ends[1]));
    if (!sent) {
        explain(control_connection, why, why_size);
        close(ends[0]);
        ends[0] = -1;
    }
    close(ends[1]);
    return ends[0];
}
