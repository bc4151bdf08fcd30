/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernels from which the engine chooses on a device with CUDA.
 */
#ifndef WARPRSA_GPU_SELECT_CANDIDATES_H
#define WARPRSA_GPU_SELECT_CANDIDATES_H

#include "gpu/select/selection.h"

/*
 * Lists every kernel and size class that may be chosen for a batch on this
 * GPU, with keys of this form. Each row has its wave and no times. The rows of
 * one kernel come together, as warprsa_calibrate() wants them, in the order of
 * warprsa_kernels. A pure function.
 */
void warprsa_candidates(warprsa_kernel_timings *candidates,
                        const warprsa_gpu *gpu, bool int32_keys);

#endif
