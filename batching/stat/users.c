/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Users and their labels; see users.h.
 */
#include "batching/stat/users.h"

#include <ctype.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

enum {
    SERVICES_END = 1000, /* as systemd and distributions have it */
    /* The ids of systemd's DynamicUser=, which is for services too. */
    DYNAMIC_FIRST = 61184,
    DYNAMIC_LAST = 65519,
};

#define OTHER     "other"
#define OTHER_UID ((uid_t)-1)

/* Names as useradd(8) and systemd allow them, with a domain behind. */
static bool is_plain(const char *name)
{
    if (!isalpha((unsigned char)name[0]) && name[0] != '_')
        return false;
    for (const char *c = name; *c != '\0'; c++)
        if ((unsigned char)*c > '~' ||
            (!isalnum((unsigned char)*c) && strchr("_-.@$+", *c) == NULL))
            return false;
    return strlen(name) < WARPRSA_USER_LABEL_SIZE && strcmp(name, OTHER) != 0;
}

void warprsa_users_label(uid_t uid, const char *name,
                         char label[WARPRSA_USER_LABEL_SIZE])
{
    if (name != NULL && is_plain(name))
        strcpy(label, name);
    else
        snprintf(label, WARPRSA_USER_LABEL_SIZE, "%u", (unsigned)uid);
}

static bool is_taken(const warprsa_users *users, const char *label)
{
    for (size_t i = 0; i < users->count; i++)
        if (strcmp(users->seats[i].label, label) == 0)
            return true;
    return false;
}

/* Takes a seat if fewer than `most` are taken. */
static bool take(unsigned *taken, unsigned most)
{
    const bool room = *taken < most;

    *taken += room;
    return room;
}

static bool has_room(warprsa_users *users, uid_t uid, bool named)
{
    const bool service =
        uid < SERVICES_END || (uid >= DYNAMIC_FIRST && uid <= DYNAMIC_LAST);

    if (!named)
        return take(&users->numbered, WARPRSA_NUMBERED_USERS_MAX);
    if (service)
        return take(&users->services, WARPRSA_SERVICE_USERS_MAX);
    return take(&users->named, WARPRSA_NAMED_USERS_MAX);
}

static warprsa_user_seat *add(warprsa_users *users, uid_t uid,
                              const char *label)
{
    warprsa_user_seat *seat = &users->seats[users->count++];

    seat->uid = uid;
    strcpy(seat->label, label);
    return seat;
}

/* A seat is always left for "other". */
static warprsa_user_seat *find_other(warprsa_users *users)
{
    for (size_t i = 0; i < users->count; i++)
        if (users->seats[i].uid == OTHER_UID)
            return &users->seats[i];
    return add(users, OTHER_UID, OTHER);
}

static warprsa_user_seat *new_seat(warprsa_users *users, uid_t uid)
{
    const struct passwd *user = getpwuid(uid);
    char label[WARPRSA_USER_LABEL_SIZE];

    if (!has_room(users, uid, user != NULL || uid == 0))
        return find_other(users);
    warprsa_users_label(uid, user != NULL ? user->pw_name : NULL, label);
    if (is_taken(users, label)) /* a name that two users have */
        warprsa_users_label(uid, NULL, label);
    return add(users, uid, label);
}

static struct warprsa_known_user *know(warprsa_users *users, uid_t uid)
{
    struct warprsa_known_user *user;

    for (size_t i = 0; i < users->known_count; i++)
        if (users->known[i].uid == uid)
            return &users->known[i];
    if (users->known_count > WARPRSA_USERS_KNOWN_MAX)
        return &users->known[WARPRSA_USERS_KNOWN_MAX];
    if (users->known_count == WARPRSA_USERS_KNOWN_MAX)
        uid = OTHER_UID;
    user = &users->known[users->known_count++];
    *user = (struct warprsa_known_user){uid, WARPRSA_USER_LOOKS_MAX, NULL};
    return user;
}

warprsa_user_seat *warprsa_users_find(warprsa_users *users, uid_t uid)
{
    struct warprsa_known_user *user = know(users, uid);

    if (user->seat == NULL)
        user->seat = user->uid == OTHER_UID ? find_other(users)
                                            : new_seat(users, user->uid);
    return user->seat;
}

uint64_t *warprsa_users_looks(warprsa_users *users, uid_t uid)
{
    struct warprsa_known_user *user = know(users, uid);

    return uid == 0 ? NULL : &user->looks;
}
