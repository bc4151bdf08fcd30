/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Uses of vault keys by libcrypto: what it does before and after the private
 * operation, which an engine computes in between, or all of it.
 *
 * The results are those of libcrypto's default provider: PKCS #1 v1.5
 * decryption with implicit rejection where that libcrypto has it, and TLS
 * pre-master secrets with the protection of RFC 5246, 7.4.7.1. Removing a
 * padding takes the same time whatever the message is, as far as libcrypto's
 * does. Errors are those of the same libcrypto function: of NONE and PKCS1 what
 * RSA_private_encrypt() and RSA_private_decrypt() raise; of PSS, OAEP and TLS,
 * which these do not know, what the default provider's signature and cipher
 * raise.
 *
 * Each use has passed warprsa_key_use_fault() for the key. Each function that
 * may fail returns false then, with libcrypto's *errors; if *errors has none,
 * there was no memory. The calling thread's error queue is empty afterwards.
 * Any thread may call them, for the same key too.
 */
#ifndef WARPRSA_BATCHING_VAULT_PADDING_H
#define WARPRSA_BATCHING_VAULT_PADDING_H

#include "batching/vault/padding_key.h"

/* Makes the number that goes to the engine, as long as the modulus and below
 * it: of SIGN the padded input, of DECRYPT the input. Fails also if the input
 * of SIGN PKCS1 is not what `digest` promises, or the key is an RSA-PSS key
 * that is not made for this use. Of SIGN with PSS `number` may be NULL for a
 * caller who only wants to know whether it can be made. */
bool warprsa_padding_encode(const warprsa_padding_key *key,
                            const warprsa_key_use *use, const uint8_t *input,
                            uint8_t *number, warprsa_use_errors *errors);

/*
 * Makes the answer from what the engine has computed of `number`: of SIGN the
 * same, of DECRYPT the message. `answer` has room for the modulus' length, and
 * *length is set. `power` and the answer of DECRYPT are SECRET: the caller's to
 * wipe. After a failure `answer` has no part of the message.
 */
bool warprsa_padding_finish(const warprsa_padding_key *key,
                            const warprsa_key_use *use, const uint8_t *number,
                            const uint8_t *power, uint8_t *answer,
                            unsigned *length, warprsa_use_errors *errors);

/* Whether finish() of this use only copies bytes, and is done within a
 * microsecond. */
bool warprsa_padding_is_quick(const warprsa_key_use *use);

/*
 * Whether somebody else's answer to a use, as long as the modulus, is right:
 * raised to e (RFC 8017, 5.2.2) it is the number that encode() makes of the
 * input; of PSS, a number that the hash verifies against (RFC 8017, 9.1.2) with
 * the salt's length that the use asks for. False for a use that can't be
 * checked (warprsa_use_is_checkable()). The key may be a public one. The answer
 * of DECRYPT is SECRET: the caller's to wipe. Any thread.
 */
bool warprsa_padding_verify(const warprsa_padding_key *key,
                            const warprsa_key_use *use, const uint8_t *input,
                            const uint8_t *answer);

/* The same of SIGN with PSS for a caller who has raised the answer to e:
 * whether that power, as long as the modulus, is right. The key may be a public
 * one. There is nothing secret here. Any thread. */
bool warprsa_padding_verify_power(const warprsa_padding_key *key,
                                  const warprsa_key_use *use,
                                  const uint8_t *input, const uint8_t *power);

/* Does all of a use, as encode() and finish() with an engine in between. */
bool warprsa_padding_compute(const warprsa_padding_key *key,
                             const warprsa_key_use *use, const uint8_t *input,
                             uint8_t *answer, unsigned *length,
                             warprsa_use_errors *errors);

#endif
