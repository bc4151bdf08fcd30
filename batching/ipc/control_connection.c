/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The client's end of a control connection; see control_connection.h.
 */
#include "batching/ipc/control_connection.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool warprsa_is_same_file(int fd, dev_t dev, ino_t ino)
{
    struct stat st;

    return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == dev &&
           st.st_ino == ino;
}

static void explain(const warprsa_control_connection *control, char *why,
                    size_t why_size)
{
    snprintf(why, why_size, "no warprsad at %s: %s", control->path,
             strerror(errno));
}

/* A connected socket, or -1 and errno. Does not block: a daemon with too many
 * connections that wait to be accepted counts as no daemon. */
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

static bool reopen(warprsa_control_connection *control)
{
    struct stat st;
    int fd = connect_to(control->path);

    if (fd < 0)
        return false;
    warprsa_control_connection_close(control);
    if (fstat(fd, &st) != 0) {
        close(fd);
        return false;
    }
    control->dev = st.st_dev;
    control->ino = st.st_ino;
    control->fd = fd;
    return true;
}

bool warprsa_control_connection_open(warprsa_control_connection *control,
                                     const char *path, char *why,
                                     size_t why_size)
{
    control->fd = -1;
    snprintf(control->path, sizeof(control->path), "%s", path);
    if (reopen(control))
        return true;
    explain(control, why, why_size);
    return false;
}

void warprsa_control_connection_close(warprsa_control_connection *control)
{
    int fd = control->fd;

    control->fd = -1;
    if (warprsa_is_same_file(fd, control->dev, control->ino))
        close(fd);
}

static bool is_open(const warprsa_control_connection *control)
{
    return warprsa_is_same_file(control->fd, control->dev, control->ino);
}

static bool send_through(const warprsa_control_connection *control,
                         const warprsa_message *wanted)
{
    warprsa_message message = *wanted;

    message.type = WARPRSA_MESSAGE_CONNECT;
    errno = ENOTCONN;
    return is_open(control) &&
           warprsa_message_send(control->fd, &message, NULL, 0);
}

bool warprsa_control_connection_request(warprsa_control_connection *control,
                                        const warprsa_message *wanted,
                                        char *why, size_t why_size)
{
    if (send_through(control, wanted) ||
        (errno != EAGAIN && reopen(control) && send_through(control, wanted)))
        return true;
    explain(control, why, why_size);
    return false;
}

warprsa_received
warprsa_control_connection_receive(const warprsa_control_connection *control,
                                   warprsa_message *message,
                                   int fds[WARPRSA_MESSAGE_FDS])
{
    for (unsigned i = 0; i < WARPRSA_MESSAGE_FDS; i++)
        fds[i] = -1;
    return is_open(control) ? warprsa_message_receive(control->fd, message, fds)
                            : WARPRSA_CLOSED;
}

bool warprsa_control_connection_attached(
    const warprsa_control_connection *control, uint32_t number)
{
    warprsa_message message = {.type = WARPRSA_MESSAGE_ATTACHED,
                               .number = number};

    errno = ENOTCONN;
    return is_open(control) &&
           warprsa_message_send(control->fd, &message, NULL, 0);
}
