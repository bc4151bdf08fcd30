/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The serving process: queue, server (server.h) and secrets of the daemon, and
 * the watch over them. The supervisor (supervisor.h) starts it.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_SERVING_H
#define WARPRSA_BATCHING_DAEMON_SERVER_SERVING_H

#include "batching/daemon/server/options.h"
#include "batching/daemon/server/server_config.h"
#include "batching/vault/checked_keys.h"
#include "batching/vault/wire/key_accounts.h"

/* Exit statuses beside EXIT_SUCCESS, told to stop, and EXIT_FAILURE, could not
 * start. */
enum {
    WARPRSA_SERVING_NO_DEVICE = 3,   /* no device could be opened */
    WARPRSA_SERVING_DEVICE_LOST = 4, /* one is lost to this process */
};

typedef struct warprsa_serving {
    int argc; /* the command line, read again with SIGHUP */
    char **argv;
    warprsa_options options;
    /* Those of serving processes before go on. */
    warprsa_counters *counters;
    warprsa_key_accounts *accounts; /* of the vault; NULL: none */
    int listeners[WARPRSA_LISTENERS_MAX];
    unsigned listeners_count;
    warprsa_checked_keys *checked; /* for readers of keys; NULL: none */
} warprsa_serving;

/* Runs in the supervisor: reads the limits on clients and the other hosts from
 * the options' file again, and writes news for the serving process, which may
 * not be able to open the file. Returns their size. If the file has a mistake,
 * nothing is changed, and the news say so. */
size_t warprsa_serving_reload(void *arg, void *news, size_t size);

/* Writes a line to the log, standard error, if `level` is not above the option
 * `verbose`. `arg` is the warprsa_serving. Any thread. */
void warprsa_serving_log(void *arg, int level, const char *line);

/* The whole life of the process. `arg` is the warprsa_serving, `reports` the
 * socket for warprsa_supervisor_report(), `readings` the one from which the
 * vault's keys come; -1: it has no vault. Returns the exit status, or calls
 * _exit() where a device could hold up exit(). */
int warprsa_serving_run(void *arg, int reports, int readings);

#endif
