/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "cooperative" on the CPU.
 */
#include "gpu/host/operation.h"

const warprsa_host_arithmetic warprsa_host_cooperative =
    WARPRSA_HOST_ARITHMETIC;
