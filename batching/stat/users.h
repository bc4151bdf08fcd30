/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The users whose processes are counted: the label of each, and how much the
 * processes of one user may add, so that no user pushes another out.
 */
#ifndef WARPRSA_BATCHING_STAT_USERS_H
#define WARPRSA_BATCHING_STAT_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    /* Users with a label of their own, by kind: root and users of services (by
     * their ids), other users with a name, and ids without a name, of which one
     * user may have thousands. Users beyond these limits are "other". */
    WARPRSA_SERVICE_USERS_MAX = 64,
    WARPRSA_NAMED_USERS_MAX = 64,
    WARPRSA_NUMBERED_USERS_MAX = 16,
    WARPRSA_USERS_MAX = WARPRSA_SERVICE_USERS_MAX + WARPRSA_NAMED_USERS_MAX +
                        WARPRSA_NUMBERED_USERS_MAX,
    /* What the processes of one user may add. */
    WARPRSA_USER_PROGRAMS_MAX = 16,   /* with a name; more are "other" */
    WARPRSA_USER_BLOCKS_MAX = 2048,   /* of counters, of live processes */
    WARPRSA_USER_VAULTS_MAX = 4,      /* daemons with accounts of keys */
    WARPRSA_USER_LOOKS_MAX = 1 << 22, /* descriptors and mappings looked at */
    /* Users of any process at all. Further users are "other", and share its
     * looks. */
    WARPRSA_USERS_KNOWN_MAX = 1024,
    WARPRSA_USER_LABEL_SIZE = 64,
};

typedef struct warprsa_user_seat {
    uid_t uid;
    char label[WARPRSA_USER_LABEL_SIZE]; /* nobody else's */
    unsigned programs, blocks, vaults;   /* that it has */
    uint64_t left_out; /* processes that were not read, or not all of */
    uint64_t foreign;  /* blocks of its making in others' processes */
} warprsa_user_seat;

/* All zeros to begin with. */
typedef struct warprsa_users {
    warprsa_user_seat seats[WARPRSA_USERS_MAX + 1];
    size_t count;
    unsigned services, named, numbered;
    struct warprsa_known_user {
        uid_t uid;
        uint64_t looks;          /* left */
        warprsa_user_seat *seat; /* NULL: not looked for yet */
    } known[WARPRSA_USERS_KNOWN_MAX + 1];
    size_t known_count;
} warprsa_users;

/* The seat of a user, or of "other". Its address never changes. */
warprsa_user_seat *warprsa_users_find(warprsa_users *users, uid_t uid);

/* How many looks are left for a user's processes. NULL: no limit, as for
 * root. */
uint64_t *warprsa_users_looks(warprsa_users *users, uid_t uid);

/* The label of a user whose name in the system's table is `name` (NULL: none).
 * The label is the name, unless that could be another label or needs escapes;
 * then it is the number. */
void warprsa_users_label(uid_t uid, const char *name,
                         char label[WARPRSA_USER_LABEL_SIZE]);

#endif
