/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private operations with primes of 60 samples.
 */
#define WARPRSA_LIMBS 60

#include "gpu/ifma/operation.h"
