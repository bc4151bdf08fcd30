/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The daemon as a service of systemd; see systemd.h.
 */
#include "batching/daemon/process/systemd.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "batching/base/clock.h"

enum {
    FIRST_PASSED = 3, /* SD_LISTEN_FDS_START */
    BACKLOG = 1024,
    ENDING_MS = 2000,
    ENDING_PAUSE_US = 10000,
};

static bool is_listening(int fd)
{
    int type = -1, domain = -1, listening = 0;
    socklen_t length = sizeof(int);

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 &&
           domain == AF_UNIX &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
           type == SOCK_SEQPACKET &&
           getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) ==
               0 &&
           listening;
}

static bool prepare(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
           fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

int warprsa_systemd_passed(int *fds, unsigned max, char *why, size_t why_size)
{
    const char *pid = getenv("LISTEN_PID");
    const char *count = getenv("LISTEN_FDS");
    unsigned long n;

    if (pid == NULL || count == NULL ||
        strtoul(pid, NULL, 10) != (unsigned long)getpid())
        return 0;
    n = strtoul(count, NULL, 10);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (n > max) {
        snprintf(why, why_size,
                 "systemd passes %lu sockets, %u at most are "
                 "possible",
                 n, max);
        return -1;
    }
    for (unsigned i = 0; i < n; i++) {
        fds[i] = FIRST_PASSED + (int)i;
        if (!is_listening(fds[i]) || !prepare(fds[i])) {
            snprintf(why, why_size,
                     "systemd passes descriptor %d, which is no listening Unix "
                     "socket of type SOCK_SEQPACKET (ListenSequentialPacket=)",
                     fds[i]);
            return -1;
        }
    }
    return (int)n;
}

/* Whether a process listens at the address; true if unknown. If one listens,
 * waits a little for the connection to end: the process may be ending. */
static bool answers(const struct sockaddr_un *address, unsigned patience_ms)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct pollfd its_end = {.fd = fd};
    bool refused;

    if (fd < 0)
        return true;
    refused =
        connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
        errno == ECONNREFUSED;
    if (!refused)
        (void)poll(&its_end, 1, (int)patience_ms);
    close(fd);
    return !refused;
}

/* Whether a daemon lives at the address. The serving process of a killed daemon
 * ends with it, but a GPU's driver takes some time to let it. */
static bool is_alive(const struct sockaddr_un *address)
{
    uint64_t until_ns = warprsa_clock_ns() + ENDING_MS * WARPRSA_NS_PER_MS;
    uint64_t now_ns;

    while ((now_ns = warprsa_clock_ns()) < until_ns) {
        if (!answers(address,
                     (unsigned)((until_ns - now_ns) / WARPRSA_NS_PER_MS)))
            return false;
        (void)usleep(ENDING_PAUSE_US);
    }
    return true;
}

/* lstat() and not stat(): what a link names is not ours to remove. */
static bool is_socket(const char *path)
{
    struct stat file;

    return lstat(path, &file) == 0 && S_ISSOCK(file.st_mode);
}

void warprsa_systemd_unlisten(const char *path)
{
    if (is_socket(path))
        (void)unlink(path);
}

/* Binds to the path. A socket there that no daemon listens on is removed first.
 * Anything else there stays, and errno is ENOTSOCK. */
static bool bind_to(int fd, const struct sockaddr_un *address)
{
    mode_t before = umask(0117);
    int got = bind(fd, (const struct sockaddr *)address, sizeof(*address));
    int error = errno;

    if (got != 0 && error == EADDRINUSE && !is_socket(address->sun_path)) {
        error = ENOTSOCK;
    } else if (got != 0 && error == EADDRINUSE && !is_alive(address) &&
               unlink(address->sun_path) == 0) {
        got = bind(fd, (const struct sockaddr *)address, sizeof(*address));
        error = errno;
    }
    umask(before);
    errno = error;
    return got == 0;
}

static bool give_to(const char *path, const char *group, char *why,
                    size_t why_size)
{
    const struct group *found;

    if (group[0] == '\0')
        return true;
    errno = 0;
    found = getgrnam(group);
    if (found == NULL) {
        snprintf(why, why_size, "there is no group %s", group);
        return false;
    }
    if (chown(path, (uid_t)-1, found->gr_gid) == 0)
        return true;
    snprintf(why, why_size, "%s can't be given to the group %s: %s", path,
             group, strerror(errno));
    return false;
}

int warprsa_systemd_listen(const char *path, const char *group, char *why,
                           size_t why_size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd;

    if (strlen(path) >= sizeof(address.sun_path)) {
        snprintf(why, why_size, "%s: a path of at most %zu bytes is wanted",
                 path, sizeof(address.sun_path) - 1);
        return -1;
    }
    strcpy(address.sun_path, path);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || !bind_to(fd, &address)) {
        snprintf(why, why_size, "%s: %s", path,
                 errno == EADDRINUSE ? "another daemon listens there"
                 : errno == ENOTSOCK ? "there is a file that is no socket"
                                     : strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    /* The group is set first: nobody can connect before listen(). */
    if (give_to(path, group, why, why_size)) {
        if (listen(fd, BACKLOG) == 0)
            return fd;
        snprintf(why, why_size, "%s: %s", path, strerror(errno));
    }
    warprsa_systemd_unlisten(path);
    close(fd);
    return -1;
}

bool warprsa_systemd_notify(const char *lines)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    size_t length;
    bool sent;
    int fd;

    if (path == NULL || (path[0] != '/' && path[0] != '@') ||
        strlen(path) >= sizeof(address.sun_path))
        return true;
    length = strlen(path);
    memcpy(address.sun_path, path, length + 1);
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* an abstract address */
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    sent =
        sendto(fd, lines, strlen(lines), MSG_NOSIGNAL | MSG_DONTWAIT,
               (const struct sockaddr *)&address,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) >=
        0;
    close(fd);
    return sent;
}

unsigned warprsa_systemd_watchdog_ms(void)
{
    const char *pid = getenv("WATCHDOG_PID");
    const char *us = getenv("WATCHDOG_USEC");

    if (us == NULL || (pid != NULL && strtol(pid, NULL, 10) != (long)getpid()))
        return 0;
    return (unsigned)(strtoull(us, NULL, 10) / 1000 / 2);
}
