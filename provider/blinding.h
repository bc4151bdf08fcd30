/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A private exponentiation under a blinding of our own. It replaces
 * libcrypto's blinding, which is off for keys whose operations may pause
 * (warprsa_rsa_classify() says why).
 */
#ifndef WARPRSA_PROVIDER_BLINDING_H
#define WARPRSA_PROVIDER_BLINDING_H

#include "provider/key.h"

/* Computes r0 = in^d mod n. Returns 1, or 0 with libcrypto's error raised. */
typedef int warprsa_mod_exp_fn(BIGNUM *r0, const BIGNUM *in, RSA *rsa,
                               BN_CTX *bn_ctx);

/*
 * Blinds `in`, calls `compute` with it and unblinds the result, which has the
 * length of the modulus whatever its value. A blinding belongs to one call at
 * a time, which may pause, and is idle again afterwards; no lock is held that
 * a fork could leave taken. Returns what `compute` returns; 0 also without
 * memory or random numbers, with libcrypto's error raised where it has not been
 * cleaned up. Any thread.
 */
int warprsa_blinded(warprsa_rsa *ours, warprsa_mod_exp_fn *compute, BIGNUM *r0,
                    const BIGNUM *in, RSA *rsa, BN_CTX *bn_ctx);

#endif
