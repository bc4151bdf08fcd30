/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Uses that wait for a host; see waiting_uses.h.
 */
#include "batching/remote/uses/waiting_uses.h"

#include <stdlib.h>

enum {
    /* Uses of one owner that hosts have sent back and that are looked at for
     * one that this host may have. More of them wait for a host that is away.
     */
    LOOKED_AT_MAX = 256,
};

void warprsa_waiting_uses_init(warprsa_waiting_uses *waiting)
{
    *waiting = (warprsa_waiting_uses){0};
    TAILQ_INIT(&waiting->turns);
}

static warprsa_use_owner *find_owner(warprsa_waiting_uses *waiting, uint64_t id)
{
    warprsa_use_owner *found = NULL;

    LIST_FOREACH (found, &waiting->owners[id % WARPRSA_USE_OWNER_BUCKETS],
                  bucket)
        if (found->id == id)
            return found;
    found = calloc(1, sizeof(*found));
    if (found == NULL)
        return NULL;
    found->id = id;
    TAILQ_INIT(&found->waiting);
    TAILQ_INIT(&found->again);
    LIST_INSERT_HEAD(&waiting->owners[id % WARPRSA_USE_OWNER_BUCKETS], found,
                     bucket);
    return found;
}

static void release_owner(warprsa_use_owner *owner)
{
    if (owner->uses > 0)
        return;
    LIST_REMOVE(owner, bucket);
    free(owner);
}

warprsa_remote_use *warprsa_remote_use_new(warprsa_waiting_uses *waiting,
                                           uint64_t id)
{
    warprsa_use_owner *owner = find_owner(waiting, id);
    warprsa_remote_use *use = NULL;

    if (owner == NULL || owner->uses == WARPRSA_USES_OF_OWNER_MAX)
        return NULL;
    use = calloc(1, sizeof(*use));
    if (use != NULL) {
        use->owner = owner;
        owner->uses++;
    }
    release_owner(owner);
    return use;
}

void warprsa_remote_use_free(warprsa_remote_use *use)
{
    use->owner->uses--;
    release_owner(use->owner);
    free(use);
}

static bool has_turns(const warprsa_use_owner *owner)
{
    return !TAILQ_EMPTY(&owner->waiting) || !TAILQ_EMPTY(&owner->again);
}

static void add(warprsa_waiting_uses *waiting, warprsa_remote_use *use,
                struct warprsa_remote_use_list *to, bool is_again)
{
    if (!has_turns(use->owner))
        TAILQ_INSERT_TAIL(&waiting->turns, use->owner, turn);
    TAILQ_INSERT_TAIL(to, use, link);
    use->is_again = is_again;
    waiting->count++;
}

void warprsa_waiting_uses_add(warprsa_waiting_uses *waiting,
                              warprsa_remote_use *use)
{
    add(waiting, use, &use->owner->waiting, false);
}

void warprsa_waiting_uses_add_again(warprsa_waiting_uses *waiting,
                                    warprsa_remote_use *use)
{
    add(waiting, use, &use->owner->again, true);
}

void warprsa_waiting_uses_remove(warprsa_waiting_uses *waiting,
                                 warprsa_remote_use *use)
{
    warprsa_use_owner *owner = use->owner;

    waiting->count--;
    if (use->is_again)
        TAILQ_REMOVE(&owner->again, use, link);
    else
        TAILQ_REMOVE(&owner->waiting, use, link);
    if (!has_turns(owner))
        TAILQ_REMOVE(&waiting->turns, owner, turn);
}

/* The first of those sent back that this host may have, or of the others. */
static warprsa_remote_use *next_of(const warprsa_use_owner *owner,
                                   unsigned place)
{
    warprsa_remote_use *use = NULL;
    unsigned looked_at = 0;

    TAILQ_FOREACH (use, &owner->again, link) {
        if ((use->refused & UINT32_C(1) << place) == 0)
            return use;
        if (++looked_at == LOOKED_AT_MAX)
            break;
    }
    return TAILQ_FIRST(&owner->waiting);
}

warprsa_remote_use *warprsa_waiting_uses_take(warprsa_waiting_uses *waiting,
                                              unsigned place, uint64_t now_ns)
{
    warprsa_use_owner *owner = NULL;
    warprsa_remote_use *use = NULL;

    TAILQ_FOREACH (owner, &waiting->turns, turn) {
        if (now_ns >= owner->paused_until_ns[place])
            use = next_of(owner, place);
        if (use != NULL)
            break;
    }
    if (use == NULL)
        return NULL;
    warprsa_waiting_uses_remove(waiting, use);
    /* Its owner's next turn is behind all others'. */
    if (has_turns(owner)) {
        TAILQ_REMOVE(&waiting->turns, owner, turn);
        TAILQ_INSERT_TAIL(&waiting->turns, owner, turn);
    }
    return use;
}
