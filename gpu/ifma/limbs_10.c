/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private operations with primes of 10 samples.
 */
#define WARPRSA_LIMBS 10

#include "gpu/ifma/ifma_operation.h"
