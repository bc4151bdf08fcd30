/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One client process as the daemon sees it; see session.h.
 *
 * This is the trust boundary: this file checks whatever a client puts into the
 * shared memory. The memory may change at any moment. So a request or a message
 * is copied out first and checked in the copy. The offsets in the rings, and
 * which slots, keys and notifiers are taken, are kept outside.
 *
 * No descriptor here comes from a client. The sockets are shut down for reading
 * before the client has its end. So no client data ever lies in their queues,
 * and closing them takes no time.
 *
 * A client that breaks the protocol is disconnected: the provider's own client
 * never does. A client that asks for something it can't have is refused.
 */
#include "batching/daemon/server/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/daemon/wire/message.h"

enum {
    /* The time of a turn. Work that is begun is finished: a key takes about 10
     * us, a request or answer less than 1. */
    TURN_NS = 100000,
    /* At most so many messages in a turn, however fast they are. */
    MESSAGES_AT_ONCE = 16,
    REQUESTS_AT_ONCE = 256,
    ANSWERS_AT_ONCE = 256,
    /* Keys, notifiers and requests of a closed session: about 1 us each. */
    GIVEN_BACK_AT_ONCE = 64,
    /* The session's socket holds about 80 unreceived messages; an honest client
     * has 32 at most. Their descriptors count against a limit of the daemon's
     * user. */
    SEND_BUFFER = 32768,
    /* A session's socket, memory, eventfd and process. */
    OWN_DESCRIPTORS = 4,
};

#define OF(source, member)                                                     \
    ((warprsa_session *)((char *)(source)-offsetof(warprsa_session, member)))

/* Two texts for the log that name the session's identity, if it has one. */
#define FOR(session)                                                           \
    (session)->user.identity[0] != '\0' ? " for " : "", (session)->user.identity

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t granted(uint32_t wanted, uint32_t limit)
{
    return wanted == 0 ? 1 : smaller(wanted, limit);
}

/* Shows the client the state of the queue, and that this end lives. */
static void publish(const warprsa_session *s, uint32_t state)
{
    const warprsa_server_config *config = &s->context->config;
    warprsa_shm_head *head = s->shm.head;
    char device[WARPRSA_COUNTERS_TEXT];

    atomic_store_explicit(&head->depth, warprsa_queue_depth(config->queue),
                          memory_order_relaxed);
    atomic_store_explicit(&head->heartbeat_ns, warprsa_clock_ns(),
                          memory_order_relaxed);
    warprsa_counters_device(config->counters, device);
    for (unsigned i = 0; i < WARPRSA_COUNTERS_TEXT; i++) {
        atomic_store_explicit(&head->device[i], device[i],
                              memory_order_relaxed);
        if (device[i] == '\0')
            break;
    }
    atomic_store_explicit(&head->devices,
                          (uint32_t)atomic_load(&config->counters->devices),
                          memory_order_relaxed);
    atomic_store_explicit(&head->on_cpus, warprsa_queue_on_cpus(config->queue),
                          memory_order_relaxed);
    atomic_store(&head->state, state);
}

/* Makes two connected sockets. Only the second can be read from: its holder can
 * send nothing. */
static bool one_way(int type, int ends[2])
{
    static const int buffer = SEND_BUFFER;

    if (socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    if (shutdown(ends[0], SHUT_RD) == 0 &&
        setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer)) ==
            0)
        return true;
    close(ends[0]);
    close(ends[1]);
    ends[0] = ends[1] = -1;
    return false;
}

static bool allocate(warprsa_session *s, const warprsa_message *wanted,
                     const warprsa_server_limits *limits)
{
    uint32_t slots = granted(wanted->slots, limits->slots);

    s->keys_max = granted(wanted->keys, limits->keys);
    s->notifiers_max = granted(wanted->notifiers, limits->notifiers);
    s->keys = calloc(s->keys_max, sizeof(*s->keys));
    s->notifiers = calloc(s->notifiers_max + 1, sizeof(*s->notifiers));
    s->pending = calloc(slots, sizeof(*s->pending));
    if (s->keys == NULL || s->notifiers == NULL || s->pending == NULL)
        return false;
    s->eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return s->eventfd >= 0 && warprsa_shm_create(&s->shm, slots, &s->memory);
}

