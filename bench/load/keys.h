/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The keys of a load, in groups of one length each. They are made once for all
 * subjects. Since thousands may be wanted, they are made from few primes, which
 * are combined in pairs. So they are good for measuring only: two moduli with
 * a prime in common can both be factored.
 *
 * Or a subject loads them from files, as a program does. Then it may have no
 * more of a private key than a reference, and results are verified by the
 * public one.
 */
#ifndef WARPRSA_LOAD_KEYS_H
#define WARPRSA_LOAD_KEYS_H

#include <openssl/evp.h>
#include <openssl/provider.h>

#include "bench/load/distribution.h"
#include "bench/load/options.h"
#include "bench/load/random.h"

enum {
    LOAD_PLAIN_BYTES = 32,
    LOAD_BYTES_MAX = 512,
    LOAD_CIPHERTEXTS = 4, /* per key */
};

typedef struct load_key {
    EVP_PKEY *oracle;  /* in the default provider */
    EVP_PKEY *subject; /* the same where it is measured; NULL before that */
    unsigned bytes;    /* of its modulus */
    /* For LOAD_OAEP: load_plain_text() of 0 .. LOAD_CIPHERTEXTS - 1. NULL if no
     * operation of that kind is wanted. */
    unsigned char (*ciphertexts)[LOAD_BYTES_MAX];
} load_key;

typedef struct load_keys {
    OSSL_LIB_CTX *libctx; /* with the default provider alone */
    OSSL_PROVIDER *provider;
    load_key *keys;
    unsigned count;
    const load_options *options;
    unsigned weight; /* of all groups */
    load_distribution distributions[LOAD_GROUPS_MAX];
} load_keys;

/* Makes all keys that are not from files, with a thread per CPU; load_fail() if
 * that fails. */
void load_keys_make(load_keys *keys, const load_options *options);

/* Copies the keys to the library context of a subject, with a thread per CPU,
 * or has it load their files; load_fail() if that fails. */
void load_keys_copy(load_keys *keys, OSSL_LIB_CTX *subject);
void load_keys_drop_copies(load_keys *keys);

void load_keys_free(load_keys *keys);

/* A key by the weights of the groups, and by the distribution of its group. */
load_key *load_keys_choose(const load_keys *keys, load_random *random);

void load_plain_text(unsigned which, unsigned char text[LOAD_PLAIN_BYTES]);

#endif
