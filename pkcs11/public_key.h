/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is done with public keys, by the module's libcrypto.
 */
#ifndef WARPRSA_PKCS11_PUBLIC_KEY_H
#define WARPRSA_PKCS11_PUBLIC_KEY_H

#include "pkcs11/crypto.h"
#include "pkcs11/operation.h"

/* Whether a signature, as long as the modulus, is one of these bytes: of a hash
 * if the mechanism or its parameter has a digest, else of the data. CKR_OK,
 * CKR_SIGNATURE_INVALID, CKR_FUNCTION_FAILED. Any thread. */
CK_RV warprsa_public_key_verify(const warprsa_crypto *crypto,
                                const warprsa_operation *operation,
                                const uint8_t *signed_bytes, size_t bytes,
                                const uint8_t *signature);

/* The data that a signature has in it; `data` has as many bytes as the modulus.
 * CKR_OK, CKR_SIGNATURE_INVALID, CKR_FUNCTION_FAILED. Any thread. */
CK_RV warprsa_public_key_recover(const warprsa_crypto *crypto,
                                 const warprsa_operation *operation,
                                 const uint8_t *signature, uint8_t *data,
                                 size_t *bytes);

/* Encrypts bytes, of a length that the padding takes, to as many as the modulus
 * has. CKR_OK, CKR_FUNCTION_FAILED. Any thread. */
CK_RV warprsa_public_key_encrypt(const warprsa_crypto *crypto,
                                 const warprsa_operation *operation,
                                 const uint8_t *message, size_t bytes,
                                 uint8_t *output);

#endif
