/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Users and groups of this machine, for the rules of keys.conf; see
 * key_rules.h.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>

#include "batching/vault/key_rules.h"

enum {
    USER_BUFFER = 16384,    /* an entry of the name service */
    GROUP_BUFFER = 1 << 20, /* with all members */
};

/* Where there is no such entry, a name service gives back 0, as glibc's own, or
 * one of these (getpwnam(3)). */
static int failure_of(int error)
{
    return error == ENOENT || error == ESRCH ? 0 : error;
}

static bool machine_user(const char *name, uint32_t *uid, int *error)
{
    struct passwd entry, *found = NULL;
    char *buffer = malloc(USER_BUFFER);

    *error =
        buffer != NULL
            ? failure_of(getpwnam_r(name, &entry, buffer, USER_BUFFER, &found))
            : ENOMEM;
    if (found != NULL)
        *uid = entry.pw_uid;
    free(buffer);
    return found != NULL;
}

static bool machine_group(const char *name, uint32_t *gid, int *error)
{
    struct group entry, *found = NULL;
    char *buffer = malloc(GROUP_BUFFER);

    *error =
        buffer != NULL
            ? failure_of(getgrnam_r(name, &entry, buffer, GROUP_BUFFER, &found))
            : ENOMEM;
    if (found != NULL)
        *gid = entry.gr_gid;
    free(buffer);
    return found != NULL;
}

const warprsa_name_service warprsa_key_rules_names = {machine_user,
                                                      machine_group};
