/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Counters summed by user and program. The processes of a program come and go;
 * its sums never fall if what was last seen of each process is kept in a state
 * file.
 */
#ifndef WARPRSA_BATCHING_STAT_PROGRAMS_H
#define WARPRSA_BATCHING_STAT_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batching/queue/counters.h"
#include "batching/stat/stats_reader.h"
#include "batching/stat/users.h"

/* What a process was found to be. */
typedef enum warprsa_process_state {
    WARPRSA_PROCESS_ACTIVE, /* it has made private operations */
    WARPRSA_PROCESS_IDLE,   /* it has loaded the provider, no more */
    WARPRSA_PROCESS_OTHER_VERSION,
    WARPRSA_PROCESS_UNKNOWN, /* its counters may not be read */
    WARPRSA_PROCESS_STATES
} warprsa_process_state;

typedef struct warprsa_program {
    warprsa_user_seat *user;
    char name[WARPRSA_COMMAND_SIZE];
    uint64_t processes[WARPRSA_PROCESS_STATES];
    /* Its version, pid and `device` are not set. */
    warprsa_counters sum;
} warprsa_program;

/* The counters of a process as they were seen. */
typedef struct warprsa_seen {
    char name[WARPRSA_COMMAND_SIZE];
    uint64_t uid; /* of the user who counted */
    uint64_t pid; /* 0: of all ended processes of that program */
    warprsa_counters counters;
} warprsa_seen;

typedef struct warprsa_programs {
    warprsa_users users;
    warprsa_program *list;
    size_t count, size;
    uint64_t unreadable; /* processes that may not be looked at */
    warprsa_seen *live;
    size_t live_count, live_size;
    bool no_memory; /* something is missing */
} warprsa_programs;

/* Fills in every process of the machine. `programs` is all zeros before, and
 * freed by warprsa_programs_free(). False: not everything could be read, and
 * `why` says why. One thread. */
bool warprsa_programs_collect(warprsa_programs *programs, char *why,
                              size_t why_size);

/*
 * After collecting: adds what processes that have ended since are known to have
 * counted, by the state file `path`, and writes the file anew. A file that is
 * not there counts as empty. So does one that is of another version, no state
 * file, a link, or not this user's or root's alone to write, and of one that is
 * cut what is there counts: then `why` says so, and is empty otherwise. The new
 * file takes the place of whatever has that name, and is never written through
 * a link. False: it could not be read or written, and `why` says why;
 * the old file stays. One thread.
 */
bool warprsa_programs_remember(warprsa_programs *programs, const char *path,
                               char *why, size_t why_size);

/* After that: adds the live processes to the sums of their programs. False: no
 * memory. One thread. */
bool warprsa_programs_sum(warprsa_programs *programs);

void warprsa_programs_free(warprsa_programs *programs);

#endif
