/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Accounts of the vault's keys as others see them: how often each user used
 * each key, and was denied to. They are one plain block in a memory file
 * ("memfd:warprsa-accounts") of warprsad's main process, where warprsa-stat
 * reads it, as it reads counters (queue/counters.h). The serving process counts
 * in it; the next one goes on with the same accounts.
 */
#ifndef WARPRSA_BATCHING_VAULT_WIRE_KEY_ACCOUNTS_H
#define WARPRSA_BATCHING_VAULT_WIRE_KEY_ACCOUNTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "batching/vault/wire/denial.h"
#include "batching/vault/wire/key_name.h"

enum {
    /* Rows of those who were allowed something, and behind them rows of those
     * who were not: they must not keep others from having one. */
    WARPRSA_ACCOUNTS_ALLOWED_MAX = 768,
    WARPRSA_ACCOUNTS_DENIED_MAX = 256,
    WARPRSA_KEY_ACCOUNTS_MAX =
        WARPRSA_ACCOUNTS_ALLOWED_MAX + WARPRSA_ACCOUNTS_DENIED_MAX,
    WARPRSA_KEY_ACCOUNTS_MAGIC = 16,
    WARPRSA_ACCOUNT_BY_SIZE = 256, /* of an identity, with its final zero */
};

#define WARPRSA_KEY_ACCOUNTS_FILE "warprsa-accounts"

/* Whoever has no account of its own, and no key of its own. */
#define WARPRSA_ACCOUNT_OTHER "other"

/* What one user did with the keys of one name. Once the row is whole, names
 * stay and numbers grow. */
typedef struct warprsa_key_account {
    _Atomic uint64_t whole; /* 0: it is being written, or nobody's */
    char key[WARPRSA_KEY_NAME_SIZE];
    /* A user's number, an identity as "dns:web1.example.org", or "other". */
    char by[WARPRSA_ACCOUNT_BY_SIZE];
    _Atomic uint64_t uses;
    _Atomic uint64_t denials[WARPRSA_DENIALS]; /* by warprsa_denial */
} warprsa_key_account;

typedef struct warprsa_key_accounts {
    char magic[WARPRSA_KEY_ACCOUNTS_MAGIC]; /* warprsa_key_accounts_magic */
    uint64_t version;                       /* of this very structure */
    uint64_t pid;                           /* of the process that made it */
    /* Rows of each kind; more than there are if somebody had no room. */
    _Atomic uint64_t allowed_taken, denied_taken;
    /* The last one is for all that have no row of their own. */
    warprsa_key_account rows[WARPRSA_KEY_ACCOUNTS_MAX + 1];
} warprsa_key_accounts;

extern const char warprsa_key_accounts_magic[WARPRSA_KEY_ACCOUNTS_MAGIC];

/* What a reader and the daemon must agree on. */
uint64_t warprsa_key_accounts_version(void);

/* Without accounts, in a memory file whose descriptor (close-on-exec) stays
 * open. NULL: there is no memory file to be had. */
warprsa_key_accounts *warprsa_key_accounts_new(void);

/* NULL: does nothing. */
void warprsa_key_accounts_free(warprsa_key_accounts *accounts);

/* The account of this key's name and this user, made if there is none yet, for
 * a user who is allowed something or not. If there is no room, that of all
 * others. Any thread, but only one at a time for the same name. */
warprsa_key_account *warprsa_key_accounts_find(warprsa_key_accounts *accounts,
                                               const char *key, const char *by,
                                               bool is_allowed);

/* The name of a denial in counters, such as "padding". */
const char *warprsa_denial_name(warprsa_denial denial);

#endif
