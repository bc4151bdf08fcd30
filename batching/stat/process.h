/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A process of this machine, and its user. The process's number may belong to
 * another process a moment later, and a process may become another user's. So
 * /proc is read below an open directory, which stays that of the first process.
 */
#ifndef WARPRSA_BATCHING_STAT_PROCESS_H
#define WARPRSA_BATCHING_STAT_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "batching/base/subuids.h"

enum {
    WARPRSA_COMMAND_SIZE = 64,
};

typedef struct warprsa_process {
    pid_t pid;
    int directory; /* /proc/PID */
    /* Its number in its own PID namespace, as in a container. */
    uint64_t pid_inside;
    /* The user who started the process: its real user, or the user who owns
     * that subordinate id. A set-user-ID program belongs to the user who runs
     * it. */
    uid_t user;
} warprsa_process;

/* Opens a process, to be closed with warprsa_process_close(). False: errno says
 * why not. */
bool warprsa_process_open(warprsa_process *process, pid_t pid,
                          const warprsa_subuids *subuids);
void warprsa_process_close(const warprsa_process *process);

/* Whether the process lives and still has the same user. If so, everything read
 * by its number since open() was its own. */
bool warprsa_process_is_same(const warprsa_process *process,
                             const warprsa_subuids *subuids);

/* Copies the cleaned name of the process's program; "?" if it can't be had. */
void warprsa_process_command(const warprsa_process *process,
                             char name[WARPRSA_COMMAND_SIZE]);

/* Replaces characters by "?" that could need escaping in JSON or in a metric's
 * label. */
void warprsa_clean_name(char *name);

#endif
