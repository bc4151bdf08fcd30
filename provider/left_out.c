/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whether the program is one of those that are left out; see left_out.h.
 */
#include "provider/left_out.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The program's path; empty if it can't be had. */
static void own_path(char path[PATH_MAX])
{
    static const char deleted[] = " (deleted)"; /* after an upgrade */
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    size_t length = n > 0 ? (size_t)n : 0;

    path[length] = '\0';
    if (length > sizeof(deleted) - 1 &&
        strcmp(path + length - (sizeof(deleted) - 1), deleted) == 0)
        path[length - (sizeof(deleted) - 1)] = '\0';
}

/* Whether one of the patterns is the path's; `*` stands for "/", too. */
static bool matches(const char *list, const char *path)
{
    char copy[WARPRSA_PROGRAMS_SIZE], *rest = NULL;

    strcpy(copy, list);
    for (char *pattern = strtok_r(copy, ", \t", &rest); pattern != NULL;
         pattern = strtok_r(NULL, ", \t", &rest))
        if (fnmatch(pattern, path, FNM_NOESCAPE) == 0)
            return true;
    return false;
}

const char *warprsa_left_out(const warprsa_config *config)
{
    const char *disable = secure_getenv("WARPRSA_DISABLE");
    char path[PATH_MAX];

    if (disable != NULL && disable[0] != '\0' && strcmp(disable, "0") != 0)
        return "WARPRSA_DISABLE";
    if (config->programs_allow[0] == '\0' && config->programs_deny[0] == '\0')
        return NULL;
    own_path(path);
    if (matches(config->programs_deny, path))
        return "programs_deny";
    if (config->programs_allow[0] != '\0' &&
        !matches(config->programs_allow, path))
        return "programs_allow";
    return NULL;
}
