/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See client.h. One lock guards what threads share; it is held for moments,
 * and never while a thread sleeps. Finding the daemon is one thread's work at
 * a time, under a lock of its own that others don't wait for.
 */
#include "batching/daemon/client.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "batching/daemon/connection.h"
#include "batching/daemon/message.h"
#include "batching/futex.h"

enum {
    BUCKETS = 256, /* of keys; a power of two */
    /* How long a sleeping caller goes without asking whether the daemon still
     * lives. */
    SLICE_MS = 50,
    RETRY_MIN_MS = 100,
    RETRY_MAX_MS = 5000,
    /* How long a sleeping caller outlasts the deadline, so that a daemon that
     * finds out at the same moment can still say why. */
    MARGIN_MS = 100,
    BELL_SERIAL = 1 << 20, /* a bell: serial of the connection, number */
    WHY_SIZE = 200,
};

struct warprsa_home_key {
    uint32_t references; /* under the client's lock */
    warprsa_client *client;
    LIST_ENTRY(warprsa_home_key) link;
    uint8_t id[WARPRSA_KEY_ID_OCTETS];
    warprsa_size_class size;
    uint32_t serial; /* of the connection that has it; 0: none */
    uint32_t number, generation;
    warprsa_private_key key; /* wiped with the last reference */
};

LIST_HEAD(key_list, warprsa_home_key);

struct warprsa_client {
    _Atomic uint32_t references; /* the opener's, each key's, each bell's */
    warprsa_client_config config;
    pthread_mutex_t lock;
    warprsa_connection *connection; /* NULL: none now */
    bool closed;
    uint32_t uses;    /* of all slots, ever */
    uint32_t serials; /* of connections */
    struct key_list bucket[BUCKETS];
    _Atomic uint32_t state; /* of the connection, as told to others */
    _Alignas(64) _Atomic uint32_t depth; /* submitted and not answered */

    pthread_mutex_t finding; /* of what follows */
    int greeting;            /* where WELCOME will come; -1: not asked */
    uint64_t retry_ns;       /* no new try before */
    unsigned pause_ms;       /* after the next failure */
    _Atomic bool starting;   /* asked, and no WELCOME yet: a hint */
};

static void drop_client(warprsa_client *client)
{
    if (atomic_fetch_sub(&client->references, 1) != 1)
        return;
    pthread_mutex_destroy(&client->lock);
    pthread_mutex_destroy(&client->finding);
    free(client);
}

__attribute__((format(printf, 2, 3))) static void
trace(const warprsa_client *client, const char *format, ...)
{
    char line[512];
    va_list args;

    if (client->config.trace == NULL)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    client->config.trace(client->config.trace_arg, 1, line);
}

warprsa_client *warprsa_client_open(const warprsa_client_config *config)
{
    warprsa_client *client =
        aligned_alloc(_Alignof(warprsa_client), sizeof(*client));

    if (client == NULL)
        return NULL;
    memset(client, 0, sizeof(*client));
    atomic_init(&client->references, 1);
    client->config = *config;
    client->greeting = -1;
    client->pause_ms = RETRY_MIN_MS;
    if (pthread_mutex_init(&client->lock, NULL) == 0) {
        if (pthread_mutex_init(&client->finding, NULL) == 0)
            return client;
        pthread_mutex_destroy(&client->lock);
    }
    free(client);
    return NULL;
}

/* The connection with one more reference, or NULL. */
static warprsa_connection *get_connection(warprsa_client *client)
{
    warprsa_connection *c;

    pthread_mutex_lock(&client->lock);
    c = client->connection;
    if (c != NULL)
        warprsa_connection_reference(c);
    pthread_mutex_unlock(&client->lock);
    return c;
}

static void say_none(warprsa_client *client, const char *why)
{
    char text[WARPRSA_COUNTERS_TEXT];

    snprintf(text, sizeof(text), "none: %.*s", WARPRSA_COUNTERS_TEXT - 8, why);
    warprsa_counters_set_device(client->config.counters, text);
    atomic_store(&client->config.counters->devices, 0);
    if (client->config.route != NULL)
        warprsa_route_up(client->config.route, false);
}

