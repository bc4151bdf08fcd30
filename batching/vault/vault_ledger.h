/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The ledger of one name of the vault: the rules that are for it, what each
 * user has done with its keys, and how far each is ahead of its rate. It stays
 * when the key is replaced.
 */
#ifndef WARPRSA_BATCHING_VAULT_VAULT_LEDGER_H
#define WARPRSA_BATCHING_VAULT_VAULT_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batching/vault/key_rules.h"
#include "batching/vault/wire/key_accounts.h"

typedef struct warprsa_vault_ledger warprsa_vault_ledger;

/* What one user did with the keys of one name since the daemon's serving
 * process started. */
typedef struct warprsa_vault_account {
    const char *key;
    uint32_t uid;
    const char *identity; /* of the network; NULL: the user `uid` */
    bool is_others;       /* all users together that have no account */
    uint64_t uses;
    uint64_t denials[WARPRSA_DENIALS];
} warprsa_vault_account;

/* The rate that has paid for a use. */
typedef struct warprsa_vault_paid {
    unsigned line;  /* whose rate it is; 0: of none */
    uint64_t rules; /* of which rules: each set has a number of its own */
} warprsa_vault_paid;

/* Without rules: nothing is allowed. All is counted in `shown`, too, which
 * outlives the ledger (NULL: nowhere else). NULL: no memory. */
warprsa_vault_ledger *warprsa_vault_ledger_new(const char *name,
                                               warprsa_key_accounts *shown);

/* NULL: does nothing. */
void warprsa_vault_ledger_free(warprsa_vault_ledger *ledger);

const char *warprsa_vault_ledger_name(const warprsa_vault_ledger *ledger);

/* Takes the rules that are for the ledger's name, which live until others are
 * set; rates begin anew. False: no memory, and nothing is allowed. Any
 * thread. */
bool warprsa_vault_ledger_set_rules(warprsa_vault_ledger *ledger,
                                    const warprsa_key_rules *rules);

/* Decides about a use at this time, and counts it. `denial` is what has been
 * found before: if it is one, it stays. Sets *paid (NULL: not wanted). Any
 * thread. */
warprsa_denial warprsa_vault_ledger_decide(warprsa_vault_ledger *ledger,
                                           const warprsa_vault_user *user,
                                           const warprsa_key_use *use,
                                           warprsa_denial denial,
                                           uint64_t now_ns,
                                           warprsa_vault_paid *paid);

/* A use that was allowed has not begun, by no fault of the user's, and is asked
 * for again: gives the user back what it took of a rate, unless rates have
 * begun anew. Once for a use at most. The use stays counted: what was allowed
 * was allowed. Any thread. */
void warprsa_vault_ledger_give_back(warprsa_vault_ledger *ledger,
                                    const warprsa_vault_user *user,
                                    const warprsa_vault_paid *paid);

/* Whether a rule is for this user. Any thread. */
bool warprsa_vault_ledger_knows(warprsa_vault_ledger *ledger,
                                const warprsa_vault_user *user);

/* Writes what the rules allow this user, in their words. If there is no room
 * for all of it, then whole words and "..." at the end. Any thread. */
void warprsa_vault_ledger_describe(warprsa_vault_ledger *ledger,
                                   const warprsa_vault_user *user, char *text,
                                   size_t size);

/* What the rules allow this user: the bound that key_rights.h describes. Any
 * thread. */
void warprsa_vault_ledger_rights(warprsa_vault_ledger *ledger,
                                 const warprsa_vault_user *user,
                                 warprsa_key_rights *rights);

/* Visits the accounts, with the ledger's lock held; of `changed`, only those
 * that were used since they were last visited so. Any thread. */
void warprsa_vault_ledger_each(
    warprsa_vault_ledger *ledger, bool changed,
    void (*visit)(void *arg, const warprsa_vault_account *account), void *arg);

#endif
