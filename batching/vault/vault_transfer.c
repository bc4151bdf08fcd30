/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Records from the reading process to the vault; see vault_transfer.h.
 */
#include "batching/vault/vault_transfer.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "batching/base/secret_memory.h"

/* How many bytes a record of a kind has; 0: there is no such kind. */
static size_t size_of(uint32_t kind)
{
    const size_t head = offsetof(warprsa_vault_record, numbers);

    switch (kind) {
    case WARPRSA_RECORD_BEGIN:
    case WARPRSA_RECORD_END:
    case WARPRSA_RECORD_SO_FAR:
        return head;
    case WARPRSA_RECORD_KEY:
        return head + sizeof(warprsa_key_numbers);
    case WARPRSA_RECORD_REMOTE_KEY:
        return head + sizeof(warprsa_remote_key);
    case WARPRSA_RECORD_CERTIFICATES:
        return head + sizeof(warprsa_vault_piece);
    case WARPRSA_RECORD_RULE:
        return head + sizeof(warprsa_key_rule);
    case WARPRSA_RECORD_REFUSED_KEY:
    case WARPRSA_RECORD_REFUSED_CERTIFICATES:
    case WARPRSA_RECORD_NO_KEYS:
    case WARPRSA_RECORD_NO_RULES:
        return head + WARPRSA_VAULT_WHY_SIZE;
    }
    return 0;
}

bool warprsa_vault_transfer_open(int ends[2])
{
    int error = 0;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    if (shutdown(ends[0], SHUT_WR) == 0)
        return true;
    error = errno;
    close(ends[0]);
    close(ends[1]);
    errno = error;
    return false;
}