/* Whose device it is, as the daemon says. With the lock held. */
static void say_device(warprsa_client *client, const warprsa_connection *c)
{
    static const char by[] = ", by warprsad";
    char text[WARPRSA_COUNTERS_TEXT];
    size_t i;

    for (i = 0; i < sizeof(text) - sizeof(by); i++) {
        text[i] = atomic_load_explicit(&c->region.head->device[i],
                                       memory_order_relaxed);
        if (text[i] == '\0')
            break;
    }
    memcpy(text + i, by, sizeof(by));
    warprsa_counters_set_device(client->config.counters, text);
    atomic_store(&client->config.counters->devices,
                 atomic_load(&c->region.head->devices));
}

/* Forgets a connection that has ended. */
static void lose(warprsa_client *client, warprsa_connection *c)
{
    bool lost;

    pthread_mutex_lock(&client->lock);
    lost = client->connection == c;
    if (lost) {
        client->connection = NULL;
        say_none(client, "warprsad has gone");
    }
    pthread_mutex_unlock(&client->lock);
    if (!lost)
        return;
    warprsa_connection_shut(c);
    warprsa_connection_drop(c);
    trace(client, "warprsad has gone: operations run on the CPU");
}

/* With `finding` held. */
static void try_later(warprsa_client *client, const char *why)
{
    if (client->pause_ms == RETRY_MIN_MS)
        trace(client, "%s", why);
    pthread_mutex_lock(&client->lock);
    say_none(client, why);
    pthread_mutex_unlock(&client->lock);
    client->retry_ns = warprsa_now_ns() + client->pause_ms * WARPRSA_NS_PER_MS;
    client->pause_ms *= 2;
    if (client->pause_ms > RETRY_MAX_MS)
        client->pause_ms = RETRY_MAX_MS;
}

static void stop_asking(warprsa_client *client)
{
    atomic_store(&client->starting, false);
    client->greeting = -1;
}

static void install(warprsa_client *client, warprsa_connection *c)
{
    bool closed;

    pthread_mutex_lock(&client->lock);
    closed = client->closed;
    if (!closed) {
        client->connection = c;
        atomic_store(&client->state, UINT32_MAX);
    }
    pthread_mutex_unlock(&client->lock);
    if (closed)
        warprsa_connection_drop(c);
    else
        trace(client, "connected to warprsad at %s, %u slots",
              client->config.door->path, c->region.slots);
}

/* With `finding` held, a WELCOME or the end of it being there. */
static void be_greeted(warprsa_client *client)
{
    char why[WHY_SIZE] = "warprsad refused the connection";
    int fds[WARPRSA_MESSAGE_FDS];
    warprsa_message message;
    warprsa_connection *c = NULL;
    int socket = client->greeting;

    switch (warprsa_message_receive(socket, &message, fds)) {
    case WARPRSA_NOTHING_YET:
        return;
    case WARPRSA_RECEIVED:
        c = warprsa_connection_new(socket, &message, fds, ++client->serials,
                                   why, sizeof(why));
        break;
    case WARPRSA_MALFORMED:
        snprintf(why, sizeof(why), "warprsad is of another version");
        /* fall through */
    case WARPRSA_CLOSED:
        for (unsigned i = 0; i < WARPRSA_MESSAGE_FDS; i++)
            if (fds[i] >= 0)
                close(fds[i]);
        close(socket);
        break;
    }
    stop_asking(client);
    if (c == NULL) {
        try_later(client, why);
        return;
    }
    client->pause_ms = RETRY_MIN_MS;
    install(client, c);
}

/* With `finding` held. */
static void ask(warprsa_client *client)
{
    warprsa_message wanted = {.slots = client->config.slots,
                              .keys = WARPRSA_CLIENT_KEYS_MAX,
                              .bells = WARPRSA_CLIENT_BELLS_MAX};
    char why[WHY_SIZE];

    if (warprsa_now_ns() < client->retry_ns)
        return;
    client->greeting =
        warprsa_door_call(client->config.door, &wanted, why, sizeof(why));
    if (client->greeting < 0)
        try_later(client, why);
    else
        atomic_store(&client->starting, true);
}

static bool is_looking(warprsa_client *client)
{
    bool looking;

    pthread_mutex_lock(&client->lock);
    looking = client->connection == NULL && !client->closed;
    pthread_mutex_unlock(&client->lock);
    return looking;
}

