/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The supervisor's reader: a short-lived process that reads files for the
 * serving process, which itself may not open them. It sends what it reads
 * through a socket. The supervisor keeps the sending end, so that one reader
 * after the other can use it.
 *
 * One reader runs at a time. One that is asked for meanwhile comes after it;
 * one that fails is replaced in a later tick. For the supervisor's thread.
 */
#ifndef WARPRSA_BATCHING_DAEMON_PROCESS_READER_PROCESS_H
#define WARPRSA_BATCHING_DAEMON_PROCESS_READER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct warprsa_reader_process {
    /* Runs in the reader, which ends with the returned status. NULL: there is
     * nothing to read. */
    int (*read)(void *arg, int socket);
    void *arg;
    int socket;  /* the sending end; -1: there is no serving process */
    pid_t pid;   /* 0: none runs */
    bool wanted; /* one more is to run */
} warprsa_reader_process;

void warprsa_reader_process_init(warprsa_reader_process *reader,
                                 int (*read)(void *arg, int socket), void *arg);

/* Makes a socket for a new serving process and sets *receives to its other end,
 * or to -1 if there is nothing to read. False: see errno. */
bool warprsa_reader_process_open(warprsa_reader_process *reader, int *receives);

/* The serving process has ended: closes the sending end, and ends a reader. */
void warprsa_reader_process_close(warprsa_reader_process *reader);

/* Asks for a reading. Does nothing if there is nothing to read. */
void warprsa_reader_process_ask(warprsa_reader_process *reader);

/* Starts a reader if one is wanted and none runs. False with a sentence for
 * the log: it could not be started, and is still wanted. */
bool warprsa_reader_process_tick(warprsa_reader_process *reader, char *why,
                                 size_t why_size);

/* A child of the supervisor has ended. Returns whether it was the reader. If
 * it failed, another is wanted, and `why` is a sentence; it is empty
 * otherwise. */
bool warprsa_reader_process_ended(warprsa_reader_process *reader, pid_t pid,
                                  int status, char *why, size_t why_size);

#endif
