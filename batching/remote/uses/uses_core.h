/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the threads share that have GPU hosts carry out uses of their keys.
 */
#ifndef WARPRSA_BATCHING_REMOTE_USES_USES_CORE_H
#define WARPRSA_BATCHING_REMOTE_USES_USES_CORE_H

#include <pthread.h>

#include "batching/base/log_budget.h"
#include "batching/daemon/server/network.h"
#include "batching/remote/engine/hosts.h"
#include "batching/remote/uses/use_keys.h"
#include "batching/remote/uses/waiting_uses.h"
#include "batching/remote/wire/tls.h"

struct warprsa_use_host;

typedef struct warprsa_uses_config {
    warprsa_network_daemon daemon;
    warprsa_tls_files tls; /* the texts must live on */
    bool verify;           /* check signatures */
} warprsa_uses_config;

typedef struct warprsa_uses_core {
    warprsa_uses_config config;
    warprsa_log_budgets budgets; /* of lines that a user may cause */
    pthread_mutex_t lock;        /* of all below */
    bool stopping;
    warprsa_waiting_uses waiting;
    warprsa_use_keys keys;
    /* Uses without an answer that no thread is giving one just now, the one
     * with the earliest deadline first. */
    struct warprsa_remote_use_list all;
    struct warprsa_use_host *hosts[WARPRSA_REMOTE_HOSTS_MAX]; /* by place */
} warprsa_uses_core;

/* Writes a line for the log; without the lock, as no log is waited for with
 * it. */
__attribute__((format(printf, 3, 4))) void
warprsa_uses_say(const warprsa_uses_core *core, int level, const char *format,
                 ...);

/* With the lock held: adds a use where its deadline belongs, near either end.
 * */
void warprsa_uses_insert(warprsa_uses_core *core, warprsa_remote_use *use);

/* With the lock held: frees a use that nobody has any more. */
void warprsa_uses_forget(warprsa_remote_use *use);

#endif
