/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private operations with primes of 40 samples.
 */
#define WARPRSA_LIMBS 40

#include "gpu/ifma/operation.h"
