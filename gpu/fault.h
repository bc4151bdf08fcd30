/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fault injection: faults that tests cause on purpose. Only the test build of
 * the module (-DWARPRSA_FAULTS) has them. In other builds the functions below
 * are constants and cost nothing.
 *
 * The environment variable WARPRSA_FAULT is a comma-separated list of names.
 * "name:N" makes a fault active the first N times only; "name@M:N" skips the
 * first M times and then makes it active N times; "name%N" makes it active each
 * Nth time.
 */
#ifndef WARPRSA_FAULT_H
#define WARPRSA_FAULT_H

#include <stdbool.h>

typedef enum warprsa_fault {
    WARPRSA_FAULT_NODEVICE,     /* "nodevice": no device is found */
    WARPRSA_FAULT_LAUNCH,       /* "launch": starting a batch fails */
    WARPRSA_FAULT_TRAP,         /* "trap": a batch ends with a device error */
    WARPRSA_FAULT_HANG,         /* "hang": a batch never ends in time */
    WARPRSA_FAULT_FLIP,         /* "flip": a loaded key has a wrong bit */
    WARPRSA_FAULT_WRONG,        /* "wrong": the result of an operation is */
    WARPRSA_FAULT_UNCHECKED,    /* "unchecked": wrong results are released */
    WARPRSA_FAULT_KNOWN_ANSWER, /* "known_answer": in that test, too */
    WARPRSA_FAULT_MEMORY,       /* "memory": the device has no more of it */
    WARPRSA_FAULT_LOST, /* "lost": "trap", and the process can't reopen it */
    WARPRSA_FAULT_WIPE, /* "wipe": a key is not wiped */
    WARPRSA_FAULT_EXIT, /* "exit": at exit() the driver ends, as CUDA's does */
    WARPRSA_FAULT_INTEGERS, /* "integers": a GPU has few doubles a clock */
    WARPRSA_FAULTS_KNOWN
} warprsa_fault;

#ifdef WARPRSA_FAULTS
/* Whether the fault is active now; each call counts as one time. Any thread. */
bool warprsa_fault_active(warprsa_fault fault);

/* Suppresses all faults in this thread from now on, or ends that. Used around
 * the known-answer test, which a device must pass before a fault in its work
 * can be seen; the fault "known_answer" overrides it. */
void warprsa_fault_suppress(bool suppress);
#else
static inline bool warprsa_fault_active(warprsa_fault fault)
{
    (void)fault;
    return false;
}
static inline void warprsa_fault_suppress(bool suppress)
{
    (void)suppress;
}
#endif

#endif
