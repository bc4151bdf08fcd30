/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The mechanisms of the token, one row each, and what each asks of a vault key.
 */
#ifndef WARPRSA_PKCS11_MECHANISMS_H
#define WARPRSA_PKCS11_MECHANISMS_H

#include <stdbool.h>
#include <stdint.h>

#include "batching/vault/wire/key_rights.h"
#include "batching/vault/wire/key_use.h"
#include "pkcs11/cryptoki.h"

enum {
    WARPRSA_MECHANISMS_MAX = 40,
    WARPRSA_TOKEN_BITS_MIN = 1024, /* of keys that the vault takes */
    WARPRSA_TOKEN_BITS_MAX = 16384,
};

typedef struct warprsa_mechanism {
    CK_MECHANISM_TYPE type;
    CK_FLAGS flags;  /* what it does: CKF_SIGN and so on */
    uint8_t padding; /* warprsa_use_padding; 0: it is a digest */
    uint8_t digest;  /* warprsa_use_digest that it computes; NONE: none */
} warprsa_mechanism;

/* The rows, in an order without meaning. */
extern const warprsa_mechanism warprsa_mechanisms[];
extern const unsigned warprsa_mechanism_count;

/* The row of a type; NULL: there is none. */
const warprsa_mechanism *warprsa_mechanism_find(CK_MECHANISM_TYPE type);

/*
 * Reads a mechanism as a program gives it, for what `wanted` (one of CKF_SIGN
 * and so on) says. Sets the row, and in `use` padding, digests, salt and label;
 * all else there is 0. CKR_MECHANISM_INVALID: the token has none of this type,
 * or it does not do that. CKR_MECHANISM_PARAM_INVALID: its parameter is none of
 * its own. Any thread.
 */
CK_RV warprsa_mechanism_read(const CK_MECHANISM *given, CK_FLAGS wanted,
                             const warprsa_mechanism **found,
                             warprsa_key_use *use);

/* Whether these rights allow what a mechanism does with a private key: `flag`
 * is CKF_SIGN, CKF_SIGN_RECOVER or CKF_DECRYPT. A mechanism whose digest the
 * program chooses later is allowed if one digest is. */
bool warprsa_mechanism_is_allowed(const warprsa_mechanism *mechanism,
                                  CK_FLAGS flag,
                                  const warprsa_key_rights *rights);

#endif
