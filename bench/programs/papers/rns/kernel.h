/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The launcher of the system with residue number systems.
 */
#ifndef WARPRSA_PAPERS_RNS_KERNEL_H
#define WARPRSA_PAPERS_RNS_KERNEL_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#include "bench/programs/papers/rns/rns.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    RNS_BLOCK = 128, /* threads */
};

/* Queues the kernel for pair i of rns_pairs. `key` is in device memory, and so
 * are the numbers: 64 words each, the residues in both bases. The results take
 * their places. */
cudaError_t rns_launch(int i, const rns_key *key, uint32_t *numbers,
                       uint32_t count, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
