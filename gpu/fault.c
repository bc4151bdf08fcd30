/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reads from the environment which faults to inject, and counts.
 */
#include "gpu/fault.h"

#ifdef WARPRSA_FAULTS
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[WARPRSA_FAULTS_KNOWN] = {
    "nodevice",     "launch", "trap", "hang", "flip", "wrong",   "unchecked",
    "known_answer", "memory", "lost", "wipe", "exit", "integers"};

static atomic_ulong asked[WARPRSA_FAULTS_KNOWN];
static _Thread_local bool suppressed;

/* Whether `how`, "[@SKIPPED][:COUNT]" or "%EACH", makes a fault active that has
 * been asked for `before` times before. */
static bool active_now(const char *how, unsigned long before)
{
    unsigned long skipped = 0, count = ULONG_MAX;
    char *end = NULL;

    if (*how == '%')
        return (before + 1) % strtoul(how + 1, NULL, 10) == 0;
    if (*how == '@') {
        skipped = strtoul(how + 1, &end, 10);
        how = end;
    }
    if (*how == ':')
        count = strtoul(how + 1, NULL, 10);
    return before >= skipped && before - skipped < count;
}

static bool active(warprsa_fault fault)
{
    const char *list = getenv("WARPRSA_FAULT");
    size_t length = strlen(names[fault]);

    for (; list != NULL && *list != '\0'; list += *list == ',') {
        size_t item = strcspn(list, ",:@%");
        bool found = item == length && memcmp(list, names[fault], item) == 0;

        list += item;
        if (found && *list != '\0' && *list != ',')
            return active_now(list, atomic_fetch_add(&asked[fault], 1));
        if (found)
            return true;
        list += strcspn(list, ",");
    }
    return false;
}

bool warprsa_fault_active(warprsa_fault fault)
{
    return (!suppressed || active(WARPRSA_FAULT_KNOWN_ANSWER)) && active(fault);
}

void warprsa_fault_suppress(bool suppress)
{
    suppressed = suppress;
}
#else
typedef int warprsa_no_faults; /* a translation unit may not be empty */
#endif
