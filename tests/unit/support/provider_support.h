/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of the provider share: library contexts with the module in
 * them, keys, signatures, and the counters of a context that is still open.
 * "Subject" is a context that prefers the provider. "Oracle" is one without the
 * provider: the default context, NULL. Functions assert by cmocka, so they are
 * for the test's own thread and process, unless their comment says otherwise.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_PROVIDER_SUPPORT_H
#define WARPRSA_TESTS_UNIT_SUPPORT_PROVIDER_SUPPORT_H

#include <openssl/evp.h>
#include <openssl/provider.h>

#include "tests/unit/support/unit_test.h"

/* Everything goes to the engine on the CPU, however slow that is today. */
#define HOST_ENGINE                                                            \
    "engine = host\nroute = gpu\nstartup_ms = 60000\ndeadline_ms = 300000\n"

/* Writes a configuration file. `settings` are the lines of the provider's
 * section, one of which may be "activate = 1". */
void write_configuration(const char *path, const char *settings);

/* Has a context load such a configuration. */
void load_settings(OSSL_LIB_CTX *libctx, const char *settings);

/* Makes a context that has loaded one. */
OSSL_LIB_CTX *context_with(const char *settings);

/* Loads the module by a call, not by the configuration. OpenSSL until 3.0.13
 * at least takes the module's parameters from the configuration then, but not
 * its path. NULL: it could not be loaded. */
OSSL_PROVIDER *module_load(OSSL_LIB_CTX *libctx);

/* Makes a context in which the module is active. */
OSSL_LIB_CTX *subject_open(const char *settings);

/* A numeric parameter of the provider, e.g. "warprsa-gpu"; UINT64_MAX if it
 * can't be had. Without assertions, so a child process may call it. */
uint64_t plain_counter_of(OSSL_LIB_CTX *subject, const char *name);

/* The same, which must be there. */
uint64_t counter_of(OSSL_LIB_CTX *subject, const char *name);

/* Asserts that so many private operations were done on the device and on the
 * CPU so far, and that each of the latter has one reason counted. */
void assert_counted(OSSL_LIB_CTX *subject, uint64_t gpu, uint64_t cpu);

/* The same key in another context, which reads it from PEM. */
EVP_PKEY *key_in(OSSL_LIB_CTX *libctx, EVP_PKEY *key);

/* A key of these numbers of an RSA key, all (EVP_PKEY_KEYPAIR) or the public
 * ones (EVP_PKEY_PUBLIC_KEY), given as a whole key or as half of one, to the
 * provider that `query` chooses; NULL: any. PEM has no form for a key without
 * CRT parameters. */
EVP_PKEY *key_from_numbers(OSSL_LIB_CTX *libctx, const char *query,
                           EVP_PKEY *key, int numbers, int given_as);

/* A new key of type "RSA" or "RSA-PSS" in a context. */
EVP_PKEY *key_make(OSSL_LIB_CTX *libctx, const char *type, size_t bits,
                   size_t primes);

/* A child that ends in the middle of its work leaks memory, and is meant to. It
 * sets this to 1, and LeakSanitizer, which asks, reports nothing. */
extern volatile int leaks_are_intended;

/* What sign_with() signs. */
extern const unsigned char support_message[23];

/* Signs support_message with SHA-256 and the key's usual padding, or with
 * `padding` unless that is 0. Returns the signature's length; 0 if it failed or
 * left an error. Without assertions: for any thread, job or process. */
size_t sign_with(OSSL_LIB_CTX *libctx, EVP_PKEY *key, int padding,
                 unsigned char *signature, size_t size);

/* Whether a signature of support_message is right, by the default provider.
 * Without assertions. */
int is_right(EVP_PKEY *oracle_key, int padding, const unsigned char *signature,
             size_t length);

/* Signs in the subject and verifies by the oracle. Without assertions. */
int signs_right(OSSL_LIB_CTX *subject, EVP_PKEY *key, EVP_PKEY *oracle_key);

#endif
