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

#define WARPRSA_RULE_BIT(number) (UINT32_C(1) << (number))

enum {
    WARPRSA_RULE_SIGN = WARPRSA_RULE_BIT(WARPRSA_USE_SIGN),
    WARPRSA_RULE_DECRYPT = WARPRSA_RULE_BIT(WARPRSA_USE_DECRYPT),
    WARPRSA_RULE_SIGN_PADDINGS = WARPRSA_RULE_BIT(WARPRSA_PADDING_NONE) |
                                 WARPRSA_RULE_BIT(WARPRSA_PADDING_PKCS1) |
                                 WARPRSA_RULE_BIT(WARPRSA_PADDING_PSS),
    WARPRSA_RULE_DECRYPT_PADDINGS = WARPRSA_RULE_BIT(WARPRSA_PADDING_NONE) |
                                    WARPRSA_RULE_BIT(WARPRSA_PADDING_PKCS1) |
                                    WARPRSA_RULE_BIT(WARPRSA_PADDING_TLS) |
                                    WARPRSA_RULE_BIT(WARPRSA_PADDING_OAEP),
    WARPRSA_RULE_SIGN_DIGESTS = WARPRSA_RULE_BIT(WARPRSA_PADDING_PKCS1) |
                                WARPRSA_RULE_BIT(WARPRSA_PADDING_PSS),
    WARPRSA_RULE_DECRYPT_DIGESTS = WARPRSA_RULE_BIT(WARPRSA_PADDING_OAEP),
};

#endif
