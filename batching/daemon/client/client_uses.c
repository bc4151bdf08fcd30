/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Uses of keys of the daemon's vault; see client_uses.h.
 */
#include "batching/daemon/client/client_uses.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "batching/base/clock.h"
#include "batching/daemon/client/client_connect.h"
#include "batching/daemon/client/client_keys.h"
#include "batching/daemon/client/client_notifiers.h"

enum {
    /* Until the next attempt, where the daemon is away or full. */
    AGAIN_MS = 2,
    /* Between two looks at a use that no notifier tells of. */
    LOOK_MS = 1,
    /* Between two looks whether the daemon hangs. */
    HEALTH_MS = 250,
};

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Has the caller call again in so many milliseconds. */
static void look_again(warprsa_client_use *use, uint64_t now_ns, unsigned ms)
{
    use->wake_ns = earlier(now_ns + ms * WARPRSA_NS_PER_MS, use->until_ns);
}

void warprsa_client_use_begin(warprsa_client *client, warprsa_client_use *use,
                              warprsa_backend_key *key,
                              const warprsa_key_use *header,
                              const uint8_t *input)
{
    *use = (warprsa_client_use){
        .key = key,
        .header = header,
        .input = input,
        .until_ns =
            warprsa_clock_ns() + client->config.deadline_ms * WARPRSA_NS_PER_MS,
    };
}

/* With the lock held: acquires a slot for a use, and then names its key to the
 * daemon, which may take another key's number away. False: neither. */
static bool acquire_slot(warprsa_client *client, warprsa_connection *c,
                         warprsa_client_use *use, uint64_t now_ns)
{
    if (!warprsa_connection_acquire(c, now_ns, UINT64_MAX / 2,
                                    &use->ticket.slot))
        return false;
    if (warprsa_client_upload(client, c, use->key))
        return true;
    warprsa_connection_release(c, use->ticket.slot);
    return false;
}

/* Acquires a slot for a use, and names its key to the daemon. Returns the
 * connection, with one more reference; NULL: there is none now, or no slot. */
static warprsa_connection *acquire(warprsa_client *client,
                                   warprsa_client_use *use, uint64_t now_ns)
{
    warprsa_connection *c;

    pthread_mutex_lock(&client->lock);
    c = client->connection;
    if (c != NULL && c->shm.use != NULL &&
        acquire_slot(client, c, use, now_ns)) {
        warprsa_connection_reference(c);
        if (++client->generations == 0)
            client->generations = 1;
        use->ticket.generation = client->generations;
        c->shm.slot[use->ticket.slot].request.key = use->key->number;
        c->shm.slot[use->ticket.slot].request.key_generation =
            use->key->generation;
    } else {
        c = NULL;
    }
    pthread_mutex_unlock(&client->lock);
    return c;
}

/* Whether a connection's daemon lives. Gives up one whose daemon has gone: a
 * use that went there would be found out at the next look only. */
static bool lives(warprsa_client *client, warprsa_connection *c,
                  uint64_t now_ns)
{
    const warprsa_connection_health health =
        warprsa_connection_health_now(c, now_ns);

    if (health == WARPRSA_CONNECTION_GONE ||
        !warprsa_connection_alive_lately(c, now_ns)) {
        warprsa_client_disconnect(client, c);
        return false;
    }
    return health == WARPRSA_CONNECTION_LIVES;
}

/* A connection whose daemon lives, with one more reference, and a slot of it.
 * NULL: there is none now. */
static warprsa_connection *prepare(warprsa_client *client,
                                   warprsa_client_use *use, uint64_t now_ns)
{
    warprsa_connection *c = acquire(client, use, now_ns);

    if (c == NULL && client->connection == NULL) {
        warprsa_client_connect_soon(client);
        c = acquire(client, use, now_ns);
    }
    if (c == NULL) {
        /* No slot is free, perhaps since the daemon has gone. No use is under
         * way then that would find this out. */
        c = warprsa_client_connection(client);
        if (c != NULL)
            (void)lives(client, c, now_ns);
        warprsa_connection_drop(c);
        return NULL;
    }
    if (lives(client, c, now_ns)) {
        /* A program that only has references asks for it in no other way. */
        warprsa_client_publish_state(
            client, c,
            (warprsa_queue_state)atomic_load_explicit(&c->shm.head->state,
                                                      memory_order_relaxed));
        return c;
    }
    warprsa_connection_release(c, use->ticket.slot);
    warprsa_connection_drop(c);
    return NULL;
}

