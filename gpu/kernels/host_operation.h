/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The private operation of gpu/arith/private_operation.h on the CPU, in the
 * arithmetic that the including file has selected. Included once by the host.c
 * of each kernel that has one. Some define WARPRSA_HOST_MODEXP, their own way
 * to compute the first two stages.
 */
#ifndef WARPRSA_GPU_KERNELS_HOST_OPERATION_H
#define WARPRSA_GPU_KERNELS_HOST_OPERATION_H

#include <string.h>

#include "gpu/arith/private_operation.h"
#include "gpu/kernels/host_arithmetic.h"

#ifndef WARPRSA_HOST_MODEXP
#define WARPRSA_HOST_MODEXP warprsa_blind_and_modexp
#endif

typedef struct workspace {
    warprsa_sample_t unblinding[2 * WARPRSA_HALF_LIMBS_MAX];
    uint32_t exponent[2 * WARPRSA_BLINDED_WORDS];
    warprsa_sample_bits_t
        result[WARPRSA_LANES_EMULATED * WARPRSA_LIMBS_PER_THREAD_MAX];
    warprsa_sample_t table[WARPRSA_TABLE_SIZE * WARPRSA_LIMBS_PER_THREAD_MAX *
                           WARPRSA_LANES_EMULATED];
#ifdef WARPRSA_BLOCK_ARITH
    double exchange[WARPRSA_EXCHANGE_DOUBLES(WARPRSA_LANES_EMULATED / 2,
                                             WARPRSA_LIMBS_PER_THREAD_MAX)];
#endif
} workspace;

/* In block arithmetic the products are functions of their own, compiled with
 * FMA; little else is left. */
#ifdef WARPRSA_BLOCK_ARITH
#define COMPUTE_FN static
#else
#define COMPUTE_FN WARPRSA_WITH_FMA static
#endif

/* One operation. The shapes are constants in here so that the compiler sees
 * each class apart. */
COMPUTE_FN void compute(const warprsa_operation *op, warprsa_size_class size,
                        bool many)
{
    static const warprsa_shape shapes[2][WARPRSA_CLASSES] = {
        WARPRSA_SHAPES_FEW, WARPRSA_SHAPES_MANY};
    const warprsa_shape shape = shapes[many][size];
    warprsa_number x;

    /* gcc reads no table that is indexed by a variable. It would warn of loops
     * that may never run, and of numbers that these loops set. */
    if (shape.limbs < 1 || shape.threads_per_number < 1 ||
        shape.limbs_per_thread < 1)
        __builtin_unreachable();
    for (int which = 0; which < 2; which++)
        warprsa_blind_exponent(op, which, shape.limbs);
    WARPRSA_HOST_MODEXP(&x, op, shape.limbs, shape.threads_per_number,
                        shape.limbs_per_thread);
    warprsa_unblind_and_recombine(&x, op, shape.limbs, shape.threads_per_number,
                                  shape.limbs_per_thread);
    explicit_bzero(&x, sizeof(x));
}

static void operate(void *workspace_memory, warprsa_host_request *request,
                    size_t count, warprsa_size_class size,
                    warprsa_host_options options)
{
    const warprsa_operation_key *key = request->key;
    workspace *w = workspace_memory;
    uint32_t status = WARPRSA_CHECK_FAILED;
    const warprsa_operation op = {.key = key,
                                  .input = request->input,
                                  .output = request->output,
                                  .random = request->random,
                                  .unblinding = w->unblinding,
                                  .exponent = w->exponent,
                                  .windows = (int)key->windows,
                                  .result = w->result,
                                  .table = w->table,
#ifdef WARPRSA_BLOCK_ARITH
                                  .exchange = w->exchange,
#endif
                                  .table_stride = WARPRSA_LANES_EMULATED,
                                  .direct_table_reads =
                                      options.direct_table_reads,
                                  .status = &status};

    (void)count; /* 1 */
    compute(&op, size, options.many);
    request->status = (warprsa_status)status;
}

static warprsa_status prepare(void *prepared, const warprsa_private_key *key)
{
    return warprsa_prepare_operation_key(prepared, key);
}

static size_t workspace_bytes(warprsa_size_class size)
{
    (void)size;
    return sizeof(workspace);
}

/* compute() has numbers of its own there: 17 KiB as gcc compiles it, and of the
 * large classes 33 KiB. */
enum {
    STACK_BYTES = 40960,
};

#define WARPRSA_HOST_ARITHMETIC                                                \
    {                                                                          \
        .key_bytes = sizeof(warprsa_operation_key), .lanes = 1,                \
        .stack_bytes = STACK_BYTES, .workspace_bytes = workspace_bytes,        \
        .prepare = prepare, .operate = operate, .large = &warprsa_host_large   \
    }

#endif
