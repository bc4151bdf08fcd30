/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The host engine of what is installed has one kernel, since no configuration
 * chooses another.
 */
#include "gpu/kernels/host_arithmetic.h"

const warprsa_host_arithmetic *warprsa_host_arithmetic_of(const char *kernel)
{
    (void)kernel;
    return &warprsa_host_cooperative;
}