static void close_one(const warprsa_session *s, int *fd)
{
    warprsa_event_source_close(s->host != NULL ? s->host->epoll : -1, fd);
}

/* Charges the user for descriptors. False: the user may have no more. */
static bool charge(warprsa_session *s, unsigned count)
{
    warprsa_server_context *context = s->context;

    if (warprsa_user_quota_take(&context->descriptors, s->user.uid, count,
                                context->descriptors_max) != NULL)
        return false;
    s->descriptors += count;
    return true;
}

static void discharge(warprsa_session *s, unsigned count)
{
    if (count > 0)
        warprsa_user_quota_give(&s->context->descriptors, s->user.uid, count);
    s->descriptors -= count;
}

/* Looks at the clock. False: the turn is over. */
static bool may_go_on(warprsa_session *s)
{
    s->now_ns = warprsa_clock_ns();
    return s->now_ns < s->turn_until_ns;
}

/* The notifier is in no epoll instance: nothing depends on the other end
 * closing. */
static void close_notifier(warprsa_session *s,
                           warprsa_session_notifier *notifier)
{
    if (!notifier->is_open)
        return;
    close(notifier->fd);
    notifier->is_open = notifier->listed = false;
    discharge(s, 1);
}

/* Withdraws requests that no batch has yet, since nobody waits for their
 * answers. Looks at `most` requests under way; returns how many fewer there
 * were. */
static unsigned withdraw_requests(warprsa_session *s, unsigned most)
{
    for (; s->withdrawn_end < s->shm.slots && s->in_flight > 0 && most > 0;
         s->withdrawn_end++) {
        warprsa_pending *p = &s->pending[s->withdrawn_end];

        if (!p->busy)
            continue;
        most--;
        if (!warprsa_queue_withdraw(s->context->config.queue, p->ticket))
            continue;
        p->busy = false;
        s->in_flight--;
    }
    return most;
}

/* Gives back a part of a closed session's keys, notifiers and requests. Numbers
 * that were never used cost nothing. True: only requests with answers to come
 * are left. */
static bool give_back(warprsa_session *s)
{
    unsigned left = withdraw_requests(s, GIVEN_BACK_AT_ONCE);

    for (; s->keys_end > 0 && left > 0; left--)
        warprsa_key_release(s->keys[--s->keys_end].key);
    for (; s->notifiers_end > 0 && left > 0; left--)
        close_notifier(s, &s->notifiers[--s->notifiers_end]);
    return left > 0;
}

static void close_descriptors(warprsa_session *s)
{
    s->closed = true;
    close_one(s, &s->socket);
    close_one(s, &s->process);
    close_one(s, &s->eventfd);
    close_one(s, &s->memory);
}

/* Frees the session after give_back() is done. */
static void free_all(warprsa_session *s)
{
    warprsa_shm_unmap(&s->shm);
    discharge(s, s->descriptors);
    free(s->keys);
    free(s->notifiers);
    free(s->pending);
    free(s);
}

const char *warprsa_session_take_seat(warprsa_server_context *context,
                                      const warprsa_session_user *user,
                                      const warprsa_server_limits *limits)
{
    const bool network = user->identity[0] != '\0';
    const char *why_not =
        network ? warprsa_user_quota_acquire(&context->network_clients, 0,
                                             limits->user_clients,
                                             limits->user_clients)
                : NULL;

    if (why_not == NULL)
        why_not =
            warprsa_user_quota_acquire(&context->clients, user->owner,
                                       limits->clients, limits->user_clients);
    else
        return "the network has as many seats as one user may have";
    if (why_not != NULL && network)
        warprsa_user_quota_release(&context->network_clients, 0);
    return why_not;
}

static void give_seat_back(warprsa_server_context *context,
                           const warprsa_session_user *user)
{
    warprsa_user_quota_release(&context->clients, user->owner);
    if (user->identity[0] != '\0')
        warprsa_user_quota_release(&context->network_clients, 0);
}

