/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An operation of a session, from C_SignInit or its like to its end: mechanism,
 * key, and the data so far, hashed or collected. A session may have one of each
 * kind at a time. Signing and recoverable signing are of one kind, and so are
 * the two ways to verify.
 */
#ifndef WARPRSA_PKCS11_OPERATION_H
#define WARPRSA_PKCS11_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batching/vault/wire/key_use.h"
#include "pkcs11/crypto.h"
#include "pkcs11/cryptoki.h"
#include "pkcs11/entry.h"
#include "pkcs11/mechanisms.h"

typedef enum warprsa_operation_slot {
    WARPRSA_OPERATION_DIGEST,
    WARPRSA_OPERATION_SIGN,
    WARPRSA_OPERATION_VERIFY,
    WARPRSA_OPERATION_ENCRYPT,
    WARPRSA_OPERATION_DECRYPT,
    WARPRSA_OPERATION_SLOTS
} warprsa_operation_slot;

typedef struct warprsa_operation {
    CK_FLAGS how; /* CKF_SIGN, CKF_SIGN_RECOVER, ...; 0: none is active */
    const warprsa_mechanism *mechanism;
    warprsa_entry *entry; /* held; NULL: of a digest */
    warprsa_key_use use;  /* padding, digests, salt and label */
    bool updated;         /* data has come in parts */
    EVP_MD_CTX *hashing;  /* kept from one operation to the next */
    /* If nothing is hashed; WARPRSA_VAULT_MODULUS_BYTES_MAX, made at the first
     * data and kept as well. */
    uint8_t *data;
    size_t bytes;
} warprsa_operation;

/* Begins an operation that is not active, with a key; of a digest the entry is
 * NULL. The mechanism has been read. It holds the entry. CKR_OK, or
 * CKR_HOST_MEMORY, or CKR_MECHANISM_INVALID: libcrypto lacks the digest. */
CK_RV warprsa_operation_begin(warprsa_operation *operation,
                              const warprsa_crypto *crypto, CK_FLAGS how,
                              const warprsa_mechanism *mechanism,
                              const warprsa_key_use *use, warprsa_entry *entry);

/* Adds data. CKR_DATA_LEN_RANGE: it is more than any key takes.
 * CKR_HOST_MEMORY. */
CK_RV warprsa_operation_add(warprsa_operation *operation, const uint8_t *data,
                            size_t bytes);

/* Writes the hash of the data so far, and its length. */
CK_RV warprsa_operation_hash(warprsa_operation *operation,
                             uint8_t hash[EVP_MAX_MD_SIZE], size_t *bytes);

/* Ends an operation, and wipes its data. */
void warprsa_operation_end(warprsa_operation *operation);

/* Ends and frees it. NULL: does nothing. */
void warprsa_operation_free(warprsa_operation *operation);

#endif
