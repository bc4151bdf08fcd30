/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The powers of the kernel "narrow_fold" on the CPU, for RSA-2048.
 */
#define WARPRSA_NARROW_LIMBS 20

#include "gpu/kernels/narrow_fold/host_limbs.h"
