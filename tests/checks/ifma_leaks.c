/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Functions that leak a digit of the exponent, each in another way: what
 * scripts/checks/ifma-machine-code must find. Never called.
 */
#include <stdint.h>

#include <immintrin.h>

#include "tests/checks/ifma_leaks.h"

/* The entry is read where it is. */
__m512i leak_by_address(const __m512i *table, const uint64_t *digit)
{
    return table[*digit];
}

__m512i leak_by_lane(const __m512i *table, __m512i digit)
{
    return table[_mm_cvtsi128_si64(_mm512_castsi512_si128(digit))];
}

__m512i leak_by_gather(const uint64_t *table, __m512i digit)
{
    return _mm512_i64gather_epi64(digit, table, 8);
}

/* A product is skipped where no lane wants it. */
__m512i leak_by_mask(__m512i x, __m512i y, __m512i digit)
{
    return _mm512_test_epi64_mask(digit, digit) == 0
               ? x
               : _mm512_madd52lo_epu64(x, x, y);
}

/* By way of the stack. */
uint64_t leak_by_stack(const uint64_t *table, __m512i digit)
{
    volatile __m512i kept = digit;

    return table[((const volatile uint64_t *)&kept)[3]];
}
