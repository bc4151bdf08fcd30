/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What this process has, as /proc shows it. No assertions: for any process.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_OPEN_FILES_H
#define WARPRSA_TESTS_UNIT_SUPPORT_OPEN_FILES_H

#include <dirent.h>
#include <stddef.h>

/* How many entries a directory has, with one for itself that is open; 0: it
 * can't be read. */
static inline unsigned count_entries(const char *path)
{
    DIR *directory = opendir(path);
    unsigned count = 0;

    if (directory == NULL)
        return 0;
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

static inline unsigned count_descriptors(void)
{
    return count_entries("/proc/self/fd");
}

#endif
