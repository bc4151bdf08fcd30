/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The vault's own threads, which do libcrypto's steps of uses away from the
 * event loop: all of a use where no engine takes the key or the queue refuses;
 * and of others the padding, where that takes microseconds
 * (warprsa_padding_is_quick()).
 *
 * The threads take steps of several owners, the daemon's users, in turn:
 * whose steps have cost least CPU time is next, as in queue/fair_queue.h. An
 * owner that had nothing here begins where the others stand. Of several threads
 * one owner never has all: others do not wait for the end of an RSA-16384
 * operation. Each owner has so many waiting steps at most.
 *
 * Steps and owners are the caller's memory, so there is nothing here that could
 * run out.
 */
#ifndef WARPRSA_BATCHING_VAULT_COMPUTE_H
#define WARPRSA_BATCHING_VAULT_COMPUTE_H

#include <sys/queue.h>

#include "batching/vault/padding.h"

enum {
    WARPRSA_COMPUTE_THREADS_MAX = 64,
};

typedef struct warprsa_compute warprsa_compute;

typedef enum warprsa_step_kind {
    WARPRSA_STEP_ALL,    /* warprsa_padding_compute() */
    WARPRSA_STEP_FINISH, /* warprsa_padding_finish(), of an engine's power */
} warprsa_step_kind;

typedef enum warprsa_step_outcome {
    WARPRSA_STEP_DONE,
    WARPRSA_STEP_FAILED,  /* libcrypto refused: `errors` */
    WARPRSA_STEP_LATE,    /* the deadline passed before it began */
    WARPRSA_STEP_STOPPED, /* warprsa_compute_free() came first */
} warprsa_step_outcome;

/* A step, which the caller fills in. It stays as it is, with all that it points
 * to, until done() is called. */
typedef struct warprsa_step {
    warprsa_step_kind kind;
    const warprsa_padding_key *key;
    warprsa_key_use use;
    const uint8_t *input;
    const uint8_t *power; /* SECRET if of DECRYPT */
    /* Room for the modulus' length, beside the two above. SECRET if of
     * DECRYPT. */
    uint8_t *output;
    /* By which it must have begun; 0: no matter when. What is late is ended
     * when its turn comes. */
    uint64_t deadline_ns;
    /* Called once, by a thread of the vault, or by the one that ends it. Step
     * and owner are the caller's again. It does not block. */
    void (*done)(struct warprsa_step *step);

    /* Valid in done(). */
    warprsa_step_outcome outcome;
    unsigned length; /* of `output`; 0 unless DONE */
    warprsa_use_errors errors;

    /* The module's own. */
    struct warprsa_compute_owner *owner;
    TAILQ_ENTRY(warprsa_step) link;
} warprsa_step;

TAILQ_HEAD(warprsa_step_list, warprsa_step);

/* Who asks for steps. It outlives them. The fields are the module's own. */
typedef struct warprsa_compute_owner {
    struct warprsa_step_list waiting; /* in order of arrival */
    unsigned count;                   /* of them */
    unsigned running;
    uint64_t used_ns;     /* CPU time that its steps have cost */
    uint64_t expected_ns; /* what its last step cost */
    TAILQ_ENTRY(warprsa_compute_owner) link; /* while count > 0 */
} warprsa_compute_owner;

/* Starts `threads` threads, 1 to WARPRSA_COMPUTE_THREADS_MAX. waiting_max: of
 * one owner. NULL: no memory, or no threads. */
warprsa_compute *warprsa_compute_new(unsigned threads, unsigned waiting_max);

/* Ends the steps that wait as STOPPED, waits for those that run, and ends the
 * threads. Nobody else calls any function meanwhile. NULL: does nothing. */
void warprsa_compute_free(warprsa_compute *compute);

/* An owner without steps. */
void warprsa_compute_owner_init(warprsa_compute_owner *owner);

/* Adds a step behind those of its owner. False: the owner has waiting_max of
 * them; done() will not be called. Any thread. */
bool warprsa_compute_submit(warprsa_compute *compute,
                            warprsa_compute_owner *owner, warprsa_step *step);

#endif
