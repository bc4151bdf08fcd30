/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading the counters of another process; see stats_reader.h.
 *
 * A block of counters is a memory file, found by its name among the descriptors
 * of the process. Where the process has closed that descriptor the block is a
 * mapping of the same name. Where it could have none the block is a mapping of
 * shared anonymous memory, which has the name /dev/zero as all of its kind.
 */
#include "batching/stat/stats_reader.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

#define BLOCK_NAME  "warprsa-counters"
#define MODULE_NAME "/warprsa.so"

enum {
    PATH_SIZE = 64,
    LINE_SIZE = 4096 + 128,
};

/* A search through one process, and what it has found so far. */
typedef struct search {
    pid_t pid;
    uint64_t own_pid; /* pid in the process's own PID namespace */
    warprsa_counters *blocks;
    size_t count;
    bool inherited;
    bool other_version;
    bool unread; /* a mapping that may be a block could not be read */
} search;

/* The PID that a process has in its own namespace, as in a container: the last
 * one of NSpid, see proc(5). Its block of counters has that one. */
static uint64_t number_inside(pid_t pid)
{
    char path[PATH_SIZE], line[256];
    uint64_t number = (uint64_t)pid;
    FILE *status;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    status = fopen(path, "re");
    if (status == NULL)
        return number;
    while (fgets(line, sizeof(line), status) != NULL) {
        const char *last = strrchr(line, '\t');

        if (strncmp(line, "NSpid:", 6) == 0 && last != NULL)
            number = strtoull(last + 1, NULL, 10);
    }
    fclose(status);
    return number;
}

/* Adds a block, unless it is of another version or another process. What is
 * named as one and begins in another way is of another version. */
static void consider(search *s, const warprsa_counters *block, bool named)
{
    const bool is_block = memcmp(block->magic, warprsa_counters_magic,
                                 WARPRSA_COUNTERS_MAGIC) == 0;

    if (!is_block && !named)
        return;
    if (!is_block || block->version != WARPRSA_COUNTERS_VERSION)
        s->other_version = true;
    else if (block->serving_pid == s->own_pid)
        return; /* shown as its parent's */
    else if (block->pid != s->own_pid)
        s->inherited = true;
    else if (s->count < WARPRSA_BLOCKS_MAX)
        memcpy(&s->blocks[s->count++], block, sizeof(*block));
}

/* Opens a descriptor of another process for reading, if it is a memory file;
 * else -1. Whoever has the process may have put another file there meanwhile: a
 * device that does something when it is opened, or a file that is never read to
 * its end. O_PATH opens nothing yet. */
static int open_memory_file(int directory, const char *name)
{
    int path = openat(directory, name, O_PATH | O_CLOEXEC);
    char again[PATH_SIZE];
    struct statfs system;
    struct stat file;
    int fd = -1;

    if (path < 0)
        return -1;
    if (fstat(path, &file) == 0 && S_ISREG(file.st_mode) &&
        fstatfs(path, &system) == 0 && system.f_type == TMPFS_MAGIC) {
        snprintf(again, sizeof(again), "/proc/self/fd/%d", path);
        fd = open(again, O_RDONLY | O_CLOEXEC);
    }
    close(path);
    return fd;
}

static void consider_descriptor(search *s, int directory, const char *name)
{
    char target[256];
    warprsa_counters block;
    ssize_t n = readlinkat(directory, name, target, sizeof(target) - 1);
    int fd;

    if (n < 0)
        return;
    target[n] = '\0';
    if (strncmp(target, "/memfd:" BLOCK_NAME, strlen("/memfd:" BLOCK_NAME)))
        return;
    fd = open_memory_file(directory, name);
    if (fd < 0)
        return;
    if (pread(fd, &block, sizeof(block), 0) == (ssize_t)sizeof(block))
        consider(s, &block, true);
    close(fd);
}

