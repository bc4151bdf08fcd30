/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A process's memory as the kernel describes it: /proc/PID/smaps.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_MAPPINGS_H
#define WARPRSA_TESTS_UNIT_SUPPORT_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct mapping {
    uint64_t from, to;
    char permissions[8];
    unsigned long anonymous_kib; /* that a core dump would have */
    bool dumped;                 /* no flag "dd" */
    bool wiped_on_fork;          /* "wf" */
    bool locked;                 /* "lo" */
} mapping;

/* Calls a function for each of a process's mappings. False: they can't be
 * read. */
bool each_mapping(pid_t pid, void (*look)(void *arg, const mapping *m),
                  void *arg);

/* A number of KiB from /proc/PID/status, as "VmLck"; -1: there is none. */
long status_kib(pid_t pid, const char *name);

#endif
