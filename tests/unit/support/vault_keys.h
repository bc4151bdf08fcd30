/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private keys for the tests of batching/vault, made by libcrypto. Each of them
 * asserts that it succeeds.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_VAULT_KEYS_H
#define WARPRSA_TESTS_UNIT_SUPPORT_VAULT_KEYS_H

#include <openssl/evp.h>

#include "batching/vault/key_numbers.h"

/* A new key of the type "RSA" or "RSA-PSS"; the caller frees it. */
EVP_PKEY *vault_keys_make(const char *type, unsigned bits, unsigned primes);

/* A new RSA-PSS key for signatures with SHA-256 and so long a salt alone. */
EVP_PKEY *vault_keys_make_restricted(int salt_bytes);

/* The numbers of a key. */
void vault_keys_numbers(warprsa_key_numbers *numbers, const EVP_PKEY *key);

#endif
