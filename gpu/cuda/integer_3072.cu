/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gpu/cuda/integer.cuh"

WARPRSA_INTEGER_LAUNCHER(3072, 2)
