/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Seats of users: a list of those that have any. See user_quota.h.
 */
#include "batching/daemon/user_quota.h"

#include <stdlib.h>

struct warprsa_user {
    LIST_ENTRY(warprsa_user) link;
    uid_t uid;
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
static struct warprsa_user *find(const warprsa_user_quota *quota, uid_t uid)
{
    struct warprsa_user *user;

    LIST_FOREACH (user, &quota->list, link)
        if (user->uid == uid)
            break;
    return user;
}

/* With the lock held. */
static const char *acquire(warprsa_user_quota *quota, uid_t uid, unsigned most,
                           unsigned most_of_one)
{
    struct warprsa_user *user = find(quota, uid);

    if (quota->count >= most)
        return "all seats are taken";
    if (user == NULL) {
        user = calloc(1, sizeof(*user));
        if (user == NULL)
            return "no memory";
        user->uid = uid;
        LIST_INSERT_HEAD(&quota->list, user, link);
    } else if (user->count >= most_of_one) {
        return "this user has as many as one may have";
    }
    user->count++;
    quota->count++;
    return NULL;
}

const char *warprsa_user_quota_acquire(warprsa_user_quota *quota, uid_t uid,
                                       unsigned most, unsigned most_of_one)
{
    const char *why_not;

    pthread_mutex_lock(&quota->lock);
    why_not = acquire(quota, uid, most, most_of_one);
    pthread_mutex_unlock(&quota->lock);
    return why_not;
}

void warprsa_user_quota_release(warprsa_user_quota *quota, uid_t uid)
{
    struct warprsa_user *user;

    pthread_mutex_lock(&quota->lock);
    user = find(quota, uid);
    if (user != NULL) {
        quota->count--;
        if (--user->count == 0) {
            LIST_REMOVE(user, link);
            free(user);
        }
    }
    pthread_mutex_unlock(&quota->lock);
}

unsigned warprsa_user_quota_count(warprsa_user_quota *quota)
{
    unsigned count;

    pthread_mutex_lock(&quota->lock);
    count = quota->count;
    pthread_mutex_unlock(&quota->lock);
    return count;
}
