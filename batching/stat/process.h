/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A process of this machine, and whose it is. Its number may be another
 * process's a moment later, and a process may become another user's: what is
 * read through /proc is read below a directory that stays the first one's.
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
    /* Who started it: its real user, or the one whose subordinate id that is. A
     * program with another user's rights (set-user-ID) is of whoever runs it.
     */
    uid_t user;
} warprsa_process;

/* False: errno says why not. Else it is closed with warprsa_process_close(). */
bool warprsa_process_open(warprsa_process *process, pid_t pid,
                          const warprsa_subuids *subuids);
void warprsa_process_close(const warprsa_process *process);

/* Whether it lives and is still of that user. Then all that was read by its
 * number since it was opened is its own. */
bool warprsa_process_is_same(const warprsa_process *process,
                             const warprsa_subuids *subuids);

/* Copies the name of its program, cleaned; "?" if it can't be had. */
void warprsa_process_command(const warprsa_process *process,
                             char name[WARPRSA_COMMAND_SIZE]);

/* Replaces by "?" what could need escaping in JSON or in a metric's label. */
void warprsa_clean_name(char *name);

#endif
