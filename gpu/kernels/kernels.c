/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of the kernels: how each is launched, how much memory its tables
 * take, and how many requests an SM computes at the same time.
 */
#include "gpu/kernels/kernels.h"

#include <string.h>

#include "gpu/arith/int32_key.h"
#include "gpu/arith/private_operation.h"

cudaError_t warprsa_cooperative_1024(const warprsa_batch *, cudaStream_t);
cudaError_t warprsa_cooperative_2048(const warprsa_batch *, cudaStream_t);
cudaError_t warprsa_cooperative_3072(const warprsa_batch *, cudaStream_t);
cudaError_t warprsa_cooperative_4096(const warprsa_batch *, cudaStream_t);
cudaError_t warprsa_cooperative_6144(const warprsa_batch *, cudaStream_t);
cudaError_t warprsa_cooperative_8192(const warprsa_batch *, cudaStream_t);
cudaError_t warprsa_low_latency_1024(const warprsa_batch *, cudaStream_t);
cudaError_t warprsa_low_latency_2048(const warprsa_batch *, cudaStream_t);
cudaError_t warprsa_low_latency_3072(const warprsa_batch *, cudaStream_t);
cudaError_t warprsa_low_latency_4096(const warprsa_batch *, cudaStream_t);
cudaError_t warprsa_thread_1024(const warprsa_batch *, cudaStream_t);
cudaError_t warprsa_thread_2048(const warprsa_batch *, cudaStream_t);
cudaError_t warprsa_thread_3072(const warprsa_batch *, cudaStream_t);
cudaError_t warprsa_thread_4096(const warprsa_batch *, cudaStream_t);
cudaError_t warprsa_int32_1024(const warprsa_batch *, cudaStream_t);
cudaError_t warprsa_int32_2048(const warprsa_batch *, cudaStream_t);
cudaError_t warprsa_int32_3072(const warprsa_batch *, cudaStream_t);
cudaError_t warprsa_int32_4096(const warprsa_batch *, cudaStream_t);

/* Threads of a block of the kernel "thread", as thread_*.cu have them. */
static const unsigned warprsa_thread_blocks[WARPRSA_CLASSES] = {
    WARPRSA_THREAD_BLOCK_1024, WARPRSA_THREAD_BLOCK_2048,
    WARPRSA_THREAD_BLOCK_3072, WARPRSA_THREAD_BLOCK_4096};

/* As many as an SM of Hopper has shared memory for; with less, the
 * device takes fewer blocks at once. */
static uint32_t low_latency_at_once(warprsa_size_class size)
{
    static const uint32_t requests[WARPRSA_CLASSES] = {16, 16, 8, 8};

    return requests[size];
}

/* What the kernels hand on: x and R mod P; the tables are in shared memory. */
static size_t low_latency_table_bytes(warprsa_size_class size, size_t count)
{
    static const warprsa_shape shapes[WARPRSA_CLASSES] = {
        WARPRSA_BLOCK_SHAPE_1024, WARPRSA_BLOCK_SHAPE_2048,
        WARPRSA_BLOCK_SHAPE_3072, WARPRSA_BLOCK_SHAPE_4096};
    const warprsa_shape shape = shapes[size];

    return count * 2 * 2 * (size_t)shape.threads_per_number *
           (size_t)shape.limbs_per_thread * sizeof(double);
}

static uint32_t cooperative_at_once(warprsa_size_class size)
{
    return WARPRSA_COOPERATIVE_BLOCKS_PER_SM * WARPRSA_COOPERATIVE_BLOCK /
           (2 * (uint32_t)warprsa_shape_of(size).threads_per_number);
}

static uint32_t thread_at_once(warprsa_size_class size)
{
    return warprsa_thread_blocks[size] / 2;
}

static size_t cooperative_table_bytes(warprsa_size_class size, size_t count)
{
    size_t requests = WARPRSA_COOPERATIVE_BLOCK /
                      (2 * (size_t)warprsa_shape_of(size).threads_per_number);
    size_t blocks = (count + requests - 1) / requests;

    return blocks * WARPRSA_COOPERATIVE_BLOCK * WARPRSA_TABLE_DOUBLES *
           sizeof(double);
}

/* Tables lie in regions for as many threads as a block has at most, by the
 * thread's number in the batch. That the last block is full may take one region
 * more: with 256 threads of 384, as the other sizes divide the most. Behind the
 * entries there is room for one more: what shared memory has no room for. */
static size_t thread_table_bytes(warprsa_size_class size, size_t count)
{
    const size_t most = warprsa_thread_blocks[size];
    size_t threads = 0;

    for (size_t block = WARPRSA_THREAD_BLOCK_STEP; block <= most;
         block += WARPRSA_THREAD_BLOCK_STEP) {
        const size_t all = (2 * count + block - 1) / block * block;

        threads = all > threads ? all : threads;
    }
    return (threads + most - 1) / most * most * (WARPRSA_TABLE_SIZE + 1) *
           (size_t)warprsa_shape_of(size).limbs * sizeof(double);
}

/* Of the longer of its two shapes. */
static size_t int32_table_bytes(warprsa_size_class size, size_t count)
{
    size_t most = 0;

    for (int many = 0; many < 2; many++) {
        const warprsa_shape shape = warprsa_int32_shape_of(size, many);
        size_t requests =
            WARPRSA_INT32_BLOCK / (2 * (size_t)shape.threads_per_number);
        size_t bytes = (count + requests - 1) / requests * WARPRSA_INT32_BLOCK *
                       WARPRSA_TABLE_SIZE * (size_t)shape.limbs_per_thread *
                       sizeof(uint32_t);

        most = bytes > most ? bytes : most;
    }
    return most;
}

const warprsa_kernel warprsa_kernels[WARPRSA_KERNELS] = {
    {WARPRSA_KERNEL_COOPERATIVE,
     {warprsa_cooperative_1024, warprsa_cooperative_2048,
      warprsa_cooperative_3072, warprsa_cooperative_4096,
      warprsa_cooperative_6144, warprsa_cooperative_8192},
     cooperative_table_bytes,
     cooperative_at_once},
    {WARPRSA_KERNEL_THREAD,
     {warprsa_thread_1024, warprsa_thread_2048, warprsa_thread_3072,
      warprsa_thread_4096},
     thread_table_bytes,
     thread_at_once},
    {WARPRSA_KERNEL_LOW_LATENCY,
     {warprsa_low_latency_1024, warprsa_low_latency_2048,
      warprsa_low_latency_3072, warprsa_low_latency_4096},
     low_latency_table_bytes,
     low_latency_at_once},
    {WARPRSA_KERNEL_INT32,
     {warprsa_int32_1024, warprsa_int32_2048, warprsa_int32_3072,
      warprsa_int32_4096},
     int32_table_bytes,
     NULL},
};

const warprsa_kernel *warprsa_kernel_named(const char *name,
                                           warprsa_size_class size)
{
    for (int i = 0; i < WARPRSA_KERNELS; i++)
        if (strcmp(name, warprsa_kernels[i].name) == 0 &&
            warprsa_kernels[i].launch[size] != NULL)
            return &warprsa_kernels[i];
    return NULL;
}
