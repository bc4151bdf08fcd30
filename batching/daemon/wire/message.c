/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sending and receiving messages on Unix sockets; see message.h.
 */
#include "batching/daemon/wire/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "batching/base/own_fd.h"

typedef union fd_space {
    struct cmsghdr align;
    char space[CMSG_SPACE(WARPRSA_MESSAGE_FDS * sizeof(int))];
} fd_space;

typedef union cred_space {
    struct cmsghdr align;
    char space[CMSG_SPACE(sizeof(struct ucred))];
} cred_space;

bool warprsa_message_send(int socket, warprsa_message *message, const int *fds,
                          unsigned count)
{
    struct iovec iov = {message, sizeof(*message)};
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
         control = CMSG_NXTHDR(header, control))
        if (control->cmsg_level == SOL_SOCKET &&
            control->cmsg_type == SCM_RIGHTS)
            memcpy(fds, CMSG_DATA(control), control->cmsg_len - CMSG_LEN(0));
    for (unsigned i = 0; i < WARPRSA_MESSAGE_FDS; i++)
        fds[i] = warprsa_fd_above_stdio(fds[i]);
}

static ssize_t receive(int socket, struct msghdr *header, int flags)
{
    ssize_t got;

    do
        got = recvmsg(socket, header, flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    return got;
}

/* `version` is the first field of a message of `size` bytes. */
static warprsa_received judge(ssize_t got, const uint32_t *version, size_t size,
                              int flags)
{
    if (got < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? WARPRSA_NOTHING_YET
                                                       : WARPRSA_CLOSED;
    if (got == 0)
        return WARPRSA_CLOSED;
    if ((size_t)got >= sizeof(*version) && *version != WARPRSA_PROTOCOL)
        return WARPRSA_OTHER_VERSION;
    return (size_t)got == size && (flags & MSG_TRUNC) == 0 ? WARPRSA_RECEIVED
                                                           : WARPRSA_MALFORMED;
}

warprsa_received warprsa_message_receive(int socket, warprsa_message *message,
                                         int fds[WARPRSA_MESSAGE_FDS])
{
    struct iovec iov = {message, sizeof(*message)};
    fd_space space;
    struct msghdr header = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = space.space,
        /* Not a byte more: the kernel would fill padding with another
         * descriptor. */
        .msg_controllen = CMSG_LEN(WARPRSA_MESSAGE_FDS * sizeof(int))};
    ssize_t got;

    for (unsigned i = 0; i < WARPRSA_MESSAGE_FDS; i++)
        fds[i] = -1;
    got = receive(socket, &header, 0);
    if (got >= 0)
        take_fds(&header, fds);
    return judge(got, &message->version, sizeof(*message), header.msg_flags);
}

bool warprsa_key_message_send(int socket, warprsa_key_message *message)
{
    ssize_t sent;

    message->version = WARPRSA_PROTOCOL;
    do
        sent = send(socket, message, sizeof(*message),
                    MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof(*message);
}

warprsa_received warprsa_key_message_receive(int socket,
                                             warprsa_key_message *message)
{
    struct iovec iov = {message, sizeof(*message)};
    struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1};
    ssize_t got = receive(socket, &header, 0);

    return judge(got, &message->version, sizeof(*message), header.msg_flags);
}

/* Room for what SO_PASSCRED brings and no more: MSG_CTRUNC says that there was
 * more. */
static ssize_t receive_with_sender(int socket, warprsa_message *message,
                                   struct ucred *sender, int *flags, int how)
{
    struct iovec iov = {message, sizeof(*message)};
    cred_space space;
    struct msghdr header = {.msg_iov = &iov,
                            .msg_iovlen = 1,
                            .msg_control = space.space,
                            .msg_controllen = sizeof(space.space)};
    ssize_t got = receive(socket, &header, how);
    const struct cmsghdr *control = got < 0 ? NULL : CMSG_FIRSTHDR(&header);

    *sender = (struct ucred){.uid = (uid_t)-1, .gid = (gid_t)-1};
    *flags = header.msg_flags;
    if (control != NULL && control->cmsg_level == SOL_SOCKET &&
        control->cmsg_type == SCM_CREDENTIALS)
        memcpy(sender, CMSG_DATA(control), sizeof(*sender));
    return got;
}

warprsa_received warprsa_message_receive_of_client(int socket,
                                                   warprsa_message *message,
                                                   struct ucred *sender)
{
    int flags;
    ssize_t got =
        receive_with_sender(socket, message, sender, &flags, MSG_PEEK);

    /* A peek takes references to the descriptors and drops them. The socket's
     * queue holds its own references, so a peek never drops the last one. */
    if (got >= 0 && (flags & MSG_CTRUNC) != 0)
        return judge(got, &message->version, sizeof(*message), flags) ==
                       WARPRSA_OTHER_VERSION
                   ? WARPRSA_OTHER_VERSION
                   : WARPRSA_MALFORMED;
    if (got > 0)
        got = receive_with_sender(socket, message, sender, &flags, 0);
    return judge(got, &message->version, sizeof(*message), flags);
}

void warprsa_message_close_fds(const int fds[WARPRSA_MESSAGE_FDS])
{
    for (unsigned i = 0; i < WARPRSA_MESSAGE_FDS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}
