/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors that are kept in somebody else's process, which closes them and
 * opens its own; and writing beyond limits (batching/base/quiet.h).
 */
#include "tests/unit/support/unit_test.h"

#include "batching/base/own_fd.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "batching/base/quiet.h"

static int file_descriptor(void)
{
    FILE *file = tmpfile();
    int fd;

    assert_non_null(file);
    fd = dup(fileno(file));
    assert_true(fd >= 0);
    assert_int_equal(fclose(file), 0);
    return fd;
}

/* Puts a new file of the program's where a descriptor of ours was. */
static void replace(int fd)
{
    int own = file_descriptor();

    assert_int_equal(dup2(own, fd), fd);
    close(own);
}

static void assert_untouched(int fd)
{
    assert_int_equal(lseek(fd, 0, SEEK_END), 0);
    assert_int_equal(close(fd), 0);
}

TEST(above_stdio)
{
    int input = dup(STDIN_FILENO), fd;
    warprsa_own_fd own;

    assert_true(input > STDERR_FILENO);
    close(STDIN_FILENO);
    fd = warprsa_fd_above_stdio(open("/dev/null", O_RDONLY | O_CLOEXEC));
    assert_true(fd > STDERR_FILENO);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(warprsa_fd_above_stdio(fd), fd);
    assert_true(warprsa_own_fd_take(&own, dup(fd)));
    assert_true(own.fd > STDERR_FILENO);
    assert_true(fcntl(STDIN_FILENO, F_GETFD) < 0);
    warprsa_own_fd_close(&own);
    assert_int_equal(own.fd, -1);
    close(fd);
    assert_int_equal(warprsa_fd_above_stdio(-1), -1);
    assert_false(warprsa_own_fd_take(&own, -1));
    warprsa_open_stdio();
    assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
    assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
    close(input);
}

TEST(a_socket_that_was_closed)
{
    warprsa_own_fd own;
    int ends[2], fd;

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    assert_true(warprsa_own_fd_take(&own, ends[0]));
    fd = own.fd;
    assert_true(warprsa_own_fd_is_there(&own));
    assert_int_equal(dup2(ends[1], fd), fd); /* another socket */
    assert_false(warprsa_own_fd_is_there(&own));
    replace(fd);
    warprsa_own_fd_close(&own);
    assert_untouched(fd);
    close(ends[1]);
}

TEST(an_eventfd_that_was_closed)
{
    int others = eventfd(0, EFD_NONBLOCK), fd;
    warprsa_marked_fd marked;
    uint64_t count = 0;

    assert_true(others >= 0);
    assert_true(warprsa_marked_fd_take(&marked, eventfd(0, EFD_NONBLOCK)));
    fd = marked.fd;
    assert_true(warprsa_marked_eventfd_notify(marked));
    assert_int_equal(read(fd, &count, sizeof(count)), sizeof(count));
    assert_int_equal(count, 1);
    assert_int_equal(dup2(others, fd), fd);
    assert_false(warprsa_marked_eventfd_notify(marked));
    assert_int_equal(read(others, &count, sizeof(count)), -1);
    replace(fd);
    assert_false(warprsa_marked_eventfd_notify(marked));
    warprsa_marked_fd_close(&marked);
    assert_int_equal(marked.fd, -1);
    assert_untouched(fd);
    assert_false(warprsa_marked_eventfd_notify(marked));
    close(others);
}

/* The program closes one of ours, and the next one of ours has its number. */
TEST(an_eventfd_in_the_place_of_another)
{
    warprsa_marked_fd first, second, far;
    uint64_t count = 0;
    int fd;

    assert_true(warprsa_marked_fd_take(&first, eventfd(0, EFD_NONBLOCK)));
    assert_int_equal(close(first.fd), 0);
    assert_true(warprsa_marked_fd_take(&second, eventfd(0, EFD_NONBLOCK)));
    assert_int_equal(second.fd, first.fd);
    assert_false(warprsa_marked_eventfd_notify(first));
    fd = first.fd;
    warprsa_marked_fd_close(&first);
    assert_true(warprsa_marked_eventfd_notify(second));
    assert_int_equal(read(fd, &count, sizeof(count)), sizeof(count));
    assert_int_equal(count, 1);
    /* One whose number shares a place with it. */
    fd = fcntl(second.fd, F_DUPFD, second.fd + 16384);
    if (fd == second.fd + 16384) {
        assert_true(warprsa_marked_fd_take(&far, fd));
        assert_true(warprsa_marked_fd_is_there(second));
        assert_true(warprsa_marked_fd_is_there(far));
        warprsa_marked_fd_close(&far);
    }
    warprsa_marked_fd_close(&second);
    assert_int_equal(second.fd, -1);
}

static bool is_pending(int signal)
{
    sigset_t pending;

    assert_int_equal(sigpending(&pending), 0);
    return sigismember(&pending, signal) == 1;
}

/* Neither signal ends the process, and the program's handling of them stays. */
TEST(beyond_limits)
{
    struct rlimit before, none;
    sigset_t mask;
    int ends[2], fd = file_descriptor();
    warprsa_quiet quiet;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    quiet = warprsa_quiet_begin();
    assert_int_equal(write(fd, "x", 1), -1);
    assert_int_equal(errno, EFBIG);
    assert_int_equal(write(ends[1], "x", 1), -1);
    assert_int_equal(errno, EPIPE);
    warprsa_quiet_end(&quiet);
    assert_int_equal(errno, EPIPE);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
    assert_false(sigismember(&mask, SIGXFSZ) || sigismember(&mask, SIGPIPE));
    assert_false(is_pending(SIGXFSZ) || is_pending(SIGPIPE));
    close(ends[1]);
    close(fd);
}

/* A signal that the program has blocked, and that waits for it, still does. */
TEST(a_signal_that_waits)
{
    static const struct timespec at_once = {0, 0};
    warprsa_quiet quiet;
    sigset_t one, before;

    sigemptyset(&one);
    sigaddset(&one, SIGPIPE);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &one, &before), 0);
    assert_int_equal(raise(SIGPIPE), 0);
    quiet = warprsa_quiet_begin();
    warprsa_quiet_end(&quiet);
    assert_true(is_pending(SIGPIPE));
    assert_int_equal(sigtimedwait(&one, NULL, &at_once), SIGPIPE);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
}

RUN_TESTS(NULL, NULL)
