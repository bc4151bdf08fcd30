/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a GPU host is sent: keys and uses, with the lock held; see
 * use_connection.h.
 */
#include <stdio.h>

#include "batching/base/clock.h"
#include "batching/queue/counters.h"
#include "batching/remote/uses/use_connection.h"
#include "batching/remote/wire/messages.h"

/* A use of a key whose number the host does not have: it is as if the host
 * lacked the key. */
static void lack_number(warprsa_use_connection *c, warprsa_remote_use *use)
{
    use->lacks |= UINT32_C(1) << c->host->place;
    if (c->host->unnumbered[0] == '\0')
        snprintf(c->host->unnumbered, sizeof(c->host->unnumbered), "%s",
                 warprsa_vault_key_name(use->key->key));
}

/* Tells the host of a key, before the first operation with it. False: there is
 * no memory. */
static bool tell_key(warprsa_use_connection *c, warprsa_use_key *key)
{
    enum {
        ROOM = 64
    };
    uint8_t *to = NULL;

    if ((key->told & c->bit) != 0)
        return true;
    to = warprsa_link_begin(c->link, ROOM);
    if (to == NULL)
        return false;
    atomic_fetch_add(&c->told, 1);
    warprsa_link_end(c->link, warprsa_remote_write_load_key_by_spki(
                                  to, ROOM, key->number,
                                  warprsa_vault_key_spki_sha256(key->key)));
    key->told |= c->bit;
    return true;
}

/* Takes up to `most` uses that wait, and gives them numbers. Says whether uses
 * wait again that this host can't have. */
static unsigned take(warprsa_use_connection *c, warprsa_remote_use **uses,
                     unsigned most, bool *sent_back)
{
    const uint64_t now_ns = warprsa_clock_ns();
    unsigned count = 0;
    bool has_number = false;

    while (count < most && c->count < c->room &&
           c->host->count < c->host->window) {
        warprsa_remote_use *use = warprsa_waiting_uses_take(
            &c->core->waiting, c->host->place, now_ns);

        if (use == NULL)
            break;
        has_number = use->key->number < c->keys_max;
        if (!has_number)
            lack_number(c, use);
        if (!has_number || !tell_key(c, use->key)) {
            use->refused |= UINT32_C(1) << c->host->place;
            warprsa_use_connection_send_back(c, use);
            *sent_back = true;
            continue;
        }
        use->sent_ns = now_ns;
        use->is_sent = use->is_held = true;
        use->fills = 2 * ++c->host->count >= c->host->window;
        use->id = c->free_ids[c->room - ++c->count];
        c->flight[use->id] = use;
        TAILQ_INSERT_TAIL(&c->sent, use, link);
        uses[count++] = use;
    }
    c->used_ns = count > 0 ? now_ns : c->used_ns;
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

/* Writes uses that were taken in one message, without the lock. False: no
 * memory. */
static bool write_uses(warprsa_use_connection *c,
                       warprsa_remote_use *const *uses, unsigned count)
{
    warprsa_remote_operation operations[WARPRSA_REMOTE_BATCH_MAX];
    const size_t room = room_for(uses, count);
    uint8_t *to = warprsa_link_begin(c->link, room);

    if (to == NULL)
        return false;
    /* The link is this thread's until the end: what others send of these keys
     * comes afterwards. */
    pthread_mutex_unlock(&c->core->lock);
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
    warprsa_link_end(
        c->link, warprsa_remote_write_operations(to, room, operations, count));
    pthread_mutex_lock(&c->core->lock);
    return true;
}

/* Sends uses that were taken. */
static void send_uses(warprsa_use_connection *c,
                      warprsa_remote_use *const *uses, unsigned count)
{
    if (!write_uses(c, uses, count))
        warprsa_use_connection_lose(c, "no memory");
    for (unsigned i = 0; i < count; i++)
        uses[i]->is_held = false;
    pthread_cond_signal(&c->written);
}

/* Whether the host has another connection that takes uses and has less to do,
 * by a full message. */
static bool leaves_to_other(const warprsa_use_connection *c)
{
    for (unsigned i = 0; i < WARPRSA_USE_CONNECTIONS; i++) {
        const warprsa_use_connection *other = &c->host->connections[i];

        if (other->count + WARPRSA_REMOTE_BATCH_MAX <= c->count &&
            warprsa_use_connection_takes_more(other))
            return true;
    }
    return false;
}

/* Sends what waits, one message at most. Whether there was something. A use
 * wakes one connection. If that one does not take it, because its host can't
 * have the key or takes no uses any more, it wakes others: they would sleep on.
 * One that finds nothing it may have wakes nobody, so two of them do not wake
 * each other for ever. */
bool warprsa_use_connection_send(warprsa_use_connection *c)
{
    warprsa_remote_use *uses[WARPRSA_REMOTE_BATCH_MAX];
    const bool takes =
        warprsa_use_connection_takes_more(c) && !leaves_to_other(c);
    bool sent_back = false;
    const unsigned count =
        takes ? take(c, uses, WARPRSA_REMOTE_BATCH_MAX, &sent_back) : 0;

    if (sent_back)
        warprsa_use_hosts_wake_all(c->core);
    else if ((count > 0 || !takes) && c->core->waiting.count > 0)
        warprsa_use_hosts_wake(c->core);
    if (count > 0)
        send_uses(c, uses, count);
    return count > 0;
}

void warprsa_use_connection_unload(warprsa_use_connection *c,
                                   warprsa_use_key *key)
{
    enum {
        ROOM = 32
    };
    uint8_t *to = NULL;

    if (c->link == NULL || (key->told & c->bit) == 0)
        return;
    key->told &= ~c->bit;
    to = warprsa_link_begin(c->link, ROOM);
    if (to != NULL)
        warprsa_link_end(
            c->link, warprsa_remote_write_unload_key(to, ROOM, key->number));
}