bool warprsa_vault_transfer_send(int socket, const warprsa_vault_record *record)
{
    const size_t size = size_of(record->kind);
    ssize_t sent = 0;

    do
        sent = send(socket, record, size, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return size > 0 && sent == (ssize_t)size;
}

bool warprsa_vault_receiver_init(warprsa_vault_receiver *receiver, int socket,
                                 warprsa_vault *vault)
{
    *receiver = (warprsa_vault_receiver){.socket = socket, .vault = vault};
    warprsa_vault_reading_init(&receiver->reading,
                               warprsa_vault_means_of(vault));
    receiver->record = warprsa_secret_map(sizeof(*receiver->record));
    return receiver->record != NULL;
}

/* Forgets a reading that has begun. */
static void drop(warprsa_vault_receiver *r)
{
    r->begun = false;
    r->is_whole = false;
    warprsa_vault_reading_free(&r->reading);
    free(r->certificates);
    r->certificates = NULL;
    r->certificate_bytes = 0;
}

void warprsa_vault_receiver_free(warprsa_vault_receiver *receiver)
{
    drop(receiver);
    warprsa_secret_unmap(receiver->record, sizeof(*receiver->record));
    receiver->record = NULL;
}

static bool is_text(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

/* A reason that is empty would be none: the vault would let go of all keys. */
static bool is_reason(const warprsa_vault_record *record)
{
    return is_text(record->why, sizeof(record->why)) && record->why[0] != '\0';
}

static bool take_certificates(warprsa_vault_receiver *r)
{
    const warprsa_vault_piece *piece = &r->record->piece;
    char *grown = NULL;
    bool ok = true;

    if (piece->total <= r->certificate_bytes ||
        piece->total > WARPRSA_VAULT_CERTIFICATE_BYTES_MAX ||
        piece->bytes == 0 || piece->bytes > sizeof(piece->pem) ||
        piece->bytes > piece->total - r->certificate_bytes)
        return false;
    grown = realloc(r->certificates, r->certificate_bytes + piece->bytes);
    if (grown == NULL)
        return false;
    r->certificates = grown;
    memcpy(grown + r->certificate_bytes, piece->pem, piece->bytes);
    r->certificate_bytes += piece->bytes;
    if (r->certificate_bytes < piece->total)
        return true;
    ok = warprsa_vault_reading_certify(&r->reading, r->record->name, grown,
                                       r->certificate_bytes);
    free(r->certificates);
    r->certificates = NULL;
    r->certificate_bytes = 0;
    return ok;
}

/* Takes a record within a reading, other than BEGIN and END. False: it is
 * malformed, or there is no memory. A key that is none becomes a refusal. */
static bool take(warprsa_vault_receiver *r)
{
    warprsa_vault_record *record = r->record;

    switch (record->kind) {
    case WARPRSA_RECORD_KEY:
        if (!warprsa_key_name_is_valid(record->name, strlen(record->name)))
            return false;
        (void)warprsa_vault_reading_add(&r->reading, record->name,
                                        &record->numbers);
        return true;
    case WARPRSA_RECORD_REMOTE_KEY:
        if (!is_text(record->remote.name, sizeof(record->remote.name)) ||
            !warprsa_key_name_is_valid(record->remote.name,
                                       strlen(record->remote.name)))
            return false;
        (void)warprsa_vault_reading_add_remote(&r->reading, &record->remote);
        return true;
    case WARPRSA_RECORD_CERTIFICATES:
        return take_certificates(r);
    case WARPRSA_RECORD_RULE: /* none follow keys that are in use */
        return !r->reading.is_in_use &&
               warprsa_key_rules_add(&r->reading.rules, &record->rule);
    case WARPRSA_RECORD_REFUSED_KEY:
        return is_text(record->why, sizeof(record->why)) &&
               warprsa_vault_reading_refuse(&r->reading, record->name,
                                            record->why);
    case WARPRSA_RECORD_REFUSED_CERTIFICATES:
        return is_text(record->why, sizeof(record->why)) &&
               warprsa_vault_reading_refuse_certificates(
                   &r->reading, record->name, record->why);
    case WARPRSA_RECORD_NO_KEYS:
        if (!is_reason(record))
            return false;
        warprsa_vault_reading_no_keys(&r->reading, record->why);
        return true;
    case WARPRSA_RECORD_NO_RULES:
        if (!is_reason(record))
            return false;
        warprsa_vault_reading_no_rules(&r->reading, record->why);
        return true;
    case WARPRSA_RECORD_SO_FAR:
        return r->certificate_bytes == 0;
    }
    return false;
}

/* Takes the record of this size. */
static warprsa_vault_received take_record(warprsa_vault_receiver *r,
                                          size_t size)
{
    bool ok = size >= offsetof(warprsa_vault_record, numbers) &&
              size == size_of(r->record->kind) &&
              is_text(r->record->name, sizeof(r->record->name));

    if (ok && r->record->kind == WARPRSA_RECORD_BEGIN) {
        drop(r);
        r->begun = true;
        return WARPRSA_VAULT_NOTHING_YET;
    }
    ok = ok && r->begun;
    if (ok && r->record->kind == WARPRSA_RECORD_END) {
        ok = r->certificate_bytes == 0 &&
             warprsa_vault_replace(r->vault, &r->reading);
        drop(r);
        return ok ? WARPRSA_VAULT_REPLACED : WARPRSA_VAULT_MALFORMED;
    }
    if (ok && take(r)) {
        r->is_whole = r->record->kind == WARPRSA_RECORD_SO_FAR;
        return WARPRSA_VAULT_NOTHING_YET;
    }
    drop(r);
    return WARPRSA_VAULT_MALFORMED;
}

/* Nothing has come at this moment: the first keys of an empty vault can be used
 * meanwhile. */
static warprsa_vault_received take_so_far(warprsa_vault_receiver *r)
{
    if (!r->begun || !r->is_whole || warprsa_vault_is_filled(r->vault))
        return WARPRSA_VAULT_NOTHING_YET;
    r->is_whole = false;
    if (warprsa_vault_add(r->vault, &r->reading))
        return WARPRSA_VAULT_NOTHING_YET;
    drop(r);
    return WARPRSA_VAULT_MALFORMED;
}

warprsa_vault_received warprsa_vault_receive(warprsa_vault_receiver *receiver)
{
    warprsa_vault_received received = WARPRSA_VAULT_NOTHING_YET;

    while (received == WARPRSA_VAULT_NOTHING_YET) {
        ssize_t got = recv(receiver->socket, receiver->record,
                           sizeof(*receiver->record), MSG_DONTWAIT | MSG_TRUNC);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return take_so_far(receiver);
        if (got <= 0)
            return WARPRSA_VAULT_CLOSED;
        received = take_record(receiver, (size_t)got);
        OPENSSL_cleanse(receiver->record, sizeof(*receiver->record));
    }
    return received;
}
