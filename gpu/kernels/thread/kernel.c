/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is known of the kernel "thread" before it is launched: one thread raises
 * each half of a request to its exponent.
 */
#include "gpu/kernels/kernels.h"

#include "gpu/arith/operation.h"
#include "gpu/kernels/thread/thread_block.h"

warprsa_launch warprsa_thread_1024, warprsa_thread_2048, warprsa_thread_3072,
    warprsa_thread_4096;

static const unsigned blocks[WARPRSA_CLASSES] = {
    WARPRSA_THREAD_BLOCK_1024, WARPRSA_THREAD_BLOCK_2048,
    WARPRSA_THREAD_BLOCK_3072, WARPRSA_THREAD_BLOCK_4096};

static uint32_t at_once(warprsa_size_class size)
{
    return blocks[size] / 2;
}

/* Tables lie in regions for as many threads as a block has at most, by the
 * thread's number in the batch. That the last block is full may take one region
 * more: with 256 threads of 384, as the other sizes divide the most. Behind the
 * entries there is room for one more: what shared memory has no room for. */
static size_t table_bytes(warprsa_size_class size, size_t count)
{
    const size_t most = blocks[size];
    size_t threads = 0;

    for (size_t block = WARPRSA_THREAD_BLOCK_STEP; block <= most;
         block += WARPRSA_THREAD_BLOCK_STEP) {
        const size_t all = (2 * count + block - 1) / block * block;

        threads = all > threads ? all : threads;
    }
    return (threads + most - 1) / most * most * (WARPRSA_TABLE_SIZE + 1) *
           (size_t)warprsa_shape_of(size).limbs * sizeof(double);
}

/* doc/kernels/README.md says what they were measured with. */
static const warprsa_known_timings known[] = {
    {"NVIDIA H200",
     {[WARPRSA_CLASS_1024] = {25344, 1833, 2395, 2914},
      [WARPRSA_CLASS_2048] = {25344, 7406, 11142, 15605},
      [WARPRSA_CLASS_3072] = {16896, 21108, 22982, 35473},
      [WARPRSA_CLASS_4096] = {16896, 46480, 58839, 77434}}},
    {"NVIDIA H100 80GB HBM3",
     {[WARPRSA_CLASS_1024] = {25344, 1815, 2417, 2941},
      [WARPRSA_CLASS_2048] = {25344, 7375, 11155, 15698},
      [WARPRSA_CLASS_3072] = {16896, 20846, 23052, 35387},
      [WARPRSA_CLASS_4096] = {16896, 44878, 58353, 77503}}},
    {0},
};

const warprsa_kernel warprsa_kernel_thread = {
    .name = "thread",
    .needs = {.doubles = 0.60},
    .growth = WARPRSA_GROWS_BY_WAVES,
    .at_once = at_once,
    .known = known,
    .launch = {[WARPRSA_CLASS_1024] = WARPRSA_OF_CUDA(warprsa_thread_1024),
               [WARPRSA_CLASS_2048] = WARPRSA_OF_CUDA(warprsa_thread_2048),
               [WARPRSA_CLASS_3072] = WARPRSA_OF_CUDA(warprsa_thread_3072),
               [WARPRSA_CLASS_4096] = WARPRSA_OF_CUDA(warprsa_thread_4096)},
    .table_bytes = table_bytes,
};