/* Adds the blocks among the descriptors. 0, or the error of opening /proc. */
static int search_descriptors(search *s)
{
    char path[PATH_SIZE];
    const struct dirent *entry;
    DIR *list;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)s->pid);
    list = opendir(path);
    if (list == NULL)
        return errno;
    while ((entry = readdir(list)) != NULL)
        if (entry->d_name[0] != '.')
            consider_descriptor(s, dirfd(list), entry->d_name);
    closedir(list);
    return 0;
}

static void consider_mapping(search *s, uintptr_t address, bool named)
{
    warprsa_counters block;
    struct iovec here = {&block, sizeof(block)};
    struct iovec there = {(void *)address, sizeof(block)};

    if (process_vm_readv(s->pid, &here, 1, &there, 1, 0) ==
        (ssize_t)sizeof(block))
        consider(s, &block, named);
    else if (named || errno != EFAULT) /* EFAULT: it is smaller than a block */
        s->unread = true;
}

/* Adds a block among the mappings, unless one was found already. *module says
 * whether the provider's module is mapped. 0, or the error of opening /proc. */
static int search_mappings(search *s, bool *module)
{
    char path[PATH_SIZE], line[LINE_SIZE];
    FILE *maps;

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)s->pid);
    maps = fopen(path, "re");
    if (maps == NULL)
        return errno;
    *module = false;
    while (fgets(line, sizeof(line), maps) != NULL) {
        const bool named = strstr(line, " /memfd:" BLOCK_NAME) != NULL;

        if (strstr(line, MODULE_NAME) != NULL)
            *module = true;
        if (named || (strstr(line, " rw-s ") != NULL &&
                      strstr(line, " /dev/zero (deleted)") != NULL))
            consider_mapping(s, (uintptr_t)strtoull(line, NULL, 16), named);
    }
    fclose(maps);
    return 0;
}

static warprsa_found found_error(int error)
{
    return error == EACCES || error == EPERM ? WARPRSA_NO_PERMISSION
                                             : WARPRSA_NO_PROCESS;
}

warprsa_found warprsa_stats_read(pid_t pid, warprsa_counters *blocks,
                                 size_t *count)
{
    search s = {.pid = pid, .own_pid = number_inside(pid), .blocks = blocks};
    bool module = false;
    int error = search_descriptors(&s);

    if (error == 0 && s.count == 0)
        error = search_mappings(&s, &module);
    *count = s.count;
    if (error != 0)
        return found_error(error);
    if (s.count > 0)
        return WARPRSA_FOUND;
    if (s.other_version)
        return WARPRSA_OTHER_VERSION;
    if (s.inherited)
        return WARPRSA_INHERITED;
    if (!module)
        return WARPRSA_NOT_LOADED;
    return s.unread ? WARPRSA_UNKNOWN : WARPRSA_NOT_COUNTING;
}

bool warprsa_stats_each(warprsa_process_fn each, void *arg)
{
    DIR *list = opendir("/proc");
    const struct dirent *entry;

    if (list == NULL)
        return false;
    while ((entry = readdir(list)) != NULL) {
        warprsa_counters blocks[WARPRSA_BLOCKS_MAX];
        size_t count = 0;
        pid_t pid = (pid_t)atol(entry->d_name);
        warprsa_found found;

        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        found = warprsa_stats_read(pid, blocks, &count);
        if (found != WARPRSA_NOT_LOADED && found != WARPRSA_NO_PROCESS)
            each(arg, pid, found, blocks, count);
    }
    closedir(list);
    return true;
}

void warprsa_stats_clean(char *name)
{
    for (char *c = name; *c != '\0'; c++)
        if (*c < ' ' || *c > '~' || *c == '"' || *c == '\\')
            *c = '?';
}

void warprsa_stats_command(pid_t pid, char name[WARPRSA_COMMAND_SIZE])
{
    char path[PATH_SIZE];
    FILE *comm;
    char *got = NULL;

    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    comm = fopen(path, "re");
    if (comm != NULL) {
        got = fgets(name, WARPRSA_COMMAND_SIZE, comm);
        fclose(comm);
    }
    if (got == NULL) {
        strcpy(name, "?");
        return;
    }
    name[strcspn(name, "\n")] = '\0';
    warprsa_stats_clean(name);
}
