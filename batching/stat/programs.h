/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Counters summed by program. The processes of a program come and go; its sums
 * never fall if what was last seen of each process is kept in a state file.
 */
#ifndef WARPRSA_BATCHING_STAT_PROGRAMS_H
#define WARPRSA_BATCHING_STAT_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batching/counters.h"
#include "batching/stat/stats_reader.h"

enum {
    /* Programs with a name of their own; what comes later is "other". Anybody
     * may run programs under any number of names. */
    WARPRSA_PROGRAMS_MAX = 64,
};

/* What a process was found to be. */
typedef enum warprsa_process_state {
    WARPRSA_PROCESS_ACTIVE, /* it has made private operations */
    WARPRSA_PROCESS_IDLE,   /* it has loaded the provider, no more */
    WARPRSA_PROCESS_OTHER_VERSION,
    WARPRSA_PROCESS_UNKNOWN, /* its counters may not be read */
    WARPRSA_PROCESS_STATES
} warprsa_process_state;

typedef struct warprsa_program {
    char name[WARPRSA_COMMAND_SIZE];
    uint64_t processes[WARPRSA_PROCESS_STATES];
    /* Its version, pid and `device` are not set. */
    warprsa_counters sum;
} warprsa_program;

/* The counters of a process as they were seen. */
typedef struct warprsa_seen {
    char name[WARPRSA_COMMAND_SIZE];
    uint64_t pid; /* 0: of all ended processes of that program */
    warprsa_counters counters;
} warprsa_seen;

typedef struct warprsa_programs {
    warprsa_program list[WARPRSA_PROGRAMS_MAX + 1];
    size_t count;
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
 * not there counts as empty. So does one that is of another version or no state
 * file, and of one that is cut what is there counts: then `why` says so, and is
 * empty otherwise. False: it could not be read or written, and `why` says why;
 * the old file stays. One thread.
 */
bool warprsa_programs_remember(warprsa_programs *programs, const char *path,
                               char *why, size_t why_size);

/* After that: adds the live processes to the sums of their programs. */
void warprsa_programs_sum(warprsa_programs *programs);

void warprsa_programs_free(warprsa_programs *programs);

#endif
