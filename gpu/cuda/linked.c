/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The engine for NVIDIA GPUs where it is linked statically: in unit tests,
 * benchmarks and the builds that inject faults.
 */
#include "gpu/cuda/library.h"

const warprsa_engine *warprsa_engine_cuda(void)
{
    return &warprsa_cuda_engine;
}

bool warprsa_engine_cuda_is_installed(char *why, size_t why_size)
{
    (void)why;
    (void)why_size;
    return true;
}
