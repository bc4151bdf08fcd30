/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading the counters of another process. Nothing that is read there is
 * trusted: it may be another version, half written or made up.
 */
#ifndef WARPRSA_BATCHING_STAT_STATS_READER_H
#define WARPRSA_BATCHING_STAT_STATS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "batching/counters.h"

enum {
    WARPRSA_BLOCKS_MAX = 16, /* one for each library context that uses it */
    WARPRSA_COMMAND_SIZE = 64,
};

typedef enum warprsa_found {
    WARPRSA_FOUND,        /* some blocks */
    WARPRSA_NOT_LOADED,   /* no trace of the provider */
    WARPRSA_NOT_COUNTING, /* the module is mapped; no operation yet */
    WARPRSA_INHERITED,    /* only a block of the process it was forked from */
    WARPRSA_OTHER_VERSION,
    WARPRSA_NO_PROCESS,
    WARPRSA_NO_PERMISSION,
} warprsa_found;

/* Reads up to WARPRSA_BLOCKS_MAX blocks of a process; *count: how many. */
warprsa_found warprsa_process_counters(pid_t pid, warprsa_counters *blocks,
                                       size_t *count);

/* The name of a process's program, without control characters or quotes; "?"
 * if it can't be had. */
void warprsa_process_command(pid_t pid, char name[WARPRSA_COMMAND_SIZE]);

#endif
