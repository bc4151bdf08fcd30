/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The private operations of each size class, and the checks of results, which
 * are compiled apart: with AVX-512 IFMA, and once more in plain C
 * (WARPRSA_IFMA_PORTABLE) under other names.
 */
#ifndef WARPRSA_GPU_IFMA_LIMBS_H
#define WARPRSA_GPU_IFMA_LIMBS_H

#include "gpu/kernels/host_arithmetic.h"

#ifdef WARPRSA_IFMA_PORTABLE
#define WARPRSA_IFMA_NAME(name, limbs) warprsa_portable_##name##_##limbs
#else
#define WARPRSA_IFMA_NAME(name, limbs) warprsa_ifma_##name##_##limbs
#endif

/* Computes 1..8 requests with primes of `limbs` samples; see
 * warprsa_host_arithmetic. Any thread. */
#define WARPRSA_DECLARE_LIMBS(limbs)                                           \
    extern const size_t WARPRSA_IFMA_NAME(workspace_bytes, limbs);             \
    extern const size_t WARPRSA_IFMA_NAME(blinding_bytes, limbs);              \
    void WARPRSA_IFMA_NAME(operate, limbs)(void *workspace,                    \
                                           warprsa_host_request *requests,     \
                                           size_t count, void *blinding)

WARPRSA_DECLARE_LIMBS(10);
WARPRSA_DECLARE_LIMBS(20);
WARPRSA_DECLARE_LIMBS(30);
WARPRSA_DECLARE_LIMBS(40);
WARPRSA_DECLARE_LIMBS(60);
WARPRSA_DECLARE_LIMBS(80);

/* warprsa_ifma_check() with moduli of `limbs` samples. Any thread. */
#define WARPRSA_DECLARE_CHECK(limbs)                                           \
    void WARPRSA_IFMA_NAME(check, limbs)(warprsa_ifma_result * results,        \
                                         size_t count)

WARPRSA_DECLARE_CHECK(20);
WARPRSA_DECLARE_CHECK(40);
WARPRSA_DECLARE_CHECK(60);
WARPRSA_DECLARE_CHECK(80);

#endif
