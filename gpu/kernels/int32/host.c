/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "int32" on the CPU.
 */
#define WARPRSA_INT32

#include "gpu/kernels/host_operation.h"

const warprsa_host_arithmetic warprsa_host_int32 = WARPRSA_HOST_ARITHMETIC;
