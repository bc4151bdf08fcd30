/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "fold" for one size class. RSA-4096 takes its two halves one after
 * the other (pair.cuh), the others both at once (fold.cuh).
 */
#include "gpu/kernels/instance.cuh"

#if WARPRSA_KERNEL_BITS == 4096
#include "gpu/kernels/fold/pair.cuh"
#else
#include "gpu/kernels/fold/fold.cuh"
#endif

static constexpr warprsa_shape shape = WARPRSA_OF_BITS(WARPRSA_SHAPE_);

extern "C" const warprsa_fold_kernel WARPRSA_OF_BITS(warprsa_fold_kernel_) = {
    WARPRSA_KERNEL_FOLD,
#if WARPRSA_KERNEL_BITS == 4096
    warprsa_launch_fold<warprsa_fold_pair_shared,
                        warprsa_fold_pair_operations<shape.threads_per_number,
                                                     shape.limbs_per_thread>>,
    warprsa_fold_pair_scratch::ALL,
    warprsa_fold_pair_shared::BLOCKS,
    1,
    warprsa_fold_pair_shared::THREADS / 2,
    warprsa_fold_pair_shared::THREADS / 2 / WARPRSA_FOLD_ITEM_SHARE_MIN,
#else
    warprsa_launch_fold<
        warprsa_fold_shared<shape.limbs>,
        warprsa_fold_operations<shape.limbs, shape.threads_per_number,
                                shape.limbs_per_thread>>,
    warprsa_fold_scratch<shape.limbs>::ALL,
    warprsa_fold_shared<shape.limbs>::BLOCKS,
    1,
    warprsa_fold_shared<shape.limbs>::THREADS / 2,
    warprsa_fold_shared<shape.limbs>::THREADS / 2 / WARPRSA_FOLD_ITEM_SHARE_MIN,
#endif
};
