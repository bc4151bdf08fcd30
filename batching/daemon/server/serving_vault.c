/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The vault in warprsad; see serving_vault.h.
 */
#include "batching/daemon/server/serving_vault.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/daemon/process/sandbox.h"
#include "batching/daemon/process/secrets.h"
#include "batching/daemon/server/libcrypto_uses.h"
#include "batching/daemon/server/network.h"
#include "batching/vault/vault_reader.h"
#include "batching/vault/vault_transfer.h"

enum {
    AUDIT_MS = 60000,
};

struct warprsa_serving_vault {
    warprsa_vault *vault;
    warprsa_libcrypto_uses *uses;
    int readings; /* -1: nobody sends any more */
    bool has_receiver;
    warprsa_vault_receiver receiver;
    uint64_t audit_ns; /* when the next one is due */
    warprsa_trace_fn log;
    void *log_arg;
};

bool warprsa_serving_vault_is_wanted(const warprsa_options *options)
{
    return options->keys_directory[0] != '\0' || options->keys_rules[0] != '\0';
}

/* Why keys that GPU hosts have can't be used; NULL: they can. */
static const char *no_remote(const warprsa_options *options)
{
    if (warprsa_network_get() == NULL)
        return "it is a key of GPU hosts, and warprsad has no network: "
               "warprsad-remote has";
    return options->remote_hosts[0] == '\0'
               ? "it is a key of GPU hosts, and there are no remote_hosts"
               : NULL;
}

int warprsa_serving_vault_read(const warprsa_options *options,
                               warprsa_checked_keys *checked, int socket)
{
    const warprsa_vault_files files = {
        .keys_directory = options->keys_directory,
        .rules = options->keys_rules,
        .passphrase = options->keys_passphrase_file,
        .no_remote = no_remote(options),
        .checked = checked,
    };
    char why[200];

    /* The serving process says whether memory can be locked. */
    warprsa_secrets_lock_memory(why, sizeof(why));
    return warprsa_secrets_init() && warprsa_vault_reader_run(&files, socket)
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}

bool warprsa_serving_vault_hide(const warprsa_options *options, char *why,
                                size_t why_size)
{
    const char *hidden[2];
    unsigned count = 0;

    why[0] = '\0';
    if (options->keys_directory[0] != '\0')
        hidden[count++] = options->keys_directory;
    if (options->keys_passphrase_file[0] != '\0')
        hidden[count++] = options->keys_passphrase_file;
    return count == 0 || warprsa_sandbox_hide(hidden, count, why, why_size) !=
                             WARPRSA_SANDBOX_FAILED;
}

warprsa_serving_vault *
warprsa_serving_vault_new(const warprsa_options *options, int readings,
                          warprsa_key_accounts *accounts, warprsa_trace_fn log,
                          void *log_arg, char *why, size_t why_size)
{
    warprsa_serving_vault *own = calloc(1, sizeof(*own));

    snprintf(why, why_size, "no memory or no threads for the vault");
    if (own == NULL)
        return NULL;
    own->readings = readings;
    own->log = log;
    own->log_arg = log_arg;
    own->audit_ns = warprsa_clock_ns() + AUDIT_MS * WARPRSA_NS_PER_MS;
    own->vault = warprsa_vault_new(log, log_arg);
    if (own->vault != NULL)
        warprsa_vault_show_accounts(own->vault, accounts);
    own->uses =
        warprsa_libcrypto_uses_new(options->deadline_ms, warprsa_network_get());
    own->has_receiver =
        own->vault != NULL &&
        warprsa_vault_receiver_init(&own->receiver, readings, own->vault);
    if (own->uses != NULL && own->has_receiver)
        return own;
    warprsa_serving_vault_free(own);
    return NULL;
}

void warprsa_serving_vault_free(warprsa_serving_vault *own)
{
    if (own == NULL)
        return;
    if (own->has_receiver)
        warprsa_vault_receiver_free(&own->receiver);
    if (own->readings >= 0)
        close(own->readings);
    warprsa_libcrypto_uses_free(own->uses);
    if (own->vault != NULL)
        warprsa_vault_audit(own->vault);
    warprsa_vault_free(own->vault);
    free(own);
}

warprsa_vault *warprsa_serving_vault_of(warprsa_serving_vault *own)
{
    return own->vault;
}

const warprsa_use_operations *
warprsa_serving_vault_uses(const warprsa_serving_vault *own)
{
    return warprsa_libcrypto_uses_operations(own->uses);
}

/* Takes what has come. */
static void receive(warprsa_serving_vault *own)
{
    warprsa_vault_received received = WARPRSA_VAULT_REPLACED;

    while (own->readings >= 0 && received != WARPRSA_VAULT_NOTHING_YET) {
        received = warprsa_vault_receive(&own->receiver);
        if (received == WARPRSA_VAULT_REPLACED)
            own->log(own->log_arg, 1, "keys and rules have been read");
        if (received == WARPRSA_VAULT_MALFORMED)
            own->log(own->log_arg, 0,
                     "a reading of the keys was malformed, or there was no "
                     "memory for it: keys and rules stay as they were");
        if (received == WARPRSA_VAULT_CLOSED) {
            close(own->readings);
            own->readings = -1;
        }
    }
}

bool warprsa_serving_vault_is_filled(const warprsa_serving_vault *own)
{
    return own == NULL || warprsa_vault_is_filled(own->vault);
}

void warprsa_serving_vault_tick(warprsa_serving_vault *own)
{
    if (own == NULL)
        return;
    receive(own);
    if (warprsa_clock_ns() < own->audit_ns)
        return;
    own->audit_ns += AUDIT_MS * WARPRSA_NS_PER_MS;
    warprsa_vault_audit(own->vault);
}
