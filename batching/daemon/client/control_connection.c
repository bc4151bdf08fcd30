/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The client's end of a control connection; see control_connection.h.
 */
#include "batching/daemon/client/control_connection.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    GROUP_NAME = 33, /* with its zero; groupadd allows 32 */
};

/* The name of a group, from /etc/group alone: other sources of names may take
 * the program's locks or ask the network. "?": no name. */
static void name_group(gid_t gid, char name[GROUP_NAME])
{
    FILE *file = fopen("/etc/group", "re");
    char line[1024], format[32];
    unsigned number;

    snprintf(format, sizeof(format), "%%%d[^:]:%%*[^:]:%%u:", GROUP_NAME - 1);
    strcpy(name, "?");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        char found[GROUP_NAME];

        if (sscanf(line, format, found, &number) == 2 && number == gid) {
            strcpy(name, found);
            break;
        }
    }
    if (file != NULL)
        fclose(file);
}

/* If permission is missing, says which group this process would have to be
 * in. */
static void explain_refusal(const char *path, char *why, size_t why_size)
{
    char name[GROUP_NAME];
    struct stat st;

    if (stat(path, &st) != 0 || (st.st_mode & S_IWGRP) == 0)
        return;
    name_group(st.st_gid, name);
    snprintf(why, why_size,
             ": its group is %s (%u), and user %u is not in it, or this "
             "process began before",
             name, (unsigned)st.st_gid, (unsigned)geteuid());
}

static void explain(const warprsa_control_connection *control, char *why,
                    size_t why_size)
{
    const int error = errno;
    size_t length;

    snprintf(why, why_size, "no warprsad at %s: %s", control->path,
             strerror(error));
    length = strlen(why);
    if (error == EACCES)
        explain_refusal(control->path, why + length, why_size - length);
    errno = error;
}

/* Makes a connected socket; false: see errno. Does not block: a daemon with a
 * full backlog counts as no daemon. */
static bool connect_to(const char *path, warprsa_own_fd *fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    memcpy(address.sun_path, path, strlen(path) + 1);
    if (!warprsa_own_fd_take(
            fd,
            socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)))
        return false;
    if (connect(fd->fd, (const struct sockaddr *)&address, sizeof(address)) ==
        0)
        return true;
    warprsa_own_fd_close(fd);
    return false;
}

static bool reopen(warprsa_control_connection *control)
{
    warprsa_own_fd fd;

    if (!connect_to(control->path, &fd))
        return false;
    warprsa_control_connection_close(control);
    control->socket = fd;
    return true;
}

bool warprsa_control_connection_open(warprsa_control_connection *control,
                                     const char *path, char *why,
                                     size_t why_size)
{
    control->socket = WARPRSA_NO_FD;
    snprintf(control->path, sizeof(control->path), "%s", path);
    if (reopen(control))
        return true;
    explain(control, why, why_size);
    return false;
}

void warprsa_control_connection_close(warprsa_control_connection *control)
{
    warprsa_own_fd_close(&control->socket);
}

static bool is_open(const warprsa_control_connection *control)
{
    return warprsa_own_fd_is_there(&control->socket);
}

static bool send_through(const warprsa_control_connection *control,
                         const warprsa_message *wanted)
{
    warprsa_message message = *wanted;

    message.type = WARPRSA_MESSAGE_CONNECT;
    errno = ENOTCONN;
    return is_open(control) &&
           warprsa_message_send(control->socket.fd, &message, NULL, 0);
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
    return is_open(control)
               ? warprsa_message_receive(control->socket.fd, message, fds)
               : WARPRSA_CLOSED;
}

bool warprsa_control_connection_attached(
    const warprsa_control_connection *control, uint32_t number)
{
    warprsa_message message = {.type = WARPRSA_MESSAGE_ATTACHED,
                               .number = number};

    errno = ENOTCONN;
    return is_open(control) &&
           warprsa_message_send(control->socket.fd, &message, NULL, 0);
}