/* Copies a use into shared memory. Its label is most of it, and hardly any use
 * has one: zeros are not copied over zeros, since the daemon's CPU has them. */
static void fill_header(warprsa_client_slot *s, warprsa_key_use *to,
                        const warprsa_key_use *from)
{
    if (s->has_label || from->label_bytes != 0)
        *to = *from;
    else
        memcpy(to, from, offsetof(warprsa_key_use, label));
    s->has_label = from->label_bytes != 0;
}

static void fill(const warprsa_connection *c, const warprsa_client_use *use,
                 uint32_t notifier, uint64_t now_ns)
{
    warprsa_client_slot *s = &c->slot[use->ticket.slot];
    warprsa_shm_request *request = &c->shm.slot[use->ticket.slot].request;
    warprsa_shm_use *to = &c->shm.use[use->ticket.slot];

    s->submitted_ns = now_ns;
    s->bytes = use->key->modulus_bytes;
    s->size = use->key->size;
    s->is_use = true;
    request->notifier = notifier;
    request->notifier_generation = c->notifier_generation[notifier];
    request->bytes = 0;
    /* What stays if the daemon does not know the key's number: another thread
     * may have taken it away. */
    c->shm.slot[use->ticket.slot].use_answer = WARPRSA_USE_LATER;
    fill_header(s, &to->header, use->header);
    memcpy(to->number, use->input, use->header->input_bytes);
}

/* Submits a use, or sees to it that this is tried again. */
static void submit(warprsa_client *client, warprsa_client_use *use,
                   uint32_t notifier, uint64_t now_ns)
{
    warprsa_connection *c = prepare(client, use, now_ns);

    if (c == NULL) {
        look_again(use, now_ns, AGAIN_MS);
        return;
    }
    notifier = warprsa_client_notifier_number(c, notifier);
    fill(c, use, notifier, now_ns);
    use->connection = c;
    warprsa_connection_remember(c);
    use->is_submitted = true;
    use->by_notifier = notifier != 0;
    warprsa_connection_submit(c, use->ticket.slot, use->ticket.generation);
    warprsa_connection_drop(c);
    look_again(use, now_ns, notifier != 0 ? HEALTH_MS : LOOK_MS);
}

/* Counts an answer of the daemon's. */
static void count(warprsa_client *client, const warprsa_connection *c,
                  const warprsa_client_use *use, warprsa_use_answer answer)
{
    warprsa_counters *counters = client->config.counters;
    const warprsa_shm_slot *s = &c->shm.slot[use->ticket.slot];
    const warprsa_size_class size = use->key->size;

    if (answer == WARPRSA_USE_DENIED)
        warprsa_count(&counters->vault_denials, 1);
    if (answer != WARPRSA_USE_DONE)
        return;
    warprsa_count(&counters->vault_uses, 1);
    if (s->by_libcrypto)
        warprsa_count(&counters->vault_libcrypto, 1);
    else
        warprsa_count(s->on_cpus ? &counters->ifma[size] : &counters->gpu[size],
                      1);
}

/* Looks for the answer to a use that was submitted over this connection. */
static warprsa_use_answer poll_answer(warprsa_client *client,
                                      warprsa_connection *c,
                                      warprsa_client_use *use, uint8_t *output)
{
    const warprsa_client_slot *s = &c->slot[use->ticket.slot];
    warprsa_connection_answer how;
    const uint64_t patience_ns =
        use->until_ns > s->submitted_ns ? use->until_ns - s->submitted_ns : 0;

    if (warprsa_connection_poll(c, use->ticket, patience_ns, output, &how) ==
        WARPRSA_PENDING)
        return WARPRSA_USE_PENDING;
    use->bytes = how.bytes;
    use->denial = how.denial;
    use->errors = how.errors;
    if (!how.owned)
        return WARPRSA_USE_LATER;
    count(client, c, use, how.use);
    warprsa_connection_release(c, use->ticket.slot);
    return how.use;
}

