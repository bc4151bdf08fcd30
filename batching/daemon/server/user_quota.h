/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A limited number of seats, counted by user so that no user takes them all.
 * `owner` is a user id, which the kernel says of a socket, or the number of an
 * identity of the network, which the gateway says (session.h). A client never
 * says it.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_USER_QUOTA_H
#define WARPRSA_BATCHING_DAEMON_SERVER_USER_QUOTA_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

LIST_HEAD(warprsa_user_list, warprsa_user);

typedef struct warprsa_user_quota {
    pthread_mutex_t lock;
    struct warprsa_user_list list; /* of those with a seat */
    unsigned count;                /* seats taken */
} warprsa_user_quota;

/* False: no lock can be had. */
bool warprsa_user_quota_init(warprsa_user_quota *quota);
void warprsa_user_quota_free(warprsa_user_quota *quota);

/* Takes a seat for a user, unless `most` are taken in all, or `most_of_one` by
 * that user. Returns NULL, or why there is none. Any thread. */
const char *warprsa_user_quota_acquire(warprsa_user_quota *quota,
                                       uint64_t owner, unsigned most,
                                       unsigned most_of_one);

/* Takes `count` seats for a user. A user may have at most as many as are then
 * left for others: the first user half of all, the next one a quarter. So some
 * are always left. Returns NULL, or why there are none. Any thread. */
const char *warprsa_user_quota_take(warprsa_user_quota *quota, uint64_t owner,
                                    unsigned count, unsigned most);

/* Gives `count` seats back. Any thread. */
void warprsa_user_quota_give(warprsa_user_quota *quota, uint64_t owner,
                             unsigned count);

/* Gives one seat back. Any thread. */
void warprsa_user_quota_release(warprsa_user_quota *quota, uint64_t owner);

/* How many seats are taken now. Any thread. */
unsigned warprsa_user_quota_count(warprsa_user_quota *quota);

#endif
