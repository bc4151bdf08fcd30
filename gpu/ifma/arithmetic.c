/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The arithmetic of gpu/ifma as a device on the CPU takes it.
 */
#include "gpu/arith/prepared_key.h"
#include "gpu/ifma/limbs.h"

static size_t workspace_bytes(warprsa_size_class size)
{
    const size_t bytes[WARPRSA_CLASSES] = {
        WARPRSA_IFMA_NAME(workspace_bytes, 10),
        WARPRSA_IFMA_NAME(workspace_bytes, 20),
        WARPRSA_IFMA_NAME(workspace_bytes, 30),
        WARPRSA_IFMA_NAME(workspace_bytes, 40)};

    return bytes[size];
}

static warprsa_status prepare(void *prepared, const warprsa_private_key *key)
{
    return warprsa_prepare_key(prepared, key);
}

/* Tables are always read whole: there is little to gain here. */
static void operate(void *workspace, warprsa_host_request *requests,
                    size_t count, warprsa_size_class size,
                    warprsa_host_options options)
{
    static void (*const of_class[WARPRSA_CLASSES])(
        void *, warprsa_host_request *, size_t) = {
        WARPRSA_IFMA_NAME(operate, 10), WARPRSA_IFMA_NAME(operate, 20),
        WARPRSA_IFMA_NAME(operate, 30), WARPRSA_IFMA_NAME(operate, 40)};

    (void)options;
    of_class[size](workspace, requests, count);
}

#ifdef WARPRSA_IFMA_PORTABLE
const warprsa_host_arithmetic warprsa_host_ifma = {
#else
const warprsa_host_arithmetic warprsa_ifma_arithmetic = {
#endif
    .key_bytes = sizeof(warprsa_prepared_key),
    .lanes = WARPRSA_IFMA_LANES,
    .workspace_bytes = workspace_bytes,
    .prepare = prepare,
    .operate = operate,
};
