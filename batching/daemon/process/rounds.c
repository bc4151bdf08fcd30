/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Turns by owner; see rounds.h.
 */
#include "batching/daemon/process/rounds.h"

#include <stddef.h>

void warprsa_rounds_init(warprsa_rounds *rounds)
{
    *rounds = (warprsa_rounds){0};
    TAILQ_INIT(&rounds->firsts);
}

/* The owner's first entry; NULL: none. */
static warprsa_rounds_entry *first_of(const warprsa_rounds *rounds,
                                      uint64_t owner)
{
    warprsa_rounds_entry *first;

    TAILQ_FOREACH (first, &rounds->firsts, link)
        if (first->owner == owner)
            break;
    return first;
}

void warprsa_rounds_add(warprsa_rounds *rounds, warprsa_rounds_entry *entry,
                        uint64_t owner)
{
    warprsa_rounds_entry *first;

    if (entry->listed)
        return;
    first = first_of(rounds, owner);
    entry->listed = true;
    entry->owner = owner;
    entry->is_first = first == NULL;
    rounds->count++;
    if (first != NULL) {
        TAILQ_INSERT_TAIL(&first->others, entry, link);
        return;
    }
    TAILQ_INIT(&entry->others);
    entry->round = rounds->round;
    TAILQ_INSERT_TAIL(&rounds->firsts, entry, link);
}

/* Makes the owner's next entry its first one, with the entries behind it. NULL:
 * there is none. */
static warprsa_rounds_entry *next_first(warprsa_rounds_entry *first)
{
    warprsa_rounds_entry *next = TAILQ_FIRST(&first->others);

    if (next == NULL)
        return NULL;
    TAILQ_REMOVE(&first->others, next, link);
    TAILQ_INIT(&next->others);
    TAILQ_CONCAT(&next->others, &first->others, link);
    next->is_first = true;
    next->round = first->round;
    return next;
}

void warprsa_rounds_remove(warprsa_rounds *rounds, warprsa_rounds_entry *entry)
{
    if (!entry->listed)
        return;
    entry->listed = false;
    rounds->count--;
    if (entry->is_first) {
        warprsa_rounds_entry *next = next_first(entry);

        if (next != NULL)
            TAILQ_INSERT_BEFORE(entry, next, link);
        TAILQ_REMOVE(&rounds->firsts, entry, link);
    } else {
        warprsa_rounds_entry *first = first_of(rounds, entry->owner);

        TAILQ_REMOVE(&first->others, entry, link);
    }
}

void warprsa_rounds_begin(warprsa_rounds *rounds)
{
    rounds->round++;
}

warprsa_rounds_entry *warprsa_rounds_next(warprsa_rounds *rounds)
{
    warprsa_rounds_entry *entry = TAILQ_FIRST(&rounds->firsts), *next;

    if (entry == NULL || entry->round == rounds->round)
        return NULL;
    next = next_first(entry);
    TAILQ_REMOVE(&rounds->firsts, entry, link);
    entry->listed = false;
    rounds->count--;
    if (next != NULL) {
        next->round = rounds->round;
        TAILQ_INSERT_TAIL(&rounds->firsts, next, link);
    }
    return entry;
}
