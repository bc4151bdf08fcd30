/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A vault that receives readings through a socket, directories that may be
 * read, and records that a test sends itself. Not every program needs all of
 * it.
 *
 * The programs are linked with --wrap=clock_gettime.
 */
#ifndef WARPRSA_TESTS_UNIT_VAULT_TRANSFER_FIXTURE_H
#define WARPRSA_TESTS_UNIT_VAULT_TRANSFER_FIXTURE_H

#include "tests/unit/support/unit_test.h"

#include "batching/vault/vault_transfer.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/support/vault_keys.h"

enum {
    KEYS = 3,
};

static char directory[] = "/tmp/warprsa-vault-XXXXXX";
static char keys_directory[100], rules_path[100], passphrase_path[100];
static EVP_PKEY *pkeys[KEYS];
static char log_text[16384];

static warprsa_vault *vault;
static int ends[2];
static warprsa_vault_receiver receiver;

/* Always at the same time. */
int __wrap_clock_gettime(clockid_t id, struct timespec *now);

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
    *now = (struct timespec){.tv_sec = 1000};
    return 0;
}

static inline int set_up(void **state)
{
    umask(0077);
    for (unsigned i = 0; i < KEYS; i++)
        pkeys[i] = vault_keys_make("RSA", 1024, 2);
    return mkdtemp(directory) == NULL;
}

static inline int tear_down(void **state)
{
    for (unsigned i = 0; i < KEYS; i++)
        EVP_PKEY_free(pkeys[i]);
    return rmdir(directory);
}

static inline void log_line(void *arg, int level, const char *line)
{
    const size_t used = strlen(log_text);

    snprintf(log_text + used, sizeof(log_text) - used, "%s\n", line);
}

static inline void assert_logged(const char *expected)
{
    assert_string_equal(log_text, expected);
    log_text[0] = '\0';
}

/* An empty vault with a receiver, and directories. */
static inline int begin(void **state)
{
    snprintf(keys_directory, sizeof(keys_directory), "%s/keys", directory);
    snprintf(rules_path, sizeof(rules_path), "%s/keys.conf", directory);
    snprintf(passphrase_path, sizeof(passphrase_path), "%s/pass", directory);
    log_text[0] = '\0';
    vault = warprsa_vault_new(log_line, NULL);
    return vault == NULL || !warprsa_vault_transfer_open(ends) ||
           !warprsa_vault_receiver_init(&receiver, ends[0], vault) ||
           mkdir(keys_directory, 0700) != 0;
}

static inline int end(void **state)
{
    char command[150];

    warprsa_vault_receiver_free(&receiver);
    warprsa_vault_free(vault);
    close(ends[0]);
    close(ends[1]);
    snprintf(command, sizeof(command), "rm -rf %s/*", directory);
    return system(command);
}

/* Receives until there is something to say. */
static inline warprsa_vault_received receive_next(void)
{
    warprsa_vault_received received = WARPRSA_VAULT_NOTHING_YET;

    while (received == WARPRSA_VAULT_NOTHING_YET) {
        struct pollfd readable = {.fd = ends[0], .events = POLLIN};

        assert_int_equal(poll(&readable, 1, 60000), 1);
        received = warprsa_vault_receive(&receiver);
    }
    return received;
}

/* After that the vault takes readings as a whole, and its log has their
 * order. */
static inline void take_empty_reading(void)
{
    warprsa_vault_record record = {.kind = WARPRSA_RECORD_BEGIN};

    assert_true(warprsa_vault_transfer_send(ends[1], &record));
    record.kind = WARPRSA_RECORD_END;
    assert_true(warprsa_vault_transfer_send(ends[1], &record));
    assert_int_equal(receive_next(), WARPRSA_VAULT_REPLACED);
}

static inline bool has_key(const char *name)
{
    warprsa_vault_key *key = warprsa_vault_find_name(vault, name);

    warprsa_vault_key_release(key);
    return key != NULL;
}

/* ---- Records ---- */

static warprsa_vault_record record __attribute__((unused));

static inline void send_kind(warprsa_vault_record_kind kind)
{
    record.kind = kind;
    assert_true(warprsa_vault_transfer_send(ends[1], &record));
}

static inline void send_key(const char *name, const EVP_PKEY *key)
{
    vault_keys_numbers(&record.numbers, key);
    snprintf(record.name, sizeof(record.name), "%s", name);
    send_kind(WARPRSA_RECORD_KEY);
}

/* Sends the first byte of a key's certificates, of which there are two. */
static inline void send_half_of_certificates(const char *name)
{
    memset(&record, 0, sizeof(record));
    snprintf(record.name, sizeof(record.name), "%s", name);
    record.piece.total = 2;
    record.piece.bytes = 1;
    send_kind(WARPRSA_RECORD_CERTIFICATES);
}

static inline void assert_received(warprsa_vault_received expected)
{
    assert_int_equal(warprsa_vault_receive(&receiver), expected);
}

#endif
