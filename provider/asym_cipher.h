/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * ASYM_CIPHER: encryption and decryption, as signature.h says for signatures.
 */
#ifndef WARPRSA_PROVIDER_ASYM_CIPHER_H
#define WARPRSA_PROVIDER_ASYM_CIPHER_H

#include "provider/algorithms.h"

/* As warprsa_signature_wrap(), for algorithms->ciphers[index]. */
OSSL_DISPATCH *warprsa_asym_cipher_wrap(warprsa_algorithms *algorithms,
                                        unsigned index,
                                        const OSSL_DISPATCH *table);

#endif
