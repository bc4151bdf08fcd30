/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gpu/fault.h"

#ifdef WARPRSA_FAULTS
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[WARPRSA_FAULTS_KNOWN] = {
    "nodevice", "launch", "trap", "hang", "flip", "unchecked", "known_answer"};

static atomic_ulong asked[WARPRSA_FAULTS_KNOWN];
static _Thread_local bool spared;

/* "[@SKIPPED][:COUNT]": whether that is meant which was asked for so often
 * before. */
static bool in_turn(const char *how, unsigned long before)
{
    unsigned long skipped = 0, count = ULONG_MAX;
    char *end = NULL;

    if (*how == '@') {
        skipped = strtoul(how + 1, &end, 10);
        how = end;
    }
    if (*how == ':')
        count = strtoul(how + 1, NULL, 10);
    return before >= skipped && before - skipped < count;
}

static bool strikes(warprsa_fault fault)
{
    const char *list = getenv("WARPRSA_FAULT");
    size_t length = strlen(names[fault]);

    for (; list != NULL && *list != '\0'; list += *list == ',') {
        size_t item = strcspn(list, ",:@");
        bool found = item == length && memcmp(list, names[fault], item) == 0;

        list += item;
        if (found && *list != '\0' && *list != ',')
            return in_turn(list, atomic_fetch_add(&asked[fault], 1));
        if (found)
            return true;
        list += strcspn(list, ",");
    }
    return false;
}

bool warprsa_fault_active(warprsa_fault fault)
{
    return (!spared || strikes(WARPRSA_FAULT_KNOWN_ANSWER)) && strikes(fault);
}

void warprsa_fault_suppress(bool spare)
{
    spared = spare;
}
#else
typedef int warprsa_no_faults; /* a translation unit may not be empty */
#endif
