/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See key_form.h. Compiled twice: with WARPRSA_LARGE for the large classes.
 */
#include "gpu/cuda/key_form.h"

#include <assert.h>

#include "gpu/arith/int32_key.h"
#include "gpu/arith/prepared_key.h"

enum {
    UNBLINDING_BYTES = 2 * WARPRSA_HALF_SAMPLES * sizeof(double),
    EXPONENT_BYTES = 2 * WARPRSA_BLINDED_WORDS * sizeof(uint32_t),
    RESULT_BYTES = WARPRSA_FULL_SAMPLES * sizeof(uint64_t),
};

static warprsa_status prepare(void *out, uint16_t *windows,
                              const warprsa_private_key *key)
{
    warprsa_prepared_key *prepared = out;
    warprsa_status status = warprsa_prepare_key(prepared, key);

    *windows = (uint16_t)prepared->windows;
    return status;
}

#ifdef WARPRSA_LARGE
const warprsa_key_form warprsa_form_large = {
#else
const warprsa_key_form warprsa_form_wide = {
#endif
    .key_bytes = sizeof(warprsa_prepared_key),
    .exponent_at = offsetof(warprsa_prepared_key, half[0].exponent[1]),
    .unblinding_bytes = UNBLINDING_BYTES,
    .exponent_bytes = EXPONENT_BYTES,
    .result_bytes = RESULT_BYTES,
    .prepare = prepare,
};

#ifndef WARPRSA_LARGE
static_assert(sizeof(warprsa_int32_key) <= sizeof(warprsa_prepared_key),
              "a key in limbs fits the place of one in samples");

static warprsa_status prepare_int32(void *out, uint16_t *windows,
                                    const warprsa_private_key *key)
{
    warprsa_int32_key *prepared = out;
    warprsa_status status = warprsa_prepare_int32_key(prepared, key);

    *windows = (uint16_t)prepared->windows;
    return status;
}

const warprsa_key_form warprsa_form_int32 = {
    .key_bytes = sizeof(warprsa_int32_key),
    .exponent_at = offsetof(warprsa_int32_key, half[0].exponent[1]),
    .unblinding_bytes = UNBLINDING_BYTES,
    .exponent_bytes = EXPONENT_BYTES,
    .result_bytes = RESULT_BYTES,
    .prepare = prepare_int32,
};
#endif
