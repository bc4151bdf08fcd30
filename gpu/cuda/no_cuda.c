/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A build without CUDA has no such engine.
 */
#include "gpu/engine.h"

const warprsa_engine *warprsa_engine_cuda(void)
{
    return NULL;
}
