/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzer: the stream of keys and rules to the serving process. The bytes become
 * records of every kind, each of the form that the reader sends but for some
 * fields and its length. Whatever has come, the vault's keys can be found, the
 * rules decide, and a reading without faults is taken afterwards.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "batching/vault/vault_transfer.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/unit/support/vault_keys.h"

enum {
    KEYS = 3,
    RECORDS_MAX = 24,
    CHANGES_MAX = 4,
    USER = 1001,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static warprsa_key_numbers numbers[KEYS];
static warprsa_vault *vault;
static warprsa_vault_receiver receiver;
static int ends[2];

static void want(bool condition)
{
    if (!condition)
        abort();
}

static void make_keys(void)
{
    EVP_PKEY *keys[KEYS] = {vault_keys_make("RSA", 1024, 2),
                            vault_keys_make("RSA", 1536, 3),
                            vault_keys_make_restricted(20)};

    for (unsigned i = 0; i < KEYS; i++) {
        vault_keys_numbers(&numbers[i], keys[i]);
        EVP_PKEY_free(keys[i]);
    }
}

static void log_line(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    for (; *line != '\0'; line++)
        want(*line >= ' ' && *line <= '~');
}

static void open_vault(void)
{
    vault = warprsa_vault_new(log_line, NULL);
    want(vault != NULL && warprsa_vault_transfer_open(ends));
    want(warprsa_vault_receiver_init(&receiver, ends[0], vault));
}

static void close_vault(void)
{
    warprsa_vault_receiver_free(&receiver);
    warprsa_vault_free(vault);
    close(ends[0]);
    close(ends[1]);
}

static void fill_name(fuzz_input *in, char name[WARPRSA_VAULT_FILE_NAME_SIZE])
{
    const uint32_t which = fuzz_byte(in);

    snprintf(name, WARPRSA_VAULT_FILE_NAME_SIZE, "%c", 'a' + (char)(which % 4));
    if (which == 255)
        memset(name, 'n', WARPRSA_VAULT_FILE_NAME_SIZE);
    if (which == 253)
        memset(name, 'n', WARPRSA_KEY_NAME_SIZE);
    if (which == 254)
        name[0] = '\n';
}

static void fill_piece(fuzz_input *in, warprsa_vault_piece *piece)
{
    piece->total = fuzz_number(in);
    piece->bytes = fuzz_byte(in) % 2 == 0 ? piece->total : fuzz_number(in);
    memset(piece->pem, 'p', sizeof(piece->pem));
}

static void fill_rule(fuzz_input *in, warprsa_key_rule *rule)
{
    *rule = (warprsa_key_rule){.line = 1, .key = "*", .id = USER};
    rule->who = WARPRSA_WHO_USER + fuzz_byte(in) % 3;
    if (rule->who == WARPRSA_WHO_IDENTITY)
        strcpy(rule->identity, "dns:a");
    rule->operations = 1u << (1 + fuzz_byte(in) % 2);
    rule->paddings = 1u << WARPRSA_PADDING_NONE;
    rule->rate = fuzz_byte(in) % 2;
}

/* A record as the reader sends it. Returns its length. */
static size_t fill(fuzz_input *in, warprsa_vault_record *record)
{
    const size_t head = offsetof(warprsa_vault_record, numbers);

    memset(record, 0, sizeof(*record));
    record->kind = fuzz_byte(in) % 12;
    fill_name(in, record->name);
    switch (record->kind) {
    case WARPRSA_RECORD_KEY:
        record->numbers = numbers[fuzz_byte(in) % KEYS];
        return head + sizeof(record->numbers);
    case WARPRSA_RECORD_CERTIFICATES:
        fill_piece(in, &record->piece);
        return head + sizeof(record->piece);
    case WARPRSA_RECORD_RULE:
        fill_rule(in, &record->rule);
        return head + sizeof(record->rule);
    case WARPRSA_RECORD_REFUSED_KEY:
    case WARPRSA_RECORD_REFUSED_CERTIFICATES:
    case WARPRSA_RECORD_NO_KEYS:
    case WARPRSA_RECORD_NO_RULES:
        snprintf(record->why, sizeof(record->why), "why %u", fuzz_byte(in));
        return head + sizeof(record->why);
    default:
        return head;
    }
}

/* Changes some of a record's words: the first ones, which are lengths, oftener
 * than those of large numbers. */
static void change(fuzz_input *in, warprsa_vault_record *record, size_t size)
{
    for (uint32_t n = fuzz_byte(in) % (CHANGES_MAX + 1); n > 0; n--) {
        const uint32_t where = fuzz_byte(in);
        size_t at = offsetof(warprsa_vault_record, numbers) + 4 * (where % 64);
        uint32_t value = fuzz_number(in);

        if (where >= 128 && record->kind == WARPRSA_RECORD_KEY)
            at = offsetof(warprsa_vault_record, numbers.lengths) +
                 4 * (where % 64);
        if (at + sizeof(value) <= size)
            memcpy((char *)record + at, &value, sizeof(value));
    }
}

/* Takes all that has come. */
static warprsa_vault_received receive(void)
{
    return warprsa_vault_receive(&receiver);
}

static void send_one(fuzz_input *in)
{
    static warprsa_vault_record record;
    size_t size = fill(in, &record);
    const uint32_t length = fuzz_byte(in);

    change(in, &record, size);
    if (length > 250)
        size = fuzz_number(in) % sizeof(record) + 1;
    want(send(ends[1], &record, size, 0) == (ssize_t)size);
    want(receive() != WARPRSA_VAULT_CLOSED);
}

/* Each key is found by its name and its digest, and the rules decide. */
static void check_keys(void)
{
    const warprsa_vault_user user = {.uid = USER};
    const warprsa_key_use use = {.operation = WARPRSA_USE_SIGN,
                                 .padding = WARPRSA_PADDING_NONE};
    char name[WARPRSA_KEY_NAME_SIZE] = "", text[256];
    warprsa_key_rights rights;
    uint32_t edition = 0;

    while (warprsa_vault_next_name(vault, name)) {
        warprsa_vault_key *key = warprsa_vault_find_name(vault, name);
        warprsa_vault_key *same = NULL;
        size_t bytes = 0;

        want(key != NULL && warprsa_key_name_is_valid(name, strlen(name)));
        same = warprsa_vault_find(vault, warprsa_vault_key_spki_sha256(key));
        want(same == key);
        want(warprsa_vault_key_spki(key, &bytes) != NULL && bytes > 0);
        want(warprsa_vault_key_modulus_bytes(key) >= 128);
        want(warprsa_vault_may(key, &user, &use, NULL) < WARPRSA_DENIALS);
        warprsa_vault_describe(key, &user, text, sizeof(text));
        warprsa_vault_rights(key, &user, &rights);
        (void)warprsa_vault_key_certificates(key, 100, text, sizeof(text),
                                             &edition);
        warprsa_vault_key_release(same);
        warprsa_vault_key_release(key);
    }
}

static void send_good(warprsa_vault_record_kind kind)
{
    static warprsa_vault_record record;

    memset(&record, 0, sizeof(record));
    record.kind = kind;
    if (kind == WARPRSA_RECORD_KEY) {
        strcpy(record.name, "good");
        record.numbers = numbers[0];
    }
    want(warprsa_vault_transfer_send(ends[1], &record));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, data + size};
    warprsa_vault_key *good = NULL;

    if (numbers[0].primes == 0)
        make_keys();
    open_vault();
    for (unsigned i = 0; i < RECORDS_MAX && in.at < in.end; i++)
        send_one(&in);
    check_keys();
    send_good(WARPRSA_RECORD_BEGIN);
    send_good(WARPRSA_RECORD_KEY);
    send_good(WARPRSA_RECORD_END);
    want(receive() == WARPRSA_VAULT_REPLACED);
    want(receive() == WARPRSA_VAULT_NOTHING_YET);
    good = warprsa_vault_find_name(vault, "good");
    want(good != NULL);
    warprsa_vault_key_release(good);
    check_keys();
    close_vault();
    return 0;
}