/* Looks for the answer to a use that was submitted. LATER: there will be none,
 * for the daemon has refused it or gone. */
static warprsa_use_answer look(warprsa_client *client, warprsa_client_use *use,
                               uint64_t now_ns, uint8_t *output)
{
    warprsa_connection *c = use->connection;
    warprsa_use_answer answer = WARPRSA_USE_LATER;

    if (client->connection == c && warprsa_connection_recall(c)) {
        answer = poll_answer(client, c, use, output);
        if (answer == WARPRSA_USE_PENDING &&
            (!warprsa_connection_alive(c) ||
             warprsa_connection_health_now(c, now_ns) ==
                 WARPRSA_CONNECTION_GONE)) {
            warprsa_client_disconnect(client, c);
            answer = WARPRSA_USE_LATER;
        }
        warprsa_connection_drop(c);
    }
    if (answer != WARPRSA_USE_PENDING) {
        use->is_submitted = false;
        use->connection = NULL;
        warprsa_connection_forget(c);
    }
    return answer;
}

warprsa_use_answer warprsa_client_use_go_on(warprsa_client *client,
                                            warprsa_client_use *use,
                                            uint32_t notifier, uint8_t *output)
{
    const uint64_t now_ns = warprsa_clock_ns();

    if (use->is_submitted) {
        warprsa_use_answer answer = look(client, use, now_ns, output);

        if (answer == WARPRSA_USE_PENDING)
            look_again(use, now_ns, use->by_notifier ? HEALTH_MS : LOOK_MS);
        else if (answer == WARPRSA_USE_LATER)
            look_again(use, now_ns, AGAIN_MS);
        if (answer != WARPRSA_USE_LATER || now_ns < use->until_ns)
            return answer == WARPRSA_USE_LATER ? WARPRSA_USE_PENDING : answer;
    }
    if (now_ns >= use->until_ns) {
        warprsa_count(&client->config.counters->vault_late, 1);
        return WARPRSA_USE_LATER;
    }
    if (now_ns >= use->wake_ns)
        submit(client, use, notifier, now_ns);
    return WARPRSA_USE_PENDING;
}

void warprsa_client_use_leave(warprsa_connection *c, warprsa_ticket ticket)
{
    if (warprsa_connection_recall(c)) {
        warprsa_connection_give_up(c, ticket);
        warprsa_connection_drop(c);
    }
    warprsa_connection_forget(c);
}

/* Sleeps until the answer may be there, or until wake_ns. */
static void sleep_on(warprsa_client *client, const warprsa_client_use *use)
{
    warprsa_connection *c = use->connection;
    struct timespec until;

    if (use->is_submitted && client->connection == c &&
        warprsa_connection_recall(c)) {
        (void)warprsa_connection_sleep(c, use->ticket);
        warprsa_connection_drop(c);
        return;
    }
    until = warprsa_timespec(use->wake_ns);
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

warprsa_use_answer warprsa_client_use_wait(warprsa_client *client,
                                           warprsa_client_use *use,
                                           uint8_t *output)
{
    warprsa_use_answer answer;

    while ((answer = warprsa_client_use_go_on(client, use, 0, output)) ==
           WARPRSA_USE_PENDING)
        sleep_on(client, use);
    return answer;
}

void warprsa_client_use_why(warprsa_client *client,
                            const warprsa_client_use *use,
                            warprsa_use_answer answer, char *why,
                            size_t why_size)
{
    const char *path = client->config.control_connection->path;
    char trouble[WARPRSA_COUNTERS_TEXT];

    switch (answer) {
    case WARPRSA_USE_DENIED:
        snprintf(why, why_size, "denied by warprsad at %s: %s", path,
                 warprsa_denial_text(use->denial));
        break;
    case WARPRSA_USE_LATER:
        pthread_mutex_lock(&client->lock);
        memcpy(trouble, client->trouble, sizeof(trouble));
        pthread_mutex_unlock(&client->lock);
        snprintf(why, why_size, "no answer of warprsad at %s within %u ms%s%s",
                 path, client->config.deadline_ms,
                 trouble[0] != '\0' ? ": " : "", trouble);
        break;
    default:
        snprintf(why, why_size, "warprsad at %s has no result for this input",
                 path);
    }
}