/* Looks for the daemon, waiting no longer than timeout_ms. */
static void find(warprsa_client *client, unsigned timeout_ms)
{
    struct pollfd greeting = {.events = POLLIN};

    if (pthread_mutex_trylock(&client->finding) != 0) {
        /* Another thread is at it. */
        if (timeout_ms > 0 && atomic_load(&client->starting))
            (void)poll(NULL, 0, (int)timeout_ms);
        return;
    }
    if (is_looking(client)) {
        if (client->greeting < 0)
            ask(client);
        greeting.fd = client->greeting;
        if (greeting.fd >= 0 && poll(&greeting, 1, (int)timeout_ms) > 0)
            be_greeted(client);
    }
    pthread_mutex_unlock(&client->finding);
}

static warprsa_queue_state state_of(warprsa_connection *c, unsigned timeout_ms)
{
    _Atomic uint32_t *state = &c->region.head->state;
    uint64_t until_ns = warprsa_now_ns() + timeout_ms * WARPRSA_NS_PER_MS;
    uint32_t now = atomic_load(state);

    while (now == WARPRSA_QUEUE_STARTING && warprsa_now_ns() < until_ns) {
        warprsa_region_sleep(state, now, until_ns);
        now = atomic_load(state);
    }
    return (warprsa_queue_state)now;
}

/* Tells those who ask when it has changed. */
static void note_state(warprsa_client *client, warprsa_connection *c,
                       warprsa_queue_state state)
{
    if (atomic_load_explicit(&client->state, memory_order_relaxed) ==
        (uint32_t)state)
        return;
    pthread_mutex_lock(&client->lock);
    if (client->connection == c) {
        atomic_store(&client->state, (uint32_t)state);
        say_device(client, c);
        if (client->config.route != NULL)
            warprsa_route_up(client->config.route,
                             state == WARPRSA_QUEUE_READY);
    }
    pthread_mutex_unlock(&client->lock);
}

static warprsa_queue_state client_wait_ready(void *at, unsigned timeout_ms)
{
    warprsa_client *client = at;
    warprsa_connection *c = get_connection(client);
    warprsa_queue_state state;

    if (c == NULL) {
        find(client, timeout_ms);
        c = get_connection(client);
    }
    if (c == NULL)
        return atomic_load(&client->starting) ? WARPRSA_QUEUE_STARTING
                                              : WARPRSA_QUEUE_DOWN;
    state = state_of(c, timeout_ms);
    note_state(client, c, state);
    if (state != WARPRSA_QUEUE_READY && !warprsa_connection_alive(c)) {
        lose(client, c);
        state = WARPRSA_QUEUE_DOWN;
    }
    warprsa_connection_drop(c);
    return state;
}

static bool client_close(void *at)
{
    warprsa_client *client = at;
    warprsa_connection *c;

    pthread_mutex_lock(&client->finding);
    pthread_mutex_lock(&client->lock);
    client->closed = true;
    c = client->connection;
    client->connection = NULL;
    atomic_store(&client->config.counters->devices, 0);
    pthread_mutex_unlock(&client->lock);
    if (client->greeting >= 0)
        close(client->greeting);
    stop_asking(client);
    pthread_mutex_unlock(&client->finding);
    if (c != NULL) {
        warprsa_connection_shut(c);
        warprsa_connection_drop(c);
    }
    drop_client(client);
    return true;
}

/* The parent's other threads may have held the locks, and keys and wait
 * contexts point here: the memory stays. */
static void client_abandon(void *at)
{
    warprsa_client *client = at;

    if (client->greeting >= 0)
        close(client->greeting);
    if (client->connection != NULL)
        warprsa_connection_abandon(client->connection);
}

static unsigned client_depth(const void *at)
{
    warprsa_client *client = (warprsa_client *)at;
    unsigned mine = atomic_load_explicit(&client->depth, memory_order_relaxed);
    warprsa_connection *c = get_connection(client);
    unsigned all = 0;

    if (c != NULL)
        all =
            atomic_load_explicit(&c->region.head->depth, memory_order_relaxed);
    warprsa_connection_drop(c);
    return all > mine ? all : mine;
}

/* With the lock held. */
static warprsa_home_key *find_key(struct key_list *bucket, const uint8_t *id,
                                  const warprsa_private_key *key)
{
    warprsa_home_key *found;

    LIST_FOREACH(found, bucket, link)
    if (memcmp(found->id, id, WARPRSA_KEY_ID_OCTETS) == 0 &&
        memcmp(&found->key, key, sizeof(*key)) == 0)
        return found;
    return NULL;
}

