/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Counters summed by user and program. The processes of a program come and go.
 * The program's sums never fall if a state file keeps the last counters of each
 * process.
 */
#ifndef WARPRSA_BATCHING_STAT_PROGRAMS_H
#define WARPRSA_BATCHING_STAT_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batching/queue/counters.h"
#include "batching/stat/key_sums.h"
#include "batching/stat/stats_reader.h"
#include "batching/stat/users.h"

/* The state of a process. */
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
    /* The version, pid and `device` of the sum are not set. */
    warprsa_counters sum;
} warprsa_program;

/* The counters of a process when it was read. */
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
    pid_t *partial; /* processes that were not read, or not all of */
    size_t partial_count, partial_size;
    warprsa_key_sums keys; /* of live daemons */
    bool no_memory;        /* something is missing */
} warprsa_programs;

/* Fills in every process of the machine. `programs` is all zeros before, and
 * freed by warprsa_programs_free(). False: not everything could be read, and
 * `why` says why. One thread. */
bool warprsa_programs_collect(warprsa_programs *programs, char *why,
                              size_t why_size);

/*
 * After collecting: adds the counters that the state file `path` has of
 * processes that have ended since, keeps those of processes that could not be
 * read this time, and writes the file anew. A missing file
 * counts as empty. A file counts as empty, too, if it is no state file or of
 * another version, if it is a link, or if others than this user and root may
 * write it. From a truncated file the records that are there count. In these
 * cases `why` says so; otherwise `why` is empty. The new file replaces whatever
 * has that name, and is never written through a link. False: the file could not
 * be read or written, and `why` says why; the old file stays. One thread.
 */
bool warprsa_programs_remember(warprsa_programs *programs, const char *path,
                               char *why, size_t why_size);

/* Adds the live processes to the sums of their programs, after collect() and
 * remember(). False: no memory. One thread. */
bool warprsa_programs_sum(warprsa_programs *programs);

void warprsa_programs_free(warprsa_programs *programs);

#endif
