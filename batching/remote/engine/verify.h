/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Checks results that another host has computed: output^e mod n is the input
 * (RFC 8017, RSAVP1). A CPU with AVX-512 IFMA checks eight at a time.
 * Otherwise, and for keys of the large classes, libcrypto checks one by one.
 */
#ifndef WARPRSA_BATCHING_REMOTE_ENGINE_VERIFY_H
#define WARPRSA_BATCHING_REMOTE_ENGINE_VERIFY_H

#include "gpu/engine.h"

/* What the results of a key are checked with. */
typedef struct warprsa_verify warprsa_verify;

/* NULL: no memory. The key is one that engines take (warprsa_key_class()). Any
 * thread. */
warprsa_verify *warprsa_verify_new(const warprsa_private_key *key);

/* NULL is allowed. Any thread. */
void warprsa_verify_free(warprsa_verify *verify);

/* Results that are checked together once there are enough. The longest public
 * exponent among them decides the time. So results with longer exponents than
 * usual are gathered apart and cost others nothing. */
typedef struct warprsa_verify_batch {
    struct warprsa_verify_group {
        warprsa_ifma_result results[WARPRSA_IFMA_LANES];
        warprsa_task *tasks[WARPRSA_IFMA_LANES];
        uint32_t bytes[WARPRSA_IFMA_LANES]; /* of the moduli */
        size_t count;
    } usual, longer;
} warprsa_verify_batch;

/*
 * The results of a batch, all zeros at first. add() takes a task whose status
 * is WARPRSA_OK; after the last task end() checks the rest. A task whose result
 * is wrong, or that could not be checked for want of memory, gets the status
 * WARPRSA_CHECK_FAILED, and its output is wiped. All keys are of one size
 * class; they and the tasks live until end() has returned. One thread at a time
 * for each batch.
 */
void warprsa_verify_add(warprsa_verify_batch *batch,
                        const warprsa_verify *verify, warprsa_task *task);
void warprsa_verify_end(warprsa_verify_batch *batch);

/* Whether warprsa_verify_raise() takes results of a key. Any thread. */
bool warprsa_verify_can_raise(const warprsa_verify *verify);

/*
 * Raises 1..WARPRSA_IFMA_LANES results of such keys, which are of one size
 * class, to e, for a caller who knows by something else whether the power is
 * right: of each, `output` is the result, `power` gets output^e mod n, as long
 * as the modulus, and is_right is set to whether output < n. Any thread.
 */
typedef struct warprsa_raised {
    const warprsa_verify *verify;
    const uint8_t *output;
    uint8_t *power;
    bool is_right;
} warprsa_raised;

void warprsa_verify_raise(warprsa_raised *raised, size_t count);

#endif
