/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Asking the daemon which keys its vault has; see key_lookup.h.
 */
#include "batching/daemon/client/key_lookup.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "batching/base/clock.h"

bool warprsa_key_lookup_open(warprsa_key_lookup *lookup, const char *path,
                             unsigned timeout_ms, char *why, size_t why_size)
{
    lookup->timeout_ms = timeout_ms;
    lookup->asked = 0;
    return warprsa_control_connection_open(&lookup->control, path, why,
                                           why_size);
}

void warprsa_key_lookup_close(warprsa_key_lookup *lookup)
{
    warprsa_control_connection_close(&lookup->control);
}

/* Waits until the connection is readable. */
static bool wait_for_reply(const warprsa_key_lookup *lookup)
{
    const uint64_t until_ns =
        warprsa_clock_ns() + lookup->timeout_ms * WARPRSA_NS_PER_MS;
    struct pollfd one = {.fd = lookup->control.socket.fd, .events = POLLIN};
    int ready = 0;

    do {
        const uint64_t now_ns = warprsa_clock_ns();

        if (now_ns >= until_ns)
            break;
        ready = poll(&one, 1,
                     (int)((until_ns - now_ns + WARPRSA_NS_PER_MS - 1) /
                           WARPRSA_NS_PER_MS));
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

static bool is_sensible(const warprsa_key_message *key)
{
    return (key->type == WARPRSA_MESSAGE_KEY ||
            key->type == WARPRSA_MESSAGE_NO_KEY) &&
           key->spki_bytes <= sizeof(key->spki) &&
           memchr(key->name, '\0', sizeof(key->name)) != NULL &&
           memchr(key->allowed, '\0', sizeof(key->allowed)) != NULL;
}

/* Takes the reply that has come. False with the reason in why. */
static bool receive(const warprsa_key_lookup *lookup, warprsa_key_message *key,
                    char *why, size_t why_size)
{
    switch (warprsa_key_message_receive(lookup->control.socket.fd, key)) {
    case WARPRSA_RECEIVED:
        if (is_sensible(key) && key->generation == lookup->asked)
            return true;
        break;
    case WARPRSA_OTHER_VERSION:
        snprintf(why, why_size,
                 "warprsad at %s speaks version %u of the protocol, and this "
                 "program version %u: both must be of one release",
                 lookup->control.path, (unsigned)key->version,
                 (unsigned)WARPRSA_PROTOCOL);
        return false;
    case WARPRSA_CLOSED:
        snprintf(why, why_size,
                 "warprsad at %s has ended the connection; its log says why",
                 lookup->control.path);
        return false;
    default:
        break;
    }
    snprintf(why, why_size, "warprsad at %s has sent a reply without sense",
             lookup->control.path);
    return false;
}

static warprsa_key_found ask(warprsa_key_lookup *lookup, uint32_t type,
                             const char *name, warprsa_key_message *key,
                             char *why, size_t why_size)
{
    warprsa_message message = {.type = type, .generation = ++lookup->asked};

    snprintf(message.name, sizeof(message.name), "%s", name);
    if (!warprsa_message_send(lookup->control.socket.fd, &message, NULL, 0)) {
        snprintf(why, why_size, "no warprsad at %s: %s", lookup->control.path,
                 strerror(errno));
        return WARPRSA_KEY_UNKNOWN;
    }
    if (!wait_for_reply(lookup)) {
        snprintf(why, why_size, "warprsad at %s does not answer",
                 lookup->control.path);
        return WARPRSA_KEY_UNKNOWN;
    }
    if (!receive(lookup, key, why, why_size))
        return WARPRSA_KEY_UNKNOWN;
    return key->type == WARPRSA_MESSAGE_KEY ? WARPRSA_KEY_FOUND
                                            : WARPRSA_KEY_NOT_FOUND;
}

warprsa_key_found warprsa_key_lookup_name(warprsa_key_lookup *lookup,
                                          const char *name,
                                          warprsa_key_message *key, char *why,
                                          size_t why_size)
{
    return ask(lookup, WARPRSA_MESSAGE_LOOKUP, name, key, why, why_size);
}

warprsa_key_found warprsa_key_lookup_next(warprsa_key_lookup *lookup,
                                          const char *name,
                                          warprsa_key_message *key, char *why,
                                          size_t why_size)
{
    char from[WARPRSA_KEY_NAME_SIZE];
    warprsa_key_found found;

    snprintf(from, sizeof(from), "%s", name);
    /* The daemon looks at some keys at a time. */
    while ((found = ask(lookup, WARPRSA_MESSAGE_LIST, from, key, why,
                        why_size)) == WARPRSA_KEY_NOT_FOUND &&
           strcmp(key->name, from) > 0)
        memcpy(from, key->name, sizeof(from));
    return found;
}
