/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private operations with primes of 30 samples.
 */
#define WARPRSA_LIMBS 30

#include "gpu/ifma/ifma_operation.h"
