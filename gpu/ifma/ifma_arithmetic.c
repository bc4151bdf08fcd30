/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The arithmetic of gpu/ifma as a device on the CPU takes it. Compiled twice:
 * with WARPRSA_LARGE for the large classes.
 */
#include "gpu/arith/prepared_key.h"
#include "gpu/ifma/limbs.h"

/* `name` for each size class, as initializers. */
#ifdef WARPRSA_LARGE
#define OF_CLASSES(name)                                                       \
    [WARPRSA_CLASS_6144] = WARPRSA_IFMA_NAME(name, 60), [WARPRSA_CLASS_8192] = \
                                                            WARPRSA_IFMA_NAME( \
                                                                name, 80)
#else
#define OF_CLASSES(name)                                                       \
    [WARPRSA_CLASS_1024] = WARPRSA_IFMA_NAME(name, 10),                        \
    [WARPRSA_CLASS_2048] = WARPRSA_IFMA_NAME(name, 20),                        \
    [WARPRSA_CLASS_3072] = WARPRSA_IFMA_NAME(name, 30),                        \
    [WARPRSA_CLASS_4096] = WARPRSA_IFMA_NAME(name, 40)
#endif

static size_t workspace_bytes(warprsa_size_class size)
{
    const size_t bytes[WARPRSA_CLASSES] = {OF_CLASSES(workspace_bytes)};

    return bytes[size];
}

static size_t blinding_bytes(warprsa_size_class size)
{
    const size_t bytes[WARPRSA_CLASSES] = {OF_CLASSES(blinding_bytes)};

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
        void *, warprsa_host_request *, size_t, void *) = {OF_CLASSES(operate)};

    of_class[size](workspace, requests, count, options.blinding);
}

/* What is secret is in the workspace, but for registers that the compiler saves
 * in some 1 KiB of stack. */
enum {
    STACK_BYTES = 4096,
};

#ifdef WARPRSA_IFMA_PORTABLE
#define USUAL warprsa_host_ifma
#define LARGE warprsa_host_ifma_large
#else
#define USUAL warprsa_ifma_arithmetic
#define LARGE warprsa_ifma_large_arithmetic
#endif

#ifdef WARPRSA_LARGE
const warprsa_host_arithmetic LARGE = {
#else
extern const warprsa_host_arithmetic LARGE;

const warprsa_host_arithmetic USUAL = {
    .large = &LARGE,
#endif
    .key_bytes = sizeof(warprsa_prepared_key),
    .lanes = WARPRSA_IFMA_LANES,
    .stack_bytes = STACK_BYTES,
    .workspace_bytes = workspace_bytes,
    .blinding_bytes = blinding_bytes,
    .prepare = prepare,
    .operate = operate,
};
