/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Checks results that another host has computed: output^e mod n is the input
 * (RFC 8017, RSAVP1). Eight at a time where this CPU has AVX-512 IFMA; one by
 * one, by libcrypto, elsewhere and for keys of the large classes.
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

/* Results that are checked together once there are enough of them. All of them
 * take as long as the longest public exponent among them. So those that are
 * longer than the usual ones wait apart, and cost nobody else anything. */
typedef struct warprsa_verify_batch {
    struct warprsa_verify_group {
        warprsa_ifma_result results[WARPRSA_IFMA_LANES];
        warprsa_task *tasks[WARPRSA_IFMA_LANES];
        uint32_t bytes[WARPRSA_IFMA_LANES]; /* of the moduli */
        size_t count;
    } usual, longer;
} warprsa_verify_batch;

/*
 * The results of a batch. It begins as zeros, add() takes a task whose status
 * is WARPRSA_OK, and end() follows the last one. Then the tasks have been
 * checked. One whose result is wrong, or that there was no memory to check, has
 * the status WARPRSA_CHECK_FAILED, and its output has been wiped. All keys are
 * of one size class; they and the tasks live until end() has returned. A thread
 * at a time for each batch.
 */
void warprsa_verify_add(warprsa_verify_batch *batch,
                        const warprsa_verify *verify, warprsa_task *task);
void warprsa_verify_end(warprsa_verify_batch *batch);

#endif
