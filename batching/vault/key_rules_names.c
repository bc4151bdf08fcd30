/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Users and groups of this machine, for the rules of keys.conf; see
 * key_rules.h.
 */
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>

#include "batching/vault/key_rules.h"

enum {
    USER_BUFFER = 16384,    /* an entry of the name service */
    GROUP_BUFFER = 1 << 20, /* with all members */
};

static bool machine_user(const char *name, uint32_t *uid)
{
    struct passwd entry, *found = NULL;
    char *buffer = malloc(USER_BUFFER);

    if (buffer != NULL &&
        getpwnam_r(name, &entry, buffer, USER_BUFFER, &found) == 0 &&
        found != NULL)
        *uid = entry.pw_uid;
    free(buffer);
    return found != NULL;
}

static bool machine_group(const char *name, uint32_t *gid)
{
    struct group entry, *found = NULL;
    char *buffer = malloc(GROUP_BUFFER);

    if (buffer != NULL &&
        getgrnam_r(name, &entry, buffer, GROUP_BUFFER, &found) == 0 &&
        found != NULL)
        *gid = entry.gr_gid;
    free(buffer);
    return found != NULL;
}

const warprsa_name_service warprsa_key_rules_names = {machine_user,
                                                      machine_group};