static warprsa_home_key *client_key(void *at,
                                    const uint8_t id[WARPRSA_KEY_ID_OCTETS],
                                    const warprsa_private_key *key)
{
    warprsa_client *client = at;
    struct key_list *bucket = &client->bucket[id[0] % BUCKETS];
    int size = warprsa_key_class(key);
    warprsa_home_key *found;

    if (size < 0)
        return NULL;
    pthread_mutex_lock(&client->lock);
    found = find_key(bucket, id, key);
    if (found == NULL) {
        found = calloc(1, sizeof(*found));
        if (found != NULL) {
            found->client = client;
            found->size = (warprsa_size_class)size;
            found->key = *key;
            memcpy(found->id, id, sizeof(found->id));
            LIST_INSERT_HEAD(bucket, found, link);
            atomic_fetch_add(&client->references, 1);
            warprsa_count(&client->config.counters->keys, 1);
        }
    }
    if (found != NULL)
        found->references++;
    pthread_mutex_unlock(&client->lock);
    return found;
}

/* With the lock held: tells the daemon. Should that fail, the number stays
 * taken. */
static void take_back(warprsa_client *client, const warprsa_home_key *key)
{
    warprsa_message message = {.type = WARPRSA_MESSAGE_KEY_FREE,
                               .number = key->number,
                               .generation = key->generation};
    warprsa_connection *c = client->connection;

    if (c == NULL || key->serial != c->serial)
        return;
    if (warprsa_message_send(c->socket, &message, NULL, 0)) {
        c->free_keys.stack[c->free_keys.count++] = key->number;
        warprsa_count(&client->config.counters->keys_wiped, 1);
    }
}

static void client_key_release(warprsa_home_key *key)
{
    warprsa_client *client = key->client;
    bool last;

    pthread_mutex_lock(&client->lock);
    last = --key->references == 0;
    if (last) {
        LIST_REMOVE(key, link);
        take_back(client, key);
        atomic_fetch_sub(&client->config.counters->keys, 1);
    }
    pthread_mutex_unlock(&client->lock);
    if (!last)
        return;
    explicit_bzero(key, sizeof(*key));
    free(key);
    drop_client(client);
}

/* In the list of the parent's client, which nobody uses any more. */
static void client_key_abandon(warprsa_home_key *key)
{
    explicit_bzero(&key->key, sizeof(key->key));
}

/* With the lock held: sees to it that the daemon has the key. */
static bool upload(warprsa_client *client, warprsa_connection *c,
                   warprsa_home_key *key)
{
    warprsa_message message = {.type = WARPRSA_MESSAGE_KEY};
    bool sent;

    if (key->serial == c->serial)
        return true;
    if (c->free_keys.count == 0)
        return false;
    message.number = c->free_keys.stack[c->free_keys.count - 1];
    message.generation = ++c->key_generation[message.number];
    message.key = key->key;
    sent = warprsa_message_send(c->socket, &message, NULL, 0);
    explicit_bzero(&message, sizeof(message));
    if (!sent)
        return false;
    key->number = c->free_keys.stack[--c->free_keys.count];
    key->generation = c->key_generation[key->number];
    key->serial = c->serial;
    warprsa_count(&client->config.counters->keys_loaded, 1);
    return true;
}

/* With the lock held: a slot on the connection for a request with this key;
 * NULL with the reason. */
static warprsa_connection *prepare(warprsa_client *client,
                                   warprsa_home_key *key, uint64_t now_ns,
                                   uint32_t *slot, warprsa_cpu_reason *reason)
{
    warprsa_connection *c = client->connection;
    uint32_t state;

    *reason = WARPRSA_CPU_NO_DEVICE;
    if (c == NULL)
        return NULL;
    state = atomic_load_explicit(&c->region.head->state, memory_order_relaxed);
    if (state != WARPRSA_QUEUE_READY) {
        if (state == WARPRSA_QUEUE_STARTING)
            *reason = WARPRSA_CPU_STARTING;
        return NULL;
    }
    *reason =
        c->free_keys.count == 0 ? WARPRSA_CPU_KEY_ROOM : WARPRSA_CPU_ERROR;
    if (!upload(client, c, key))
        return NULL;
    *reason = WARPRSA_CPU_QUEUE_FULL;
    if (!warprsa_connection_take(
            c, now_ns,
            (2 * (uint64_t)client->config.deadline_ms + MARGIN_MS) *
                WARPRSA_NS_PER_MS,
            slot))
        return NULL;
    warprsa_connection_reference(c);
    c->region.slot[*slot].request.key = key->number;
    c->region.slot[*slot].request.key_generation = key->generation;
    return c;
}

