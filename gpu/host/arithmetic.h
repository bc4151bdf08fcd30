/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the host engine needs to know of each way to compute a private operation
 * on the CPU: one for each kernel that computes with an arithmetic, or by a
 * method, of its own.
 */
#ifndef WARPRSA_GPU_HOST_ARITHMETIC_H
#define WARPRSA_GPU_HOST_ARITHMETIC_H

#include <stdbool.h>

#include "gpu/engine.h"

typedef struct warprsa_host_options {
    /* The batch is one of many requests, not of few: an arithmetic may have a
     * shape for each. */
    bool many;
    bool direct_table_reads; /* see warprsa_device_config */
} warprsa_host_options;

typedef struct warprsa_host_arithmetic {
    size_t key_bytes;       /* size of a prepared key; SECRET */
    size_t workspace_bytes; /* scratch memory of an operation; SECRET */

    /* Fills `prepared`, of key_bytes bytes, and returns what
     * warprsa_prepare_key() returns. */
    warprsa_status (*prepare)(void *prepared, const warprsa_private_key *key);

    /* Computes one operation. `workspace` has workspace_bytes bytes; `random`
     * has WARPRSA_RANDOM_WORDS words, for blinding; `output` has
     * WARPRSA_MODULUS_BYTES_MAX bytes. The rounding mode must be toward zero.
     * Returns WARPRSA_OK or WARPRSA_CHECK_FAILED. Any thread. */
    warprsa_status (*operate)(void *workspace, const void *prepared,
                              warprsa_size_class size,
                              warprsa_host_options options,
                              const uint8_t *input, const uint64_t *random,
                              uint8_t *output);
} warprsa_host_arithmetic;

extern const warprsa_host_arithmetic warprsa_host_cooperative;
extern const warprsa_host_arithmetic warprsa_host_int32;
extern const warprsa_host_arithmetic warprsa_host_thread;
extern const warprsa_host_arithmetic warprsa_host_low_latency;

#endif
