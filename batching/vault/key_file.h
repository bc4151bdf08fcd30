/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A private key from a PEM file. libcrypto's decoders leave parts of what they
 * read in freed memory: this is for a process that ends when it has read.
 */
#ifndef WARPRSA_BATCHING_VAULT_KEY_FILE_H
#define WARPRSA_BATCHING_VAULT_KEY_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include <openssl/evp.h>

#include "batching/vault/checked_keys.h"
#include "batching/vault/trusted_file.h"

enum {
    WARPRSA_KEY_FILE_BYTES_MAX = 65536,
    WARPRSA_CERTIFICATE_FILE_BYTES_MAX = 65536,
    WARPRSA_PASSPHRASE_BYTES_MAX = 1023,
};

/*
 * Reads NAME.pem: one private key, PKCS#8 or PKCS#1, of the type RSA or
 * RSA-PSS, of 1024 to 16384 bits and two primes or more. Other parts of the
 * file, such as certificates, are passed over. An encrypted one is decrypted
 * with the passphrase, of which NULL means that there is none. The numbers are
 * checked: that primes are primes, and all others belong to them; that takes a
 * minute for the longest keys, and is spared those of `checked`, which gets the
 * key. That may be NULL.
 *
 * NULL: `why` says what is wrong, to go on after the file's name. The caller
 * frees the key. libcrypto's queue of errors is left as it was. Any thread.
 */
EVP_PKEY *warprsa_key_file_read(int directory, const char *name,
                                const warprsa_trusted_file *passphrase,
                                warprsa_checked_keys *checked, char *why,
                                size_t why_size);

/* Reads a passphrase: the first line of a file, which others can't read. False:
 * `why` names the file. warprsa_trusted_file_free() wipes it. Any thread. */
bool warprsa_key_file_passphrase(warprsa_trusted_file *passphrase,
                                 const char *path, char *why, size_t why_size);

/* Reads the certificates of a key: NAME.crt, in PEM, of which the first must
 * have the key's public key. A file that has a private key, too, is refused:
 * whoever may know of the key gets all bytes of it. False: `why` says what is
 * wrong. Any thread. */
bool warprsa_key_file_certificates(warprsa_trusted_file *certificates,
                                   int directory, const char *name,
                                   const EVP_PKEY *key, char *why,
                                   size_t why_size);

#endif
