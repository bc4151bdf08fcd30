/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sending and receiving messages on Unix sockets; see message.h.
 */
#include "batching/ipc/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

typedef union fd_space {
    struct cmsghdr align;
    char space[CMSG_SPACE(WARPRSA_MESSAGE_FDS * sizeof(int))];
} fd_space;

static size_t size_of(uint32_t type)
{
    return type == WARPRSA_MESSAGE_KEY ? sizeof(warprsa_message)
                                       : WARPRSA_MESSAGE_SHORT;
}

bool warprsa_message_send(int socket, warprsa_message *message, const int *fds,
                          unsigned count)
{
    struct iovec iov = {message, size_of(message->type)};
    struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1};
    fd_space space;
    ssize_t sent;

    message->version = WARPRSA_PROTOCOL;
    if (count > 0) {
        struct cmsghdr *control;

        memset(&space, 0, sizeof(space));
        header.msg_control = space.space;
        header.msg_controllen = CMSG_SPACE(count * sizeof(int));
        control = CMSG_FIRSTHDR(&header);
        control->cmsg_level = SOL_SOCKET;
        control->cmsg_type = SCM_RIGHTS;
        control->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(control), fds, count * sizeof(int));
    }
    do
        sent = sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)iov.iov_len;
}

static void take_fds(struct msghdr *header, int fds[WARPRSA_MESSAGE_FDS])
{
    for (struct cmsghdr *control = CMSG_FIRSTHDR(header); control != NULL;
         control = CMSG_NXTHDR(header, control)) {
        size_t length = control->cmsg_len - CMSG_LEN(0);

        if (control->cmsg_level != SOL_SOCKET ||
            control->cmsg_type != SCM_RIGHTS)
            continue;
        if (length > WARPRSA_MESSAGE_FDS * sizeof(int))
            length = WARPRSA_MESSAGE_FDS * sizeof(int);
        memcpy(fds, CMSG_DATA(control), length);
    }
}

warprsa_received warprsa_message_receive(int socket, warprsa_message *message,
                                         int fds[WARPRSA_MESSAGE_FDS])
{
    struct iovec iov = {message, sizeof(*message)};
    fd_space space;
    struct msghdr header = {.msg_iov = &iov,
                            .msg_iovlen = 1,
                            .msg_control = space.space,
                            .msg_controllen = sizeof(space.space)};
    ssize_t got;

    for (unsigned i = 0; i < WARPRSA_MESSAGE_FDS; i++)
        fds[i] = -1;
    do
        got = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? WARPRSA_NOTHING_YET
                                                       : WARPRSA_CLOSED;
    take_fds(&header, fds);
    if (got == 0)
        return WARPRSA_CLOSED;
    if ((size_t)got < WARPRSA_MESSAGE_SHORT ||
        message->version != WARPRSA_PROTOCOL ||
        (size_t)got != size_of(message->type) ||
        (header.msg_flags & MSG_TRUNC) != 0)
        return WARPRSA_MALFORMED;
    return WARPRSA_RECEIVED;
}
