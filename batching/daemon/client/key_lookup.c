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

/* Says what was received where a reply of this version was wanted. */
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
static bool ask(warprsa_key_lookup *lookup, warprsa_message *question,
                char *why, size_t why_size)
{
    question->generation = ++lookup->asked;
    if (!warprsa_message_send(lookup->control.socket.fd, question, NULL, 0)) {
        snprintf(why, why_size, "no warprsad at %s: %s", lookup->control.path,
                 strerror(errno));
        return false;
    }
    if (wait_for_reply(lookup))
        return true;
    snprintf(why, why_size, "warprsad at %s does not answer",
             lookup->control.path);
    return false;
}

static warprsa_key_found ask_for_key(warprsa_key_lookup *lookup, uint32_t type,
                                     const char *name, warprsa_key_message *key,
                                     char *why, size_t why_size)
{
    warprsa_message question = {.type = type};
    warprsa_received received;

    snprintf(question.name, sizeof(question.name), "%s", name);
    if (!ask(lookup, &question, why, why_size))
        return WARPRSA_KEY_UNKNOWN;
    received = warprsa_key_message_receive(lookup->control.socket.fd, key);
    if (received != WARPRSA_RECEIVED || !is_sensible(key) ||
        key->generation != lookup->asked) {
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
    return ask_for_key(lookup, WARPRSA_MESSAGE_LOOKUP, name, key, why,
                       why_size);
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
    while ((found = ask_for_key(lookup, WARPRSA_MESSAGE_LIST, from, key, why,
                                why_size)) == WARPRSA_KEY_NOT_FOUND &&
           strcmp(key->name, from) > 0)
        memcpy(from, key->name, sizeof(from));
    return found;
}

/* Whether a piece is the one that was asked for. */
static bool is_piece(const warprsa_certificates_message *piece, uint32_t offset)
{
    uint32_t left = 0;

    if (piece->type == WARPRSA_MESSAGE_NO_KEY)
        return true;
    if (piece->type != WARPRSA_MESSAGE_CERTIFICATES ||
        piece->total > WARPRSA_KEY_CERTIFICATES_MAX || piece->offset != offset)
        return false;
    if (offset < piece->total)
        left = piece->total - offset;
    return piece->bytes ==
           (left < sizeof(piece->pem) ? left : sizeof(piece->pem));
}

static warprsa_key_found ask_for_piece(warprsa_key_lookup *lookup,
                                       const char *name, uint32_t offset,
                                       warprsa_certificates_message *piece,
                                       char *why, size_t why_size)
{
    warprsa_message question = {.type = WARPRSA_MESSAGE_GET_CERTIFICATES,
                                .number = offset};
    warprsa_received received;

    snprintf(question.name, sizeof(question.name), "%s", name);
    if (!ask(lookup, &question, why, why_size))
        return WARPRSA_KEY_UNKNOWN;
    received =
        warprsa_certificates_message_receive(lookup->control.socket.fd, piece);
    if (received != WARPRSA_RECEIVED || !is_piece(piece, offset) ||
        piece->generation != lookup->asked) {
        explain(lookup, received, piece->version, why, why_size);
        return WARPRSA_KEY_UNKNOWN;
    }
    return piece->type == WARPRSA_MESSAGE_CERTIFICATES ? WARPRSA_KEY_FOUND
                                                       : WARPRSA_KEY_NOT_FOUND;
}

/* Fetches all pieces of one edition into *pem, which is NULL. FOUND with *pem
 * NULL: the certificates have changed meanwhile. */
static warprsa_key_found fetch(warprsa_key_lookup *lookup, const char *name,
                               char **pem, size_t *bytes, char *why,
                               size_t why_size)
{
    warprsa_certificates_message piece;
    uint32_t edition = 0, total = 0;
    warprsa_key_found found;

    *bytes = 0;
    do {
        found = ask_for_piece(lookup, name, (uint32_t)*bytes, &piece, why,
                              why_size);
        if (found != WARPRSA_KEY_FOUND)
            break;
        if (*pem == NULL) {
            edition = piece.edition;
            total = piece.total;
            *pem = malloc((size_t)total + 1);
        }
        if (*pem == NULL) {
            snprintf(why, why_size, "no memory");
            return WARPRSA_KEY_UNKNOWN;
        }
        if (piece.edition != edition || piece.total != total) {
            free(*pem);
            *pem = NULL;
            return WARPRSA_KEY_FOUND;
        }
        memcpy(*pem + *bytes, piece.pem, piece.bytes);
        *bytes += piece.bytes;
        (*pem)[*bytes] = '\0';
    } while (*bytes < total);
    if (found != WARPRSA_KEY_FOUND) {
        free(*pem);
        *pem = NULL;
    }
    return found;
}

warprsa_key_found warprsa_key_lookup_certificates(warprsa_key_lookup *lookup,
                                                  const char *name, char **pem,
                                                  size_t *bytes, char *why,
                                                  size_t why_size)
{
    *pem = NULL;
    for (unsigned i = 0; i < EDITIONS_MAX; i++) {
        warprsa_key_found found =
            fetch(lookup, name, pem, bytes, why, why_size);

        if (found != WARPRSA_KEY_FOUND || *pem != NULL)
            return found;
    }
    snprintf(why, why_size,
             "warprsad at %s changes the certificates of %s again and again",
             lookup->control.path, name);
    return WARPRSA_KEY_UNKNOWN;
}
