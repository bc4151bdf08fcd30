/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is known of the kernel "low_latency" before it is launched: a whole warp
 * computes a request, for few of them.
 */
#include "gpu/kernels/kernels.h"

warprsa_launch warprsa_low_latency_1024, warprsa_low_latency_2048,
    warprsa_low_latency_3072, warprsa_low_latency_4096;

/* As many as an SM of Hopper has shared memory for; with less, the
 * device takes fewer blocks at once. */
static uint32_t at_once(warprsa_size_class size)
{
    static const uint32_t requests[WARPRSA_CLASSES] = {16, 16, 8, 8};

    return requests[size];
}

/* What the kernels hand on: x and R mod P; the tables are in shared memory. */
static size_t table_bytes(warprsa_size_class size, size_t count)
{
    static const warprsa_shape shapes[WARPRSA_CLASSES] = {
        WARPRSA_BLOCK_SHAPE_1024, WARPRSA_BLOCK_SHAPE_2048,
        WARPRSA_BLOCK_SHAPE_3072, WARPRSA_BLOCK_SHAPE_4096};
    const warprsa_shape shape = shapes[size];

    return count * 2 * 2 * (size_t)shape.threads_per_number *
           (size_t)shape.limbs_per_thread * sizeof(double);
}

/* doc/kernels/README.md says what they were measured with. */
static const warprsa_known_timings known[] = {
    {"NVIDIA H200",
     {[WARPRSA_CLASS_1024] = {2112, 425, 675, 1253},
      [WARPRSA_CLASS_2048] = {2112, 1097, 1890, 3591},
      [WARPRSA_CLASS_3072] = {1056, 2953, 2964, 5384},
      [WARPRSA_CLASS_4096] = {1056, 5392, 5430, 9512}}},
    {"NVIDIA H100 80GB HBM3",
     {[WARPRSA_CLASS_1024] = {2112, 425, 677, 1249},
      [WARPRSA_CLASS_2048] = {2112, 1081, 1860, 3536},
      [WARPRSA_CLASS_3072] = {1056, 2956, 2971, 5388},
      [WARPRSA_CLASS_4096] = {1056, 5349, 5392, 9437}}},
    {0},
};

const warprsa_kernel warprsa_kernel_low_latency = {
    .name = "low_latency",
    .needs = {.doubles = 0.25},
    .growth = WARPRSA_GROWS_BY_WAVES,
    .at_once = at_once,
    .known = known,
    .launch = {[WARPRSA_CLASS_1024] = WARPRSA_OF_CUDA(warprsa_low_latency_1024),
               [WARPRSA_CLASS_2048] = WARPRSA_OF_CUDA(warprsa_low_latency_2048),
               [WARPRSA_CLASS_3072] = WARPRSA_OF_CUDA(warprsa_low_latency_3072),
               [WARPRSA_CLASS_4096] =
                   WARPRSA_OF_CUDA(warprsa_low_latency_4096)},
    .table_bytes = table_bytes,
};
