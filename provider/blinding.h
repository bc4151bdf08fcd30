/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * libcrypto's private exponentiation under a blinding of our own: what its
 * blinding, switched off for keys that may pause, would have done.
 */
#ifndef WARPRSA_BLINDING_H
#define WARPRSA_BLINDING_H

#include "provider/key.h"

/*
 * r0 = in^d mod n on this thread. A blinding belongs to one call at a time,
 * and goes idle again after it; there is no lock that a fork could leave
 * taken. 1, or 0 with libcrypto's error raised. Any thread; doesn't pause.
 */
int warprsa_blinded_mod_exp(warprsa_rsa *ours, BIGNUM *r0, const BIGNUM *in,
                            RSA *rsa, BN_CTX *bn_ctx);

#endif
