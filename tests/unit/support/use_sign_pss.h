/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The use of a vault's key that most tests ask for: a signature by PSS with
 * SHA-256, whose salt is as long as the digest.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_USE_SIGN_PSS_H
#define WARPRSA_TESTS_UNIT_SUPPORT_USE_SIGN_PSS_H

#include "batching/vault/wire/key_use.h"

static const warprsa_key_use sign_pss __attribute__((unused)) = {
    .operation = WARPRSA_USE_SIGN,
    .padding = WARPRSA_PADDING_PSS,
    .digest = WARPRSA_DIGEST_SHA256,
    .mgf1_digest = WARPRSA_DIGEST_SHA256,
    .salt_bytes = WARPRSA_SALT_DIGEST,
    .input_bytes = 32,
};

#endif
