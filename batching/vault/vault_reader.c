/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The process that reads the vault's files; see vault_reader.h.
 */
#include "batching/vault/vault_reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>

#include "batching/base/secret_memory.h"
#include "batching/vault/key_directory.h"
#include "batching/vault/key_file.h"
#include "batching/vault/vault_transfer.h"

enum {
    RULES_BYTES_MAX = 1 << 22,
};

typedef struct reader {
    int socket;
    warprsa_vault_record *record;
    warprsa_key_rules rules; /* and remote keys */
    const char *rules_path;
    bool failed; /* nobody receives */
} reader;

/* Sends the record, and wipes it for the next. */
static bool send_record(reader *r, warprsa_vault_record_kind kind)
{
    r->record->kind = kind;
    r->failed = r->failed || !warprsa_vault_transfer_send(r->socket, r->record);
    OPENSSL_cleanse(r->record, sizeof(*r->record));
    return !r->failed;
}

static bool send_why(reader *r, warprsa_vault_record_kind kind, const char *why)
{
    snprintf(r->record->why, sizeof(r->record->why), "%s", why);
    return send_record(r, kind);
}

static bool send_certificates(reader *r, const char *name,
                              const warprsa_trusted_file *certificates)
{
    size_t at = 0;

    while (at < certificates->size) {
        warprsa_vault_piece *piece = &r->record->piece;
        const size_t left = certificates->size - at;

        snprintf(r->record->name, sizeof(r->record->name), "%s", name);
        piece->total = (uint32_t)certificates->size;
        piece->bytes =
            (uint32_t)(left < sizeof(piece->pem) ? left : sizeof(piece->pem));
        memcpy(piece->pem, certificates->bytes + at, piece->bytes);
        at += piece->bytes;
        if (!send_record(r, WARPRSA_RECORD_CERTIFICATES))
            return false;
    }
    return true;
}

static bool send_refusal(void *arg, const char *name, bool is_certificates,
                         const char *why)
{
    reader *r = arg;

    snprintf(r->record->name, sizeof(r->record->name), "%s", name);
    return send_why(r,
                    is_certificates ? WARPRSA_RECORD_REFUSED_CERTIFICATES
                                    : WARPRSA_RECORD_REFUSED_KEY,
                    why);
}

static bool send_key(void *arg, const char *name, const EVP_PKEY *key,
                     const warprsa_trusted_file *certificates)
{
    reader *r = arg;
    const warprsa_remote_key *remote =
        warprsa_key_rules_remote(&r->rules, name);
    char why[WARPRSA_VAULT_WHY_SIZE];

    if (remote != NULL) {
        snprintf(why, sizeof(why),
                 "its file is not used: %s, line %u, says that GPU hosts have "
                 "it; remove the one or the other",
                 r->rules_path, (unsigned)remote->line);
        return send_refusal(r, name, false, why);
    }
    if (!warprsa_key_numbers_from(&r->record->numbers, key))
        return send_refusal(r, name, false,
                            "its numbers are too long, or PSS is restricted "
                            "to a digest that warprsad does not know");
    snprintf(r->record->name, sizeof(r->record->name), "%s", name);
    return send_record(r, WARPRSA_RECORD_KEY) &&
           send_certificates(r, name, certificates) &&
           send_record(r, WARPRSA_RECORD_SO_FAR);
}

static void send_keys(reader *r, const warprsa_vault_files *files)
{
    const warprsa_key_visitor visitor = {send_key, send_refusal, r};
    warprsa_trusted_file passphrase = {0};
    const bool has_passphrase = files->passphrase[0] != '\0';
    char why[WARPRSA_VAULT_WHY_SIZE] = "";
    bool ok = true;

    if (files->keys_directory[0] == '\0')
        return;
    if (has_passphrase)
        ok = warprsa_key_file_passphrase(&passphrase, files->passphrase, why,
                                         sizeof(why));
    ok = ok && warprsa_key_directory_read(
                   files->keys_directory, has_passphrase ? &passphrase : NULL,
                   files->checked, &visitor, why, sizeof(why));
    warprsa_trusted_file_free(&passphrase);
    if (!ok && why[0] != '\0')
        (void)send_why(r, WARPRSA_RECORD_NO_KEYS, why);
}

/* Reads and parses keys.conf. */
static bool read_rules(warprsa_key_rules *rules, const char *path, char *why,
                       size_t why_size)
{
    char reason[200];
    warprsa_trusted_file file;
    bool ok = false;

    if (!warprsa_trusted_file_read(&file, AT_FDCWD, path, false,
                                   RULES_BYTES_MAX, reason, sizeof(reason))) {
        snprintf(why, why_size, "%s: %s", path, reason);
        return false;
    }
    ok = warprsa_key_rules_parse(rules, path, file.bytes, file.size,
                                 &warprsa_key_rules_names, why, why_size);
    warprsa_trusted_file_free(&file);
    return ok;
}

static void send_rules(reader *r, const warprsa_vault_files *files)
{
    char why[WARPRSA_VAULT_WHY_SIZE] = "";

    if (files->rules[0] == '\0')
        return;
    if (!read_rules(&r->rules, files->rules, why, sizeof(why)))
        (void)send_why(r, WARPRSA_RECORD_NO_RULES, why);
    for (unsigned i = 0; i < r->rules.count && !r->failed; i++) {
        r->record->rule = r->rules.of[i];
        (void)send_record(r, WARPRSA_RECORD_RULE);
    }
}

static void send_remote_keys(reader *r, const warprsa_vault_files *files)
{
    for (unsigned i = 0; i < r->rules.remote_count && !r->failed; i++) {
        const warprsa_remote_key *remote = &r->rules.remote[i];

        if (files->no_remote != NULL) {
            (void)send_refusal(r, remote->name, false, files->no_remote);
            continue;
        }
        r->record->remote = *remote;
        if (send_record(r, WARPRSA_RECORD_REMOTE_KEY))
            (void)send_record(r, WARPRSA_RECORD_SO_FAR);
    }
}

bool warprsa_vault_reader_run(const warprsa_vault_files *files, int socket)
{
    reader r = {.socket = socket, .rules_path = files->rules};

    r.record = warprsa_secret_map(sizeof(*r.record));
    if (r.record == NULL)
        return false;
    if (send_record(&r, WARPRSA_RECORD_BEGIN)) {
        send_rules(&r, files);
        send_remote_keys(&r, files);
        send_keys(&r, files);
        (void)send_record(&r, WARPRSA_RECORD_END);
    }
    warprsa_key_rules_free(&r.rules);
    warprsa_secret_unmap(r.record, sizeof(*r.record));
    return !r.failed;
}
