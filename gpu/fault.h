/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Faults put in on purpose, to test what happens then. Only the test build of
 * the module (-DWARPRSA_FAULTS) has them; elsewhere the questions are
 * constants and cost nothing.
 *
 * WARPRSA_FAULT is a comma list of names; "name:N" strikes the first N times
 * alone, "name@M:N" spares the first M times before that.
 */
#ifndef WARPRSA_FAULT_H
#define WARPRSA_FAULT_H

#include <stdbool.h>

typedef enum warprsa_fault {
    WARPRSA_FAULT_NODEVICE,     /* "nodevice": no device is found */
    WARPRSA_FAULT_LAUNCH,       /* "launch": starting a batch fails */
    WARPRSA_FAULT_TRAP,         /* "trap": a batch ends with a device error */
    WARPRSA_FAULT_HANG,         /* "hang": a batch never ends in time */
    WARPRSA_FAULT_FLIP,         /* "flip": a bit of one half is wrong */
    WARPRSA_FAULT_UNCHECKED,    /* "unchecked": wrong results are released */
    WARPRSA_FAULT_KNOWN_ANSWER, /* "known_answer": in these tests as well */
    WARPRSA_FAULTS_KNOWN
} warprsa_fault;

#ifdef WARPRSA_FAULTS
/* Whether the fault strikes now. Any thread. */
bool warprsa_fault_active(warprsa_fault fault);

/* From here on faults spare this thread, or don't: a device must pass its
 * known-answer test before a fault at work can be seen. */
void warprsa_fault_suppress(bool spare);
#else
static inline bool warprsa_fault_active(warprsa_fault fault)
{
    (void)fault;
    return false;
}
static inline void warprsa_fault_suppress(bool spare)
{
    (void)spare;
}
#endif

#endif
