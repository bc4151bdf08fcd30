/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which paddings and digests make sense with which operations, as bits of
 * rules; for the parser of keys.conf and the decision (key_rules.h).
 */
#ifndef WARPRSA_BATCHING_VAULT_KEY_RULE_SETS_H
#define WARPRSA_BATCHING_VAULT_KEY_RULE_SETS_H

#include <stdint.h>

#include "batching/vault/wire/key_use.h"

#define BIT(number) (UINT32_C(1) << (number))

enum {
    SIGN = BIT(WARPRSA_USE_SIGN),
    DECRYPT = BIT(WARPRSA_USE_DECRYPT),
    SIGN_PADDINGS = BIT(WARPRSA_PADDING_NONE) | BIT(WARPRSA_PADDING_PKCS1) |
                    BIT(WARPRSA_PADDING_PSS),
    DECRYPT_PADDINGS = BIT(WARPRSA_PADDING_NONE) | BIT(WARPRSA_PADDING_PKCS1) |
                       BIT(WARPRSA_PADDING_TLS) | BIT(WARPRSA_PADDING_OAEP),
    SIGN_DIGESTS = BIT(WARPRSA_PADDING_PKCS1) | BIT(WARPRSA_PADDING_PSS),
    DECRYPT_DIGESTS = BIT(WARPRSA_PADDING_OAEP),
};

#endif
