/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys on a GPU: prepared on the host, copied to the device, wiped there. Those
 * of the large classes have memory of their own, allocated for the first one.
 * It has fewer places than there are indices, which all keys share.
 */
#include <string.h>

#include "batching/base/clock.h"
#include "gpu/cuda/cuda_device.h"
#include "gpu/fault.h"

/* An attempt to get memory that is not there takes long, so there is one in
 * this time at most. */
#define RETRY_NS WARPRSA_NS_PER_SEC

/* A key that has no place on the device yet. SECRET. */
typedef struct unplaced_key {
    const warprsa_key_form *form;
    void *prepared; /* of this form */
    warprsa_key_size size;
    uint8_t folds;
} unplaced_key;

/* wipe() follows, also after a failure. */
static warprsa_status prepare(warprsa_device *device, unplaced_key *out,
                              const warprsa_private_key *key)
{
    const int class = warprsa_key_class(key);
    const bool is_large = class >= WARPRSA_CLASS_LARGE;
    warprsa_status status;

    if (is_large)
        out->form = &warprsa_form_large;
    else if (device->int32_keys)
        out->form = &warprsa_form_int32;
    else
        out->form = &warprsa_form_wide;
    out->size = (warprsa_key_size){.bytes = (uint16_t)key->modulus_bytes,
                                   .is_large = is_large};
    out->folds = (uint8_t)warprsa_fold_accepts_key(key);
    out->prepared = warprsa_secret_take(&device->secrets, out->form->key_bytes);
    if (out->prepared == NULL)
        return WARPRSA_NO_MEMORY;
    status = out->form->prepare(out->prepared, &out->size.windows, key);
    if (warprsa_fault_active(WARPRSA_FAULT_FLIP))
        ((uint8_t *)out->prepared)[out->form->exponent_at] ^= 1;
    return status;
}

static void wipe(warprsa_device *device, unplaced_key *key)
{
    warprsa_secret_give(&device->secrets, key->prepared, key->form->key_bytes);
}

/* Bytes from one key of its kind to the next. */
static size_t stride_of(const warprsa_device *device, uint32_t index)
{
    return device->key_sizes[index].is_large ? warprsa_form_large.key_bytes
                                             : sizeof(*device->keys);
}

static uint8_t *place_of(const warprsa_device *device, uint32_t index)
{
    uint8_t *first =
        (uint8_t *)(device->key_sizes[index].is_large ? device->large_keys
                                                      : device->keys);

    return first + device->key_sizes[index].at * stride_of(device, index);
}

/* Gives a large key its place in device memory. False: there is none. */
static bool find_large_place(warprsa_device *device, unplaced_key *key)
{
    return warprsa_id_pool_acquire(&device->large_places, &key->size.at);
}

/* Gives back the place of a key. */
static void give_back(warprsa_device *device, const warprsa_key_size *size)
{
    if (size->is_large)
        warprsa_id_pool_release(&device->large_places, size->at);
}

/* Gives a key its index and its place, one of a large class the place first:
 * where neither is there, a large key makes room for both. */
static warprsa_status find_place(warprsa_device *device, unplaced_key *key,
                                 uint32_t *index)
{
    if (key->size.is_large && !find_large_place(device, key))
        return WARPRSA_LARGE_KEYS_FULL;
    if (!warprsa_id_pool_acquire(&device->key_ids, index)) {
        give_back(device, &key->size);
        return WARPRSA_NO_MEMORY;
    }
    if (!key->size.is_large)
        key->size.at = *index;
    return WARPRSA_OK;
}

