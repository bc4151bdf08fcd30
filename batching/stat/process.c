/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A process and its user; see process.h.
 */
#include "batching/stat/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PATH_SIZE = 32,
    LINE_SIZE = 256,
};

/* NULL: errno says why. */
static FILE *open_file(const warprsa_process *process, const char *name)
{
    int fd = openat(process->directory, name, O_RDONLY | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;

    if (fd >= 0 && file == NULL)
        close(fd);
    return file;
}

/* Reads lines of "status", see proc(5): the real user, and the last number of
 * NSpid. False: there are none. */
static bool read_status(warprsa_process *process)
{
    FILE *status = open_file(process, "status");
    char line[LINE_SIZE];
    bool found = false;

    if (status == NULL)
        return false;
    while (fgets(line, sizeof(line), status) != NULL) {
        const char *last = strrchr(line, '\t');

        if (strncmp(line, "Uid:\t", 5) == 0) {
            process->user = (uid_t)strtoul(line + 5, NULL, 10);
            found = true;
        } else if (strncmp(line, "NSpid:", 6) == 0 && last != NULL) {
            process->pid_inside = strtoull(last + 1, NULL, 10);
        }
    }
    fclose(status);
    if (!found)
        errno = ESRCH;
    return found;
}

bool warprsa_process_open(warprsa_process *process, pid_t pid,
                          const warprsa_subuids *subuids)
{
    char path[PATH_SIZE];
    int error;

    *process = (warprsa_process){.pid = pid, .pid_inside = (uint64_t)pid};
    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    process->directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (process->directory < 0)
        return false;
    if (read_status(process)) {
        process->user = warprsa_subuids_owner(subuids, process->user);
        return true;
    }
    error = errno;
    close(process->directory);
    errno = error;
    return false;
}

void warprsa_process_close(const warprsa_process *process)
{
    close(process->directory);
}

bool warprsa_process_is_same(const warprsa_process *process,
                             const warprsa_subuids *subuids)
{
    warprsa_process now = *process;

    return read_status(&now) &&
           warprsa_subuids_owner(subuids, now.user) == process->user;
}

void warprsa_clean_name(char *name)
{
    for (char *c = name; *c != '\0'; c++)
        if (*c < ' ' || *c > '~' || *c == '"' || *c == '\\')
            *c = '?';
}

void warprsa_process_command(const warprsa_process *process,
                             char name[WARPRSA_COMMAND_SIZE])
{
    FILE *comm = open_file(process, "comm");
    char *got = NULL;

    if (comm != NULL) {
        got = fgets(name, WARPRSA_COMMAND_SIZE, comm);
        fclose(comm);
    }
    if (got == NULL) {
        strcpy(name, "?");
        return;
    }
    name[strcspn(name, "\n")] = '\0';
    warprsa_clean_name(name);
}
