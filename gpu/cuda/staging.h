/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The staging memory of all streams of a device: pinned memory of the host, and
 * its mirror on the device. Each is allocated once, since an allocation takes
 * CUDA a millisecond or more however short it is, and cut into equal parts.
 */
#ifndef WARPRSA_GPU_CUDA_STAGING_H
#define WARPRSA_GPU_CUDA_STAGING_H

#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

typedef struct warprsa_staging {
    size_t host_bytes, device_bytes; /* of a stream */
    unsigned streams;
    uint8_t *host, *device; /* a part for each stream, without gaps */
} warprsa_staging;

/* Allocates both on the current device for so many streams. The device's memory
 * is filled with zeros. The host's is not, which takes long: a batch copies to
 * the device what it has not written, but there nobody reads that, and all that
 * is read on the host has been copied back before. The owner has set the bytes
 * of a stream and zeroed the rest. warprsa_staging_free() follows a failure,
 * too. One thread at a time. */
cudaError_t warprsa_staging_new(warprsa_staging *staging, unsigned streams);

/* Wipes and frees what there is. All streams must be idle. One thread at a
 * time. */
void warprsa_staging_free(warprsa_staging *staging);

#endif
