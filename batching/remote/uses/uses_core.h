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

enum {
    /* A host that has not answered for this part of the deadline is hanging:
     * others have the rest of the time. */
    WARPRSA_USES_PATIENCE = 4,
};

typedef struct warprsa_uses_config {
    warprsa_network_daemon daemon;
    warprsa_tls_files tls; /* the texts must live on */
    bool verify;           /* check what can be checked */
} warprsa_uses_config;

typedef struct warprsa_uses_core {
    warprsa_uses_config config;
    warprsa_log_budgets budgets; /* of lines that a user may cause */
    /* Of lines that the host in a place may cause. */
    warprsa_log_budget host_budgets[WARPRSA_REMOTE_HOSTS_MAX];
    pthread_mutex_t lock; /* of all below */
    bool stopping;
    warprsa_waiting_uses waiting;
    uint64_t owners_paused_until_ns; /* any of them, at any host */
    warprsa_use_keys keys;
    /* Uses without an answer, the one with the earliest deadline first. */
    struct warprsa_remote_use_list all;
    struct warprsa_use_host *hosts[WARPRSA_REMOTE_HOSTS_MAX]; /* by place */
} warprsa_uses_core;

/* Writes a line for the log; without the lock, as no log is waited for with
 * it. */
__attribute__((format(printf, 3, 4))) void
warprsa_uses_say(const warprsa_uses_core *core, int level, const char *format,
                 ...);

/* The same of a line that the host in a place causes: it has
 * WARPRSA_LOG_LINES_A_SECOND of them. */
__attribute__((format(printf, 4, 5))) void
warprsa_uses_say_about(warprsa_uses_core *core, unsigned place, int level,
                       const char *format, ...);

/* Says how many lines were left out. */
void warprsa_uses_say_left_out(warprsa_uses_core *core);

/* For how long a host may answer nothing. */
uint64_t warprsa_uses_patience_ns(const warprsa_uses_core *core);

/* With the lock held: frees a use that nobody has any more. */
void warprsa_uses_forget(warprsa_remote_use *use);

#endif
