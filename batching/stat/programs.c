/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sums by user and program, and the state file; see programs.h. The file holds
 * a head and records: one for the ended processes of each program, and one for
 * each block of each live process. A block of the old file that is not found
 * any more is added to the ended processes, or kept if its process was not
 * read.
 */
#include "batching/stat/programs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct state_head {
    char magic[8];
    uint32_t counters_version;
    uint32_t record_size;
    uint64_t records; /* that follow; last, since it is not always the same */
} state_head;

static state_head wanted_head(void)
{
    return (state_head){"warprsa", warprsa_counters_version(),
                        sizeof(warprsa_seen), 0};
}

/* Makes room for one more in an array that `at` points to. False: no memory,
 * which is noted. */
static bool make_room(warprsa_programs *programs, void *at, size_t count,
                      size_t *room, size_t size)
{
    void **array = at;
    const size_t more = *room == 0 ? 64 : 2 * *room;
    void *grown;

    if (count < *room)
        return true;
    grown = reallocarray(*array, more, size);
    if (grown == NULL) {
        programs->no_memory = true;
        return false;
    }
    *array = grown;
    *room = more;
    return true;
}

/* Adds a program. NULL: no memory, which is noted. */
static warprsa_program *add_program(warprsa_programs *programs,
                                    warprsa_user_seat *user, const char *name)
{
    warprsa_program *program;

    if (!make_room(programs, &programs->list, programs->count, &programs->size,
                   sizeof(*programs->list)))
        return NULL;
    program = &programs->list[programs->count++];
    memset(program, 0, sizeof(*program));
    program->user = user;
    snprintf(program->name, sizeof(program->name), "%s", name);
    return program;
}

static warprsa_program *find_named(const warprsa_programs *programs,
                                   const warprsa_user_seat *user,
                                   const char *name)
{
    for (size_t i = 0; i < programs->count; i++)
        if (programs->list[i].user == user &&
            strcmp(programs->list[i].name, name) == 0)
            return &programs->list[i];
    return NULL;
}

/* Finds or adds a user's program by name; programs beyond the limit are summed
 * as "other". NULL: no memory, which is noted. */
static warprsa_program *find(warprsa_programs *programs, uid_t uid,
                             const char *name)
{
    warprsa_user_seat *user = warprsa_users_find(&programs->users, uid);
    warprsa_program *program = find_named(programs, user, name);

    if (program != NULL)
        return program;
    if (user->programs < WARPRSA_USER_PROGRAMS_MAX) {
        user->programs++;
        return add_program(programs, user, name);
    }
    program = find_named(programs, user, "other");
    return program != NULL ? program : add_program(programs, user, "other");
}

/* Adds all words behind the texts: all of them are counters. */
static void add(warprsa_counters *sum, const warprsa_counters *counters)
{
    const size_t first = offsetof(warprsa_counters, gpu);
    const size_t words = (sizeof(*sum) - first) / sizeof(uint64_t);
    _Atomic uint64_t *to = (_Atomic uint64_t *)((char *)sum + first);
    const _Atomic uint64_t *from =
        (const _Atomic uint64_t *)((const char *)counters + first);

    for (size_t i = 0; i < words; i++)
        warprsa_count(&to[i],
                      atomic_load_explicit(&from[i], memory_order_relaxed));
}

static void add_live(warprsa_programs *programs, const char *name, uid_t uid,
                     pid_t pid, const warprsa_counters *counters)
{
    warprsa_seen *seen;

    if (!make_room(programs, &programs->live, programs->live_count,
                   &programs->live_size, sizeof(*programs->live)))
        return;
    seen = &programs->live[programs->live_count++];
    memset(seen, 0, sizeof(*seen));
    snprintf(seen->name, sizeof(seen->name), "%s", name);
    seen->uid = uid;
    seen->pid = (uint64_t)pid;
    memcpy(&seen->counters, counters, sizeof(*counters));
}

/* Notes a process of which not all blocks are among the live ones. */
static void add_partial(warprsa_programs *programs, pid_t pid)
{
    if (make_room(programs, &programs->partial, programs->partial_count,
                  &programs->partial_size, sizeof(*programs->partial)))
        programs->partial[programs->partial_count++] = pid;
}

