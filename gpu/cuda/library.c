/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The one name that the library of the engine for NVIDIA GPUs exports.
 */
#include "gpu/cuda/library.h"

const warprsa_cuda_library warprsa_cuda_library_is = {
    .interface = WARPRSA_ENGINE_INTERFACE,
    .engine = &warprsa_cuda_engine,
};
