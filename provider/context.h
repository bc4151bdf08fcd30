/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The provider context: one per library context that loads the provider.
 */
#ifndef WARPRSA_CONTEXT_H
#define WARPRSA_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>

#include <openssl/types.h>

#include "batching/ipc/control_connection.h"
#include "provider/config.h"
#include "provider/core.h"
#include "provider/dispatch.h"
#include "provider/fork.h"
#include "provider/instance.h"
#include "provider/trace.h"

typedef struct warprsa_context {
    warprsa_core core;
    warprsa_config config;
    warprsa_trace trace;
    /* A child of the application's library context: the default provider in
     * it is the application's own, so that our keys and contexts find its
     * digests (legacy ones included, if and only if it has them), its
     * properties and its generator. Where it has no default provider, the
     * child loads one. Nothing of RSA is fetched in here. */
    OSSL_LIB_CTX *libctx;
    OSSL_PROVIDER *wrapped; /* default, in libctx */
    void *wrapped_provctx;
    warprsa_algorithms algorithms;
    warprsa_control_connection door; /* in mode = daemon */
    bool loaded;                     /* and not refused halfway */
    warprsa_exit_link exit_link;
    /* What belongs to this process; NULL before the first private operation,
     * the parent's in a forked child before its first one. */
    _Atomic(warprsa_instance *) instance;
    /* The known-answer test at load, before any other thread comes. */
    bool testing;
    unsigned tested; /* times the test reached the hook */
} warprsa_context;

#endif
