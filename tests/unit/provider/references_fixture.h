/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of references share: keys, references to them, and a warprsad
 * that is played by this program. It computes each use with the private key, by
 * the default provider.
 */
#ifndef WARPRSA_TESTS_UNIT_PROVIDER_REFERENCES_FIXTURE_H
#define WARPRSA_TESTS_UNIT_PROVIDER_REFERENCES_FIXTURE_H

#include <stdbool.h>

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "provider/reference_use.h"
#include "tests/unit/support/provider_support.h"

extern OSSL_LIB_CTX *subject;
extern EVP_PKEY *rsa, *pss; /* private keys, in the default context */
extern EVP_PKEY *rsa_reference, *pss_reference; /* in the subject's */

/* Of the daemon. */
extern unsigned uses;        /* so far */
extern warprsa_key_use last; /* the last one */
extern bool away;            /* the daemon itself is asked: there is none */
extern bool pauses;          /* it answers when the job is resumed */
extern EVP_PKEY *vault_key;  /* what it has by the name www */
extern char asked_socket[WARPRSA_REFERENCE_SOCKET_SIZE];

void make_reference(EVP_PKEY *key, warprsa_reference *out);

/* The key of a text in PEM; NULL: there is none. */
EVP_PKEY *read_key(const char *text);

/* Whether an error of this provider has been raised; empties the queue. */
bool raised(int reason, const char *text);

/* By the key itself; the caller frees it. */
X509 *certificate_of(EVP_PKEY *key);

int references_setup_preferred(void **state);
int references_setup_plain(void **state);
int references_teardown(void **state);

/* Defines main(), which runs all tests of the file with the provider preferred,
 * and without. */
#define RUN_REFERENCE_TESTS()                                                  \
    int main(void)                                                             \
    {                                                                          \
        return cmocka_run_group_tests_name("warprsa preferred", unit_tests,    \
                                           references_setup_preferred,         \
                                           references_teardown) +              \
               cmocka_run_group_tests_name("no provider preferred",            \
                                           unit_tests, references_setup_plain, \
                                           references_teardown);               \
    }

#endif
