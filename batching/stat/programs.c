/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sums by program, and the state file; see programs.h. The file holds a head
 * and records: one for the ended processes of each program, and one for each
 * block of each live process. A block that is in the old file and no more among
 * the live ones belongs to the ended processes from then on.
 */
#include "batching/stat/programs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct state_head {
    char magic[8];
    uint32_t counters_version;
    uint32_t record_size;
    uint64_t records; /* that follow; last, since it is not always the same */
} state_head;

static const state_head wanted_head = {"warprsa", WARPRSA_COUNTERS_VERSION,
                                       sizeof(warprsa_seen), 0};

static warprsa_program *find(warprsa_programs *programs, const char *name)
{
    warprsa_program *program;

    for (size_t i = 0; i < programs->count; i++)
        if (strcmp(programs->list[i].name, name) == 0)
            return &programs->list[i];
    if (programs->count > WARPRSA_PROGRAMS_MAX)
        return &programs->list[WARPRSA_PROGRAMS_MAX];
    program = &programs->list[programs->count++];
    snprintf(program->name, sizeof(program->name), "%s",
             programs->count > WARPRSA_PROGRAMS_MAX ? "other" : name);
    return program;
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

/* Takes away what ended with the process: it was not a count of events. */
static void clear_gauges(warprsa_counters *c)
{
    c->batch_max = c->devices = c->keys = c->slots = c->slots_bytes =
        c->clients = 0;
    for (unsigned i = 0; i < WARPRSA_COUNTERS_DEVICES; i++)
        c->device_of[i].ready = c->device_of[i].keys = c->device_of[i].running =
            0;
}

static void add_live(warprsa_programs *programs, const char *name, pid_t pid,
                     const warprsa_counters *counters)
{
    warprsa_seen *seen;

    if (programs->live_count == programs->live_size) {
        size_t size = programs->live_size == 0 ? 64 : 2 * programs->live_size;
        warprsa_seen *live = reallocarray(programs->live, size, sizeof(*live));

        if (live == NULL) {
            programs->no_memory = true;
            return;
        }
        programs->live = live;
        programs->live_size = size;
    }
    seen = &programs->live[programs->live_count++];
    memset(seen, 0, sizeof(*seen));
    snprintf(seen->name, sizeof(seen->name), "%s", name);
    seen->pid = (uint64_t)pid;
    memcpy(&seen->counters, counters, sizeof(*counters));
}

static void collect_process(void *arg, pid_t pid, warprsa_found found,
                            const warprsa_counters *blocks, size_t count)
{
    warprsa_programs *programs = arg;
    warprsa_process_state state =
        found == WARPRSA_FOUND           ? WARPRSA_PROCESS_ACTIVE
        : found == WARPRSA_OTHER_VERSION ? WARPRSA_PROCESS_OTHER_VERSION
        : found == WARPRSA_UNKNOWN       ? WARPRSA_PROCESS_UNKNOWN
                                         : WARPRSA_PROCESS_IDLE;
    char name[WARPRSA_COMMAND_SIZE];

    if (found == WARPRSA_NO_PERMISSION) {
        programs->unreadable++;
        return;
    }
    warprsa_stats_command(pid, name);
    find(programs, name)->processes[state]++;
    for (size_t i = 0; i < count; i++)
        add_live(programs, name, pid, &blocks[i]);
}

/* Orders blocks by their process and the time when they were made. */
static int compare(const void *left, const void *right)
{
    const warprsa_seen *l = left, *r = right;

    if (l->pid != r->pid)
        return l->pid < r->pid ? -1 : 1;
    if (l->counters.created_ns != r->counters.created_ns)
        return l->counters.created_ns < r->counters.created_ns ? -1 : 1;
    return 0;
}

bool warprsa_programs_collect(warprsa_programs *programs, char *why,
                              size_t why_size)
{
    if (!warprsa_stats_each(collect_process, programs)) {
        snprintf(why, why_size, "/proc: %s", strerror(errno));
        return false;
    }
    if (programs->no_memory) {
        snprintf(why, why_size, "no memory for all processes");
        return false;
    }
    if (programs->live_count > 0)
        qsort(programs->live, programs->live_count, sizeof(*programs->live),
              compare);
    return true;
}

/* Adds a record of the old file, unless its process still counts there. */
static void add_old(warprsa_programs *programs, warprsa_seen *old)
{
    old->name[sizeof(old->name) - 1] = '\0';
    warprsa_stats_clean(old->name);
    if (old->pid != 0 && programs->live_count > 0 &&
        bsearch(old, programs->live, programs->live_count,
                sizeof(*programs->live), compare) != NULL)
        return;
    clear_gauges(&old->counters);
    add(&find(programs, old->name)->sum, &old->counters);
}

/* The same of all records behind the head; `why` says what is missing. */
static void read_records(warprsa_programs *programs, FILE *file, char *why,
                         size_t why_size)
{
    state_head head = {{0}, 0, 0, 0};
    warprsa_seen old;
    uint64_t count = 0;

    if (fread(&head, sizeof(head), 1, file) != 1 ||
        memcmp(&head, &wanted_head, offsetof(state_head, records)) != 0) {
        snprintf(why, why_size,
                 "it is no state file of this version: sums begin anew");
        return;
    }
    while (count < head.records && fread(&old, sizeof(old), 1, file) == 1) {
        add_old(programs, &old);
        count++;
    }
    if (count < head.records)
        snprintf(why, why_size,
                 "it is cut, %" PRIu64 " of %" PRIu64
                 " records are there: sums may have fallen",
                 count, head.records);
}

/* Adds what the file at `path` knows of ended processes; `why` says what is
 * wrong with it. False: it cannot be read; errno says why. */
static bool read_state(warprsa_programs *programs, const char *path, char *why,
                       size_t why_size)
{
    FILE *file = fopen(path, "re");
    bool good;

    if (file == NULL)
        return errno == ENOENT;
    read_records(programs, file, why, why_size);
    good = ferror(file) == 0;
    fclose(file);
    return good;
}

static bool write_records(const warprsa_programs *programs, FILE *file)
{
    state_head head = wanted_head;
    bool good;

    head.records = programs->count + programs->live_count;
    good = fwrite(&head, sizeof(head), 1, file) == 1;

    for (size_t i = 0; i < programs->count && good; i++) {
        const warprsa_program *program = &programs->list[i];
        warprsa_seen ended = {0};

        memcpy(ended.name, program->name, sizeof(ended.name));
        memcpy(&ended.counters, &program->sum, sizeof(ended.counters));
        good = fwrite(&ended, sizeof(ended), 1, file) == 1;
    }
    if (good && programs->live_count > 0)
        good = fwrite(programs->live, sizeof(*programs->live),
                      programs->live_count, file) == programs->live_count;
    return good;
}

/* Writes a new file, by a name that no other process writes to, and puts it in
 * the place of the old one once the disk has it: at every moment, even of a
 * machine that loses its power, there is one of the two as a whole. False:
 * errno says why it failed. */
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

/* The names of a program's devices: those of the last process that has any. */
static void take_names(warprsa_counters *sum, const warprsa_counters *counters)
{
    char name[WARPRSA_COUNTERS_TEXT];

    for (unsigned d = 0; d < WARPRSA_COUNTERS_DEVICES; d++) {
        warprsa_counters_name(counters, d, name);
        if (name[0] != '\0')
            warprsa_counters_set_name(sum, d, name);
    }
}

void warprsa_programs_sum(warprsa_programs *programs)
{
    for (size_t i = 0; i < programs->live_count; i++) {
        const warprsa_seen *seen = &programs->live[i];
        warprsa_program *program = find(programs, seen->name);

        add(&program->sum, &seen->counters);
        take_names(&program->sum, &seen->counters);
    }
}

void warprsa_programs_free(warprsa_programs *programs)
{
    free(programs->live);
    programs->live = NULL;
    programs->live_count = programs->live_size = 0;
}
