/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reads the clocks that each stage of a private operation took in kernels that
 * were compiled with stage_clocks.cuh.
 */
#ifndef WARPRSA_BENCH_STAGE_CLOCKS_H
#define WARPRSA_BENCH_STAGE_CLOCKS_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The stages by the names that WARPRSA_STAGE() gets (gpu/arith/stage.h). */
typedef enum bench_stage {
    STAGE_SPLIT,         /* the input and the result mod p and mod q */
    STAGE_BLINDING,      /* u = m r^(e-1), u r */
    STAGE_EXPONENT,      /* exponents blinded */
    STAGE_MODEXP,        /* the two exponentiations */
    STAGE_UNBLINDING,    /* times u */
    STAGE_REDUCTION,     /* exact, wherever it is called for */
    STAGE_RECOMBINATION, /* Garner */
    STAGE_CHECK,         /* s^e = m */
    STAGE_OUTPUT,        /* bytes out */
    STAGE_REST,          /* numbers change hands; waiting; wiping */
    STAGES
} bench_stage;

/* Waits for the device, reads one kernel's clocks by stage, added up over its
 * warps since the last call, and sets them to zero. */
typedef cudaError_t stage_clocks_take(uint64_t clocks[STAGES]);

#ifdef __cplusplus
}
#endif
#endif
