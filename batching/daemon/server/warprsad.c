/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * warprsad, the program: its options and listening sockets. All else is done by
 * a serving process (serving.h) under this one, its supervisor (supervisor.h).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "batching/base/own_fd.h"
#include "batching/daemon/process/secrets.h"
#include "batching/daemon/process/supervisor.h"
#include "batching/daemon/process/systemd.h"
#include "batching/daemon/server/serving.h"
#include "batching/daemon/server/serving_vault.h"
#include "batching/queue/counters.h"

enum {
    EXIT_USAGE = 2,
    HANG_MS = 10000,
};

static bool complain(const char *what)
{
    fprintf(stderr, "warprsad: %s\n", what);
    return false;
}

/* True where systemd passed sockets, and *own where this process made one. */
static bool listen_somewhere(warprsa_serving *serving, bool *own)
{
    char why[400];
    int passed = warprsa_systemd_passed(
        serving->listeners, WARPRSA_LISTENERS_MAX, why, sizeof(why));

    if (passed < 0)
        return complain(why);
    serving->listeners_count = (unsigned)passed;
    if (passed > 0)
        return true;
    serving->listeners[0] = warprsa_systemd_listen(
        serving->options.socket, serving->options.group, why, sizeof(why));
    if (serving->listeners[0] < 0)
        return complain(why);
    serving->listeners_count = 1;
    *own = true;
    return true;
}

/* Runs in the process that reads the vault's files. */
static int read_keys(void *arg, int socket)
{
    const warprsa_serving *serving = arg;

    return warprsa_serving_vault_read(&serving->options, serving->checked,
                                      socket);
}

/* Memory that goes on from one serving process to the next. What is counted is
 * found by warprsa-stat, under the supervisor's number. False: no memory. */
static bool make_memory(warprsa_serving *serving)
{
    serving->counters = warprsa_counters_new();
    if (serving->counters == NULL)
        return complain("no memory");
    if (!warprsa_serving_vault_is_wanted(&serving->options))
        return true;
    serving->checked = warprsa_checked_keys_map();
    serving->accounts = warprsa_key_accounts_new();
    if (serving->accounts == NULL)
        (void)complain("no memory file for the accounts of keys: warprsa-stat "
                       "does not show them");
    return true;
}

static int run(warprsa_serving *serving)
{
    warprsa_supervisor_config config = {
        .serve = warprsa_serving_run,
        .read = warprsa_serving_vault_is_wanted(&serving->options) ? read_keys
                                                                   : NULL,
        .reload = warprsa_serving_reload,
        .arg = serving,
        .listeners = serving->listeners,
        .hang_ms = HANG_MS,
        .log = warprsa_serving_log,
        .log_arg = serving,
    };
    char why[200];
    bool own_socket = false;
    int status = EXIT_FAILURE;

    warprsa_secrets_forbid_dumps(why, sizeof(why));
    if (why[0] != '\0')
        (void)complain(why);
    if (make_memory(serving) && listen_somewhere(serving, &own_socket)) {
        config.listeners_count = serving->listeners_count;
        status = warprsa_supervise(&config);
    }
    if (own_socket)
        warprsa_systemd_unlisten(serving->options.socket);
    for (unsigned i = 0; i < serving->listeners_count; i++)
        close(serving->listeners[i]);
    warprsa_checked_keys_unmap(serving->checked);
    warprsa_key_accounts_free(serving->accounts);
    warprsa_counters_free(serving->counters);
    return status == EXIT_SUCCESS ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static warprsa_serving serving;
    char why[600];

    warprsa_open_stdio();
    serving.argc = argc;
    serving.argv = argv;
    if (!warprsa_options_read(&serving.options, argc, argv, why, sizeof(why))) {
        (void)complain(why);
        return EXIT_USAGE;
    }
    if (serving.options.common.help || serving.options.common.version) {
        if (serving.options.common.help)
            warprsa_options_help();
        else
            puts("warprsad " WARPRSA_VERSION);
        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    signal(SIGPIPE, SIG_IGN);
    return run(&serving);
}
