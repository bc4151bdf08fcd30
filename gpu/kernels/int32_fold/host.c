/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "int32_fold" on the CPU. Keys that it is not made for are computed
 * with as "int32" does.
 */
#include "gpu/kernels/host_arithmetic.h"
#include "gpu/kernels/int32_fold/request_host.h"

extern const warprsa_host_arithmetic warprsa_host_int32;

static void compute(void *memory, warprsa_host_request *request, const int n)
{
    const warprsa_int_fold_key key[2] = {
        warprsa_int_fold_key_of_limbs(request->key, 0),
        warprsa_int_fold_key_of_limbs(request->key, 1)};
    uint32_t status = WARPRSA_CHECK_FAILED;

    warprsa_int_fold_operate(memory, key, request->input, request->random,
                             request->output, &status, n);
    request->status = (warprsa_status)status;
}

static void operate(void *memory, warprsa_host_request *request, size_t count,
                    warprsa_size_class size, warprsa_host_options options)
{
    const warprsa_int32_key *key = request->key;
    const int n = WARPRSA_INT_FOLD_LIMBS(warprsa_shape_of(size).limbs);

    (void)count; /* 1 */
    if (size == WARPRSA_CLASS_1024 ||
        !warprsa_int_fold_fits(key->half[0].modulus, n) ||
        !warprsa_int_fold_fits(key->half[1].modulus, n))
        warprsa_host_int32.operate(memory, request, count, size, options);
    else if (n == 32)
        compute(memory, request, 32);
    else if (n == 48)
        compute(memory, request, 48);
    else
        compute(memory, request, 64);
}

static warprsa_status prepare(void *prepared, const warprsa_private_key *key)
{
    return warprsa_prepare_int32_key(prepared, key);
}

static size_t workspace_bytes(warprsa_size_class size)
{
    const size_t other = warprsa_host_int32.workspace_bytes(size);

    return other > sizeof(warprsa_int_fold_workspace)
               ? other
               : sizeof(warprsa_int_fold_workspace);
}

const warprsa_host_arithmetic warprsa_host_int32_fold = {
    .key_bytes = sizeof(warprsa_int32_key),
    .lanes = 1,
    .stack_bytes = 40960, /* as of "int32", and more than its own */
    .workspace_bytes = workspace_bytes,
    .prepare = prepare,
    .operate = operate,
    .large = &warprsa_host_large,
};
