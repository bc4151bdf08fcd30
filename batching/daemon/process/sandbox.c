/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Hiding files by Landlock; see sandbox.h. libc has no functions for it. The
 * constants that an old <linux/landlock.h> lacks are the kernel's own.
 */
#include "batching/daemon/process/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/landlock.h>

#define ACCESS_FS_REFER    (UINT64_C(1) << 13) /* version 2 */
#define ACCESS_FS_TRUNCATE (UINT64_C(1) << 14) /* version 3 */

/* All that version 1 has: to read, write and execute, and to change
 * directories. */
#define ACCESS_FS_FILE                                                         \
    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |            \
     LANDLOCK_ACCESS_FS_EXECUTE)
#define ACCESS_FS_DIRECTORY                                                    \
    (ACCESS_FS_FILE | LANDLOCK_ACCESS_FS_READ_DIR |                            \
     LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |          \
     LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |              \
     LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |              \
     LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |            \
     LANDLOCK_ACCESS_FS_MAKE_SYM)

typedef struct sandbox {
    int ruleset;
    uint64_t on_files, on_directories; /* the rights that the kernel knows */
    char hidden[WARPRSA_SANDBOX_PATHS_MAX][PATH_MAX]; /* without links */
    unsigned count;
    char *why;
    size_t why_size;
} sandbox;

/* Always false. */
static bool fail(const sandbox *s, const char *what)
{
    snprintf(s->why, s->why_size, "files of keys can't be hidden: %s: %s", what,
             strerror(errno));
    return false;
}

static bool find_hidden(sandbox *s, const char *const *paths, unsigned count)
{
    errno = E2BIG;
    if (count > WARPRSA_SANDBOX_PATHS_MAX)
        return fail(s, "paths");
    for (; s->count < count; s->count++) {
        if (realpath(paths[s->count], s->hidden[s->count]) == NULL)
            return fail(s, paths[s->count]);
        errno = EINVAL;
        if (strcmp(s->hidden[s->count], "/") == 0)
            return fail(s, "/");
    }
    return true;
}

/* Rules are for the calling thread. Other threads would go on without. */
static bool has_one_thread(const sandbox *s)
{
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *entry = NULL;
    unsigned count = 0;

    if (tasks == NULL)
        return fail(s, "/proc/self/task");
    while ((entry = readdir(tasks)) != NULL)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    errno = EBUSY;
    return count == 1 || fail(s, "the process has other threads");
}

/* What a path is to the hidden ones. */
static enum place {
    PLACE_OUTSIDE,
    PLACE_ABOVE,
    PLACE_HIDDEN,
} place_of(const sandbox *s, const char *path)
{
    const size_t length = strlen(path);
    enum place place = PLACE_OUTSIDE;

    for (unsigned i = 0; i < s->count; i++) {
        if (strncmp(s->hidden[i], path, length) != 0)
            continue;
        if (s->hidden[i][length] == '\0')
            return PLACE_HIDDEN;
        if (s->hidden[i][length] == '/')
            place = PLACE_ABOVE;
    }
    return place;
}

/* Allows a file, or a directory and all in it. Of a link the target counts,
 * wherever it lies. */
static bool allow(const sandbox *s, const char *path)
{
    struct landlock_path_beneath_attr rule = {
        .parent_fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    struct stat st;
    bool ok = false;

    if (rule.parent_fd < 0)
        return errno == ENOENT || fail(s, path); /* it has gone meanwhile */
    ok = fstat(rule.parent_fd, &st) == 0;
    if (ok && !S_ISLNK(st.st_mode)) {
        rule.allowed_access =
            S_ISDIR(st.st_mode) ? s->on_directories : s->on_files;
        ok = syscall(SYS_landlock_add_rule, s->ruleset,
                     LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
    }
    if (!ok)
        (void)fail(s, path);
    close(rule.parent_fd);
    return ok;
}

/* Allows what lies in a directory above a hidden path; "" is the root. Hidden
 * paths end the recursion. */
static bool allow_beside(const sandbox *s, const char *directory)
{
    DIR *entries = opendir(directory[0] != '\0' ? directory : "/");
    const struct dirent *entry = NULL;
    char path[PATH_MAX];
    bool ok = true;

    if (entries == NULL)
        return fail(s, directory);
    while (ok && (entry = readdir(entries)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        /* A path without an end would be another one. */
        if (snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name) >=
            (int)sizeof(path))
            continue;
        switch (place_of(s, path)) {
        case PLACE_OUTSIDE:
            ok = allow(s, path);
            break;
        case PLACE_ABOVE:
            ok = allow_beside(s, path);
            break;
        case PLACE_HIDDEN:
            break;
        }
    }
    closedir(entries);
    return ok;
}

/* The rights of the kernel's version of Landlock; 0: it has none. */
static int find_rights(sandbox *s)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
                           LANDLOCK_CREATE_RULESET_VERSION);

    s->on_files = ACCESS_FS_FILE;
    s->on_directories = ACCESS_FS_DIRECTORY;
    /* Before version 2 nothing can be moved or linked to another directory. */
    if (version >= 2)
        s->on_directories |= ACCESS_FS_REFER;
    if (version >= 3) {
        s->on_files |= ACCESS_FS_TRUNCATE;
        s->on_directories |= ACCESS_FS_TRUNCATE;
    }
    return version > 0 ? (int)version : 0;
}

static bool restrict_self(sandbox *s)
{
    struct landlock_ruleset_attr rights = {.handled_access_fs =
                                               s->on_directories};
    bool ok = false;

    s->ruleset = (int)syscall(SYS_landlock_create_ruleset, &rights,
                              sizeof(rights.handled_access_fs), 0);
    if (s->ruleset < 0)
        return fail(s, "landlock_create_ruleset");
    ok = allow_beside(s, "");
    if (ok && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
               syscall(SYS_landlock_restrict_self, s->ruleset, 0) != 0))
        ok = fail(s, "landlock_restrict_self");
    close(s->ruleset);
    return ok;
}

warprsa_sandbox_result warprsa_sandbox_hide(const char *const *paths,
                                            unsigned count, char *why,
                                            size_t why_size)
{
    sandbox *s = calloc(1, sizeof(*s));
    warprsa_sandbox_result result = WARPRSA_SANDBOX_FAILED;

    why[0] = '\0';
    if (s == NULL) {
        snprintf(why, why_size, "files of keys can't be hidden: no memory");
        return result;
    }
    s->why = why;
    s->why_size = why_size;
    if (find_rights(s) == 0) {
        snprintf(why, why_size,
                 "files of keys are not hidden from the serving process: the "
                 "kernel has no Landlock here: %s",
                 strerror(errno));
        result = WARPRSA_SANDBOX_UNSUPPORTED;
    } else if (find_hidden(s, paths, count) && has_one_thread(s) &&
               restrict_self(s)) {
        result = WARPRSA_SANDBOX_HIDDEN;
    }
    free(s);
    return result;
}
