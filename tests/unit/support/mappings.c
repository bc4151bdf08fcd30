/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/support/mappings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static FILE *open_of(pid_t pid, const char *name)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return fopen(path, "r");
}

/* The first line of each mapping. */
static void begin(mapping *m, const char *line)
{
    mapping next = {0};

    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &next.from, &next.to,
               next.permissions) == 3)
        *m = next;
}

bool each_mapping(pid_t pid, void (*look)(void *arg, const mapping *m),
                  void *arg)
{
    FILE *file = open_of(pid, "smaps");
    mapping m = {0};
    char line[4096];

    if (file == NULL)
        return false;
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "VmFlags:", 8) != 0) {
            (void)sscanf(line, "Anonymous: %lu kB", &m.anonymous_kib);
            begin(&m, line);
            continue;
        }
        /* The last line. */
        m.dumped = strstr(line, " dd") == NULL;
        m.wiped_on_fork = strstr(line, " wf") != NULL;
        m.locked = strstr(line, " lo") != NULL;
        look(arg, &m);
    }
    fclose(file);
    return true;
}

long status_kib(pid_t pid, const char *name)
{
    FILE *file = open_of(pid, "status");
    size_t length = strlen(name);
    char line[256];
    long kib = -1;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            (void)sscanf(line + length + 1, "%ld kB", &kib);
    if (file != NULL)
        fclose(file);
    return kib;
}