static bool has_known_block(const warprsa_reading *reading)
{
    for (size_t i = 0; i < reading->count; i++)
        if (reading->owners[i] == reading->user)
            return true;
    return false;
}

/* The state of a process; WARPRSA_PROCESS_STATES: it is not reported. */
static warprsa_process_state state_of(const warprsa_reading *reading)
{
    switch (reading->found) {
    case WARPRSA_FOUND:
        return has_known_block(reading) ? WARPRSA_PROCESS_ACTIVE
                                        : WARPRSA_PROCESS_UNKNOWN;
    case WARPRSA_NOT_COUNTING:
    case WARPRSA_INHERITED:
        return WARPRSA_PROCESS_IDLE;
    case WARPRSA_OTHER_COUNTERS:
        return WARPRSA_PROCESS_OTHER_VERSION;
    case WARPRSA_UNKNOWN:
        return WARPRSA_PROCESS_UNKNOWN;
    case WARPRSA_NOT_LOADED:
    case WARPRSA_NO_PROCESS:
    case WARPRSA_NO_PERMISSION:
    case WARPRSA_NOT_LOOKED_AT:
        break;
    }
    return WARPRSA_PROCESS_STATES;
}

/* Adds the blocks of a process, up to what each user may have. */
static void collect_blocks(warprsa_programs *programs,
                           const warprsa_reading *reading)
{
    for (size_t i = 0; i < reading->count; i++) {
        const uid_t uid = reading->owners[i];
        warprsa_user_seat *user;

        if (uid == WARPRSA_USER_UNKNOWN)
            continue;
        user = warprsa_users_find(&programs->users, uid);
        if (user->blocks < WARPRSA_USER_BLOCKS_MAX) {
            user->blocks++;
            add_live(programs, reading->command, uid, reading->pid,
                     &reading->blocks[i]);
        } else {
            user->left_out++;
        }
    }
}

/* Adds the accounts of keys of a process, if its user has few of them. */
static void collect_accounts(warprsa_programs *programs,
                             const warprsa_reading *reading)
{
    warprsa_user_seat *user =
        warprsa_users_find(&programs->users, reading->user);

    if (user->vaults >= WARPRSA_USER_VAULTS_MAX) {
        user->left_out++;
        return;
    }
    user->vaults++;
    if (!warprsa_key_sums_add(&programs->keys, &reading->accounts, user))
        programs->no_memory = true;
}

static void collect_process(void *arg, const warprsa_reading *reading)
{
    warprsa_programs *programs = arg;
    const warprsa_process_state state = state_of(reading);
    warprsa_program *program;

    if (reading->cut || reading->found == WARPRSA_NO_PERMISSION ||
        reading->found == WARPRSA_NOT_LOOKED_AT ||
        reading->found == WARPRSA_UNKNOWN)
        add_partial(programs, reading->pid);
    if (reading->found == WARPRSA_NO_PERMISSION) {
        programs->unreadable++;
        return;
    }
    if (reading->cut)
        warprsa_users_find(&programs->users, reading->user)->left_out++;
    for (size_t i = 0; i < reading->foreign_count; i++)
        warprsa_users_find(&programs->users, reading->foreign[i])->foreign++;
    if (state != WARPRSA_PROCESS_STATES) {
        program = find(programs, reading->user, reading->command);
        if (program != NULL)
            program->processes[state]++;
    }
    collect_blocks(programs, reading);
    if (reading->has_accounts)
        collect_accounts(programs, reading);
}

static uint64_t *looks_of(void *arg, uid_t user)
{
    warprsa_programs *programs = arg;

    return warprsa_users_looks(&programs->users, user);
}

/* Orders blocks by their process, the time when they were made, and the user,
 * since the time may be made up. */
static int compare(const void *left, const void *right)
{
    const warprsa_seen *l = left, *r = right;

    if (l->pid != r->pid)
        return l->pid < r->pid ? -1 : 1;
    if (l->counters.created_ns != r->counters.created_ns)
        return l->counters.created_ns < r->counters.created_ns ? -1 : 1;
    if (l->uid != r->uid)
        return l->uid < r->uid ? -1 : 1;
    return 0;
}