static warprsa_answer refused(warprsa_client *client, warprsa_cpu_reason reason)
{
    warprsa_count(&client->config.counters->cpu_reason[reason], 1);
    return WARPRSA_REFUSED;
}

static warprsa_answer client_submit(void *at, warprsa_home_key *key,
                                    const uint8_t *input, warprsa_notify notify,
                                    uint32_t bell, warprsa_ticket *ticket)
{
    warprsa_client *client = at;
    uint64_t now_ns = warprsa_now_ns();
    warprsa_connection *c;
    warprsa_client_slot *s;
    warprsa_region_request *request;
    warprsa_cpu_reason reason;

    (void)notify;
    pthread_mutex_lock(&client->lock);
    c = prepare(client, key, now_ns, &ticket->slot, &reason);
    if (c != NULL && ++client->uses == 0)
        client->uses = 1;
    ticket->generation = client->uses;
    pthread_mutex_unlock(&client->lock);
    if (c == NULL)
        return refused(client, reason);
    s = &c->slot[ticket->slot];
    s->submitted_ns = now_ns;
    s->octets = key->key.modulus_octets;
    s->size = key->size;
    request = &c->region.slot[ticket->slot].request;
    request->bell =
        bell / BELL_SERIAL == c->serial % (1U << 12) ? bell % BELL_SERIAL : 0;
    request->octets = s->octets;
    memcpy(request->input, input, s->octets);
    atomic_fetch_add_explicit(&client->depth, 1, memory_order_relaxed);
    warprsa_connection_submit(c, ticket->slot, ticket->generation);
    warprsa_connection_drop(c);
    return WARPRSA_DONE;
}

/* Gives the slot back and counts; then the reference on the connection goes. */
static warprsa_answer settle(warprsa_client *client, warprsa_connection *c,
                             warprsa_ticket ticket, warprsa_answer answer,
                             warprsa_cpu_reason reason, bool mine)
{
    warprsa_size_class size = WARPRSA_CLASS_1024;
    unsigned depth = atomic_load_explicit(&client->depth, memory_order_relaxed);

    if (mine) {
        const warprsa_client_slot *s = &c->slot[ticket.slot];

        size = s->size;
        if (answer == WARPRSA_DONE && client->config.route != NULL)
            warprsa_route_answered(client->config.route, size, depth,
                                   warprsa_now_ns() - s->submitted_ns);
        pthread_mutex_lock(&client->lock);
        warprsa_connection_give_back(c, ticket.slot);
        pthread_mutex_unlock(&client->lock);
    }
    warprsa_connection_drop(c);
    atomic_fetch_sub_explicit(&client->depth, 1, memory_order_relaxed);
    if (answer == WARPRSA_DONE)
        warprsa_count(&client->config.counters->gpu[size], 1);
    else
        refused(client, reason);
    return answer;
}

static uint64_t deadline_ns(const warprsa_client *client)
{
    return client->config.deadline_ms * WARPRSA_NS_PER_MS;
}

static warprsa_answer client_collect(void *at, warprsa_ticket ticket,
                                     uint8_t *output)
{
    warprsa_client *client = at;
    warprsa_connection *c = get_connection(client);
    warprsa_answer answer = WARPRSA_REFUSED;
    warprsa_cpu_reason reason = WARPRSA_CPU_NO_DEVICE;
    bool mine = false;

    if (c != NULL)
        answer = warprsa_connection_look(c, ticket, deadline_ns(client), output,
                                         &reason, &mine);
    if (answer == WARPRSA_PENDING && !warprsa_connection_alive(c)) {
        lose(client, c);
        answer = WARPRSA_REFUSED;
        reason = WARPRSA_CPU_NO_DEVICE;
    }
    if (answer != WARPRSA_PENDING)
        return settle(client, c, ticket, answer, reason, mine);
    warprsa_connection_drop(c);
    return WARPRSA_PENDING;
}

