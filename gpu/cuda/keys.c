/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys on a GPU: prepared on the host, copied to the device, wiped there.
 */
#include <string.h>

#include "gpu/arith/int32_key.h"
#include "gpu/cuda/device.h"
#include "gpu/fault.h"

/* A key as the device's kernels want it; what is on the device has the size of
 * the longer kind. SECRET. */
typedef union uploaded_key {
    warprsa_prepared_key wide;
    warprsa_int32_key limb;
} uploaded_key;

static warprsa_status prepare(const warprsa_device *device, uploaded_key *out,
                              warprsa_key_size *size,
                              const warprsa_private_key *key)
{
    const uint32_t flip = warprsa_fault_active(WARPRSA_FAULT_FLIP) ? 1 : 0;
    warprsa_status status;

    memset(out, 0, sizeof(*out));
    if (device->int32) {
        status = warprsa_prepare_int32_key(&out->limb, key);
        out->limb.half[0].exponent[1] ^= flip;
        size->windows = (uint16_t)out->limb.windows;
    } else {
        status = warprsa_prepare_key(&out->wide, key);
        out->wide.half[0].exponent[1] ^= flip;
        size->windows = (uint16_t)out->wide.windows;
    }
    size->bytes = (uint16_t)key->modulus_bytes;
    return status;
}

warprsa_status warprsa_cuda_load_key(warprsa_device *device,
                                     const warprsa_private_key *key,
                                     uint32_t *index)
{
    uploaded_key prepared;
    warprsa_key_size size;
    warprsa_status status = prepare(device, &prepared, &size, key);
    cudaError_t error;

    if (status != WARPRSA_OK)
        return status;
    if (!warprsa_id_pool_acquire(&device->key_ids, index)) {
        explicit_bzero(&prepared, sizeof(prepared));
        return WARPRSA_NO_MEMORY;
    }
    device->key_sizes[*index] = size;
    device->key_folds[*index] = (uint8_t)warprsa_fold_accepts_key(key);
    error = cudaSetDevice((int)device->config.ordinal);
    if (error == cudaSuccess)
        error =
            cudaMemcpyAsync(device->keys + *index, &prepared, sizeof(prepared),
                            cudaMemcpyHostToDevice, device->key_stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(device->key_stream);
    explicit_bzero(&prepared, sizeof(prepared));
    if (error != cudaSuccess)
        warprsa_id_pool_release(&device->key_ids, *index);
    return warprsa_cuda_status(device, "loading a key", error);
}

warprsa_status warprsa_cuda_unload_key(warprsa_device *device, uint32_t index)
{
    cudaError_t error = cudaSetDevice((int)device->config.ordinal);

    if (warprsa_fault_active(WARPRSA_FAULT_WIPE))
        error = cudaErrorLaunchFailure;
    if (error == cudaSuccess)
        error = cudaMemsetAsync(device->keys + index, 0, sizeof(*device->keys),
                                device->key_stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(device->key_stream);
    if (error == cudaSuccess)
        warprsa_id_pool_release(&device->key_ids, index);
    return warprsa_cuda_status(device, "wiping a key", error);
}
