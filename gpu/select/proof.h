/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which of the kernels that a device has timings of compute right there, by the
 * known-answer test. Plain C: the caller supplies the function that runs it.
 */
#ifndef WARPRSA_GPU_SELECT_PROOF_H
#define WARPRSA_GPU_SELECT_PROOF_H

#include "gpu/select/selection.h"

/* Runs the known-answer test of one class by this kernel.
 * WARPRSA_CHECK_FAILED: the answer was wrong. */
typedef warprsa_status (*warprsa_kernel_test)(void *arg,
                                              warprsa_size_class size,
                                              const warprsa_kernel *kernel);

/* Kernels that compute wrongly. */
typedef struct warprsa_wrong_kernels {
    unsigned count;
    const warprsa_kernel *kernel[WARPRSA_KERNELS];
} warprsa_wrong_kernels;

/*
 * Tests each row's kernel with its class. A kernel for requests of one key that
 * computes wrongly is left out: its rows of all classes go, and *wrong names
 * it. The others compute what it would have. Any other kernel that does so, or
 * any other error, is an error of the device, and ends the test with that
 * status: there need not be a kernel in its place. Calls `test` on the caller's
 * thread.
 */
warprsa_status warprsa_prove_kernels(warprsa_kernel_timings *timings,
                                     warprsa_kernel_test test, void *arg,
                                     warprsa_wrong_kernels *wrong);

#endif
