/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private operations with primes of 20 samples, and checks with moduli of as
 * many.
 */
#define WARPRSA_LIMBS 20

#include "gpu/ifma/check.h"
#include "gpu/ifma/ifma_operation.h"
