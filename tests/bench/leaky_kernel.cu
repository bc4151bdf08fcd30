/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kernel that leaks by a branch as well as by its table's addresses: what
 * scripts/checks/constant-time must find, or it would find nothing.
 */
#include "tests/bench/paper_kernel.cuh"

extern "C" cudaError_t paper_launch_skipping(const paper_shape *shape,
                                             const paper_batch *batch,
                                             cudaStream_t stream)
{
    return shape->bits == 1024
               ? paper::launch<20, 4, 5, 1024, true>(batch, stream)
               : cudaErrorInvalidValue;
}
