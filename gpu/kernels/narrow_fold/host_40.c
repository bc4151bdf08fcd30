/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The powers of the kernel "narrow_fold" on the CPU, for RSA-4096.
 */
#define WARPRSA_NARROW_LIMBS 40

#include "gpu/kernels/narrow_fold/host_limbs.h"