/* Sleeps on the slot's answer, for a slice of the time. */
static void sleep_on(warprsa_connection *c, warprsa_ticket ticket)
{
    _Atomic uint32_t *word = &c->region.slot[ticket.slot].answered;
    uint32_t value = atomic_load_explicit(word, memory_order_acquire);

    if (value != ticket.generation)
        warprsa_region_sleep(word, value,
                             warprsa_now_ns() + SLICE_MS * WARPRSA_NS_PER_MS);
}

static warprsa_answer client_wait(void *at, warprsa_ticket ticket,
                                  uint8_t *output)
{
    warprsa_client *client = at;
    warprsa_connection *c = get_connection(client);
    uint64_t limit_ns = deadline_ns(client) + MARGIN_MS * WARPRSA_NS_PER_MS;
    warprsa_answer answer = WARPRSA_REFUSED;
    warprsa_cpu_reason reason = WARPRSA_CPU_NO_DEVICE;
    bool mine = false;

    if (c == NULL)
        return settle(client, NULL, ticket, answer, reason, false);
    for (;;) {
        answer = warprsa_connection_look(c, ticket, limit_ns, output, &reason,
                                         &mine);
        if (answer != WARPRSA_PENDING)
            break;
        sleep_on(c, ticket);
        answer = warprsa_connection_look(c, ticket, limit_ns, output, &reason,
                                         &mine);
        if (answer != WARPRSA_PENDING)
            break;
        if (!warprsa_connection_alive(c)) {
            lose(client, c);
            answer = WARPRSA_REFUSED;
            reason = WARPRSA_CPU_NO_DEVICE;
            break;
        }
    }
    return settle(client, c, ticket, answer, reason, mine);
}

/* One end for the caller, one for the daemon. */
static int send_bell(warprsa_connection *c, uint32_t number)
{
    warprsa_message message = {.type = WARPRSA_MESSAGE_BELL, .number = number};
    int ends[2];
    bool sent;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
                   ends) != 0)
        return -1;
    sent = warprsa_message_send(c->socket, &message, &ends[1], 1);
    close(ends[1]);
    if (sent)
        return ends[0];
    close(ends[0]);
    return -1;
}

/* What a bell holds, so that it can be closed after the client was. */
typedef struct bell_owner {
    warprsa_client *client;
    warprsa_connection *connection;
} bell_owner;

static bool client_bell_open(void *at, warprsa_bell *bell)
{
    warprsa_client *client = at;
    bell_owner *owner = malloc(sizeof(*owner));
    warprsa_connection *c;

    if (owner == NULL)
        return false;
    bell->fd = -1;
    pthread_mutex_lock(&client->lock);
    c = client->connection;
    if (c != NULL && c->free_bells.count > 0) {
        uint32_t number = c->free_bells.stack[c->free_bells.count - 1];

        bell->number = c->serial % (1U << 12) * BELL_SERIAL + number;
        bell->fd = send_bell(c, number);
    }
    if (bell->fd >= 0) {
        c->free_bells.count--;
        warprsa_connection_reference(c);
        atomic_fetch_add(&client->references, 1);
        *owner = (bell_owner){client, c};
        bell->owner = owner;
    }
    pthread_mutex_unlock(&client->lock);
    if (bell->fd < 0)
        free(owner);
    return bell->fd >= 0;
}

static bool client_bell_works(void *at, const warprsa_bell *bell)
{
    warprsa_client *client = at;
    const bell_owner *owner = bell->owner;
    bool works;

    pthread_mutex_lock(&client->lock);
    works = owner->client == client && owner->connection == client->connection;
    pthread_mutex_unlock(&client->lock);
    return works;
}

static void client_bell_close(warprsa_bell *bell)
{
    bell_owner *owner = bell->owner;
    warprsa_connection *c = owner->connection;

    close(bell->fd);
    pthread_mutex_lock(&owner->client->lock);
    c->free_bells.stack[c->free_bells.count++] = bell->number % BELL_SERIAL;
    pthread_mutex_unlock(&owner->client->lock);
    warprsa_connection_drop(c);
    drop_client(owner->client);
    free(owner);
}

const warprsa_home_calls warprsa_home_daemon = {
    .close = client_close,
    .abandon = client_abandon,
    .wait_ready = client_wait_ready,
    .depth = client_depth,
    .key = client_key,
    .key_release = client_key_release,
    .key_abandon = client_key_abandon,
    .submit = client_submit,
    .collect = client_collect,
    .wait = client_wait,
    .bell_open = client_bell_open,
    .bell_works = client_bell_works,
    .bell_close = client_bell_close,
};
