/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The vault: the private keys that warprsad itself holds, and who may use them
 * for what. It is in the serving process, and has no way to the files: what it
 * holds has come through a socket (vault_transfer.h). No type of libcrypto
 * appears here; vault_key.h has what computes with a key.
 *
 * A key that has been found stays in memory until it is released. Once it is
 * removed or replaced, warprsa_vault_may() allows nothing with it, and
 * warprsa_vault_generation() has changed: whoever holds keys then asks
 * warprsa_vault_key_is_removed(), and releases them. The last release wipes
 * the private numbers. Operations under way hold the key, and end as they
 * began.
 */
#ifndef WARPRSA_BATCHING_VAULT_VAULT_H
#define WARPRSA_BATCHING_VAULT_VAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batching/vault/key_rules.h"
#include "batching/vault/vault_ledger.h"
#include "batching/vault/wire/denial.h"
#include "batching/vault/wire/key_accounts.h"
#include "batching/vault/wire/key_name.h"
#include "batching/vault/wire/key_rights.h"
#include "batching/vault/wire/key_use.h"
#include "gpu/engine.h"

typedef struct warprsa_vault warprsa_vault;
typedef struct warprsa_vault_key warprsa_vault_key;

/* An empty vault: every use of it is denied. `log` gets a line for each key
 * that is added, replaced, removed or refused and for denials (level 0), and
 * once a minute for uses (level 1). NULL: no memory. */
warprsa_vault *warprsa_vault_new(warprsa_trace_fn log, void *log_arg);

/* Has uses and denials counted in these accounts, too, where warprsa-stat sees
 * them. They outlive the vault. Before keys come. */
void warprsa_vault_show_accounts(warprsa_vault *vault,
                                 warprsa_key_accounts *accounts);

/* Wipes all keys. Each that was found must have been released. NULL: does
 * nothing. */
void warprsa_vault_free(warprsa_vault *vault);

/* The key with this SHA-256 of its SubjectPublicKeyInfo (DER), or this name,
 * which the caller releases; NULL: there is none. Any thread. */
warprsa_vault_key *
warprsa_vault_find(warprsa_vault *vault,
                   const uint8_t spki_sha256[WARPRSA_KEY_SPKI_BYTES]);
warprsa_vault_key *warprsa_vault_find_name(warprsa_vault *vault,
                                           const char *name);

/* The keys' names in their order: the first after `name`, or of all if that is
 * empty. False: there are no more. Any thread. */
bool warprsa_vault_next_name(warprsa_vault *vault,
                             char name[WARPRSA_KEY_NAME_SIZE]);

/* Takes one more reference. Any thread. */
void warprsa_vault_key_hold(warprsa_vault_key *key);

/* NULL: does nothing. Any thread. */
void warprsa_vault_key_release(warprsa_vault_key *key);

/* Whether this user may use the key in this way, now. The use has passed
 * warprsa_key_use_fault(). Counts it either way; a denial is also a line of the
 * log, with at most WARPRSA_LOG_LINES_A_SECOND of them for each user. Sets
 * *paid (NULL: not wanted) for warprsa_vault_give_back(). Any thread. */
warprsa_denial warprsa_vault_may(warprsa_vault_key *key,
                                 const warprsa_vault_user *user,
                                 const warprsa_key_use *use,
                                 warprsa_vault_paid *paid);

/* A use that was allowed could not be begun, and the user is told to ask again:
 * gives back what it took of the user's rate. Once for a use at most. Any
 * thread. */
void warprsa_vault_give_back(warprsa_vault_key *key,
                             const warprsa_vault_user *user,
                             const warprsa_vault_paid *paid);

/* Whether this user may use the key in some way: only then the daemon tells
 * that it has it. Counts nothing. Any thread. */
bool warprsa_vault_may_know(warprsa_vault_key *key,
                            const warprsa_vault_user *user);

/* Writes what this user may do with the key, in the words of keys.conf. If
 * there is no room for all of it, then whole words and "..." at the end. Any
 * thread. */
void warprsa_vault_describe(warprsa_vault_key *key,
                            const warprsa_vault_user *user, char *text,
                            size_t size);

/* What this user may do with the key, for programs: the bound that key_rights.h
 * describes. Counts nothing. Any thread. */
void warprsa_vault_rights(warprsa_vault_key *key,
                          const warprsa_vault_user *user,
                          warprsa_key_rights *rights);

/* Whether it has taken a whole reading yet. Until then nobody can tell which
 * keys there are, but those that are found can be used. Any thread. */
bool warprsa_vault_is_filled(const warprsa_vault *vault);

/* Changes whenever keys were removed or replaced. Any thread. */
uint64_t warprsa_vault_generation(const warprsa_vault *vault);
bool warprsa_vault_key_is_removed(const warprsa_vault_key *key);

/* What a key is; all of it lives as long as the key. Any thread. */
const char *warprsa_vault_key_name(const warprsa_vault_key *key);
const uint8_t *warprsa_vault_key_spki_sha256(const warprsa_vault_key *key);
unsigned warprsa_vault_key_modulus_bytes(const warprsa_vault_key *key);
/* Its SubjectPublicKeyInfo (DER). */
const uint8_t *warprsa_vault_key_spki(const warprsa_vault_key *key,
                                      size_t *bytes);
/* Whether GPU hosts have it: they compute its uses, and pad. */
bool warprsa_vault_key_is_remote(const warprsa_vault_key *key);
/* SECRET: the numbers for engines, and for warprsa_queue's keys. NULL: no
 * engine takes it, and libcrypto computes, or a GPU host. */
const warprsa_private_key *
warprsa_vault_key_for_engines(const warprsa_vault_key *key);

/*
 * Copies up to `size` bytes of the key's certificates, PEM, from this offset
 * on, and returns how many there are in all; 0: none. *edition is another
 * number once the certificates or the key of this name have changed, so pieces
 * that came with the same one belong together. Any thread.
 */
size_t warprsa_vault_key_certificates(warprsa_vault_key *key, size_t offset,
                                      char *pem, size_t size,
                                      uint32_t *edition);

/* Writes the audit: a line for each account that has changed since the last
 * audit. To be called once a minute. Any thread. */
void warprsa_vault_audit(warprsa_vault *vault);

#endif