warprsa_session *warprsa_session_new(warprsa_server_context *context,
                                     const warprsa_session_user *user,
                                     const warprsa_message *wanted,
                                     const warprsa_server_limits *limits,
                                     int *client_end)
{
    warprsa_session *s = calloc(1, sizeof(*s));
    int ends[2];

    if (s == NULL || !one_way(SOCK_SEQPACKET, ends)) {
        free(s);
        give_seat_back(context, user);
        return NULL;
    }
    s->context = context;
    s->socket = ends[0];
    s->process = s->eventfd = s->memory = -1;
    s->user = *user;
    if (charge(s, OWN_DESCRIPTORS) && allocate(s, wanted, limits)) {
        publish(s, warprsa_queue_wait_ready(context->config.queue, 0));
        *client_end = ends[1];
        return s;
    }
    close(ends[1]);
    warprsa_session_refuse(s);
    return NULL;
}

bool warprsa_session_attach(warprsa_session *s, pid_t pid)
{
    s->pid = pid;
    if (!warprsa_shm_seal(s->memory))
        return false;
    close(s->memory);
    s->memory = -1;
    return true;
}

static void give_up_seat(warprsa_session *s)
{
    warprsa_server_context *context = s->context;
    const warprsa_session_user user = s->user;

    free_all(s);
    give_seat_back(context, &user);
}

void warprsa_session_refuse(warprsa_session *s)
{
    close_descriptors(s);
    give_up_seat(s);
}

void warprsa_session_free(warprsa_session *s)
{
    TAILQ_REMOVE(&s->host->over, s, link);
    s->host->sessions--;
    give_up_seat(s);
}

static void make_ready(warprsa_session *s)
{
    warprsa_rounds_add(&s->host->ready, &s->ready, s->user.owner);
}

void warprsa_session_end(warprsa_session *s, const char *why)
{
    if (s->closed)
        return;
    warprsa_server_log_about(s->context, s->user.owner, 1,
                             "process %d (user %d)%s%s left: %s; %llu answered",
                             (int)s->pid, (int)s->user.uid, FOR(s), why,
                             (unsigned long long)s->answers);
    close_descriptors(s);
    TAILQ_REMOVE(&s->host->open, s, link);
    make_ready(s);
}

/* A turn of a closed session. Its last answer brings another turn. */
static void leave(warprsa_session *s)
{
    warprsa_rounds_remove(&s->host->ready, &s->ready);
    if (!give_back(s) || s->answered != NULL)
        make_ready(s);
    else if (s->in_flight == 0)
        TAILQ_INSERT_TAIL(&s->host->over, s, link);
}

/* Writing never blocks. If the socket is full, the job can already read from
 * it. */
