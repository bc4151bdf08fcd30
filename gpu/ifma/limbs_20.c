/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private operations with primes of 20 samples.
 */
#define WARPRSA_LIMBS 20

#include "gpu/ifma/operation.h"
