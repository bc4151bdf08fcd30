/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernels from which the engine chooses on a device with CUDA.
 */
#ifndef WARPRSA_GPU_SELECT_CANDIDATES_H
#define WARPRSA_GPU_SELECT_CANDIDATES_H

#include "gpu/select/selection.h"

/*
 * Lists every kernel and size class that may be chosen for a batch, on a device
 * of `sms` SMs. fold_sms of these can run the fold: all of them or none
 * (warprsa_fold_sms()). Each row has its wave and no times. The rows of one
 * kernel come together, as warprsa_calibrate() wants them. The rows of the fold
 * come last. A pure function.
 */
void warprsa_candidates(warprsa_kernel_timings *candidates, unsigned sms,
                        unsigned fold_sms);

#endif
