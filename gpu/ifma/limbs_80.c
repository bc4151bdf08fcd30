/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private operations with primes of 80 samples.
 */
#define WARPRSA_LIMBS 80

#include "gpu/ifma/operation.h"
