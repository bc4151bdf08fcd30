/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The provider context: one per library context that loads the provider. Every
 * key and every operation context holds a reference to the provider in
 * libcrypto. So the provider context outlives them all, even if the library
 * context or libcrypto itself goes first.
 *
 * The headers of provider/ form a chain. A file includes only what stands
 * before it here:
 *
 *   trace, core, libcrypto, config_section, config, fork,
 *   library_context, random, function_ids, function_table, algorithms,
 *   context, errors, callers_context, instance, vault_client, key, blinding,
 *   async_wait, use_wait, reference_use, reference_method, rsa_method,
 *   keymgmt, reference_padding, signature, asym_cipher, dispatch, decoder,
 *   store, self_test, status; provider.c is last.
 */
#ifndef WARPRSA_PROVIDER_CONTEXT_H
#define WARPRSA_PROVIDER_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>

#include <openssl/types.h>

#include "batching/daemon/client/control_connection.h"
#include "provider/algorithms.h"
#include "provider/config.h"
#include "provider/core.h"
#include "provider/fork.h"
#include "provider/trace.h"

struct warprsa_instance;
struct warprsa_vault_socket;

typedef struct warprsa_context {
    /* First, so that a leak checker finds the context by the list of links. */
    warprsa_exit_link exit_link;
    warprsa_core core;
    warprsa_config config;
    warprsa_trace trace;
    /* Whether the caller has the libcrypto that we are linked with
     * (libcrypto.h). */
    bool same_libcrypto;
    OSSL_LIB_CTX *libctx;   /* ours (library_context.h) */
    OSSL_PROVIDER *wrapped; /* the default provider there */
    void *wrapped_provctx;
    warprsa_algorithms algorithms;
    warprsa_control_connection control_connection; /* in mode = daemon */
    bool left_out; /* offers nothing in this program (left_out.h) */
    bool loaded;   /* completely: initialization has succeeded */
    /* This process's instance. NULL before the first private operation; in a
     * forked child the parent's until the child's first operation. */
    _Atomic(struct warprsa_instance *) instance;
    /* Of the vaults that references name (vault_client.h). */
    _Atomic(struct warprsa_vault_socket *) vault_sockets;
    /* The known-answer test at load runs; there is no other thread yet. */
    bool testing;
    unsigned tested; /* times the test reached the RSA_METHOD */
} warprsa_context;

#endif
