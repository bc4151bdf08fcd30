/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a GPU host has answered to uses of its keys. No host is believed: a
 * signature is raised to e and compared with what was to be signed, if that is
 * wanted, and a decryption without a padding with the ciphertext. A decryption
 * whose padding was removed can't be checked without the private key.
 */
#ifndef WARPRSA_BATCHING_REMOTE_USES_USE_RESULTS_H
#define WARPRSA_BATCHING_REMOTE_USES_USE_RESULTS_H

#include "batching/remote/uses/use_keys.h"
#include "batching/remote/uses/waiting_uses.h"
#include "batching/remote/wire/messages.h"

/* What becomes of a use. */
typedef enum warprsa_use_verdict {
    WARPRSA_USE_ENDS,   /* its task has its answer, or its failure */
    WARPRSA_USE_MOVES,  /* to another host, or to the same after a pause */
    WARPRSA_USE_LEAVES, /* to another host: this one can't compute it */
    WARPRSA_USE_NO_KEY, /* to another host: this one has no such key */
    WARPRSA_USE_WRONG,  /* the answer was wrong: to another host */
    WARPRSA_USE_BREACH, /* no host of this protocol answers so */
} warprsa_use_verdict;

typedef struct warprsa_judged_use {
    warprsa_remote_use *use;
    const warprsa_remote_result *result;
    warprsa_use_verdict verdict;
} warprsa_judged_use;

/* Judges the results of one message, `count` <= WARPRSA_REMOTE_BATCH_MAX, and
 * fills in the tasks of those that end. Tasks of others have no part of the
 * result. Nobody else has the uses meanwhile. The thread needs 64 KiB of its
 * stack. */
void warprsa_use_results_judge(warprsa_judged_use *judged, size_t count,
                               bool verify);

#endif
