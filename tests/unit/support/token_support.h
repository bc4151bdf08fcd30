/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of the PKCS #11 module share: the module as it is built,
 * loaded as programs load it, and a real warprsad on the host engine with three
 * keys.
 *
 *   www  RSA-2048, with a certificate that `authority` has signed: signs with
 *        PKCS #1 and PSS and any digest; decrypts PKCS #1 and OAEP
 *   raw  RSA-1024: any number
 *   pss  RSA-PSS of 2048 bits: signs with SHA-256 alone
 *
 * Whatever has to succeed here and does not, fails the test.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_TOKEN_SUPPORT_H
#define WARPRSA_TESTS_UNIT_SUPPORT_TOKEN_SUPPORT_H

#include "tests/unit/support/wait_until.h"

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "pkcs11/cryptoki.h"

typedef struct test_token {
    CK_FUNCTION_LIST_3_0 *p11; /* the module's functions, of 3.1 */
    void *module;
    EVP_PKEY *www, *raw, *pss, *authority_key;
    X509 *certificate, *authority;
    char directory[32], socket[64];
} test_token;

extern test_token token;

/* Makes keys and rules, starts warprsad and loads the module, for a group of
 * tests; and ends all of it. */
int test_token_begin_group(void **state);
int test_token_end_group(void **state);

/* Initialises the module with this socket, and finalizes it. */
int test_token_begin(void **state);
int test_token_end(void **state);

/* C_Initialize's argument, which names the socket, and a deadline. */
CK_C_INITIALIZE_ARGS *test_token_arguments(unsigned deadline_ms);

/* warprsad ends, and another one starts. */
void test_token_stop_daemon(void);
void test_token_start_daemon(void);

/* Adds a key to the vault, or removes it, and waits until it is told. */
void test_token_add_key(const char *name, EVP_PKEY *key);
void test_token_remove_key(const char *name);

/* A session; the objects of a class and label. CK_INVALID_HANDLE: there is
 * none. */
CK_SESSION_HANDLE test_token_session(void);
CK_OBJECT_HANDLE test_token_find(CK_SESSION_HANDLE session,
                                 CK_OBJECT_CLASS class, const char *label);
CK_OBJECT_HANDLE test_token_private(CK_SESSION_HANDLE session,
                                    const char *label);
CK_OBJECT_HANDLE test_token_public(CK_SESSION_HANDLE session,
                                   const char *label);

#endif
