/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * KEYMGMT: a key is an RSA of our own libcrypto, made by the default provider
 * of our own library context, with an RSA_METHOD of ours in it (rsa_method.h).
 * Its numbers come and go as OSSL_PARAM alone: libcrypto exports a key from the
 * caller's provider when an operation of this provider is chosen for it.
 */
#ifndef WARPRSA_PROVIDER_KEYMGMT_H
#define WARPRSA_PROVIDER_KEYMGMT_H

#include "provider/algorithms.h"

/*
 * Reads the functions of `table`, the default provider's KEYMGMT for one type
 * of key, into algorithms->keymgmts[type]. Returns a table with ours in their
 * place, which the caller frees by OPENSSL_free(). NULL: no memory. One thread,
 * at load.
 */
OSSL_DISPATCH *warprsa_keymgmt_wrap(warprsa_algorithms *algorithms,
                                    unsigned type, const OSSL_DISPATCH *table);

#endif
