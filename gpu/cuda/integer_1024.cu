/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gpu/cuda/integer.cuh"

WARPRSA_INTEGER_LAUNCHER(1024, 3)
