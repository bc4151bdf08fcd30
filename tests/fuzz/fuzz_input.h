/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A fuzzer's bytes, read as numbers. After their end all numbers are 0.
 */
#ifndef WARPRSA_TESTS_FUZZ_FUZZ_INPUT_H
#define WARPRSA_TESTS_FUZZ_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_input {
    const uint8_t *at, *end;
} fuzz_input;

static inline uint32_t fuzz_byte(fuzz_input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

/* Any 32-bit number, but often one at a limit: those of the tests' server and
 * of the types. */
static inline uint32_t fuzz_number(fuzz_input *in)
{
    static const uint32_t limits[] = {
        0,          1,     2,     3,         4,         5,
        14,         15,    16,    17,        63,        64,
        65,         66,    80,    127,       128,       129,
        255,        65535, 65536, INT32_MAX, INT32_MIN, UINT32_MAX - 1,
        UINT32_MAX,
    };
    const uint32_t count = sizeof(limits) / sizeof(limits[0]);
    uint32_t which = fuzz_byte(in), number = 0;

    if (which < 8 * count)
        return limits[which % count];
    for (int i = 0; i < 4; i++)
        number = number << 8 | fuzz_byte(in);
    return number;
}

#endif
