/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors that we keep in a process that does not know of them. The program
 * may have started with standard input, output or error closed, and read and
 * write there all the same. It may close descriptors that it did not open, as
 * closefrom() does, and then get the same numbers for files of its own.
 *
 * So each descriptor that is kept is moved above the three, and is looked at
 * before each use. Between the look and the use another thread could still
 * close it and open a file: a window of less than a microsecond, in which it
 * must do both.
 */
#ifndef WARPRSA_BATCHING_BASE_OWN_FD_H
#define WARPRSA_BATCHING_BASE_OWN_FD_H

#include <stdbool.h>
#include <sys/types.h>

/* A descriptor of a socket or a file, and which file it is. */
typedef struct warprsa_own_fd {
    int fd; /* -1: none */
    dev_t dev;
    ino_t ino;
} warprsa_own_fd;

#define WARPRSA_NO_FD ((warprsa_own_fd){.fd = -1})

/*
 * Moves a descriptor that was just opened above those of standard input, output
 * and error; it is closed when the program becomes another one. Returns its
 * number. -1: there is none left, and it was closed, or `fd` was -1; errno says
 * why. Any thread.
 */
int warprsa_fd_above_stdio(int fd);

/* Takes over a descriptor that was just opened, and moves it as
 * warprsa_fd_above_stdio() does. False: *own is none, and errno says why. Any
 * thread. */
bool warprsa_own_fd_take(warprsa_own_fd *own, int fd);

/* Whether it is still there. Keeps errno. Any thread. */
bool warprsa_own_fd_is_there(const warprsa_own_fd *own);

/* Closes it if it is still there; it is none afterwards. Keeps errno. One
 * thread. */
void warprsa_own_fd_close(warprsa_own_fd *own);

/*
 * The same by a mark: a signal that is set for the descriptor (F_SETSIG), and
 * that nobody has it send. It tells ours from the program's, though not one of
 * ours from another. For eventfds, which all have the same dev and ino; and
 * where a descriptor is looked at often, since it takes 0.6 of the time. The
 * mark belongs to what the descriptor refers to, so it is there in each process
 * that has it. take() returns the number, or -1 as warprsa_fd_above_stdio().
 */
int warprsa_marked_fd_take(int fd);
bool warprsa_marked_fd_is_there(int fd);
void warprsa_marked_fd_close(int fd);

/* Adds one to such an eventfd, which makes it readable. False: it is not there.
 * Any thread. */
bool warprsa_marked_eventfd_notify(int fd);

/* For a program of ours, at its start: opens /dev/null where standard input,
 * output or error are closed, so that nothing else is opened there. */
void warprsa_open_stdio(void);

#endif
