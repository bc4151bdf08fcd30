/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What one reading of the key directory and of keys.conf has brought, before
 * the vault takes it in the place of what it has. One thread.
 */
#ifndef WARPRSA_BATCHING_VAULT_VAULT_READING_H
#define WARPRSA_BATCHING_VAULT_VAULT_READING_H

#include <limits.h>

#include "batching/vault/key_numbers.h"
#include "batching/vault/key_rules.h"
#include "batching/vault/vault.h"
#include "batching/vault/vault_key.h"

enum {
    WARPRSA_VAULT_KEYS_MAX = 65536,
    WARPRSA_VAULT_WHY_SIZE = 400,
    /* A file may be refused because its name is too long for that of a key. A
     * part of such a name may be the name of a key. */
    WARPRSA_VAULT_FILE_NAME_SIZE = NAME_MAX + 1,
};

/* A key that was found and can't be used, or whose certificates can't. */
typedef struct warprsa_vault_refusal {
    char name[WARPRSA_VAULT_FILE_NAME_SIZE];
    bool is_certificates;
    char why[WARPRSA_VAULT_WHY_SIZE];
} warprsa_vault_refusal;

typedef struct warprsa_vault_reading {
    warprsa_vault_means *means;
    warprsa_vault_key **keys; /* each with a reference */
    unsigned key_count, key_room;
    warprsa_vault_refusal *refusals;
    unsigned refusal_count, refusal_room;
    warprsa_key_rules rules;
    /* Why there are no keys and no rules, and the vault keeps what it has;
     * empty: there are. */
    char keys_why[WARPRSA_VAULT_WHY_SIZE], rules_why[WARPRSA_VAULT_WHY_SIZE];
    bool is_in_use; /* the vault has the rules, and keys so far */
} warprsa_vault_reading;

/* An empty reading: of a directory without keys, and of no rules. The means are
 * those of warprsa_vault_means_of() the vault. */
void warprsa_vault_reading_init(warprsa_vault_reading *reading,
                                warprsa_vault_means *means);

/* Wipes what the vault has not taken, and leaves the reading empty. */
void warprsa_vault_reading_free(warprsa_vault_reading *reading);

/* Adds a key. False: it is none, its name is none, there are too many, or there
 * is no memory; it is a refusal then, if there is memory for that. */
bool warprsa_vault_reading_add(warprsa_vault_reading *reading, const char *name,
                               const warprsa_key_numbers *numbers);

/* Adds a key that GPU hosts have, in the same way. */
bool warprsa_vault_reading_add_remote(warprsa_vault_reading *reading,
                                      const warprsa_remote_key *remote);

/* Gives certificates to the key that was added last; those of the key that was
 * refused last are left out. False: there is none of this name, or no
 * memory. */
bool warprsa_vault_reading_certify(warprsa_vault_reading *reading,
                                   const char *name, const char *pem,
                                   size_t bytes);

/* Adds a refusal, with '?' for what can't be printed. False: no memory. */
bool warprsa_vault_reading_refuse(warprsa_vault_reading *reading,
                                  const char *name, const char *why);
bool warprsa_vault_reading_refuse_certificates(warprsa_vault_reading *reading,
                                               const char *name,
                                               const char *why);

/* There are no keys, or no rules, to be had: the vault keeps what it has, and
 * logs why, with '?' for what can't be printed. `why` is not empty. */
void warprsa_vault_reading_no_keys(warprsa_vault_reading *reading,
                                   const char *why);
void warprsa_vault_reading_no_rules(warprsa_vault_reading *reading,
                                    const char *why);

/* What the vault's keys are made with. Any thread. */
warprsa_vault_means *warprsa_vault_means_of(warprsa_vault *vault);

/*
 * Has a vault that has taken no reading yet use what one has brought so far,
 * beside what it has: the keys, and the rules, which must be all. The reading
 * keeps its keys, and is to be taken as a whole later. Nothing is refused
 * before that, but of two names of one key the second is left out. False: no
 * memory, and the reading is to be freed. Any thread, one at a time.
 */
bool warprsa_vault_add(warprsa_vault *vault, warprsa_vault_reading *reading);

/*
 * Takes the reading in the place of what the vault has, and leaves it empty. A
 * key that has come before under its name stays the same, with its new
 * certificates. A key whose file is refused now stays too: a file that is half
 * written at this moment is no reason to stop a service, and whoever wants the
 * key gone removes the file. Of two names of one key the second is refused,
 * since rules are by name. If there are no rules to be had, then remote keys,
 * which the same file names, stay as well. False: no memory, and the vault has
 * what it had. Any thread, one at a time.
 */
bool warprsa_vault_replace(warprsa_vault *vault,
                           warprsa_vault_reading *reading);

#endif
