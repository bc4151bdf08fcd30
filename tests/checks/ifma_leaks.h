/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The functions of ifma_leaks.c.
 */
#ifndef WARPRSA_TESTS_CHECKS_IFMA_LEAKS_H
#define WARPRSA_TESTS_CHECKS_IFMA_LEAKS_H

#include <stdint.h>

#include <immintrin.h>

__m512i leak_by_address(const __m512i *table, const uint64_t *digit);
__m512i leak_by_lane(const __m512i *table, __m512i digit);
__m512i leak_by_gather(const uint64_t *table, __m512i digit);
__m512i leak_by_mask(__m512i x, __m512i y, __m512i digit);
uint64_t leak_by_stack(const uint64_t *table, __m512i digit);

#endif