/* Copies a key to its place on the device, which it gives back on failure. */
static warprsa_status place(warprsa_device *device, const unplaced_key *key,
                            uint32_t index)
{
    cudaError_t error = cudaSetDevice((int)device->config.ordinal);

    device->key_sizes[index] = key->size;
    device->key_folds[index] = key->folds;
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(place_of(device, index), key->prepared,
                                key->form->key_bytes, cudaMemcpyHostToDevice,
                                device->key_stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(device->key_stream);
    if (error != cudaSuccess)
        give_back(device, &key->size);
    return warprsa_cuda_status(device, "loading a key", error);
}

/* Loads a key of a large class for the known-answer test, at an index behind
 * those of other keys. The first keys of these classes always find a place. */
static warprsa_status load_test_key(warprsa_device *device,
                                    const warprsa_private_key *key,
                                    uint32_t *index)
{
    unplaced_key unplaced;
    warprsa_status status = prepare(device, &unplaced, key);

    *index = device->config.keys_max + (uint32_t)warprsa_key_class(key);
    if (status == WARPRSA_OK && !find_large_place(device, &unplaced))
        status = WARPRSA_LARGE_KEYS_FULL;
    if (status == WARPRSA_OK)
        status = place(device, &unplaced, *index);
    wipe(device, &unplaced);
    return status;
}

uint32_t warprsa_cuda_large_places(uint32_t keys_max)
{
    const uint32_t most = WARPRSA_LARGE_KEYS_MAX;

    return (keys_max < most ? keys_max : most) + WARPRSA_CLASSES -
           WARPRSA_CLASS_LARGE;
}

/* Allocates the memory of large keys. */
static cudaError_t allocate(warprsa_device *device)
{
    const uint32_t places = warprsa_cuda_large_places(device->config.keys_max);
    cudaError_t error = cudaSetDevice((int)device->config.ordinal);

    if (error == cudaSuccess && warprsa_fault_active(WARPRSA_FAULT_MEMORY))
        return cudaErrorMemoryAllocation;
    if (error == cudaSuccess)
        error = cudaMalloc((void **)&device->large_keys,
                           places * warprsa_form_large.key_bytes);
    /* CUDA would report it once more, as the error of the next launch. */
    if (error != cudaSuccess)
        (void)cudaGetLastError();
    return error;
}

/* Makes the device ready for keys of the large classes, and loads the keys of
 * the known-answer test. Without memory it takes no such keys. The error is
 * WARPRSA_UNSUPPORTED_KEY, since no other key need make room. With the
 * large_lock held. */
static warprsa_status take_large(warprsa_device *device)
{
    static const warprsa_engine of_test = {.load_key = load_test_key};

    if (device->large_keys == NULL) {
        cudaError_t error;

        if (warprsa_clock_ns() < device->large_retry_ns)
            return WARPRSA_UNSUPPORTED_KEY;
        error = allocate(device);
        if (error == cudaErrorMemoryAllocation) {
            if (device->large_retry_ns == 0)
                warprsa_cuda_trace(device, "memory for large keys", error);
            device->large_retry_ns = warprsa_clock_ns() + RETRY_NS;
            return WARPRSA_UNSUPPORTED_KEY;
        }
        if (error != cudaSuccess)
            return warprsa_cuda_status(device, "memory for large keys", error);
    }
    return warprsa_known_answer_load(&of_test, device, &device->test,
                                     WARPRSA_CLASSES);
}

warprsa_status warprsa_cuda_take_large(warprsa_device *device)
{
    warprsa_status status;

    pthread_mutex_lock(&device->large_lock);
    status = take_large(device);
    pthread_mutex_unlock(&device->large_lock);
    return status;
}

warprsa_status warprsa_cuda_load_key(warprsa_device *device,
                                     const warprsa_private_key *key,
                                     uint32_t *index)
{
    unplaced_key unplaced;
    warprsa_status status = prepare(device, &unplaced, key);

    if (status == WARPRSA_OK && unplaced.size.is_large)
        status = warprsa_cuda_take_large(device);
    if (status == WARPRSA_OK)
        status = find_place(device, &unplaced, index);
    if (status == WARPRSA_OK) {
        status = place(device, &unplaced, *index);
        if (status != WARPRSA_OK)
            warprsa_id_pool_release(&device->key_ids, *index);
    }
    wipe(device, &unplaced);
    return status;
}

warprsa_status warprsa_cuda_unload_key(warprsa_device *device, uint32_t index)
{
    cudaError_t error = cudaSetDevice((int)device->config.ordinal);

    if (warprsa_fault_active(WARPRSA_FAULT_WIPE))
        error = cudaErrorLaunchFailure;
    if (error == cudaSuccess)
        error = cudaMemsetAsync(place_of(device, index), 0,
                                stride_of(device, index), device->key_stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(device->key_stream);
    if (error == cudaSuccess) {
        give_back(device, &device->key_sizes[index]);
        warprsa_id_pool_release(&device->key_ids, index);
    }
    return warprsa_cuda_status(device, "wiping a key", error);
}
