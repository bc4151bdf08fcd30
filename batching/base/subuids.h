/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Subordinate user ids, subuid(5). A user may take any of the ids that
 * /etc/subuid grants, 65,536 as a rule, in a user namespace: to the kernel each
 * is a user, to whoever limits or counts users all of them are one.
 */
#ifndef WARPRSA_BATCHING_BASE_SUBUIDS_H
#define WARPRSA_BATCHING_BASE_SUBUIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How many ids a container of root's has. What root grants itself is for
 * containers, and these are not root: the ids of each count as its first one.
 */
#define WARPRSA_SUBUIDS_OF_A_CONTAINER 65536

/* All zeros: nobody has any. */
typedef struct warprsa_subuids {
    struct warprsa_subuid_range {
        uint64_t first, count;
        uid_t owner;
    } * ranges;
    size_t count;
} warprsa_subuids;

/* Reads a file such as /etc/subuid into a table that is all zeros. Lines that
 * say nothing, or name a user that is not there, are left out. A file that is
 * not there is empty. False: it can't be read, or no memory; errno says which,
 * and the table is empty. Looks up users: one thread at a time. */
bool warprsa_subuids_read(warprsa_subuids *subuids, const char *path);

void warprsa_subuids_free(warprsa_subuids *subuids);

/* The user whose id, or subordinate id, this is. Any thread. */
uid_t warprsa_subuids_owner(const warprsa_subuids *subuids, uid_t uid);

#endif
