/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Libraries in the place of warprsa-cuda.so, for cuda_library.sh. With
 * WARPRSA_ENGINE_INTERFACE of this build it is one that fits, and computes on
 * the CPU.
 */
#include "gpu/cuda/library.h"

static warprsa_engine engine;

__attribute__((constructor)) static void fill_in(void)
{
    engine = *warprsa_engine_host();
    engine.name = "cuda";
}

const warprsa_cuda_library SYMBOL = {
    .interface = WARPRSA_ENGINE_INTERFACE,
    .engine = &engine,
};
