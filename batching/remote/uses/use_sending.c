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

/* A use of a key whose number the host does not have: it is as if the host
 * lacked the key. */
static void lack_number(warprsa_use_host *host, warprsa_remote_use *use)
{
    use->lacks |= UINT32_C(1) << host->place;
    if (host->unnumbered[0] == '\0')
        snprintf(host->unnumbered, sizeof(host->unnumbered), "%s",
                 warprsa_vault_key_name(use->key->key));
}

/* Tells the host of a key, before the first operation with it. False: there is
 * no memory. */
static bool tell_key(warprsa_use_host *host, warprsa_use_key *key)
{
    enum {
        ROOM = 64
    };
    const uint32_t bit = UINT32_C(1) << host->place;
    uint8_t *to = NULL;

    if ((key->told & bit) != 0)
        return true;
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

/* Takes up to `most` uses that wait, and gives them numbers. Says whether uses
 * wait again that this host can't have. */
static unsigned take(warprsa_use_host *host, warprsa_remote_use **uses,
                     unsigned most, bool *sent_back)
{
    const uint64_t now_ns = warprsa_clock_ns();
    unsigned count = 0;
    bool has_number = false;

    while (count < most && host->count < host->room) {
        warprsa_remote_use *use =
            warprsa_waiting_uses_take(&host->core->waiting, host->place);

        if (use == NULL)
            break;
        has_number = use->key->number < host->keys_max;
        if (!has_number)
            lack_number(host, use);
        if (!has_number || !tell_key(host, use->key)) {
            use->refused |= UINT32_C(1) << host->place;
            warprsa_use_host_send_back(host, use);
            *sent_back = true;
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

/* Sends what waits, one message at most. Whether there was something. A use
 * wakes one host. If that one does not take it, because it can't have the key
 * or takes no uses any more, it wakes others: they would sleep on. A host that
 * finds nothing it may have wakes nobody, so two of them do not wake each other
 * for ever. */
bool warprsa_use_host_send(warprsa_use_host *host)
{
    warprsa_remote_use *uses[WARPRSA_REMOTE_BATCH_MAX];
    const bool takes = warprsa_use_host_takes_more(host);
    bool sent_back = false;
    const unsigned count =
        takes ? take(host, uses, WARPRSA_REMOTE_BATCH_MAX, &sent_back) : 0;

    if (count > 0 && !send_uses(host, uses, count)) {
        host->lost = true; /* all of its uses wait again */
        snprintf(host->why, sizeof(host->why), "no memory");
    }
    if (sent_back)
        warprsa_use_hosts_wake_all(host->core);
    else if ((count > 0 || !takes) && host->core->waiting.count > 0)
        warprsa_use_hosts_wake(host->core);
    return count > 0;
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
