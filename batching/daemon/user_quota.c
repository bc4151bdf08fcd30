/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batching/daemon/user_quota.h"

#include <stdlib.h>

struct warprsa_user {
    LIST_ENTRY(warprsa_user) link;
    uid_t uid;
    unsigned count; /* not 0 */
};

bool warprsa_user_quota_init(warprsa_user_quota *users)
{
    LIST_INIT(&users->list);
    users->count = 0;
    return pthread_mutex_init(&users->lock, NULL) == 0;
}

void warprsa_user_quota_free(warprsa_user_quota *users)
{
    struct warprsa_user *user;

    while ((user = LIST_FIRST(&users->list)) != NULL) {
        LIST_REMOVE(user, link);
        free(user);
    }
    pthread_mutex_destroy(&users->lock);
}

/* With the lock held. */
static struct warprsa_user *find(const warprsa_user_quota *users, uid_t uid)
{
    struct warprsa_user *user;

    LIST_FOREACH(user, &users->list, link)
    if (user->uid == uid)
        break;
    return user;
}

/* With the lock held. */
static const char *enter(warprsa_user_quota *users, uid_t uid, unsigned most,
                         unsigned most_of_one)
{
    struct warprsa_user *user = find(users, uid);

    if (users->count >= most)
        return "all places are taken";
    if (user == NULL) {
        user = calloc(1, sizeof(*user));
        if (user == NULL)
            return "no memory";
        user->uid = uid;
        LIST_INSERT_HEAD(&users->list, user, link);
    } else if (user->count >= most_of_one) {
        return "this user has as many as one may have";
    }
    user->count++;
    users->count++;
    return NULL;
}

const char *warprsa_user_quota_enter(warprsa_user_quota *users, uid_t uid,
                                     unsigned most, unsigned most_of_one)
{
    const char *why_not;

    pthread_mutex_lock(&users->lock);
    why_not = enter(users, uid, most, most_of_one);
    pthread_mutex_unlock(&users->lock);
    return why_not;
}

void warprsa_user_quota_leave(warprsa_user_quota *users, uid_t uid)
{
    struct warprsa_user *user;

    pthread_mutex_lock(&users->lock);
    user = find(users, uid);
    if (user != NULL) {
        users->count--;
        if (--user->count == 0) {
            LIST_REMOVE(user, link);
            free(user);
        }
    }
    pthread_mutex_unlock(&users->lock);
}

unsigned warprsa_user_quota_count(warprsa_user_quota *users)
{
    unsigned count;

    pthread_mutex_lock(&users->lock);
    count = users->count;
    pthread_mutex_unlock(&users->lock);
    return count;
}