static int compare_pids(const void *left, const void *right)
{
    const pid_t *l = left, *r = right;

    return (*l > *r) - (*l < *r);
}

bool warprsa_programs_collect(warprsa_programs *programs, char *why,
                              size_t why_size)
{
    warprsa_stats_reader reader;
    bool read;

    warprsa_stats_open(&reader);
    read = warprsa_stats_each(&reader, looks_of, collect_process, programs);
    if (!read)
        snprintf(why, why_size, "/proc: %s", strerror(errno));
    warprsa_stats_close(&reader);
    if (!read)
        return false;
    if (programs->no_memory) {
        snprintf(why, why_size, "no memory for all processes");
        return false;
    }
    if (programs->live_count > 0)
        qsort(programs->live, programs->live_count, sizeof(*programs->live),
              compare);
    if (programs->partial_count > 0)
        qsort(programs->partial, programs->partial_count,
              sizeof(*programs->partial), compare_pids);
    warprsa_key_sums_merge(&programs->keys);
    return true;
}

/* Keeps a record as it is if its process was not read this time: it may be read
 * again, and must not count twice then. A user can make such records again and
 * again, so they are among the blocks that he may have. False: it has ended, or
 * counts as if it had. */
static bool keep_partial(warprsa_programs *programs, const warprsa_seen *old)
{
    const pid_t pid = (pid_t)old->pid;
    warprsa_user_seat *user;

    if (programs->partial_count == 0 ||
        bsearch(&pid, programs->partial, programs->partial_count, sizeof(pid),
                compare_pids) == NULL)
        return false;
    user = warprsa_users_find(&programs->users, (uid_t)old->uid);
    if (user->blocks >= WARPRSA_USER_BLOCKS_MAX)
        return false;
    user->blocks++;
    add_live(programs, old->name, (uid_t)old->uid, pid, &old->counters);
    return true;
}

/* Adds a record of the old file, unless its process still counts there, in one
 * of the first `live` blocks, which are in order. */
static void add_old(warprsa_programs *programs, size_t live, warprsa_seen *old)
{
    warprsa_program *program;

    old->name[sizeof(old->name) - 1] = '\0';
    warprsa_clean_name(old->name);
    if (old->pid != 0 && live > 0 &&
        bsearch(old, programs->live, live, sizeof(*programs->live), compare) !=
            NULL)
        return;
    if (old->pid != 0 && keep_partial(programs, old))
        return;
    warprsa_counters_end(&old->counters);
    program = find(programs, (uid_t)old->uid, old->name);
    if (program != NULL)
        add(&program->sum, &old->counters);
}

/* Adds all records behind the head as add_old() does; `why` says what is
 * missing. */
static void read_records(warprsa_programs *programs, FILE *file, char *why,
                         size_t why_size)
{
    const state_head wanted = wanted_head();
    const size_t live = programs->live_count;
    state_head head = {{0}, 0, 0, 0};
    warprsa_seen old;
    uint64_t count = 0;

    if (fread(&head, sizeof(head), 1, file) != 1 ||
        memcmp(&head, &wanted, offsetof(state_head, records)) != 0) {
        snprintf(why, why_size,
                 "it is no state file of this version: sums begin anew");
        return;
    }
    while (count < head.records && fread(&old, sizeof(old), 1, file) == 1) {
        add_old(programs, live, &old);
        count++;
    }
    if (count < head.records)
        snprintf(why, why_size,
                 "it is cut, %" PRIu64 " of %" PRIu64
                 " records are there: sums may have fallen",
                 count, head.records);
}

/* Opens a state file that only this user or root can have written. NULL: the
 * file can't be opened, or there is none (errno is ENOENT or 0; `why` names a
 * file that was passed over). */
static FILE *open_state(const char *path, char *why, size_t why_size)
{
    const int fd =
        open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    struct stat file;
    FILE *opened;

    if (fd < 0 && errno != ELOOP)
        return NULL;
    if (fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
        (file.st_uid == geteuid() || file.st_uid == 0) &&
        (file.st_mode & (S_IWGRP | S_IWOTH)) == 0) {
        opened = fdopen(fd, "r");
        if (opened == NULL)
            close(fd);
        return opened;
    }
    if (fd >= 0)
        close(fd);
    snprintf(why, why_size,
             "it is a link, or no regular file that only this user or root can "
             "write: sums begin anew");
    errno = 0;
    return NULL;
}

