/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Seats of users: a list of the users that have any. See user_quota.h.
 */
#include "batching/daemon/server/user_quota.h"

#include <stdlib.h>

struct warprsa_user {
    LIST_ENTRY(warprsa_user) link;
    uint64_t owner;
    unsigned count; /* not 0 */
};

bool warprsa_user_quota_init(warprsa_user_quota *quota)
{
    LIST_INIT(&quota->list);
    quota->count = 0;
    return pthread_mutex_init(&quota->lock, NULL) == 0;
}

void warprsa_user_quota_free(warprsa_user_quota *quota)
{
    struct warprsa_user *user;

    while ((user = LIST_FIRST(&quota->list)) != NULL) {
        LIST_REMOVE(user, link);
        free(user);
    }
    pthread_mutex_destroy(&quota->lock);
}

/* With the lock held. */
static struct warprsa_user *find(const warprsa_user_quota *quota,
                                 uint64_t owner)
{
    struct warprsa_user *user;

    LIST_FOREACH (user, &quota->list, link)
        if (user->owner == owner)
            break;
    return user;
}

/* With the lock held: finds or adds the user. NULL: no memory. */
static struct warprsa_user *find_or_add(warprsa_user_quota *quota,
                                        uint64_t owner)
{
    struct warprsa_user *user = find(quota, owner);

    if (user != NULL)
        return user;
    user = calloc(1, sizeof(*user));
    if (user == NULL)
        return NULL;
    user->owner = owner;
    LIST_INSERT_HEAD(&quota->list, user, link);
    return user;
}

/* With the lock held. */
static void change(warprsa_user_quota *quota, struct warprsa_user *user,
                   unsigned more)
{
    user->count += more;
    quota->count += more;
    if (user->count != 0)
        return;
    LIST_REMOVE(user, link);
    free(user);
}

const char *warprsa_user_quota_acquire(warprsa_user_quota *quota,
                                       uint64_t owner, unsigned most,
                                       unsigned most_of_one)
{
    const char *why_not = NULL;
    struct warprsa_user *user;

    pthread_mutex_lock(&quota->lock);
    user = find(quota, owner);
    if (quota->count >= most)
        why_not = "all seats are taken";
    else if (user != NULL && user->count >= most_of_one)
        why_not = "this user has as many as one may have";
    else if ((user = find_or_add(quota, owner)) == NULL)
        why_not = "no memory";
    else
        change(quota, user, 1);
    pthread_mutex_unlock(&quota->lock);
    return why_not;
}

const char *warprsa_user_quota_take(warprsa_user_quota *quota, uint64_t owner,
                                    unsigned count, unsigned most)
{
    const char *why_not = NULL;
    struct warprsa_user *user;
    unsigned has;

    pthread_mutex_lock(&quota->lock);
    user = find(quota, owner);
    has = (user != NULL ? user->count : 0) + count;
    if (quota->count + count > most || has > most - quota->count - count)
        why_not = "this user has as many as are left for others";
    else if ((user = find_or_add(quota, owner)) == NULL)
        why_not = "no memory";
    else
        change(quota, user, count);
    pthread_mutex_unlock(&quota->lock);
    return why_not;
}

void warprsa_user_quota_give(warprsa_user_quota *quota, uint64_t owner,
                             unsigned count)
{
    struct warprsa_user *user;

    pthread_mutex_lock(&quota->lock);
    user = find(quota, owner);
    if (user != NULL)
        change(quota, user, 0 - count);
    pthread_mutex_unlock(&quota->lock);
}

void warprsa_user_quota_release(warprsa_user_quota *quota, uint64_t owner)
{
    warprsa_user_quota_give(quota, owner, 1);
}

unsigned warprsa_user_quota_count(warprsa_user_quota *quota)
{
    unsigned count;

    pthread_mutex_lock(&quota->lock);
    count = quota->count;
    pthread_mutex_unlock(&quota->lock);
    return count;
}
