/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What sessions need of libcrypto for uses of keys of the vault, and of the
 * threads on which it runs. The daemon's main program fills this in. So what
 * faces clients knows no libcrypto, and is tested without.
 *
 * Each use has passed warprsa_key_use_fault() for its key. Functions that may
 * fail return false then, with what libcrypto would have told a caller in
 * *errors. Any thread may call them.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_USE_OPERATIONS_H
#define WARPRSA_BATCHING_DAEMON_SERVER_USE_OPERATIONS_H

#include "batching/vault/vault.h"

/* A part of a use that a thread of the vault computes, or a GPU host if that
 * has the key. The caller's memory, to which the thread has a reference until
 * it has called done(). */
typedef struct warprsa_use_task {
    uint64_t owner; /* who waits for it: threads are shared by owner */
    warprsa_vault_key *key;
    const warprsa_key_use *use;
    const uint8_t *input;
    /* Of a key that a GPU host has and a use that can be checked
     * (warprsa_use_is_checkable()), but not with PSS: what encode() has made of
     * the input, as long as the modulus. */
    const uint8_t *number;
    const uint8_t *power; /* what an engine has made of the input; NULL: the
                             private operation is to be computed, too */
    uint8_t *answer;      /* as long as the modulus */
    unsigned length;      /* of the answer */
    bool has_answer;
    bool is_late; /* if it has none: it was not begun, in time or at all */
    warprsa_denial denial; /* if it has none: ALLOWED, or that of the rules of
                              a GPU host */
    warprsa_use_errors errors; /* if it has none */
    void (*done)(struct warprsa_use_task *task);
    struct warprsa_use_task *next; /* of who has the task until done() */
} warprsa_use_task;

typedef struct warprsa_use_operations {
    /* Makes the number, as long as the modulus, that goes to the engine. Of
     * SIGN with PSS it may be NULL: whether there could be one. */
    bool (*encode)(const warprsa_vault_key *key, const warprsa_key_use *use,
                   const uint8_t *input, uint8_t *number,
                   warprsa_use_errors *errors);
    /* Makes the answer of what the engine has made of a number. */
    bool (*finish)(const warprsa_vault_key *key, const warprsa_key_use *use,
                   const uint8_t *number, const uint8_t *power, uint8_t *answer,
                   unsigned *length, warprsa_use_errors *errors);
    /* Whether finish() takes no more than a microsecond. */
    bool (*is_quick)(const warprsa_key_use *use);
    /* Has a thread, or a GPU host, carry out a task. False: there is too much
     * to do already. */
    bool (*compute)(void *arg, warprsa_use_task *task);
    /* After one compute() or several, by the same thread: GPU hosts get what is
     * for them, in as few messages as possible. What is too much to do is late.
     * NULL: none is ever for them. */
    void (*send)(void *arg);
    void *arg; /* of compute() and send() */
} warprsa_use_operations;

#endif
