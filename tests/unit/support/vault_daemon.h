/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A warprsad of the build with a vault, to which a test adds keys: what runs
 * with ordinary keys runs with references as well. Functions assert by cmocka.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_VAULT_DAEMON_H
#define WARPRSA_TESTS_UNIT_SUPPORT_VAULT_DAEMON_H

#include <stdbool.h>

#include <openssl/evp.h>

/* Whether WARPRSA_TEST_KEYS=vault says that a test's keys are references. */
bool vault_daemon_is_wanted(void);

/* Whether the daemon has a vault. Under ThreadSanitizer each process has a
 * thread from the start, so warprsad can't hide the files of its keys from its
 * serving process, and does not serve. */
bool vault_daemon_has_vault(void);

/* Starts the daemon, with the engine on the CPU and rules that allow this user
 * everything. One at a time. */
void vault_daemon_start(void);

/* Its socket, which serves ordinary keys, too. */
const char *vault_daemon_socket(void);

/* Puts a private key into the vault, and loads a reference to it in a context
 * with the module. *number is for vault_daemon_remove(). NULL: the vault
 * refuses the key, as it does one that it has. */
EVP_PKEY *vault_daemon_reference(OSSL_LIB_CTX *libctx, EVP_PKEY *key,
                                 unsigned *number);

/* Loads one more reference to a key that the vault has. */
EVP_PKEY *vault_daemon_load(OSSL_LIB_CTX *libctx, unsigned number);

/* The key is gone when the next one is there. */
void vault_daemon_remove(unsigned number);

/* Stops it. Returns its exit status. */
int vault_daemon_stop(void);

#endif
