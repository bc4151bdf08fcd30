/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gpu/fault.h"

#ifdef WARPRSA_FAULTS
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[WARPRSA_FAULTS_KNOWN] = {
    "nodevice", "launch", "trap", "hang", "flip", "unchecked", "known_answer"};

static atomic_ulong struck[WARPRSA_FAULTS_KNOWN];
static _Thread_local bool spared;

static bool strikes(warprsa_fault fault)
{
    const char *list = getenv("WARPRSA_FAULT");
    size_t length = strlen(names[fault]);

    for (; list != NULL && *list != '\0'; list += *list == ',') {
        size_t item = strcspn(list, ",:");
        bool found = item == length && memcmp(list, names[fault], item) == 0;

        list += item;
        if (found && *list == ':')
            return atomic_fetch_add(&struck[fault], 1) <
                   strtoul(list + 1, NULL, 10);
        if (found)
            return true;
        list += strcspn(list, ",");
    }
    return false;
}

bool warprsa_fault_strikes(warprsa_fault fault)
{
    return (!spared || strikes(WARPRSA_FAULT_KNOWN_ANSWER)) && strikes(fault);
}

void warprsa_fault_spare(bool spare)
{
    spared = spare;
}
#else
typedef int warprsa_no_faults; /* a translation unit may not be empty */
#endif
