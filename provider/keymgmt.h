/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * KEYMGMT: the default provider's, with an RSA_METHOD of ours in every key it
 * makes (rsa_method.h). Keys arrive by import: libcrypto exports them from the
 * default provider when an operation of this provider is chosen for them.
 */
#ifndef WARPRSA_PROVIDER_KEYMGMT_H
#define WARPRSA_PROVIDER_KEYMGMT_H

#include <openssl/core.h>

#include "provider/algorithms.h"

/*
 * Returns a copy of `table`, the default provider's KEYMGMT for one type of
 * key, with our functions in it, and stores those that they call in
 * *originals. `type` is the index of *originals in
 * warprsa_algorithms.keymgmts. The caller frees the copy by OPENSSL_free().
 * NULL: no memory. One thread, at load.
 */
OSSL_DISPATCH *warprsa_keymgmt_wrap(warprsa_keymgmt_originals *originals,
                                    unsigned type, const OSSL_DISPATCH *table);

#endif
