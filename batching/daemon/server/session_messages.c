/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client's messages; see session_messages.h.
 */
#include "batching/daemon/server/session_messages.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "batching/daemon/server/session_vault.h"
#include "batching/daemon/wire/message.h"

enum {
    MESSAGES_AT_ONCE = 16, /* at most, in a turn */
};

static const char bad_number[] = "it broke the protocol: the number of a key";

/* The key whose number a message takes; NULL: it can't be had. */
static warprsa_session_key *take_number(warprsa_session *s,
                                        const warprsa_shm_message *message)
{
    warprsa_session_key *key;

    if (message->number >= s->keys_max || s->keys[message->number].taken)
        return NULL;
    key = &s->keys[message->number];
    if (s->keys_end <= message->number)
        s->keys_end = message->number + 1;
    key->taken = true;
    key->generation = message->generation;
    key->bytes = 0;
    return key;
}

/* This function and the next three carry out a message. Each returns why the
 * session must end, or NULL. */
static const char *add_key(warprsa_session *s,
                           const warprsa_shm_message *message)
{
    const warprsa_server_config *config = &s->context->config;
    uint8_t id[WARPRSA_KEY_ID_BYTES];
    warprsa_session_key *key = take_number(s, message);

    if (key == NULL)
        return bad_number;
    if (warprsa_key_class(&message->key) < 0)
        return NULL; /* requests with it are refused */
    key->bytes = message->key.modulus_bytes;
    if (config->key_id(&message->key, id))
        key->key =
            warprsa_queue_key(config->queue, s->user.owner, id, &message->key);
    explicit_bzero(id, sizeof(id));
    return NULL;
}

static const char *name_key(warprsa_session *s,
                            const warprsa_shm_message *message)
{
    warprsa_session_key *key;

    if (s->shm.use == NULL)
        return "it broke the protocol: a key of the vault, without uses";
    key = take_number(s, message);
    if (key == NULL)
        return bad_number;
    return warprsa_session_name_key(s, key, message->spki_sha256) ? NULL
                                                                  : "no memory";
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
    warprsa_session_close_notifier(s, notifier);
    notifier->generation = asked->generation;
    if (warprsa_session_charge(s, 1)) {
        if (warprsa_session_one_way(SOCK_STREAM, ends)) {
            notifier->fd = ends[0];
            atomic_fetch_or(&notifier->state, WARPRSA_NOTIFIER_OPEN);
        } else {
            warprsa_session_discharge(s, 1);
        }
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
        warprsa_session_drop_key(s, &s->keys[message->number]);
        return NULL;
    case WARPRSA_SHM_NOTIFIER:
        return add_notifier(s, message);
    case WARPRSA_SHM_KEY_USE:
        return name_key(s, message);
    }
    return "it broke the protocol: an unknown message";
}

void warprsa_session_read_messages(warprsa_session *s)
{
    warprsa_shm_message message;

    s->messages_left = false;
    while (!s->closed) {
        const char *wrong;

        s->messages_left =
            s->messages_read >= MESSAGES_AT_ONCE ||
            (s->messages_read > 0 && !warprsa_session_may_go_on(s));
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
