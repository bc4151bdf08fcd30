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

/* The first key after `name` that the user may know of. NULL: there is none
 * among the next ones, of which `name` is then the last; it is empty if there
 * are no more. */
static warprsa_vault_key *find_next(warprsa_vault *vault,
                                    char name[WARPRSA_KEY_NAME_SIZE],
                                    const warprsa_vault_user *user)
{
    for (unsigned i = 0; i < WARPRSA_LIST_KEYS; i++) {
        warprsa_vault_key *key;

        if (!warprsa_vault_next_name(vault, name)) {
            name[0] = '\0';
            return NULL;
        }
        key = find(vault, name, user);
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

static void look_up(warprsa_vault *vault, const warprsa_message *asked,
                    const warprsa_vault_user *user, warprsa_key_message *reply)
{
    char name[WARPRSA_KEY_NAME_SIZE];
    warprsa_vault_key *key;

    memcpy(name, asked->name, sizeof(name)); /* a name, so it ends in there */
    if (asked->type == WARPRSA_MESSAGE_LIST) {
        key = find_next(vault, name, user);
        memcpy(reply->name, name, sizeof(name));
    } else {
        key = find(vault, name, user);
    }
    if (key != NULL)
        describe(key, user, asked->number, reply);
    warprsa_vault_key_release(key);
}

const char *warprsa_lookups_reply(warprsa_vault *vault, int socket,
                                  const warprsa_message *asked,
                                  const struct ucred *sender)
{
    warprsa_key_message reply = {.type = WARPRSA_MESSAGE_NO_KEY,
                                 .generation = asked->generation};
    const char *wrong = fault(asked);
    warprsa_vault_user user;
    warprsa_peer peer;

    if (wrong != NULL)
        return wrong;
    if (is_unread(socket))
        return "it broke the protocol: it asks before it has read the answer";
    if (vault != NULL && !warprsa_vault_is_filled(vault))
        return "the keys have not been read yet";
    warprsa_peer_find(&peer, socket, sender);
    warprsa_peer_user(&peer, "", &user);
    if (vault != NULL)
        look_up(vault, asked, &user, &reply);
    return warprsa_key_message_send(socket, &reply) ? NULL : "it has gone";
}
