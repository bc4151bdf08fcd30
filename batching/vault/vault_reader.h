/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reads the vault's files and sends what they hold. This is all of the life of
 * a process that the supervisor forks for it, at start and for each reload, one
 * at a time: to check thousands of keys takes minutes on few CPUs, and what
 * libcrypto's decoders leave in memory goes with the process. Each key is sent
 * as soon as it has been checked.
 */
#ifndef WARPRSA_BATCHING_VAULT_VAULT_READER_H
#define WARPRSA_BATCHING_VAULT_VAULT_READER_H

#include <stdbool.h>

#include "batching/vault/checked_keys.h"

/* Paths; empty: none. */
typedef struct warprsa_vault_files {
    const char *keys_directory;
    const char *rules;      /* keys.conf */
    const char *passphrase; /* of encrypted keys */
    /* Why remote keys of keys.conf can't be used here; NULL: they can. */
    const char *no_remote;
    warprsa_checked_keys *checked; /* NULL: all are checked */
} warprsa_vault_files;

/* Sends a whole reading, with a sentence for each file that can't be used.
 * False: nobody receives any more, or there is no memory. */
bool warprsa_vault_reader_run(const warprsa_vault_files *files, int socket);

#endif
