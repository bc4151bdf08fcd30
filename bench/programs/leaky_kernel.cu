/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The paper's kernel made to leak by a branch, too, not only by its table's
 * addresses. scripts/checks/constant-time must find this leak: a check that
 * does not would show nothing about the other kernels either.
 */
#include "bench/programs/paper_kernel.cuh"

extern "C" cudaError_t paper_launch_skipping(const paper_shape *shape,
                                             const paper_batch *batch,
                                             cudaStream_t stream)
{
    return shape->bits == 1024
               ? paper::launch<20, 4, 5, 1024, true>(batch, stream)
               : cudaErrorInvalidValue;
}
