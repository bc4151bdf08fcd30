/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading the counters of another process; see stats_reader.h.
 *
 * A block of counters is a memory file, found by its name among the descriptors
 * of the process. If the process has closed that descriptor, the block is a
 * mapping of the same name. If the process could have no descriptor, the block
 * is a mapping of shared anonymous memory, whose name is always /dev/zero. Only
 * a fork hands such memory on, so it belongs to the process's user. Accounts of
 * keys are a memory file of another name, which has its descriptor open.
 *
 * Other users choose the names of their own files, and can have a process that
 * accepts descriptors open and map them. So a file's name says nothing without
 * its device: memory files are on a device that nobody can mount.
 */
#include "batching/stat/stats_reader.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_NAME     "/memfd:warprsa-counters"
#define ACCOUNTS_NAME "/memfd:" WARPRSA_KEY_ACCOUNTS_FILE
#define ANONYMOUS     "/dev/zero (deleted)"
#define MODULE_NAME   "/warprsa.so"

enum {
    PATH_SIZE = 64,
    LINE_SIZE = 4096 + 128,
};

/* A search through one process, and what it has found so far. */
typedef struct search {
    const warprsa_stats_reader *reader;
    const warprsa_process *process;
    warprsa_reading *reading;
    uint64_t *allowance; /* NULL: no limit */
    size_t own; /* blocks of the process's user, or of an unknown one */
    bool inherited;
    bool other_version;
    bool module; /* the provider's is mapped */
    bool unread; /* a mapping that may be a block could not be read */
} search;

/* A line of /proc/PID/maps, see proc(5). */
typedef struct mapping {
    unsigned long begin, end;
    char access[8];
    dev_t device;
    const char *path;
} mapping;

static bool read_mapping(const char *line, mapping *m)
{
    unsigned major, minor;
    int path = 0;

    if (sscanf(line, "%lx-%lx %7s %*x %x:%x %*u %n", &m->begin, &m->end,
               m->access, &major, &minor, &path) != 5 ||
        path == 0)
        return false;
    m->device = makedev(major, minor);
    m->path = line + path;
    return true;
}

