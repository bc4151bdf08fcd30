/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keeping descriptors in somebody else's process: see own_fd.h.
 */
#include "batching/base/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    /* Programs that have files send signals use SIGIO or a real-time signal. */
    MARK = SIGPWR,
};

int warprsa_fd_above_stdio(int fd)
{
    int moved = fd, error;

    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    error = errno;
    close(fd);
    errno = error;
    return moved;
}

bool warprsa_own_fd_take(warprsa_own_fd *own, int fd)
{
    struct stat st;
    int error;

    *own = WARPRSA_NO_FD;
    fd = warprsa_fd_above_stdio(fd);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) != 0) {
        error = errno;
        close(fd);
        errno = error;
        return false;
    }
    *own = (warprsa_own_fd){fd, st.st_dev, st.st_ino};
    return true;
}

bool warprsa_own_fd_is_there(const warprsa_own_fd *own)
{
    struct stat st;
    int error = errno;
    bool there = own->fd >= 0 && fstat(own->fd, &st) == 0 &&
                 st.st_dev == own->dev && st.st_ino == own->ino;

    errno = error;
    return there;
}

void warprsa_own_fd_close(warprsa_own_fd *own)
{
    int error = errno;

    if (warprsa_own_fd_is_there(own))
        close(own->fd);
    errno = error;
    *own = WARPRSA_NO_FD;
}

int warprsa_marked_fd_take(int fd)
{
    int error;

    fd = warprsa_fd_above_stdio(fd);
    if (fd < 0 || fcntl(fd, F_SETSIG, MARK) == 0)
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

bool warprsa_marked_fd_is_there(int fd)
{
    int error = errno;
    bool there = fcntl(fd, F_GETSIG) == MARK;

    errno = error;
    return there;
}

void warprsa_marked_fd_close(int fd)
{
    int error = errno;

    if (warprsa_marked_fd_is_there(fd))
        close(fd);
    errno = error;
}

bool warprsa_marked_eventfd_notify(int fd)
{
    static const uint64_t one = 1;

    if (!warprsa_marked_fd_is_there(fd))
        return false;
    /* This fails only if the counter is at its maximum, and then it is
     * readable. */
    (void)!write(fd, &one, sizeof(one));
    return true;
}

void warprsa_open_stdio(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}
