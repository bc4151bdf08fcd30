/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The functions of the RSA_METHOD for references. They turn an operation of
 * libcrypto's into a use of a vault key.
 */
#ifndef WARPRSA_PROVIDER_REFERENCE_METHOD_H
#define WARPRSA_PROVIDER_REFERENCE_METHOD_H

#include <openssl/rsa.h>

#include "batching/vault/wire/key_use.h"
#include "provider/key.h"

/*
 * libcrypto pads PSS signatures before it calls priv_enc(), which sees a padded
 * number alone. Where the vault is to pad, this tells priv_enc() what to ask
 * for instead. It is for the next priv_enc() of this thread, or of this async
 * job, and stays the caller's. NULL: nothing, as after priv_enc().
 */
typedef struct warprsa_intended_use {
    warprsa_key_use use; /* SIGN PSS */
    const uint8_t *hash;
} warprsa_intended_use;
void warprsa_reference_intend(const warprsa_intended_use *intended);

/* Copies a number and fills it up to the length of the modulus, for which
 * `number` has room. False: it is too long, or not below the modulus. */
bool warprsa_reference_number(uint8_t *number, int length,
                              const unsigned char *from, const RSA *rsa);

/* Whether a number as long as the modulus of a reference is below it. */
bool warprsa_reference_is_below(const unsigned char *number, const RSA *rsa);

/* As RSA_private_encrypt(3), RSA_private_decrypt(3), and the mod_exp of a
 * method, for a key that is a reference. Any thread. */
int warprsa_reference_priv_enc(int length, const unsigned char *from,
                               unsigned char *to, RSA *rsa, int padding);
int warprsa_reference_priv_dec(int length, const unsigned char *from,
                               unsigned char *to, RSA *rsa, int padding);
int warprsa_reference_mod_exp(BIGNUM *r0, const BIGNUM *in, RSA *rsa,
                              BN_CTX *bn_ctx);

#endif
