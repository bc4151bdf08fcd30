/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The public key that the checks of gpu/ifma/check.h take, in samples of 52
 * bits.
 */
#ifndef WARPRSA_GPU_IFMA_PUBLIC_KEY_H
#define WARPRSA_GPU_IFMA_PUBLIC_KEY_H

#include "gpu/engine.h"

struct warprsa_ifma_public_key {
    uint64_t e;
    uint32_t modulus_bytes;
    warprsa_size_class size;
    double n0inv; /* -1/n mod 2^52 */
    /* n, 2^-52 mod n and R^2 mod n, each of as many samples as the class has
     * for n; R is 2^52 to that number. Low sample first. */
    double numbers[];
};

/* warprsa_ifma_public_key_new() on any CPU: for tests. */
warprsa_status warprsa_ifma_public_key_prepare(const warprsa_private_key *key,
                                               warprsa_ifma_public_key **out);

#endif
