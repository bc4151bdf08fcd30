/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Turns by owner; see rounds.h.
 */
#include "batching/daemon/rounds.h"

#include <stddef.h>

void warprsa_rounds_init(warprsa_rounds *rounds)
{
    *rounds = (warprsa_rounds){0};
    TAILQ_INIT(&rounds->list);
}

void warprsa_rounds_add(warprsa_rounds *rounds, warprsa_rounds_entry *entry,
                        uint64_t owner)
{
    if (entry->listed)
        return;
    entry->listed = true;
    entry->owner = owner;
    TAILQ_INSERT_TAIL(&rounds->list, entry, link);
    rounds->count++;
}

void warprsa_rounds_remove(warprsa_rounds *rounds, warprsa_rounds_entry *entry)
{
    if (!entry->listed)
        return;
    /* What is looked at next is of this round; `left` may count one that was
     * further on, and the round then looks at one that was added since. */
    if (rounds->next == entry) {
        rounds->next = TAILQ_NEXT(entry, link);
        if (rounds->left > 0)
            rounds->left--;
    }
    entry->listed = false;
    TAILQ_REMOVE(&rounds->list, entry, link);
    rounds->count--;
}

void warprsa_rounds_begin(warprsa_rounds *rounds)
{
    rounds->next = TAILQ_FIRST(&rounds->list);
    rounds->left = rounds->count;
    rounds->owners = 0;
}

static bool has_turn(warprsa_rounds *rounds, uint64_t owner)
{
    for (unsigned i = 0; i < rounds->owners; i++)
        if (rounds->served[i] == owner)
            return false;
    if (rounds->owners == WARPRSA_ROUND_OWNERS)
        return false;
    rounds->served[rounds->owners++] = owner;
    return true;
}

warprsa_rounds_entry *warprsa_rounds_next(warprsa_rounds *rounds)
{
    while (rounds->left > 0 && rounds->next != NULL) {
        warprsa_rounds_entry *entry = rounds->next;

        if (has_turn(rounds, entry->owner)) {
            warprsa_rounds_remove(rounds, entry);
            return entry;
        }
        rounds->next = TAILQ_NEXT(entry, link);
        rounds->left--;
    }
    return NULL;
}
