/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The directory of keys: NAME.pem is the key NAME, and NAME.crt, if it is
 * there, has its certificates. Other files are passed over, and so are those
 * whose names begin with a dot. It is for a process that ends afterwards, as
 * key_file.h is. What has changed since the last reading is the vault's to
 * find, which has the keys (vault_reading.h).
 *
 * Nearly all of the time goes to libcrypto's tests whether primes are primes,
 * of 64 rounds each and of 128 in long keys: 0.07 s a key of 2,048 bits, a
 * minute one of 16,384. So each usable CPU reads and checks keys, and short
 * files come first.
 */
#ifndef WARPRSA_BATCHING_VAULT_KEY_DIRECTORY_H
#define WARPRSA_BATCHING_VAULT_KEY_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>

#include <openssl/evp.h>

#include "batching/vault/checked_keys.h"
#include "batching/vault/trusted_file.h"

/* What is called for the keys as they are read, by any thread, one at a time.
 * False ends the reading. */
typedef struct warprsa_key_visitor {
    /* A good key; certificates->bytes is NULL if it has none. */
    bool (*key)(void *arg, const char *name, const EVP_PKEY *key,
                const warprsa_trusted_file *certificates);
    /* A file that can't be used; of a key whose certificates are refused, the
     * key is visited without them. `name` may be any that a file has. */
    bool (*refused)(void *arg, const char *name, bool is_certificates,
                    const char *why);
    void *arg;
} warprsa_key_visitor;

/* Reads all keys of a directory in which only root and the process's user can
 * make files. `passphrase` is for encrypted ones; it and `checked` may be NULL,
 * as for warprsa_key_file_read(). False: `why`
 * names the directory, or is empty if the visitor has ended the reading. */
bool warprsa_key_directory_read(const char *path,
                                const warprsa_trusted_file *passphrase,
                                warprsa_checked_keys *checked,
                                const warprsa_key_visitor *visitor, char *why,
                                size_t why_size);

#endif
