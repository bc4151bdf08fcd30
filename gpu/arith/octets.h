/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as octet strings, most significant byte first.
 */
#ifndef WARPRSA_GPU_ARITH_OCTETS_H
#define WARPRSA_GPU_ARITH_OCTETS_H

#include <stddef.h>
#include <stdint.h>

/* How many bits a number has; 0 for 0. Not in constant time: how long a prime
 * is, is no secret. */
static inline unsigned warprsa_octets_bits(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != 0)
            return (unsigned)(8 * (length - i) - 8) +
                   (unsigned)(32 - __builtin_clz(bytes[i]));
    return 0;
}

#endif
