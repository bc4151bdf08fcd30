/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading the counters of another process without stopping it. Nothing that is
 * read there is trusted: it may be of another version, half written or made up.
 */
#ifndef WARPRSA_BATCHING_STAT_STATS_READER_H
#define WARPRSA_BATCHING_STAT_STATS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "batching/counters.h"

enum {
    WARPRSA_BLOCKS_MAX = 16, /* one for each library context */
    WARPRSA_COMMAND_SIZE = 64,
};

typedef enum warprsa_found {
    WARPRSA_FOUND,        /* one block or more */
    WARPRSA_NOT_LOADED,   /* no trace of the provider */
    WARPRSA_NOT_COUNTING, /* the module is mapped; no operation yet */
    WARPRSA_INHERITED,    /* only a block of the process it was forked from */
    WARPRSA_UNKNOWN,      /* the module is mapped; counters may not be read */
    WARPRSA_OTHER_VERSION,
    WARPRSA_NO_PROCESS,
    WARPRSA_NO_PERMISSION,
} warprsa_found;

/* Copies up to WARPRSA_BLOCKS_MAX blocks of a process; *count says how many.
 * The caller may need to be root to read those of another user's process. */
warprsa_found warprsa_stats_read(pid_t pid, warprsa_counters *blocks,
                                 size_t *count);

/* Calls `each` for every process of the machine but those that do not use the
 * provider, with what warprsa_stats_read() says of it. False: /proc can't be
 * read; errno says why. */
typedef void (*warprsa_process_fn)(void *arg, pid_t pid, warprsa_found found,
                                   const warprsa_counters *blocks,
                                   size_t count);
bool warprsa_stats_each(warprsa_process_fn each, void *arg);

/* Replaces by "?" what could need escaping in JSON or in a metric's label. */
void warprsa_stats_clean(char *name);

/* Copies the name of a process's program, cleaned; "?" if it can't be had. */
void warprsa_stats_command(pid_t pid, char name[WARPRSA_COMMAND_SIZE]);

#endif
