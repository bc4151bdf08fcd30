/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private operations with primes of 60 samples, and checks with moduli of as
 * many.
 */
#define WARPRSA_LIMBS 60

#include "gpu/ifma/check.h"
#include "gpu/ifma/ifma_operation.h"
