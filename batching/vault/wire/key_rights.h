/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What one user may do with a key of the vault, for programs that must say
 * beforehand what a key is good for. Plain data of a fixed size.
 *
 * It is an upper bound. What is not in here is denied, as long as the rules
 * stay as they are. What is in here may be denied all the same: because of a
 * rate, because MGF1 would need a digest that another rule allows, because of
 * the key's own restrictions (RSA-PSS), or because the rules have changed
 * since. The daemon decides at each use (warprsa_vault_may()).
 */
#ifndef WARPRSA_BATCHING_VAULT_WIRE_KEY_RIGHTS_H
#define WARPRSA_BATCHING_VAULT_WIRE_KEY_RIGHTS_H

#include <stdint.h>

#include "batching/vault/wire/key_use.h"

/* Bit number i of a mask stands for the value i of the enumeration. */
typedef struct warprsa_key_rights {
    /* Of warprsa_use_operation. */
    uint32_t operations;
    /* Of warprsa_use_padding, by operation. */
    uint32_t paddings[WARPRSA_USE_OPERATIONS];
    /* Of warprsa_use_digest, by operation and padding. 0 if the padding has no
     * use for a digest. Bit WARPRSA_DIGEST_NONE: a use that names none, which
     * SIGN PKCS1 has. */
    uint32_t digests[WARPRSA_USE_OPERATIONS][WARPRSA_USE_PADDINGS];
} warprsa_key_rights;

#endif
