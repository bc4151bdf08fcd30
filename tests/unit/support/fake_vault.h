/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A vault for the tests of the daemon: some keys that the fake engine takes,
 * one that no engine takes, rules that a test sets, and operations that pad
 * nothing by libcrypto. It has the functions of batching/vault/vault.h.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_FAKE_VAULT_H
#define WARPRSA_TESTS_UNIT_SUPPORT_FAKE_VAULT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "batching/daemon/server/use_operations.h"

enum {
    FAKE_VAULT_KEYS = 100,
    FAKE_VAULT_LARGE = 3, /* the key that no engine takes; the others are of
                             1024 bits */
    FAKE_VAULT_LARGE_BYTES = 2048,
    FAKE_VAULT_ORDER = 4096,
};

/* Key number i is called "key00" and so on. */
typedef struct fake_vault_state {
    /* What a test sets. */
    _Atomic uint32_t denial;    /* warprsa_denial of every use */
    atomic_uint unknown_before; /* keys below this one are not to be known of */
    atomic_bool compute_full;   /* no task is taken */
    atomic_uint late;           /* next tasks that are not begun in time */
    atomic_bool slow;           /* no finish() is quick */
    atomic_bool bad;            /* encode() and finish() fail */
    atomic_bool empty;          /* it has taken no reading yet */
    atomic_bool all_rights;     /* every user may do anything */
    atomic_uint certificates;   /* bytes of each key's */
    atomic_uint edition;        /* of them */
    atomic_uint editions_left;  /* next questions that each change it */
    atomic_bool partial;        /* it has keys of one that has not ended */
    atomic_bool remote;         /* GPU hosts have all keys */
    /* These functions do not return. */
    atomic_bool hold_encode, hold_finish, hold_compute;
    /* What it saw. */
    atomic_uint uses, denials, given_back, computed, finished;
    atomic_uint held;      /* threads in a function that does not return */
    atomic_uint questions; /* to the rules */
    atomic_uint known;     /* questions whether a user may know of a key */
    uint32_t order[FAKE_VAULT_ORDER]; /* whose the first ones were: user ids */
    /* The n-th question is paid by line n; the sum of the lines given back. */
    atomic_uint paid, given_back_lines;
    pthread_mutex_t lock; /* of `user` */
    warprsa_vault_user user;
    char identity[256];
} fake_vault_state;

extern fake_vault_state fake_vault;

/* The vault, with `count` keys, the operations, and nothing seen. */
warprsa_vault *fake_vault_reset(unsigned count);
extern const warprsa_use_operations fake_vault_uses;

/* The digest by which a client names key number i. Any i is allowed. */
void fake_vault_spki(unsigned i, uint8_t spki[WARPRSA_KEY_SPKI_BYTES]);

/* The vault removes key number i, or has another key for its name. How many
 * references there are to all keys that it has removed. */
void fake_vault_remove(unsigned i);
/* The vault has key number i under the name of the last one, which goes. */
void fake_vault_rename(unsigned i);
unsigned fake_vault_removed_references(void);

/* References that anybody has, to any key. */
unsigned fake_vault_references(void);

/* Shows this SubjectPublicKeyInfo and these certificates for key number i,
 * until the vault is reset; both stay the caller's. */
void fake_vault_publish(unsigned i, const uint8_t *spki, size_t spki_bytes,
                        const char *pem);

/* Byte number `at` of the certificates of key number i. */
char fake_vault_certificate(unsigned i, unsigned edition, size_t at);

/* The answer to a use of key number i: its length. */
unsigned fake_vault_answer(unsigned i, const warprsa_key_use *use,
                           const uint8_t *input, uint8_t *answer);

#endif
