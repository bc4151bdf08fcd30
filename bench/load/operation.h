/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One private operation through EVP, and its check by the default provider.
 */
#ifndef WARPRSA_LOAD_OPERATION_H
#define WARPRSA_LOAD_OPERATION_H

#include <stdbool.h>
#include <stddef.h>

#include <openssl/evp.h>

#include "bench/load/keys.h"
#include "bench/load/options.h"
#include "bench/load/random.h"

typedef struct load_operation {
    load_kind kind;
    load_key *key;
    unsigned ciphertext;                    /* which one is decrypted */
    unsigned char digest[LOAD_PLAIN_BYTES]; /* is signed */
    unsigned char result[LOAD_BYTES_MAX];
    size_t length; /* of result; 0: the operation failed */
} load_operation;

/* What a thread needs to make operations. One thread uses it. */
typedef struct load_maker {
    const load_keys *keys;
    OSSL_LIB_CTX *subject;
    load_random random;
    unsigned weight;                 /* of all kinds */
    struct load_kept_context **kept; /* by key and kind; NULL: all fresh */
} load_maker;

/* `seed` differs from thread to thread. False: no memory. */
bool load_maker_init(load_maker *maker, const load_keys *keys,
                     OSSL_LIB_CTX *subject, unsigned seed);
void load_maker_clear(load_maker *maker);

/* Chooses the next operation: kind, key and input. */
void load_operation_choose(load_maker *maker, load_operation *operation);

/* Makes the operation and sets its result. Inside an async job it may pause,
 * and the thread may make others meanwhile. Leaves no error on OpenSSL's queue.
 */
void load_operation_run(load_maker *maker, load_operation *operation);

/* Whether the result is right. */
bool load_operation_verify(const load_maker *maker,
                           const load_operation *operation);

#endif