/* The device of memory files, by shared memory of this process's own. */
static bool find_memory_files(dev_t *device)
{
    void *own = mmap(NULL, 1, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    FILE *maps = own != MAP_FAILED ? fopen("/proc/self/maps", "re") : NULL;
    char line[LINE_SIZE];
    bool found = false;
    mapping m;

    while (maps != NULL && !found && fgets(line, sizeof(line), maps) != NULL)
        found = read_mapping(line, &m) && m.begin == (unsigned long)own;
    if (found)
        *device = m.device;
    if (maps != NULL)
        fclose(maps);
    if (own != MAP_FAILED)
        munmap(own, 1);
    return found;
}

void warprsa_stats_open(warprsa_stats_reader *reader)
{
    *reader = (warprsa_stats_reader){0};
    /* Without the table each id counts as a user. */
    (void)warprsa_subuids_read(&reader->subuids, "/etc/subuid");
    reader->has_memory_files = find_memory_files(&reader->memory_files);
}

void warprsa_stats_close(warprsa_stats_reader *reader)
{
    warprsa_subuids_free(&reader->subuids);
}

/* False: the allowance of the process's user is used up. */
static bool may_look(search *s)
{
    if (s->allowance == NULL)
        return true;
    if (*s->allowance == 0) {
        s->reading->cut = true;
        return false;
    }
    --*s->allowance;
    return true;
}

/* The user a block counts for, by who made it. False: it counts for nobody. */
static bool find_owner(const search *s, uid_t maker, uid_t *owner)
{
    const uid_t user = s->process->user;

    *owner = maker == 0 ? user : maker;
    return maker == 0 || maker == user || user == 0 ||
           maker == WARPRSA_USER_UNKNOWN;
}

/* Whether a block belongs to its process's user, as far as is known. */
static bool is_own(const search *s, uid_t maker)
{
    return maker == 0 || maker == s->process->user ||
           maker == WARPRSA_USER_UNKNOWN;
}

static bool is_known(const warprsa_reading *reading, uid_t owner,
                     uint64_t created_ns)
{
    for (size_t i = 0; i < reading->count; i++)
        if (reading->owners[i] == owner &&
            reading->blocks[i].created_ns == created_ns)
            return true;
    return false;
}

static void add_block(search *s, const warprsa_counters *block, uid_t maker)
{
    warprsa_reading *reading = s->reading;
    uid_t owner;

    if (!find_owner(s, maker, &owner)) {
        if (reading->foreign_count < WARPRSA_BLOCKS_MAX)
            reading->foreign[reading->foreign_count++] = maker;
        return;
    }
    if (reading->count == WARPRSA_BLOCKS_MAX ||
        is_known(reading, owner, block->created_ns))
        return;
    s->own += is_own(s, maker);
    reading->owners[reading->count] = owner;
    memcpy(&reading->blocks[reading->count++], block, sizeof(*block));
}

/* Adds a block, unless it is of another version or another process. A file with
 * a block's name that begins differently is of another version. */
static void consider(search *s, const warprsa_counters *block, bool named,
                     uid_t maker)
{
    const uint64_t pid = s->process->pid_inside;
    const bool is_block = memcmp(block->magic, warprsa_counters_magic,
                                 WARPRSA_COUNTERS_MAGIC) == 0;

    maker = warprsa_subuids_owner(&s->reader->subuids, maker);
    if (!is_block && !named)
        return;
    if (!is_block || block->version != warprsa_counters_version())
        s->other_version |= is_own(s, maker);
    else if (block->serving_pid == pid)
        return; /* shown as its parent's */
    else if (block->pid != pid)
        s->inherited |= is_own(s, maker);
    else
        add_block(s, block, maker);
}

/* Opens a descriptor of another process for reading, if it is a memory file;
 * else -1. The process may have put another file there meanwhile, such as a
 * device that acts when it is opened, or a file without an end. O_PATH opens
 * nothing yet. */
static int open_memory_file(const search *s, int directory, const char *name,
                            uid_t *maker)
{
    int path = openat(directory, name, O_PATH | O_CLOEXEC);
    char again[PATH_SIZE];
    struct stat file;
    int fd = -1;

    if (path < 0)
        return -1;
    if (fstat(path, &file) == 0 && S_ISREG(file.st_mode) &&
        s->reader->has_memory_files && file.st_dev == s->reader->memory_files) {
        snprintf(again, sizeof(again), "/proc/self/fd/%d", path);
        fd = open(again, O_RDONLY | O_CLOEXEC);
        *maker = file.st_uid;
    }
    close(path);
    return fd;
}

static void consider_counters(search *s, int fd, uid_t maker)
{
    warprsa_counters block;

    if (pread(fd, &block, sizeof(block), 0) == (ssize_t)sizeof(block))
        consider(s, &block, true, maker);
}

/* Takes the accounts, if they are this process's own and of this version. */
static void consider_accounts(search *s, int fd, uid_t maker)
{
    warprsa_key_accounts *accounts = &s->reading->accounts;
    const size_t size = sizeof(*accounts);

    maker = warprsa_subuids_owner(&s->reader->subuids, maker);
    if (s->reading->has_accounts || !is_own(s, maker) ||
        pread(fd, accounts, size, 0) != (ssize_t)size)
        return;
    s->reading->has_accounts =
        memcmp(accounts->magic, warprsa_key_accounts_magic,
               WARPRSA_KEY_ACCOUNTS_MAGIC) == 0 &&
        accounts->version == warprsa_key_accounts_version() &&
        accounts->pid == s->process->pid_inside;
}

static void consider_descriptor(search *s, int directory, const char *name)
{
    char target[256];
    ssize_t n = readlinkat(directory, name, target, sizeof(target) - 1);
    bool is_counters;
    uid_t maker;
    int fd;

    if (n < 0)
        return;
    target[n] = '\0';
    is_counters = strncmp(target, FILE_NAME, strlen(FILE_NAME)) == 0;
    if (!is_counters &&
        strncmp(target, ACCOUNTS_NAME, strlen(ACCOUNTS_NAME)) != 0)
        return;
    fd = open_memory_file(s, directory, name, &maker);
    if (fd < 0)
        return;
    if (is_counters)
        consider_counters(s, fd, maker);
    else
        consider_accounts(s, fd, maker);
    close(fd);
}

/* Adds the blocks among the descriptors. 0, or the error of opening /proc. */
static int search_descriptors(search *s)
{
    int fd =
        openat(s->process->directory, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    const int error = errno;

    if (list == NULL) {
        if (fd >= 0)
            close(fd);
        return error;
    }
    while ((entry = readdir(list)) != NULL && may_look(s))
        if (entry->d_name[0] != '.')
            consider_descriptor(s, dirfd(list), entry->d_name);
    closedir(list);
    return 0;
}

/* The user who made the file of a mapping; asking takes privileges. */
static uid_t maker_of(const search *s, const mapping *m)
{
    char path[PATH_SIZE];
    struct stat file;

    snprintf(path, sizeof(path), "map_files/%lx-%lx", m->begin, m->end);
    return fstatat(s->process->directory, path, &file, 0) == 0
               ? file.st_uid
               : WARPRSA_USER_UNKNOWN;
}

static void consider_mapping(search *s, const mapping *m, bool named)
{
    warprsa_counters block;
    struct iovec here = {&block, sizeof(block)};
    struct iovec there = {(void *)m->begin, sizeof(block)};

    if (process_vm_readv(s->process->pid, &here, 1, &there, 1, 0) ==
        (ssize_t)sizeof(block))
        consider(s, &block, named, named ? maker_of(s, m) : s->process->user);
    else if (named || errno != EFAULT) /* EFAULT: it is smaller than a block */
        s->unread = true;
}

static void search_mapping(search *s, char *line)
{
    mapping m;
    bool named, anonymous;

    line[strcspn(line, "\n")] = '\0';
    if (!read_mapping(line, &m))
        return;
    if (strstr(m.path, MODULE_NAME) != NULL)
        s->module = true;
    if (!s->reader->has_memory_files || m.device != s->reader->memory_files)
        return;
    named = strncmp(m.path, FILE_NAME, strlen(FILE_NAME)) == 0;
    anonymous = strcmp(m.path, ANONYMOUS) == 0 && strcmp(m.access, "rw-s") == 0;
    if (named || anonymous)
        consider_mapping(s, &m, named);
}

/* Adds the blocks among the mappings. 0, or the error of opening /proc. */
static int search_mappings(search *s)
{
    int fd = openat(s->process->directory, "maps", O_RDONLY | O_CLOEXEC);
    FILE *maps = fd >= 0 ? fdopen(fd, "r") : NULL;
    char line[LINE_SIZE];
    bool begins = true; /* else it is the rest of a line that was too long */
    const int error = errno;

    if (maps == NULL) {
        if (fd >= 0)
            close(fd);
        return error;
    }
    while (fgets(line, sizeof(line), maps) != NULL && may_look(s)) {
        const bool ends = strchr(line, '\n') != NULL;

        if (begins)
            search_mapping(s, line);
        begins = ends;
    }
    fclose(maps);
    return 0;
}

static warprsa_found found_error(int error)
{
    return error == EACCES || error == EPERM ? WARPRSA_NO_PERMISSION
                                             : WARPRSA_NO_PROCESS;
}

static warprsa_found look(search *s)
{
    int error = search_descriptors(s);

    if (error == 0 && s->own == 0)
        error = search_mappings(s);
    if (error != 0)
        return found_error(error);
    /* The number may have passed to another process or user while it was
     * read. */
    if ((s->reading->count + s->reading->foreign_count > 0 ||
         s->reading->has_accounts) &&
        !warprsa_process_is_same(s->process, &s->reader->subuids)) {
        s->reading->count = s->reading->foreign_count = 0;
        s->reading->has_accounts = false;
        return WARPRSA_NO_PROCESS;
    }
    if (s->own > 0)
        return WARPRSA_FOUND;
    if (s->other_version)
        return WARPRSA_OTHER_COUNTERS;
    if (s->inherited)
        return WARPRSA_INHERITED;
    if (!s->module)
        return WARPRSA_NOT_LOADED;
    return s->unread ? WARPRSA_UNKNOWN : WARPRSA_NOT_COUNTING;
}

/* Reads a process as warprsa_stats_read() does; `allowance` is asked for its
 * user's allowance. */
static void read_process(const warprsa_stats_reader *reader, pid_t pid,
                         warprsa_allowance_fn allowance, void *arg,
                         uint64_t *given, warprsa_reading *reading)
{
    warprsa_process process;
    search s = {.reader = reader, .process = &process, .reading = reading};

    reading->pid = pid;
    reading->cut = reading->has_accounts = false;
    reading->count = reading->foreign_count = 0;
    strcpy(reading->command, "?");
    if (!warprsa_process_open(&process, pid, &reader->subuids)) {
        reading->found = found_error(errno);
        return;
    }
    reading->user = process.user;
    s.allowance = allowance != NULL ? allowance(arg, process.user) : given;
    if (may_look(&s)) {
        reading->found = look(&s);
        warprsa_process_command(&process, reading->command);
    } else {
        reading->found = WARPRSA_NOT_LOOKED_AT;
    }
    warprsa_process_close(&process);
}

void warprsa_stats_read(const warprsa_stats_reader *reader, pid_t pid,
                        uint64_t *allowance, warprsa_reading *reading)
{
    read_process(reader, pid, NULL, NULL, allowance, reading);
}

/* Whether the process is reported. */
static bool is_of_interest(const warprsa_reading *reading)
{
    return (reading->found != WARPRSA_NOT_LOADED &&
            reading->found != WARPRSA_NO_PROCESS) ||
           reading->cut || reading->count + reading->foreign_count > 0;
}

bool warprsa_stats_each(const warprsa_stats_reader *reader,
                        warprsa_allowance_fn allowance, warprsa_process_fn each,
                        void *arg)
{
    warprsa_reading *reading = malloc(sizeof(*reading));
    DIR *list = reading != NULL ? opendir("/proc") : NULL;
    const struct dirent *entry;

    if (list == NULL) {
        free(reading);
        return false;
    }
    while ((entry = readdir(list)) != NULL) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        read_process(reader, (pid_t)atol(entry->d_name), allowance, arg, NULL,
                     reading);
        if (is_of_interest(reading))
            each(arg, reading);
    }
    closedir(list);
    free(reading);
    return true;
}
