/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Subordinate user ids, subuid(5). In a user namespace a user may take any of
 * the ids that /etc/subuid grants, 65,536 as a rule. To the kernel each id is a
 * user. Limits and counts treat all of them as one user.
 */
#ifndef WARPRSA_BATCHING_BASE_SUBUIDS_H
#define WARPRSA_BATCHING_BASE_SUBUIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How many ids a container of root's has. The ids that root grants itself are
 * for containers, which are not root: the ids of a container count as its first
 * id. */
#define WARPRSA_SUBUIDS_OF_A_CONTAINER 65536

/* All zeros: nobody has any. */
typedef struct warprsa_subuids {
    struct warprsa_subuid_range {
        uint64_t first, count;
        uid_t owner;
    } * ranges;
    size_t count;
} warprsa_subuids;

/* Reads a file such as /etc/subuid into a table that is all zeros. Empty lines
 * and lines of unknown users are skipped. A missing file counts as empty.
 * False: the file can't be read, or no memory; errno says which, and the table
 * is empty. Looks up users: one thread at a time. */
bool warprsa_subuids_read(warprsa_subuids *subuids, const char *path);

void warprsa_subuids_free(warprsa_subuids *subuids);

/* The user who has this id or subordinate id. Any thread. */
uid_t warprsa_subuids_owner(const warprsa_subuids *subuids, uid_t uid);

#endif
