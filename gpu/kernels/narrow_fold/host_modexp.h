/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first two stages of the kernel "narrow_fold" on the CPU. Include it after
 * the arithmetic.
 */
#ifndef WARPRSA_GPU_KERNELS_NARROW_FOLD_HOST_MODEXP_H
#define WARPRSA_GPU_KERNELS_NARROW_FOLD_HOST_MODEXP_H

#include "gpu/arith/private_operation.h"

/* x = m^d modulo both primes, blinded, as warprsa_blind_and_modexp() leaves it:
 * for keys of RSA-2048, RSA-3072 and RSA-4096, whose primes have 1,024, 1,536
 * and 2,048 bits at most. `op` has its blinded exponents. Any thread. */
void warprsa_host_narrow_modexp_20(warprsa_number *x,
                                   const warprsa_operation *op,
                                   int threads_per_number,
                                   int limbs_per_thread);
void warprsa_host_narrow_modexp_30(warprsa_number *x,
                                   const warprsa_operation *op,
                                   int threads_per_number,
                                   int limbs_per_thread);
void warprsa_host_narrow_modexp_40(warprsa_number *x,
                                   const warprsa_operation *op,
                                   int threads_per_number,
                                   int limbs_per_thread);

#endif
