/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is known of the kernel "int32" before it is launched: no double
 * precision, and keys of its own form.
 */
#include "gpu/kernels/kernels.h"

#include "gpu/arith/int32_key.h"
#include "gpu/arith/operation.h"
#include "gpu/kernels/int32/int32_block.h"

warprsa_launch warprsa_int32_1024, warprsa_int32_2048, warprsa_int32_3072,
    warprsa_int32_4096;

static uint32_t at_once(warprsa_size_class size)
{
    return WARPRSA_INT32_BLOCKS_MANY(warprsa_class_bits(size)) *
           WARPRSA_INT32_BLOCK /
           (2 *
            (uint32_t)warprsa_int32_shape_of(size, true).threads_per_number);
}

/* Enough for either of its two shapes. */
static size_t table_bytes(warprsa_size_class size, size_t count)
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

const warprsa_kernel warprsa_kernel_int32 = {
    .name = "int32",
    .needs = {.multiplies = 0.87,
              .per_second = {5090000, 1228000, 307000, 138600}},
    .int32_keys = true,
    .growth = WARPRSA_GROWS_BY_WAVES,
    .at_once = at_once,
    .launch = {[WARPRSA_CLASS_1024] = WARPRSA_OF_CUDA(warprsa_int32_1024),
               [WARPRSA_CLASS_2048] = WARPRSA_OF_CUDA(warprsa_int32_2048),
               [WARPRSA_CLASS_3072] = WARPRSA_OF_CUDA(warprsa_int32_3072),
               [WARPRSA_CLASS_4096] = WARPRSA_OF_CUDA(warprsa_int32_4096)},
    .table_bytes = table_bytes,
};