static void notify_job(warprsa_session *s, warprsa_session_notifier *notifier)
{
    notifier->listed = false;
    if (send(notifier->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
        errno != EAGAIN && errno != EINTR) /* its wait context has gone */
        close_notifier(s, notifier);
}

/* Notifies the jobs that got answers since the last call. */
static void notify_all(warprsa_session_host *host)
{
    for (unsigned i = 0; i < host->to_notify_count; i++) {
        warprsa_session *s = host->to_notify[i].session;
        warprsa_session_notifier *notifier =
            &s->notifiers[host->to_notify[i].notifier];

        /* Another notifier may have taken the number meanwhile. */
        if (notifier->is_open && notifier->listed)
            notify_job(s, notifier);
    }
    host->to_notify_count = host->unnotified = 0;
}

/* Wakes the thread that waits for an answer (0), or lists the job's notifier.
 * Many requests may share a notifier, as the gateway's do: one byte stands for
 * all answers before it. */
static void notify(warprsa_session *s, uint32_t notifier,
                   _Atomic uint32_t *answered)
{
    warprsa_session_host *host = s->host;

    if (notifier == 0) {
        warprsa_shm_wake(answered);
    } else if (notifier <= s->notifiers_max && s->notifiers[notifier].is_open) {
        if (!s->notifiers[notifier].listed)
            host->to_notify[host->to_notify_count++] =
                (struct warprsa_to_notify){s, notifier};
        s->notifiers[notifier].listed = true;
        if (++host->unnotified == WARPRSA_NOTIFY_ANSWERS)
            notify_all(host);
    }
}

/* Answers the request in a slot that has been checked. */
static void answer(warprsa_session *s, uint32_t slot, uint32_t generation,
                   uint32_t notifier, warprsa_answer answer,
                   warprsa_cpu_reason reason)
{
    warprsa_shm_slot *to = &s->shm.slot[slot];

    to->answer = (uint32_t)answer;
    to->reason = (uint32_t)reason;
    atomic_store_explicit(&to->answered, generation, memory_order_release);
    notify(s, notifier, &to->answered);
    s->answers += answer == WARPRSA_DONE;
}

/* Runs on a worker of the queue. */
static void queue_answered(void *arg)
{
    warprsa_pending *pending = arg;
    warprsa_session_host *host = pending->session->host;

    host->push_answered(host, pending);
}

void warprsa_session_answered(warprsa_pending *p)
{
    warprsa_session *s = p->session;

    p->next = NULL;
    if (s->answered == NULL)
        s->answered = p;
    else
        s->last_answered->next = p;
    s->last_answered = p;
    make_ready(s);
}

/* Gives the client the answer to a request. */
static void complete(warprsa_session *s, warprsa_pending *p)
{
    warprsa_server_context *context = s->context;
    uint32_t slot = (uint32_t)(p - s->pending);
    uint8_t output[WARPRSA_MODULUS_BYTES_MAX];
    warprsa_outcome outcome;
    warprsa_answer got;

    /* Never PENDING: there is an answer, or the deadline has passed. */
    got = warprsa_queue_collect(context->config.queue, p->ticket, output,
                                &outcome);
    p->busy = false;
    s->in_flight--;
    if (!s->closed) {
        if (got == WARPRSA_DONE)
            memcpy(s->shm.slot[slot].request.number, output, p->bytes);
        s->shm.slot[slot].took_ns = s->now_ns - p->begun_ns;
        s->shm.slot[slot].on_cpus = outcome.on_cpus;
        answer(s, slot, p->generation, p->notifier, got, outcome.reason);
    }
    explicit_bzero(output, sizeof(output));
}

static void complete_some(warprsa_session *s)
{
    for (unsigned i = 0; i < ANSWERS_AT_ONCE && s->answered != NULL; i++) {
        warprsa_pending *p = s->answered;

        /* The client may use the slot again once it has the answer. */
        s->answered = p->next;
        complete(s, p);
        if (!may_go_on(s))
            break;
    }
    notify_all(s->host);
}

/* The key that a request refers to, or NULL if the client has no such key. */
static const warprsa_session_key *key_of(const warprsa_session *s,
                                         const warprsa_shm_request *request)
{
    const warprsa_session_key *key;

    if (request->key >= s->keys_max)
        return NULL;
    key = &s->keys[request->key];
    return key->taken && key->generation == request->key_generation ? key
                                                                    : NULL;
}

/* False: the notifier that a request refers to is of another generation; a
 * message about it may not have been read yet. */
static bool has_notifier(const warprsa_session *s,
                         const warprsa_shm_request *request)
{
    return request->notifier == 0 || request->notifier > s->notifiers_max ||
           s->notifiers[request->notifier].generation ==
               request->notifier_generation;
}

static bool is_known(const warprsa_session *s,
                     const warprsa_shm_request *request)
{
    return key_of(s, request) != NULL && has_notifier(s, request);
}

static void read_messages(warprsa_session *s);

/* Whether a request has to wait, in held_slot, for messages about its key or
 * notifier. These messages are in the memory by now. */
static bool must_wait(warprsa_session *s, const warprsa_shm_request *request)
{
    if (!is_known(s, request))
        read_messages(s);
    s->holds = !s->closed && s->messages_left && s->awaited > 0 &&
               !is_known(s, request);
    return s->holds;
}

/* Why the queue has refused a request. */
static warprsa_cpu_reason reason_now(warprsa_server_context *context,
                                     const warprsa_key *key)
{
    switch (warprsa_queue_wait_ready(context->config.queue, 0)) {
    case WARPRSA_QUEUE_STARTING:
        return WARPRSA_CPU_STARTING;
    case WARPRSA_QUEUE_DOWN:
        return WARPRSA_CPU_NO_DEVICE;
    case WARPRSA_QUEUE_READY:
        break;
    }
    if (warprsa_queue_refuses_key(key))
        return WARPRSA_CPU_WRONG_KEY;
    return warprsa_queue_takes(context->config.queue, key)
               ? WARPRSA_CPU_QUEUE_FULL
               : WARPRSA_CPU_UNSUPPORTED_KEY;
}

/* Whether a request may go to the queue: its input must be as long as the
 * modulus and below it. */
static bool is_fit(const warprsa_session_key *key,
                   const warprsa_shm_request *request)
{
    return key != NULL && key->key != NULL && request->bytes == key->bytes &&
           memcmp(request->number, warprsa_key_modulus(key->key), key->bytes) <
               0;
}

/* Submits or refuses a request, which is a copy of the slot. */
static void serve(warprsa_session *s, uint32_t slot,
                  const warprsa_shm_request *request)
{
    warprsa_server_context *context = s->context;
    warprsa_pending *p = &s->pending[slot];
    const warprsa_session_key *key = key_of(s, request);
    warprsa_notify notify = {.wake = queue_answered, .arg = p};
    warprsa_cpu_reason reason = WARPRSA_CPU_ERROR;

    if (atomic_load(&context->stopping)) {
        reason = WARPRSA_CPU_NO_DEVICE;
    } else if (is_fit(key, request)) {
        p->session = s;
        p->generation = request->generation;
        p->notifier = request->notifier;
        p->bytes = request->bytes;
        p->begun_ns = s->now_ns;
        if (warprsa_queue_submit(context->config.queue, key->key,
                                 request->number, notify,
                                 &p->ticket) == WARPRSA_DONE) {
            p->busy = true;
            s->in_flight++;
            return;
        }
        reason = reason_now(context, key->key);
    } else if (key != NULL && key->bytes == 0) {
        reason = WARPRSA_CPU_UNSUPPORTED_KEY;
    } else if (key != NULL && key->key == NULL) {
        reason = WARPRSA_CPU_KEY_CACHE_FULL;
    }
    answer(s, slot, request->generation, request->notifier, WARPRSA_REFUSED,
           reason);
}

/* Takes the next request's slot out of the ring, or the one that was held. */
static bool next_request(warprsa_session *s, uint32_t *slot)
{
    if (s->holds) {
        *slot = s->held_slot;
        return true;
    }
    s->awaited = WARPRSA_SHM_MESSAGES;
    return warprsa_shm_dequeue(&s->shm, &s->ring_offset, slot);
}

/* Serves the next request in the ring. False: there is none, the request has to
 * wait, or the session was closed. */
static bool read_request(warprsa_session *s)
{
    warprsa_shm_request request;
    uint32_t slot;
    bool waits;

    if (!next_request(s, &slot))
        return false;
    if (slot >= s->shm.slots || s->pending[slot].busy) {
        warprsa_session_end(s, "it broke the protocol: a slot that is not its "
                               "own to submit");
        return false;
    }
    warprsa_shm_copy(&s->shm, slot, &request);
    waits = must_wait(s, &request);
    s->held_slot = slot;
    if (!waits && !s->closed)
        serve(s, slot, &request);
    explicit_bzero(request.number, sizeof(request.number));
    return !waits && !s->closed;
}

/* Serves requests in the ring until the turn ends. Returns whether there may be
 * more. */
static bool read_ring(warprsa_session *s)
{
    for (unsigned i = 0; i < REQUESTS_AT_ONCE; i++) {
        if (!read_request(s))
            return s->holds;
        if (!may_go_on(s))
            break;
    }
    atomic_store_explicit(&s->shm.head->depth,
                          warprsa_queue_depth(s->context->config.queue),
                          memory_order_relaxed);
    return true;
}

static void free_key(warprsa_session_key *key)
{
    warprsa_key_release(key->key);
    key->key = NULL;
    key->taken = false;
}

/* This function and the next two carry out a message. Each returns why the
 * session must end, or NULL. */
static const char *add_key(warprsa_session *s,
                           const warprsa_shm_message *message)
{
    const warprsa_server_config *config = &s->context->config;
    uint8_t id[WARPRSA_KEY_ID_BYTES];
    warprsa_session_key *key;

    if (message->number >= s->keys_max || s->keys[message->number].taken)
        return "it broke the protocol: the number of a key";
    key = &s->keys[message->number];
    if (s->keys_end <= message->number)
        s->keys_end = message->number + 1;
    key->taken = true;
    key->generation = message->generation;
    key->bytes = 0;
    if (warprsa_key_class(&message->key) < 0)
        return NULL; /* requests with it are refused */
    key->bytes = message->key.modulus_bytes;
    if (config->key_id(&message->key, id))
        key->key =
            warprsa_queue_key(config->queue, s->user.owner, id, &message->key);
    explicit_bzero(id, sizeof(id));
    return NULL;
}

/* Sends the client a notifier's end, or a message without one: no descriptor is
 * left here, or too many of this user's are on their way. */
static bool send_notifier(const warprsa_session *s,
                          const warprsa_shm_message *asked, int end)
{
    warprsa_message reply = {.type = WARPRSA_MESSAGE_NOTIFIER,
                             .number = asked->number,
                             .generation = asked->generation};

    if (end >= 0) {
        if (warprsa_message_send(s->socket, &reply, &end, 1))
            return true;
        if (errno != ETOOMANYREFS)
            return false;
    }
    return warprsa_message_send(s->socket, &reply, NULL, 0);
}

static const char *add_notifier(warprsa_session *s,
                                const warprsa_shm_message *asked)
{
    warprsa_session_notifier *notifier;
    int ends[2] = {-1, -1};
    bool sent;

    if (asked->number < 1 || asked->number > s->notifiers_max)
        return "it broke the protocol: the number of a notifier";
    notifier = &s->notifiers[asked->number];
    if (s->notifiers_end <= asked->number)
        s->notifiers_end = asked->number + 1;
    close_notifier(s, notifier);
    notifier->generation = asked->generation;
    if (charge(s, 1)) {
        notifier->is_open = one_way(SOCK_STREAM, ends);
        notifier->fd = ends[0];
        if (!notifier->is_open)
            discharge(s, 1);
    }
    sent = send_notifier(s, asked, ends[1]);
    if (ends[1] >= 0)
        close(ends[1]);
    if (sent)
        return NULL;
    return errno == EAGAIN ? "it asks for notifiers and does not receive them"
                           : "end of the connection";
}

static const char *handle_message(warprsa_session *s,
                                  const warprsa_shm_message *message)
{
    switch (message->type) {
    case WARPRSA_SHM_KEY:
        return add_key(s, message);
    case WARPRSA_SHM_KEY_FREE:
        if (message->number >= s->keys_max || !s->keys[message->number].taken ||
            s->keys[message->number].generation != message->generation)
            return "it broke the protocol: a key that it hasn't";
        free_key(&s->keys[message->number]);
        return NULL;
    case WARPRSA_SHM_NOTIFIER:
        return add_notifier(s, message);
    }
    return "it broke the protocol: an unknown message";
}

/* Reads messages, as many as the turn allows, but at least one. */
static void read_messages(warprsa_session *s)
{
    warprsa_shm_message message;

    s->messages_left = false;
    while (!s->closed) {
        const char *wrong;

        s->messages_left = s->messages_read >= MESSAGES_AT_ONCE ||
                           (s->messages_read > 0 && !may_go_on(s));
        if (s->messages_left ||
            !warprsa_shm_receive(&s->shm, &s->messages_offset, &message))
            return;
        s->messages_read++;
        s->awaited -= s->awaited > 0;
        wrong = handle_message(s, &message);
        explicit_bzero(&message, sizeof(message));
        if (wrong != NULL)
            warprsa_session_end(s, wrong);
    }
}

/* The flags are cleared before anything is read: a client that sets a flag
 * afterwards notifies again. Cleared flags also tell the client that this end
 * lives, so they are cleared as soon as its notification comes, before its
 * turn, too. */
static void clear_flags(const warprsa_session *s)
{
    (void)atomic_exchange(&s->shm.head->notify_flags, 0);
}

/* Reads messages and requests. Messages are read in any case: if the last turn
 * left some, no flag says so. Returns whether there may be more. */
static bool read_some(warprsa_session *s)
{
    s->messages_read = 0;
    clear_flags(s);
    read_messages(s);
    return !s->closed && (read_ring(s) || s->messages_left);
}

static void take_turn(warprsa_session *s)
{
    bool more = false;

    s->now_ns = warprsa_clock_ns();
    s->turn_until_ns = s->now_ns + TURN_NS;
    complete_some(s);
    if (s->gone != NULL)
        warprsa_session_end(s, s->gone);
    if (!s->closed)
        more = read_some(s);
    notify_all(s->host);
    if (s->closed)
        leave(s);
    else if (more || s->answered != NULL)
        make_ready(s);
}

void warprsa_session_run_ready(warprsa_session_host *host)
{
    warprsa_rounds_entry *entry;

    warprsa_rounds_begin(&host->ready);
    while ((entry = warprsa_rounds_next(&host->ready)) != NULL)
        take_turn(OF(entry, ready));
}

/* Marks a session to be ended in a turn of its user: closing descriptors takes
 * longer than handling an event. */
static void is_gone(warprsa_session *s, const char *why)
{
    if (s->closed)
        return;
    s->gone = why;
    make_ready(s);
}

static void socket_ready(warprsa_event_source *source)
{
    is_gone(OF(source, socket_source), "end of the connection");
}

/* The client's process has ended. A child may still hold the connection
 * open. */
static void process_ready(warprsa_event_source *source)
{
    is_gone(OF(source, process_source), "end of the process");
}

/* The client has written to the eventfd. */
static void notified(warprsa_event_source *source)
{
    warprsa_session *s = OF(source, eventfd_source);

    if (s->closed)
        return;
    clear_flags(s);
    make_ready(s);
}

static void watch_process(warprsa_session *s)
{
    if (s->pid > 0)
        s->process = (int)syscall(SYS_pidfd_open, s->pid, 0);
    s->process_source.ready = process_ready;
    /* Without a pidfd, as for a process of another PID namespace, only the end
     * of the connection says that the process has ended. */
    if (s->process >= 0 &&
        !warprsa_event_source_watch(s->host->epoll, s->process,
                                    EPOLLIN | EPOLLET, &s->process_source))
        close_one(s, &s->process);
}

void warprsa_session_begin(warprsa_session *s, warprsa_session_host *host)
{
    s->host = host;
    host->sessions++;
    TAILQ_INSERT_TAIL(&host->open, s, link);
    s->published_change = host->changes - 1; /* it is woken in any case */
    s->socket_source.ready = socket_ready;
    s->eventfd_source.ready = notified;
    warprsa_session_publish(s);
    /* The socket is watched only for its end, which epoll always reports. The
     * eventfd is never read: each write to it is an edge, and so an event. */
    if (!warprsa_event_source_watch(host->epoll, s->socket, EPOLLET,
                                    &s->socket_source) ||
        !warprsa_event_source_watch(host->epoll, s->eventfd, EPOLLIN | EPOLLET,
                                    &s->eventfd_source)) {
        warprsa_session_end(s, strerror(errno));
        return;
    }
    watch_process(s);
    warprsa_server_log_about(s->context, s->user.owner, 1,
                             "process %d (user %d)%s%s connected, %u slots",
                             (int)s->pid, (int)s->user.uid, FOR(s),
                             s->shm.slots);
}

void warprsa_session_publish(warprsa_session *s)
{
    warprsa_session_host *host = s->host;

    publish(s, host->state);
    s->published_ns = warprsa_clock_ns();
    if (s->published_change != host->changes)
        warprsa_shm_wake(&s->shm.head->state);
    s->published_change = host->changes;
    TAILQ_REMOVE(&host->open, s, link);
    TAILQ_INSERT_TAIL(&host->open, s, link);
}
