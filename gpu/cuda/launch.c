/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gpu/cuda/kernels.h"

#include "gpu/private_operation.h"

size_t warprsa_table_octets(warprsa_size_class size, size_t count)
{
    size_t requests =
        WARPRSA_BLOCK / (2 * (size_t)warprsa_shape_of(size).width);
    size_t blocks = (count + requests - 1) / requests;

    return blocks * WARPRSA_BLOCK * WARPRSA_TABLE_DOUBLES * sizeof(double);
}

cudaError_t warprsa_launch(warprsa_size_class size, const warprsa_batch *batch,
                           cudaStream_t stream)
{
    switch (size) {
    case WARPRSA_CLASS_1024:
        return warprsa_launch_1024(batch, stream);
    case WARPRSA_CLASS_2048:
        return warprsa_launch_2048(batch, stream);
    case WARPRSA_CLASS_3072:
        return warprsa_launch_3072(batch, stream);
    case WARPRSA_CLASS_4096:
        return warprsa_launch_4096(batch, stream);
    case WARPRSA_CLASSES:
        break;
    }
    return cudaErrorInvalidValue;
}
