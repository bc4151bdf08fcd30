/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * KEYMGMT: a key is an RSA of our own libcrypto, made by a default provider,
 * with our RSA_METHOD (rsa_method.h). Its numbers come and go only as
 * OSSL_PARAM: libcrypto exports a key from the caller's provider when it
 * chooses an operation of this provider for the key.
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
