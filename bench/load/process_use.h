/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The resources that this process uses: CPU time, memory, descriptors.
 */
#ifndef WARPRSA_LOAD_PROCESS_USE_H
#define WARPRSA_LOAD_PROCESS_USE_H

#include <stdint.h>

typedef struct load_process_use {
    uint64_t cpu_ns;      /* of all threads, user and system, so far */
    uint64_t switches;    /* of context, voluntary, so far */
    uint64_t memory_kib;  /* resident now */
    unsigned descriptors; /* open now */
} load_process_use;

/* Reads them. Zeros where /proc doesn't have them. Any thread. */
load_process_use load_process_use_now(void);

/* Raises the limit of open descriptors to at least `wanted`; load_fail() if
 * that isn't allowed. */
void load_process_allow_descriptors(unsigned wanted);

#endif
