/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One call in every way there is: by the default provider, and by this one with
 * each route, with the daemon, and with a reference to a key of its vault. All
 * have to give the same answer, or the same errors, and the engine has to have
 * computed what it should.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_WAYS_H
#define WARPRSA_TESTS_UNIT_SUPPORT_WAYS_H

#include <stdbool.h>

#include "tests/unit/support/provider_support.h"
#include "tests/unit/support/rsa_numbers.h"

typedef enum way {
    WAY_CPU,       /* route = cpu */
    WAY_GPU,       /* route = gpu, with the engine on the CPU */
    WAY_AUTO,      /* route = auto */
    WAY_DAEMON,    /* mode = daemon, route = gpu */
    WAY_REFERENCE, /* the daemon has the key */
    WAYS
} way;

/* Opens a context for each way, and runs a daemon; and the reverse. For groups
 * of tests. */
int ways_setup(void **state);
int ways_teardown(void **state);

/* A key in every way. */
typedef struct ways_key {
    const char *name;
    bool by_engine;     /* with WAY_GPU and WAY_DAEMON an engine computes it */
    EVP_PKEY *oracle;   /* in the default context */
    EVP_PKEY *of[WAYS]; /* NULL: the vault is not to have it, or refuses it */
    bool is_in_vault;
    unsigned vault_number; /* if it is */
} ways_key;

/* Imports the key `oracle`, which it takes over. */
ways_key ways_key_of(const char *name, bool by_engine, EVP_PKEY *oracle);

/* The same for a key of these numbers. */
ways_key ways_key_from(const char *name, bool by_engine,
                       const rsa_numbers *numbers);
void ways_key_free(ways_key *key);

typedef struct ways_call {
    enum {
        WAYS_SIGN,        /* EVP_PKEY_sign() */
        WAYS_DIGEST_SIGN, /* EVP_DigestSign() */
        WAYS_DECRYPT,
        WAYS_RECOVER, /* EVP_PKEY_verify_recover() */
    } what;
    int padding;        /* RSA_..._PADDING */
    const char *digest; /* NULL: not set */
    const char *salt;   /* of PSS, as OSSL_PKEY_RSA_PSS_SALT_LEN_*; NULL */
    size_t room;        /* for the output; 0: enough */
} ways_call;

/*
 * Makes a call in every way and asserts that the answers are the same, or the
 * errors, all of those on the queue and in their order. A result that the
 * default provider gives another value each time is compared by its length, and
 * a signature with PSS by verifying it. What can be recovered from a signature
 * has to be the same, too. Asserts that each success was counted once, where
 * the key and the way say. Returns what the default provider's call returned.
 */
int ways_compare(const ways_key *key, const ways_call *call,
                 const unsigned char *input, size_t length);

#endif
