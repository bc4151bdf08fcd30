/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The paper's kernel, instantiated for the four sizes of paper_shapes.
 */
#include "bench/programs/paper_kernel.cuh"

extern "C" {

const paper_shape paper_shapes[PAPER_SIZES] = {
    {512, 10, 2, 5},
    {1024, 20, 4, 5},
    {1536, 30, 8, 4},
    {2048, 40, 8, 5},
};

size_t paper_table_bytes(const paper_shape *shape, size_t count)
{
    size_t per_block = (size_t)PAPER_BLOCK / (size_t)shape->threads;
    size_t blocks = (count + per_block - 1) / per_block;

    return blocks * PAPER_BLOCK * (size_t)shape->per_thread * PAPER_ENTRIES *
           sizeof(double);
}

cudaError_t paper_launch(const paper_shape *shape, const paper_batch *batch,
                         cudaStream_t stream)
{
    switch (shape->bits) {
    case 512:
        return paper::launch<10, 2, 5, 512, false>(batch, stream);
    case 1024:
        return paper::launch<20, 4, 5, 1024, false>(batch, stream);
    case 1536:
        return paper::launch<30, 8, 4, 1536, false>(batch, stream);
    case 2048:
        return paper::launch<40, 8, 5, 2048, false>(batch, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
}
