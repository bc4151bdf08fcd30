/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keeping descriptors in somebody else's process: see own_fd.h.
 */
#include "batching/base/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    /* Programs that have files send signals use SIGIO or a real-time signal. */
    MARK = SIGPWR,
    /* Numbers of descriptors that differ by this share a place. */
    PLACES = 16384,
};

/*
 * By place: the number of the descriptor marked last, shifted, and which of all
 * marked ones it is. Of two that share a place the later one hides the other:
 * then the mark alone decides. A forked child goes on counting, so a parent's
 * descriptor is not taken for a child's.
 */
static _Atomic uint64_t last_taken[PLACES];
static _Atomic uint32_t taken_count;

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

static uint64_t word_of(warprsa_marked_fd marked)
{
    return (uint64_t)marked.fd << 32 | marked.taken;
}

bool warprsa_marked_fd_take(warprsa_marked_fd *marked, int fd)
{
    int error;

    *marked = WARPRSA_NO_MARKED;
    fd = warprsa_fd_above_stdio(fd);
    if (fd < 0)
        return false;
    if (fcntl(fd, F_SETSIG, MARK) != 0) {
        error = errno;
        close(fd);
        errno = error;
        return false;
    }
    *marked = (warprsa_marked_fd){fd, atomic_fetch_add(&taken_count, 1)};
    atomic_store(&last_taken[fd % PLACES], word_of(*marked));
    return true;
}

/* Whether a later descriptor with this number was marked. */
static bool is_taken_again(warprsa_marked_fd marked)
{
    const uint64_t last = atomic_load_explicit(&last_taken[marked.fd % PLACES],
                                               memory_order_relaxed);

    return last >> 32 == (uint32_t)marked.fd && last != word_of(marked);
}

bool warprsa_marked_fd_is_there(warprsa_marked_fd marked)
{
    int error = errno;
    bool there = marked.fd >= 0 && !is_taken_again(marked) &&
                 fcntl(marked.fd, F_GETSIG) == MARK;

    errno = error;
    return there;
}

void warprsa_marked_fd_close(warprsa_marked_fd *marked)
{
    int error = errno;

    if (warprsa_marked_fd_is_there(*marked))
        close(marked->fd);
    errno = error;
    *marked = WARPRSA_NO_MARKED;
}

bool warprsa_marked_eventfd_notify(warprsa_marked_fd marked)
{
    static const uint64_t one = 1;

    if (!warprsa_marked_fd_is_there(marked))
        return false;
    /* This fails only if the counter is at its maximum, and then it is
     * readable. */
    (void)!write(marked.fd, &one, sizeof(one));
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
