/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The vault's set of keys, for what looks at it (vault_set.c) and for what a
 * reading changes in it (vault_change.c).
 *
 * Two locks: the vault's is for the set, a ledger's for the decisions about one
 * name. A decision takes the ledger's alone, so that users of different keys
 * don't wait for each other. Whoever needs both takes the vault's first.
 */
#ifndef WARPRSA_BATCHING_VAULT_VAULT_STATE_H
#define WARPRSA_BATCHING_VAULT_VAULT_STATE_H

#include <pthread.h>

#include "batching/base/log_budget.h"
#include "batching/vault/vault.h"
#include "batching/vault/vault_key.h"
#include "batching/vault/vault_reading.h"

/* Keys in the order of names, and the same in the order of digests. */
typedef struct warprsa_vault_keys {
    warprsa_vault_key **by_name, **by_spki;
    unsigned count;
} warprsa_vault_keys;

struct warprsa_vault {
    warprsa_trace_fn log;
    void *log_arg;
    warprsa_key_accounts *accounts; /* NULL: none */
    pthread_mutex_t lock;
    warprsa_vault_keys keys;
    /* One for each name that ever had a key, in the order of names. */
    warprsa_vault_ledger **ledgers;
    unsigned ledger_count;
    warprsa_key_rules rules;
    bool has_rules;
    uint32_t readings; /* that changed the set */
    _Atomic uint64_t generation;
    atomic_bool filled;
    warprsa_vault_means means;
    warprsa_log_budgets budgets;
};

/* Writes a line of the log. */
__attribute__((format(printf, 3, 4))) void
warprsa_vault_say(const warprsa_vault *vault, int level, const char *format,
                  ...);

/* For qsort() of pointers to keys: by name; by digest, and then by name. */
int warprsa_vault_compare_names(const void *a, const void *b);
int warprsa_vault_compare_spkis(const void *a, const void *b);

/* The key of this name; NULL: there is none. */
warprsa_vault_key *warprsa_vault_keys_find(const warprsa_vault_keys *keys,
                                           const char *name);

#endif
