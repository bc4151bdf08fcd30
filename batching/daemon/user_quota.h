/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How many places each user has taken, so that none takes them all.
 */
#ifndef WARPRSA_BATCHING_DAEMON_USER_QUOTA_H
#define WARPRSA_BATCHING_DAEMON_USER_QUOTA_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/types.h>

LIST_HEAD(warprsa_user_list, warprsa_user);

typedef struct warprsa_user_quota {
    pthread_mutex_t lock;
    struct warprsa_user_list list; /* of those who have a place */
    unsigned count;                /* places taken, of all */
} warprsa_user_quota;

/* False: no lock can be had. */
bool warprsa_user_quota_init(warprsa_user_quota *users);
void warprsa_user_quota_free(warprsa_user_quota *users);

/* Takes a place for a user, unless `most` are taken, or `most_of_one` by that
 * user. NULL, or why there is none. Any thread. */
const char *warprsa_user_quota_enter(warprsa_user_quota *users, uid_t uid,
                                     unsigned most, unsigned most_of_one);

/* Gives one back. Any thread. */
void warprsa_user_quota_leave(warprsa_user_quota *users, uid_t uid);

/* Places taken now. Any thread. */
unsigned warprsa_user_quota_count(warprsa_user_quota *users);

#endif
