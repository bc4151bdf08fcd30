/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "cooperative" on the CPU. Compiled twice: with WARPRSA_LARGE for
 * the large classes.
 */
#include "gpu/kernels/host_operation.h"

#ifdef WARPRSA_LARGE
const warprsa_host_arithmetic warprsa_host_large = WARPRSA_HOST_ARITHMETIC;
#else
const warprsa_host_arithmetic warprsa_host_cooperative =
    WARPRSA_HOST_ARITHMETIC;
#endif
