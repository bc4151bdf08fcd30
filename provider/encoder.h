/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * ENCODER: the default provider's encoders of RSA keys, for keys that are ours.
 * Without them libcrypto would export a key to the default provider with what
 * the caller selects, and encode that. A caller may select numbers without
 * parameters, or the other way round: then an RSA-PSS key lost its
 * restrictions, and libcrypto printed numbers that were not there.
 */
#ifndef WARPRSA_PROVIDER_ENCODER_H
#define WARPRSA_PROVIDER_ENCODER_H

#include "provider/algorithms.h"

/* As warprsa_signature_wrap(), for algorithms->encoders[index]. For callers
 * that have our libcrypto: an encoder writes to a BIO of theirs. */
OSSL_DISPATCH *warprsa_encoder_wrap(warprsa_algorithms *algorithms,
                                    unsigned index, const OSSL_DISPATCH *table);

#endif
