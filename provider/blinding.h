/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A private exponentiation under a blinding of our own: what libcrypto's
 * blinding, switched off for keys that may pause, would have done.
 */
#ifndef WARPRSA_BLINDING_H
#define WARPRSA_BLINDING_H

#include "provider/key.h"

/* Computes r0 = in^d mod n; 1, or 0 with libcrypto's error raised. */
typedef int warprsa_mod_exp_fn(BIGNUM *r0, const BIGNUM *in, RSA *rsa,
                               BN_CTX *bn_ctx);

/*
 * Calls `compute` with a blinded number and takes the blinding off its result,
 * which has the length of the modulus whatever its value. A blinding belongs
 * to one call at a time, which may pause, and goes idle again after it; there
 * is no lock that a fork could leave taken. Returns what `compute` does; 0 also
 * for want of memory or random numbers, with libcrypto's error raised. Any
 * thread.
 */
int warprsa_blinded(warprsa_rsa *ours, warprsa_mod_exp_fn *compute, BIGNUM *r0,
                    const BIGNUM *in, RSA *rsa, BN_CTX *bn_ctx);

#endif
