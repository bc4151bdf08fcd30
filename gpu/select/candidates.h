/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernels among which the choice is made on a device, with CUDA.
 */
#ifndef WARPRSA_GPU_SELECT_CANDIDATES_H
#define WARPRSA_GPU_SELECT_CANDIDATES_H

#include "gpu/select/selection.h"

/*
 * Every kernel and size class that may be chosen by batch on a device of `sms`
 * SMs, of which `fold_sms` can run the fold (all, or 0: warprsa_fold_sms()),
 * with its wave and no times. The rows of one kernel come together, as
 * warprsa_calibrate() wants them; those of the fold come last. A pure function.
 */
void warprsa_candidates(warprsa_kernel_timings *candidates, unsigned sms,
                        unsigned fold_sms);

#endif
