/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gpu/kernels/int32/int32.cuh"

WARPRSA_INT32_LAUNCHER(2048, 2)
