/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is known of the kernel "cooperative" before it is launched: some threads
 * of a warp compute a request together, in all of its stages.
 */
#include "gpu/kernels/kernels.h"

#include "gpu/arith/operation.h"
#include "gpu/kernels/cooperative/cooperative_block.h"

warprsa_launch warprsa_cooperative_1024, warprsa_cooperative_2048,
    warprsa_cooperative_3072, warprsa_cooperative_4096,
    warprsa_cooperative_6144, warprsa_cooperative_8192;

static uint32_t at_once(warprsa_size_class size)
{
    return WARPRSA_COOPERATIVE_BLOCKS_PER_SM * WARPRSA_COOPERATIVE_BLOCK /
           (2 * (uint32_t)warprsa_shape_of(size).threads_per_number);
}

static size_t table_bytes(warprsa_size_class size, size_t count)
{
    size_t requests = WARPRSA_COOPERATIVE_BLOCK /
                      (2 * (size_t)warprsa_shape_of(size).threads_per_number);
    size_t blocks = (count + requests - 1) / requests;

    return blocks * WARPRSA_COOPERATIVE_BLOCK * WARPRSA_TABLE_DOUBLES *
           sizeof(double);
}

/* doc/kernels/README.md says what they were measured with. */
static const warprsa_known_timings known[] = {
    {"NVIDIA H200",
     {[WARPRSA_CLASS_1024] = {16896, 709, 1134, 2066},
      [WARPRSA_CLASS_2048] = {8448, 2259, 3668, 6924},
      [WARPRSA_CLASS_3072] = {4224, 5368, 7280, 13223},
      [WARPRSA_CLASS_4096] = {4224, 8125, 13272, 25380}}},
    {"NVIDIA H100 80GB HBM3",
     {[WARPRSA_CLASS_1024] = {16896, 707, 1135, 2055},
      [WARPRSA_CLASS_2048] = {8448, 2265, 3664, 6925},
      [WARPRSA_CLASS_3072] = {4224, 5357, 7269, 13157},
      [WARPRSA_CLASS_4096] = {4224, 8066, 13195, 25197}}},
    {0},
};

const warprsa_kernel warprsa_kernel_cooperative = {
    .name = "cooperative",
    .needs = {.doubles = 0.48},
    .growth = WARPRSA_GROWS_BY_WAVES,
    .at_once = at_once,
    .known = known,
    .launch = {[WARPRSA_CLASS_1024] = WARPRSA_OF_CUDA(warprsa_cooperative_1024),
               [WARPRSA_CLASS_2048] = WARPRSA_OF_CUDA(warprsa_cooperative_2048),
               [WARPRSA_CLASS_3072] = WARPRSA_OF_CUDA(warprsa_cooperative_3072),
               [WARPRSA_CLASS_4096] = WARPRSA_OF_CUDA(warprsa_cooperative_4096),
               [WARPRSA_CLASS_6144] = WARPRSA_OF_CUDA(warprsa_cooperative_6144),
               [WARPRSA_CLASS_8192] =
                   WARPRSA_OF_CUDA(warprsa_cooperative_8192)},
    .table_bytes = table_bytes,
};
