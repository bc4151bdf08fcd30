/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Questions which keys the vault has; see lookups.h.
 */
#include "batching/daemon/server/lookups.h"

#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "batching/daemon/wire/message.h"
#include "batching/vault/vault_transfer.h"

_Static_assert((int)WARPRSA_KEY_CERTIFICATES_MAX ==
                   (int)WARPRSA_VAULT_CERTIFICATE_BYTES_MAX,
               "a client may ask for each byte of the certificates");

/* Whether the client has yet to read a reply. Replies are larger than what they
 * answer, so a client that never reads would fill the kernel's memory. */
static bool is_unread(int socket)
{
    int bytes;

    return ioctl(socket, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

/* The key of this name, if the user may know of it; the caller releases it. */
static warprsa_vault_key *find(warprsa_vault *vault, const char *name,
                               const warprsa_vault_user *user)
{
    warprsa_vault_key *key = warprsa_vault_find_name(vault, name);

    if (key != NULL && warprsa_vault_may_know(key, user))
        return key;
    warprsa_vault_key_release(key);
    return NULL;
}

/* One turn's search for the first key after lookup->name that the user may know
 * of. NULL: the search goes on, or there are no more keys and it has ended. */
static warprsa_vault_key *find_next(warprsa_lookup *lookup,
                                    warprsa_vault *vault,
                                    const warprsa_vault_user *user)
{
    for (unsigned i = 0; i < WARPRSA_LOOKUP_KEYS; i++) {
        warprsa_vault_key *key = NULL;

        lookup->is_open = warprsa_vault_next_name(vault, lookup->name);
        if (!lookup->is_open)
            return NULL;
        key = find(vault, lookup->name, user);
        lookup->is_open = key == NULL;
        if (key != NULL)
            return key;
    }
    return NULL;
}

/* The client may ask for bytes that are not there: there were more when it
 * asked for those before. */
static void copy_certificates(warprsa_vault_key *key, uint32_t offset,
                              warprsa_certificates_piece *piece)
{
    const size_t total = warprsa_vault_key_certificates(
        key, offset, piece->pem, sizeof(piece->pem), &piece->edition);
    size_t left = offset < total ? total - offset : 0;

    if (left > sizeof(piece->pem))
        left = sizeof(piece->pem);
    piece->total = (uint32_t)total;
    piece->offset = offset;
    piece->bytes = (uint32_t)left;
}

static void describe(warprsa_vault_key *key, const warprsa_vault_user *user,
                     uint32_t offset, warprsa_key_message *reply)
{
    size_t bytes;
    const uint8_t *spki = warprsa_vault_key_spki(key, &bytes);

    if (bytes > sizeof(reply->spki))
        return;
    reply->type = WARPRSA_MESSAGE_KEY;
    reply->spki_bytes = (uint32_t)bytes;
    memcpy(reply->spki, spki, bytes);
    snprintf(reply->name, sizeof(reply->name), "%s",
             warprsa_vault_key_name(key));
    warprsa_vault_describe(key, user, reply->allowed, sizeof(reply->allowed));
    warprsa_vault_rights(key, user, &reply->rights);
    copy_certificates(key, offset, &reply->certificates);
}

/* What is wrong with a question; NULL: nothing. */
static const char *fault(const warprsa_message *asked)
{
    const size_t length = strnlen(asked->name, sizeof(asked->name));

    if (!warprsa_key_name_is_valid(asked->name, length) &&
        !(length == 0 && asked->type == WARPRSA_MESSAGE_LIST))
        return "it broke the protocol: the name of a key";
    if (asked->number > WARPRSA_KEY_CERTIFICATES_MAX)
        return "it broke the protocol: certificates from a byte on that no key "
               "can have";
    return NULL;
}

/* The key of the reply, as far as this turn finds it. */
static warprsa_vault_key *look_up(warprsa_lookup *lookup, warprsa_vault *vault,
                                  const warprsa_vault_user *user)
{
    if (lookup->lists)
        return find_next(lookup, vault, user);
    lookup->is_open = false;
    return find(vault, lookup->name, user);
}

const char *warprsa_lookup_go_on(warprsa_lookup *lookup, warprsa_vault *vault,
                                 int socket)
{
    /* No name but that of describe()'s key may come into it. */
    warprsa_key_message reply = {.type = WARPRSA_MESSAGE_NO_KEY,
                                 .generation = lookup->generation};
    warprsa_vault_user user;
    warprsa_vault_key *key = NULL;

    warprsa_peer_user(&lookup->peer, "", &user);
    if (vault != NULL)
        key = look_up(lookup, vault, &user);
    else
        lookup->is_open = false;
    if (key != NULL)
        describe(key, &user, lookup->offset, &reply);
    warprsa_vault_key_release(key);
    if (lookup->is_open)
        return NULL;
    return warprsa_key_message_send(socket, &reply) ? NULL : "it has gone";
}

const char *warprsa_lookup_begin(warprsa_lookup *lookup, warprsa_vault *vault,
                                 int socket, const warprsa_message *asked,
                                 const struct ucred *sender)
{
    const char *wrong = fault(asked);

    if (wrong != NULL)
        return wrong;
    if (is_unread(socket))
        return "it broke the protocol: it asks before it has read the answer";
    if (vault != NULL && !warprsa_vault_is_filled(vault))
        return "the keys have not been read yet";
    lookup->is_open = true;
    lookup->lists = asked->type == WARPRSA_MESSAGE_LIST;
    lookup->generation = asked->generation;
    lookup->offset = asked->number;
    /* A name, so it ends in there. */
    memcpy(lookup->name, asked->name, sizeof(lookup->name));
    warprsa_peer_find(&lookup->peer, socket, sender);
    return warprsa_lookup_go_on(lookup, vault, socket);
}
