/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "narrow_fold" on the CPU. Keys that it is not made for are
 * computed with as "low_latency" does.
 */
#define WARPRSA_BLOCK_ARITH
#define WARPRSA_HOST_MODEXP blind_and_modexp_by_narrow_fold

#include "gpu/arith/block_modexp.h"
#include "gpu/kernels/fold_common/plan.h"
#include "gpu/kernels/narrow_fold/host_modexp.h"

static void blind_and_modexp_by_narrow_fold(warprsa_number *x,
                                            const warprsa_operation *op,
                                            int limbs, int threads_per_number,
                                            int limbs_per_thread)
{
    const warprsa_operation_half *half = op->key->half;
    const uint32_t most = WARPRSA_FOLD_BITS((uint32_t)limbs);
    const uint32_t least = WARPRSA_FOLD_BITS_MIN((uint32_t)limbs);

    if (half[0].bits > most || half[1].bits > most || half[0].bits < least ||
        half[1].bits < least || (limbs != 20 && limbs != 30 && limbs != 40))
        warprsa_block_blind_and_modexp(x, op, limbs, threads_per_number,
                                       limbs_per_thread);
    else if (limbs == 20)
        warprsa_host_narrow_modexp_20(x, op, threads_per_number,
                                      limbs_per_thread);
    else if (limbs == 30)
        warprsa_host_narrow_modexp_30(x, op, threads_per_number,
                                      limbs_per_thread);
    else
        warprsa_host_narrow_modexp_40(x, op, threads_per_number,
                                      limbs_per_thread);
}

#include "gpu/kernels/host_operation.h"

const warprsa_host_arithmetic warprsa_host_narrow_fold =
    WARPRSA_HOST_ARITHMETIC;
