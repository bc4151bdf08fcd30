/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * KEYMGMT: a key is an RSA of our own libcrypto, made by a default provider,
 * with our RSA_METHOD (rsa_method.h). Its numbers come and go only as
 * OSSL_PARAM: libcrypto exports a key from the caller's provider when it
 * chooses an operation of this provider for the key. A reference (reference.h)
 * is such an RSA with public numbers alone. It says that it has private ones,
 * since programs ask before they sign, but it does not export them.
 */
#ifndef WARPRSA_PROVIDER_KEYMGMT_H
#define WARPRSA_PROVIDER_KEYMGMT_H

#include "batching/vault/wire/reference.h"
#include "provider/context.h"

/*
 * Reads the functions of `table`, the default provider's KEYMGMT for one type
 * of key, into algorithms->keymgmts[type]. Returns a table with ours in their
 * place, which the caller frees by OPENSSL_free(). NULL: no memory. One thread,
 * at load.
 */
OSSL_DISPATCH *warprsa_keymgmt_wrap(warprsa_algorithms *algorithms,
                                    unsigned type, const OSSL_DISPATCH *table);

/*
 * Makes the key of a reference, for the keymgmt with the name *type, which
 * libcrypto's KEYMGMT LOAD or warprsa_keymgmt_free_reference() takes over. 0:
 * no memory, or the public key is none; an error is raised. Any thread.
 */
int warprsa_keymgmt_make_reference(warprsa_context *context,
                                   const warprsa_reference *reference,
                                   void **out, const char **type);
void warprsa_keymgmt_free_reference(void *key);

/* Whether what `selection` has of a key of ours may leave it. False, with an
 * error raised: private numbers of a reference. Any thread. */
bool warprsa_keymgmt_may_export(const void *key, int selection);

/* OSSL_FUNC_KEYMGMT_EXPORT of our keys. */
int warprsa_keymgmt_export(void *key, int selection, OSSL_CALLBACK *callback,
                           void *arg);

#endif
