/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The provider context: one per library context that loads the provider.
 *
 * The headers of provider/ form a chain. A file includes only what stands
 * before it here:
 *
 *   trace, core, config_section, config, fork, algorithms, thunk, context,
 *   instance, key, blinding, async_wait, rsa_method, keymgmt, dispatch,
 *   self_test, status; provider.c is last.
 */
#ifndef WARPRSA_PROVIDER_CONTEXT_H
#define WARPRSA_PROVIDER_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>

#include <openssl/types.h>

#include "batching/ipc/control_connection.h"
#include "provider/algorithms.h"
#include "provider/config.h"
#include "provider/core.h"
#include "provider/fork.h"
#include "provider/trace.h"

struct warprsa_instance;

typedef struct warprsa_context {
    warprsa_core core;
    warprsa_config config;
    warprsa_trace trace;
    /* A child of the application's library context. The default provider in
     * it is the application's own, so our keys and contexts find its digests
     * (legacy ones if and only if it has them), its properties and its random
     * generator. Where the application has loaded no default provider, the
     * child loads one. Nothing of RSA is fetched in here. */
    OSSL_LIB_CTX *libctx;
    OSSL_PROVIDER *wrapped; /* the default provider, in libctx */
    void *wrapped_provctx;
    warprsa_algorithms algorithms; /* of `wrapped`, with our functions */
    warprsa_control_connection control_connection; /* in mode = daemon */
    bool loaded; /* completely: initialization has succeeded */
    warprsa_exit_link exit_link;
    /* What belongs to this process. NULL before the first private operation;
     * in a forked child the parent's until its own first operation. */
    _Atomic(struct warprsa_instance *) instance;
    /* The known-answer test at load runs; there is no other thread yet. */
    bool testing;
    unsigned tested; /* times the test reached the RSA_METHOD */
} warprsa_context;

#endif