/* Adds the ended processes that the file at `path` has; `why` says what is
 * wrong with the file. False: the file cannot be read; errno says why. */
static bool read_state(warprsa_programs *programs, const char *path, char *why,
                       size_t why_size)
{
    FILE *file = open_state(path, why, why_size);
    bool good;

    if (file == NULL)
        return errno == ENOENT || errno == 0;
    read_records(programs, file, why, why_size);
    good = ferror(file) == 0;
    fclose(file);
    return good;
}

static bool write_records(const warprsa_programs *programs, FILE *file)
{
    state_head head = wanted_head();
    bool good;

    head.records = programs->count + programs->live_count;
    good = fwrite(&head, sizeof(head), 1, file) == 1;

    for (size_t i = 0; i < programs->count && good; i++) {
        const warprsa_program *program = &programs->list[i];
        warprsa_seen ended = {0};

        memcpy(ended.name, program->name, sizeof(ended.name));
        ended.uid = program->user->uid;
        memcpy(&ended.counters, &program->sum, sizeof(ended.counters));
        good = fwrite(&ended, sizeof(ended), 1, file) == 1;
    }
    if (good && programs->live_count > 0)
        good = fwrite(programs->live, sizeof(*programs->live),
                      programs->live_count, file) == programs->live_count;
    return good;
}

/* Writes a new file under a name that no other process writes to, and replaces
 * the old file once the disk has the new one. So one of the two files is whole
 * at every moment, even if the machine loses its power. False: errno says why
 * it failed. */
static bool write_state(const warprsa_programs *programs, const char *path)
{
    char fresh[PATH_MAX];
    FILE *file;
    bool good;
    int fd, error;

    if (snprintf(fresh, sizeof(fresh), "%s.XXXXXX", path) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    fd = mkostemp(fresh, O_CLOEXEC);
    if (fd < 0)
        return false;
    file = fdopen(fd, "w");
    if (file == NULL)
        close(fd);
    good = file != NULL && write_records(programs, file) && fflush(file) == 0 &&
           fsync(fd) == 0;
    good &= file != NULL && fclose(file) == 0;
    if (good && rename(fresh, path) == 0)
        return true;
    error = errno;
    unlink(fresh);
    errno = error;
    return false;
}

bool warprsa_programs_remember(warprsa_programs *programs, const char *path,
                               char *why, size_t why_size)
{
    why[0] = '\0';
    if (read_state(programs, path, why, why_size) &&
        write_state(programs, path))
        return true;
    snprintf(why, why_size, "%s: %s", path, strerror(errno));
    return false;
}

/* A program's devices have the names that the last process with any has. */
static void take_names(warprsa_counters *sum, const warprsa_counters *counters)
{
    char name[WARPRSA_COUNTERS_TEXT];

    for (unsigned d = 0; d < WARPRSA_COUNTERS_DEVICES; d++) {
        warprsa_counters_name(counters, d, name);
        if (name[0] != '\0')
            warprsa_counters_set_name(sum, d, name);
    }
}

bool warprsa_programs_sum(warprsa_programs *programs)
{
    for (size_t i = 0; i < programs->live_count; i++) {
        const warprsa_seen *seen = &programs->live[i];
        warprsa_program *program = find(programs, (uid_t)seen->uid, seen->name);

        if (program == NULL)
            continue;
        add(&program->sum, &seen->counters);
        take_names(&program->sum, &seen->counters);
    }
    return !programs->no_memory;
}

void warprsa_programs_free(warprsa_programs *programs)
{
    free(programs->live);
    free(programs->list);
    free(programs->partial);
    warprsa_key_sums_free(&programs->keys);
    programs->live = NULL;
    programs->list = NULL;
    programs->partial = NULL;
    programs->live_count = programs->live_size = 0;
    programs->partial_count = programs->partial_size = 0;
    programs->count = programs->size = 0;
}
