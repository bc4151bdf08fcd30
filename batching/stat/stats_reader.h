/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading the counters of another process without stopping it. The counters are
 * not trusted: they may be of another version, half written or made up. The
 * kernel says who made a block and which process has it. Maker and process must
 * be of one user, who can then make up only his own numbers.
 */
#ifndef WARPRSA_BATCHING_STAT_STATS_READER_H
#define WARPRSA_BATCHING_STAT_STATS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "batching/queue/counters.h"
#include "batching/stat/process.h"
#include "batching/vault/wire/key_accounts.h"

enum {
    WARPRSA_BLOCKS_MAX = 16, /* one for each library context */
};

/* The maker of a block, if unknown. */
#define WARPRSA_USER_UNKNOWN ((uid_t)-1)

typedef enum warprsa_found {
    WARPRSA_FOUND,        /* one block or more */
    WARPRSA_NOT_LOADED,   /* no trace of the provider */
    WARPRSA_NOT_COUNTING, /* the module is mapped; no operation yet */
    WARPRSA_INHERITED,    /* only a block of the process it was forked from */
    WARPRSA_UNKNOWN,      /* the module is mapped; counters may not be read */
    WARPRSA_OTHER_COUNTERS,
    WARPRSA_NO_PROCESS,
    WARPRSA_NO_PERMISSION,
    WARPRSA_NOT_LOOKED_AT, /* its user's allowance is used up */
} warprsa_found;

/* What reading all processes shares. */
typedef struct warprsa_stats_reader {
    warprsa_subuids subuids;
    bool has_memory_files; /* else none is known for one */
    dev_t memory_files;    /* the device that they lie on */
} warprsa_stats_reader;

/* What was read of one process. */
typedef struct warprsa_reading {
    pid_t pid;
    uid_t user; /* of the process, see process.h */
    char command[WARPRSA_COMMAND_SIZE];
    warprsa_found
        found; /* by blocks of its user, or of an unknown one, alone */
    bool cut;  /* the allowance was used up before the end */
    size_t count;
    warprsa_counters blocks[WARPRSA_BLOCKS_MAX];
    /* Who counted in each block. In a process of root's: the block's maker. In
     * any other: the process's user, even if root made the block, since a
     * server gives up root's rights. Or WARPRSA_USER_UNKNOWN. */
    uid_t owners[WARPRSA_BLOCKS_MAX];
    /* The makers of blocks that were left out because their maker is neither
     * root nor the process's user: a process may get descriptors from
     * others. */
    size_t foreign_count;
    uid_t foreign[WARPRSA_BLOCKS_MAX];
    /* Accounts of keys, of the process's own user or root, in a memory file:
     * the first that was found. */
    bool has_accounts;
    warprsa_key_accounts accounts;
} warprsa_reading;

void warprsa_stats_open(warprsa_stats_reader *reader);
void warprsa_stats_close(warprsa_stats_reader *reader);

/*
 * Reads a process. *allowance falls by one for each descriptor and mapping that
 * is looked at, and by 1 at least; NULL: there is no limit. The caller may need
 * to be root to read another user's process, and CAP_CHECKPOINT_RESTORE to
 * learn who made a block whose descriptor the process has closed. One thread.
 */
void warprsa_stats_read(const warprsa_stats_reader *reader, pid_t pid,
                        uint64_t *allowance, warprsa_reading *reading);

/* Calls `each` for every process of the machine that uses the provider.
 * `allowance`, which may be NULL and may return NULL, is called before, for the
 * allowance of the process's user. False: /proc can't be read; errno says why.
 * One thread. */
typedef void (*warprsa_process_fn)(void *arg, const warprsa_reading *reading);
typedef uint64_t *(*warprsa_allowance_fn)(void *arg, uid_t user);
bool warprsa_stats_each(const warprsa_stats_reader *reader,
                        warprsa_allowance_fn allowance, warprsa_process_fn each,
                        void *arg);

#endif
