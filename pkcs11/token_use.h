/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Uses of private keys, which warprsad computes.
 */
#ifndef WARPRSA_PKCS11_TOKEN_USE_H
#define WARPRSA_PKCS11_TOKEN_USE_H

#include "pkcs11/library.h"

/*
 * Has warprsad use the key of an entry, and waits for the answer until the
 * deadline. `output` has as many bytes as the modulus; *bytes are the answer's.
 *
 * CKR_KEY_FUNCTION_NOT_PERMITTED: keys.conf allows this user no such use.
 * CKR_FUNCTION_REJECTED: the user has used up its rate. CKR_DEVICE_ERROR: no
 * answer within the deadline. CKR_FUNCTION_FAILED or, when decrypting,
 * CKR_ENCRYPTED_DATA_INVALID: there is no result for this input.
 * CKR_HOST_MEMORY. Any thread.
 */
CK_RV warprsa_token_use(warprsa_library *library, warprsa_entry *entry,
                        const warprsa_key_use *use, const uint8_t *input,
                        uint8_t *output, size_t *bytes);

#endif
