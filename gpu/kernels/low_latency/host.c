/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "low_latency" on the CPU.
 */
#define WARPRSA_BLOCK_ARITH
#define WARPRSA_HOST_MODEXP warprsa_block_blind_and_modexp

#include "gpu/arith/block_modexp.h"

#include "gpu/kernels/host_operation.h"

const warprsa_host_arithmetic warprsa_host_low_latency =
    WARPRSA_HOST_ARITHMETIC;
