/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a GPU host is sent: keys and uses, with the lock held; see
 * use_host_state.h.
 */
#include <stdio.h>

#include "batching/base/clock.h"
#include "batching/queue/counters.h"
#include "batching/remote/uses/use_host_state.h"
#include "batching/remote/wire/messages.h"

/* Tells the host of a key, before the first operation with it. False: it knows
 * no such number, or there is no memory. */
static bool tell_key(warprsa_use_host *host, warprsa_use_key *key)
{
    enum {
        ROOM = 64
    };
    const uint32_t bit = UINT32_C(1) << host->place;
    uint8_t *to = NULL;

    if ((key->told & bit) != 0)
        return true;
    if (key->number >= host->keys_max)
        return false;
    to = warprsa_link_begin(host->link, ROOM);
    if (to == NULL)
        return false;
    atomic_fetch_add(&host->told, 1);
    warprsa_link_end(host->link, warprsa_remote_write_load_key_by_spki(
                                     to, ROOM, key->number,
                                     warprsa_vault_key_spki_sha256(key->key)));
    key->told |= bit;
    return true;
}

/* Takes up to `most` uses that wait, and gives them numbers. */
static unsigned take(warprsa_use_host *host, warprsa_remote_use **uses,
                     unsigned most)
{
    const uint64_t now_ns = warprsa_clock_ns();
    unsigned count = 0;

    while (count < most && host->count < host->room) {
        warprsa_remote_use *use =
            warprsa_waiting_uses_take(&host->core->waiting, host->place);

        if (use == NULL)
            break;
        if (!tell_key(host, use->key)) {
            use->refused |= UINT32_C(1) << host->place;
            warprsa_use_host_send_back(host, use);
            continue;
        }
        use->sent_ns = now_ns;
        use->is_sent = true;
        use->id = host->free_ids[host->room - ++host->count];
        host->flight[use->id] = use;
        TAILQ_INSERT_TAIL(&host->sent, use, link);
        uses[count++] = use;
    }
    return count;
}

/* What a message with these uses may need. */
static size_t room_for(warprsa_remote_use *const *uses, unsigned count)
{
    size_t room = WARPRSA_REMOTE_PREFIX + 64;

    for (unsigned i = 0; i < count; i++)
        room += WARPRSA_REMOTE_USE_MAX - WARPRSA_VAULT_MODULUS_BYTES_MAX +
                uses[i]->task->use->input_bytes;
    return room;
}

/* Sends uses in one message. False: no memory. */
static bool send_uses(warprsa_use_host *host, warprsa_remote_use *const *uses,
                      unsigned count)
{
    warprsa_remote_operation operations[WARPRSA_REMOTE_BATCH_MAX];
    const size_t room = room_for(uses, count);
    uint8_t *to = warprsa_link_begin(host->link, room);

    if (to == NULL)
        return false;
    for (unsigned i = 0; i < count; i++) {
        const warprsa_use_task *task = uses[i]->task;

        operations[i] = (warprsa_remote_operation){
            .id = uses[i]->id,
            .key = uses[i]->key->number,
            .bytes = task->use->input_bytes,
            .input = task->input,
            .use = task->use,
        };
    }
    warprsa_link_end(host->link, warprsa_remote_write_operations(
                                     to, room, operations, count));
    return true;
}

/* Sends what waits, one message at most. Whether there was something. */
bool warprsa_use_host_send(warprsa_use_host *host)
{
    warprsa_remote_use *uses[WARPRSA_REMOTE_BATCH_MAX];
    const unsigned count = warprsa_use_host_takes_more(host)
                               ? take(host, uses, WARPRSA_REMOTE_BATCH_MAX)
                               : 0;

    if (count == 0)
        return false;
    if (!send_uses(host, uses, count)) {
        host->lost = true; /* all of its uses wait again */
        snprintf(host->why, sizeof(host->why), "no memory");
    }
    if (host->core->waiting.count > 0)
        warprsa_use_hosts_wake(host->core);
    return true;
}

void warprsa_use_host_unload(warprsa_use_host *host, const warprsa_use_key *key)
{
    enum {
        ROOM = 32
    };
    uint8_t *to = NULL;

    if (host->link == NULL || (key->told & UINT32_C(1) << host->place) == 0)
        return;
    to = warprsa_link_begin(host->link, ROOM);
    if (to != NULL)
        warprsa_link_end(
            host->link, warprsa_remote_write_unload_key(to, ROOM, key->number));
}
