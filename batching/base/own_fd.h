/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors that warprsa keeps in a process that does not know of them. The
 * program may have started with standard input, output or error closed, and
 * still read and write there. It may close descriptors that it did not open, as
 * closefrom() does, and then get the same numbers for its own files.
 *
 * So each kept descriptor is moved above these three, and checked before each
 * use. Between check and use another thread could still close the descriptor
 * and open a file; it would have to do both within less than a microsecond.
 */
#ifndef WARPRSA_BATCHING_BASE_OWN_FD_H
#define WARPRSA_BATCHING_BASE_OWN_FD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A descriptor of a socket or a file, and which file it is. */
typedef struct warprsa_own_fd {
    int fd; /* -1: none */
    dev_t dev;
    ino_t ino;
} warprsa_own_fd;

/* A marked descriptor, and which of those that had this number. */
typedef struct warprsa_marked_fd {
    int fd; /* -1: none */
    uint32_t taken;
} warprsa_marked_fd;

#define WARPRSA_NO_FD     ((warprsa_own_fd){.fd = -1})
#define WARPRSA_NO_MARKED ((warprsa_marked_fd){.fd = -1})

/*
 * Moves a descriptor that was just opened above standard input, output and
 * error, and marks it close-on-exec. Returns its number. -1, with errno set:
 * `fd` was -1, or no number was free and `fd` was closed. Any thread.
 */
int warprsa_fd_above_stdio(int fd);

/* Takes over a descriptor that was just opened, and moves it as
 * warprsa_fd_above_stdio() does. False: *own holds no descriptor, and errno
 * says why. Any thread. */
bool warprsa_own_fd_take(warprsa_own_fd *own, int fd);

/* Whether the descriptor still refers to the same file. Keeps errno. Any
 * thread. */
bool warprsa_own_fd_is_there(const warprsa_own_fd *own);

/* Closes the descriptor if it still refers to the same file. *own holds no
 * descriptor afterwards. Keeps errno. One thread. */
void warprsa_own_fd_close(warprsa_own_fd *own);

/*
 * Keeps a descriptor by a mark: a signal set for it (F_SETSIG) that it is never
 * made to send. The mark tells warprsa's descriptors from the program's, and
 * `taken` tells one of warprsa's from a later one with the same number. It is
 * for eventfds, which all have the same dev and ino, and for descriptors that
 * are checked often, since it takes 0.6 of the time. The mark belongs to the
 * open file, so every process that has the file sees it. False: *marked holds
 * no descriptor, as with warprsa_own_fd_take(). close() sets *marked to none.
 */
bool warprsa_marked_fd_take(warprsa_marked_fd *marked, int fd);
bool warprsa_marked_fd_is_there(warprsa_marked_fd marked);
void warprsa_marked_fd_close(warprsa_marked_fd *marked);

/* Adds one to a marked eventfd, which makes it readable. False: the descriptor
 * is not there. Any thread. */
bool warprsa_marked_eventfd_notify(warprsa_marked_fd marked);

/* For warprsa's own programs, at their start: opens /dev/null where standard
 * input, output or error are closed, so that no other file is opened there. */
void warprsa_open_stdio(void);

#endif
