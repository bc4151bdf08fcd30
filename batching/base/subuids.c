/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Subordinate user ids; see subuids.h.
 */
#include "batching/base/subuids.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_SIZE = 512,
};

/* A number that ends with `end`. */
static bool read_number(const char *text, char end, uint64_t *number)
{
    char *stop;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *number = strtoull(text, &stop, 10);
    return errno == 0 && *stop == end && *number <= UINT32_MAX;
}

/* The file names users by name or by number. */
static bool find_user(const char *text, uid_t *uid)
{
    const struct passwd *user = getpwnam(text);
    uint64_t number;

    if (user != NULL)
        *uid = user->pw_uid;
    else if (read_number(text, '\0', &number))
        *uid = (uid_t)number;
    else
        return false;
    return true;
}

/* NAME:FIRST:COUNT */
static bool read_line(char *line, struct warprsa_subuid_range *range)
{
    char *first = strchr(line, ':');
    char *count = first != NULL ? strchr(first + 1, ':') : NULL;

    if (count == NULL)
        return false;
    *first++ = '\0';
    count++;
    count[strcspn(count, "\n")] = '\0';
    return read_number(first, ':', &range->first) &&
           read_number(count, '\0', &range->count) &&
           find_user(line, &range->owner);
}

static bool add(warprsa_subuids *subuids,
                const struct warprsa_subuid_range *range)
{
    struct warprsa_subuid_range *more = reallocarray(
        subuids->ranges, subuids->count + 1, sizeof(*subuids->ranges));

    if (more == NULL)
        return false;
    subuids->ranges = more;
    subuids->ranges[subuids->count++] = *range;
    return true;
}

bool warprsa_subuids_read(warprsa_subuids *subuids, const char *path)
{
    FILE *file = fopen(path, "re");
    struct warprsa_subuid_range range;
    char line[LINE_SIZE];
    bool good = true;
    int error;

    if (file == NULL)
        return errno == ENOENT;
    while (good && fgets(line, sizeof(line), file) != NULL)
        if (read_line(line, &range))
            good = add(subuids, &range);
    good = good && ferror(file) == 0;
    error = good ? 0 : errno;
    fclose(file);
    if (!good)
        warprsa_subuids_free(subuids);
    errno = error;
    return good;
}

void warprsa_subuids_free(warprsa_subuids *subuids)
{
    free(subuids->ranges);
    *subuids = (warprsa_subuids){0};
}

uid_t warprsa_subuids_owner(const warprsa_subuids *subuids, uid_t uid)
{
    for (size_t i = 0; i < subuids->count; i++) {
        const struct warprsa_subuid_range *range = &subuids->ranges[i];
        const uint64_t place = uid - range->first;

        if (uid < range->first || place >= range->count)
            continue;
        return range->owner != 0
                   ? range->owner
                   : uid - (uid_t)(place % WARPRSA_SUBUIDS_OF_A_CONTAINER);
    }
    return uid;
}
