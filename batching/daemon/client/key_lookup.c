/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Asking the daemon which keys its vault has; see key_lookup.h.
 */
#include "batching/daemon/client/key_lookup.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/base/clock.h"

enum {
    /* Tries to get all pieces of a key's certificates: each that fails takes a
     * reload of the daemon's keys at that moment. */
    EDITIONS_MAX = 8,
};

bool warprsa_key_lookup_open(warprsa_key_lookup *lookup, const char *path,
                             uint64_t until_ns, char *why, size_t why_size)
{
    lookup->until_ns = until_ns;
    lookup->asked = 0;
    lookup->listed = 0;
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
    struct pollfd one = {.fd = lookup->control.socket.fd, .events = POLLIN};
    int ready = 0;

    do {
        const uint64_t now_ns = warprsa_clock_ns();

        if (now_ns >= lookup->until_ns)
            break;
        ready = poll(&one, 1,
                     (int)((lookup->until_ns - now_ns + WARPRSA_NS_PER_MS - 1) /
                           WARPRSA_NS_PER_MS));
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

/* Whether it is the piece from this byte on. */
static bool is_piece(const warprsa_certificates_piece *piece, uint32_t offset)
{
    uint32_t left = 0;

    if (piece->total > WARPRSA_KEY_CERTIFICATES_MAX || piece->offset != offset)
        return false;
    if (offset < piece->total)
        left = piece->total - offset;
    return piece->bytes ==
           (left < sizeof(piece->pem) ? left : sizeof(piece->pem));
}

/* Whether a reply has a name that it can have. A NO_KEY has none. The key of a
 * LIST comes after the name that was asked for: else whoever lists keys would
 * do so for ever. */
static bool is_wanted_name(const warprsa_key_message *key,
                           const warprsa_message *question)
{
    if (key->type == WARPRSA_MESSAGE_NO_KEY)
        return key->name[0] == '\0';
    if (question->type == WARPRSA_MESSAGE_LIST)
        return strcmp(key->name, question->name) > 0;
    return strcmp(key->name, question->name) == 0;
}

/* Whether it can be the reply to this question. */
static bool is_sensible(const warprsa_key_message *key,
                        const warprsa_message *question)
{
    if (key->generation != question->generation ||
        memchr(key->name, '\0', sizeof(key->name)) == NULL ||
        !is_wanted_name(key, question))
        return false;
    if (key->type == WARPRSA_MESSAGE_NO_KEY)
        return true;
    return key->type == WARPRSA_MESSAGE_KEY &&
           key->spki_bytes <= sizeof(key->spki) &&
           memchr(key->allowed, '\0', sizeof(key->allowed)) != NULL &&
           is_piece(&key->certificates, question->number);
}

/* Says what was received where a reply was wanted. */
static void explain(const warprsa_key_lookup *lookup, warprsa_received received,
                    uint32_t version, char *why, size_t why_size)
{
    const char *path = lookup->control.path;

    if (received == WARPRSA_OTHER_VERSION)
        snprintf(why, why_size,
                 "warprsad at %s speaks version %u of the protocol, and this "
                 "program version %u: both must be of one release",
                 path, (unsigned)version, (unsigned)WARPRSA_PROTOCOL);
    else if (received == WARPRSA_CLOSED)
        snprintf(why, why_size,
                 "warprsad at %s has ended the connection; its log says why",
                 path);
    else
        snprintf(why, why_size, "warprsad at %s has sent a reply without sense",
                 path);
}

/* Sends a question, and waits until there is a reply to receive. */
static bool ask(const warprsa_key_lookup *lookup, warprsa_message *question,
                char *why, size_t why_size)
{
    if (!warprsa_message_send(lookup->control.socket.fd, question, NULL, 0)) {
        snprintf(why, why_size, "no warprsad at %s: %s", lookup->control.path,
                 strerror(errno));
        return false;
    }
    if (wait_for_reply(lookup))
        return true;
    snprintf(why, why_size, "warprsad at %s does not answer in time",
             lookup->control.path);
    return false;
}

/* Asks for a key, with the piece of its certificates from a byte on. `name` may
 * be that of *key. */
static warprsa_key_found ask_for_key(warprsa_key_lookup *lookup, uint32_t type,
                                     const char *name, uint32_t offset,
                                     warprsa_key_message *key, char *why,
                                     size_t why_size)
{
    warprsa_message question = {
        .type = type,
        .number = offset,
        .generation = ++lookup->asked,
    };
    warprsa_received received;

    snprintf(question.name, sizeof(question.name), "%s", name);
    if (!ask(lookup, &question, why, why_size))
        return WARPRSA_KEY_UNKNOWN;
    received = warprsa_key_message_receive(lookup->control.socket.fd, key);
    if (received != WARPRSA_RECEIVED || !is_sensible(key, &question)) {
        explain(lookup, received, key->version, why, why_size);
        return WARPRSA_KEY_UNKNOWN;
    }
    return key->type == WARPRSA_MESSAGE_KEY ? WARPRSA_KEY_FOUND
                                            : WARPRSA_KEY_NOT_FOUND;
}

warprsa_key_found warprsa_key_lookup_name(warprsa_key_lookup *lookup,
                                          const char *name,
                                          warprsa_key_message *key, char *why,
                                          size_t why_size)
{
    return ask_for_key(lookup, WARPRSA_MESSAGE_LOOKUP, name, 0, key, why,
                       why_size);
}

warprsa_key_found warprsa_key_lookup_next(warprsa_key_lookup *lookup,
                                          const char *name,
                                          warprsa_key_message *key, char *why,
                                          size_t why_size)
{
    warprsa_key_found found = WARPRSA_KEY_UNKNOWN;

    if (name[0] == '\0')
        lookup->listed = 0;
    found =
        ask_for_key(lookup, WARPRSA_MESSAGE_LIST, name, 0, key, why, why_size);
    if (found != WARPRSA_KEY_FOUND ||
        lookup->listed++ < WARPRSA_CLIENT_KEYS_MAX)
        return found;
    snprintf(why, why_size, "warprsad at %s finds keys without end",
             lookup->control.path);
    return WARPRSA_KEY_UNKNOWN;
}

/* Gathers all pieces of one edition into *pem, from the first one, which *key
 * has. FOUND with *pem NULL: the certificates have changed meanwhile. */
static warprsa_key_found gather(warprsa_key_lookup *lookup,
                                warprsa_key_message *key, char **pem,
                                size_t *bytes, char *why, size_t why_size)
{
    const warprsa_certificates_piece *piece = &key->certificates;
    const uint32_t edition = piece->edition, total = piece->total;
    warprsa_key_found found = WARPRSA_KEY_FOUND;

    *bytes = 0;
    *pem = malloc((size_t)total + 1);
    if (*pem == NULL) {
        snprintf(why, why_size, "no memory");
        return WARPRSA_KEY_UNKNOWN;
    }
    while (found == WARPRSA_KEY_FOUND && piece->edition == edition &&
           piece->total == total) {
        memcpy(*pem + *bytes, piece->pem, piece->bytes);
        *bytes += piece->bytes;
        (*pem)[*bytes] = '\0';
        if (*bytes == total)
            return WARPRSA_KEY_FOUND;
        found = ask_for_key(lookup, WARPRSA_MESSAGE_LOOKUP, key->name,
                            (uint32_t)*bytes, key, why, why_size);
    }
    free(*pem);
    *pem = NULL;
    return found;
}

warprsa_key_found warprsa_key_lookup_certificates(warprsa_key_lookup *lookup,
                                                  warprsa_key_message *key,
                                                  char **pem, size_t *bytes,
                                                  char *why, size_t why_size)
{
    warprsa_key_found found = gather(lookup, key, pem, bytes, why, why_size);

    for (unsigned i = 1; found == WARPRSA_KEY_FOUND && *pem == NULL; i++) {
        if (i == EDITIONS_MAX) {
            snprintf(why, why_size,
                     "warprsad at %s changes the certificates of %s again and "
                     "again",
                     lookup->control.path, key->name);
            return WARPRSA_KEY_UNKNOWN;
        }
        found = warprsa_key_lookup_name(lookup, key->name, key, why, why_size);
        if (found == WARPRSA_KEY_FOUND)
            found = gather(lookup, key, pem, bytes, why, why_size);
    }
    return found;
}
