/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A private operation on the CPU in either arithmetic of gpu/arith/arithmetic.h, and
 * in doubles by one thread a half: what the engine on the CPU needs to know of
 * it.
 */
#ifndef WARPRSA_GPU_HOST_ARITHMETIC_H
#define WARPRSA_GPU_HOST_ARITHMETIC_H

#include <stdbool.h>

#include "gpu/engine.h"

typedef struct warprsa_host_options {
    bool many; /* spread over lanes as for a batch of many requests or few,
                * where the arithmetic tells these apart */
    bool direct_table_reads; /* as warprsa_device_config has it */
} warprsa_host_options;

typedef struct warprsa_host_arithmetic {
    size_t key_bytes;       /* of a prepared key; SECRET */
    size_t workspace_bytes; /* of what an operation works in; SECRET */

    /* Fills `prepared`, as warprsa_prepare_key() does. */
    warprsa_status (*prepare)(void *prepared, const warprsa_private_key *key);

    /* One operation, blinded by RANDOM_WORDS words at `random`; `output` has
     * room for MODULUS_BYTES_MAX. WARPRSA_OK or WARPRSA_CHECK_FAILED. The
     * rounding mode is toward zero. */
    warprsa_status (*operate)(void *workspace, const void *prepared,
                              warprsa_size_class size,
                              warprsa_host_options options,
                              const uint8_t *input, const uint64_t *random,
                              uint8_t *output);
} warprsa_host_arithmetic;

extern const warprsa_host_arithmetic warprsa_host_wide;
extern const warprsa_host_arithmetic warprsa_host_int32;
extern const warprsa_host_arithmetic warprsa_host_thread;
extern const warprsa_host_arithmetic warprsa_host_low_latency;

#endif
