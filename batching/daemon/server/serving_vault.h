/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The vault in warprsad: the options that say where its files are, the process
 * that reads them, and what the serving process has of it. The files are out of
 * the serving process's sight; it gets keys and rules through a socket. For the
 * main thread of each process.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_SERVING_VAULT_H
#define WARPRSA_BATCHING_DAEMON_SERVER_SERVING_VAULT_H

#include "batching/daemon/server/options.h"
#include "batching/vault/checked_keys.h"
#include "batching/vault/vault.h"

typedef struct warprsa_serving_vault warprsa_serving_vault;

/* Whether the options name keys at all. */
bool warprsa_serving_vault_is_wanted(const warprsa_options *options);

/* The whole life of the process that reads the files, which sends what they
 * hold through the socket. `checked` may be NULL. Returns its exit status. */
int warprsa_serving_vault_read(const warprsa_options *options,
                               warprsa_checked_keys *checked, int socket);

/* Hides the files from this process, the serving process, while it has one
 * thread (sandbox.h). False with the reason in why. True with a sentence in
 * why: the kernel can't hide files. */
bool warprsa_serving_vault_hide(const warprsa_options *options, char *why,
                                size_t why_size);

/* A vault without keys, and its threads. What is read comes through the socket
 * `readings`, which the vault closes at its end. Uses are counted in `accounts`
 * (NULL: nowhere) for others to see. `log` is called by any thread. NULL with
 * the reason in why. */
warprsa_serving_vault *
warprsa_serving_vault_new(const warprsa_options *options, int readings,
                          warprsa_key_accounts *accounts, warprsa_trace_fn log,
                          void *log_arg, char *why, size_t why_size);

/* After the server, which uses it. NULL: does nothing. */
void warprsa_serving_vault_free(warprsa_serving_vault *own);

/* For the server's configuration. */
warprsa_vault *warprsa_serving_vault_of(warprsa_serving_vault *own);
const warprsa_use_operations *
warprsa_serving_vault_uses(const warprsa_serving_vault *own);

/* Whether the keys have come. NULL: there are none to come. */
bool warprsa_serving_vault_is_filled(const warprsa_serving_vault *own);

/* To be called some times a second: takes readings, and writes the audit once a
 * minute. NULL: does nothing. */
void warprsa_serving_vault_tick(warprsa_serving_vault *own);

#endif
