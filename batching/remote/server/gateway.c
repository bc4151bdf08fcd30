/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * warprsad-gateway, the program: a process of its own that parses TLS, HTTP/2
 * and the messages of other hosts. It has no device, and has keys only while it
 * passes a host's key to warprsad, whose client it is (upstream.h). Its
 * supervisor is the same code as that of warprsad
 * (daemon/process/supervisor.h).
 */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "batching/base/own_fd.h"
#include "batching/daemon/process/process_limits.h"
#include "batching/daemon/process/secrets.h"
#include "batching/daemon/process/supervisor.h"
#include "batching/remote/server/gateway_options.h"
#include "batching/remote/server/remote_server.h"

enum {
    EXIT_USAGE = 2,
    HANG_MS = 10000,
    POLL_MS = 100,
    REPORT_MS = 1000,
    TRIM_MS = 5000,
};

typedef struct gateway {
    warprsa_gateway_options options;
    int reports;
    warprsa_remote_server *server;
    bool ready;        /* as last said: warprsad computes */
    char mistake[600]; /* that the last reload found; empty: none */
} gateway;

static void log_line(void *arg, int level, const char *line)
{
    const gateway *g = arg;

    if (level <= (int)g->options.verbose)
        fprintf(stderr, "warprsad-gateway: %s\n", line);
}

static bool complain(const char *what)
{
    fprintf(stderr, "warprsad-gateway: %s\n", what);
    return false;
}

static void report(const gateway *g, enum warprsa_report_kind kind)
{
    char text[WARPRSA_REPORT_TEXT];

    snprintf(text, sizeof(text), "warprsad %s%s%s",
             g->ready ? "computes" : "does not compute now",
             g->mistake[0] != '\0' ? "; the last reload found a mistake: " : "",
             g->mistake);
    warprsa_supervisor_report(g->reports, kind, text);
}

static bool start(gateway *g)
{
    const warprsa_gateway_options *o = &g->options;
    const warprsa_remote_server_config config = {
        .listen = o->listen,
        .tls = {o->tls_certificate, o->tls_key, o->tls_ca, o->tls_crl},
        .identities = o->identities,
        .threads = o->network_threads,
        .connections = o->network_connections,
        .socket = o->socket,
        .log = log_line,
        .log_arg = g,
    };
    char why[400];

    warprsa_process_raise_limits();
    warprsa_secrets_lock_memory(why, sizeof(why));
    if (why[0] != '\0')
        log_line(g, 0, why);
    g->server = warprsa_remote_server_start(&config, why, sizeof(why));
    return g->server != NULL || complain(why);
}

static void reload(gateway *g)
{
    report(g, WARPRSA_REPORT_RELOADING);
    g->mistake[0] = '\0';
    if (warprsa_remote_server_reload(g->server, g->mistake, sizeof(g->mistake)))
        g->mistake[0] = '\0';
    else
        log_line(g, 0, g->mistake);
    report(g, WARPRSA_REPORT_READY);
}

/* Reports when warprsad begins to compute, and when it has gone. */
static void look_at_warprsad(gateway *g)
{
    const bool ready = warprsa_remote_server_is_ready(g->server);
    char line[200];

    if (ready == g->ready)
        return;
    g->ready = ready;
    snprintf(line, sizeof(line), "%s: warprsad at %s %s",
             ready ? "ready" : "not ready", g->options.socket,
             ready ? "computes" : "does not compute now");
    log_line(g, 0, line);
    report(g, WARPRSA_REPORT_READY);
}

/* Waits for signals and watches warprsad, until a signal says to stop. */
static void watch(gateway *g, const sigset_t *signals)
{
    const struct timespec poll = {0, POLL_MS * 1000000L};
    unsigned since_ms = 0, trimmed_ms = 0;

    report(g, WARPRSA_REPORT_READY);
    for (;;) {
        int caught = sigtimedwait(signals, NULL, &poll);

        if (caught == SIGTERM || caught == SIGINT)
            return;
        if (caught == SIGHUP)
            reload(g);
        look_at_warprsad(g);
        since_ms += POLL_MS;
        if (since_ms >= REPORT_MS) {
            report(g, WARPRSA_REPORT_ALIVE);
            since_ms = 0;
        }
        /* Otherwise memory of closed connections would stay in malloc()'s lists
         * for good. */
        trimmed_ms += POLL_MS;
        if (trimmed_ms >= TRIM_MS) {
            (void)malloc_trim(0);
            trimmed_ms = 0;
        }
    }
}

/* The serving process. */
static int serve(void *arg, int reports, int readings)
{
    gateway *g = arg;
    sigset_t signals;

    (void)readings; /* it has no reader */
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    g->reports = reports;
    if (!start(g))
        return EXIT_FAILURE;
    watch(g, &signals);
    warprsa_remote_server_stop(g->server);
    return EXIT_SUCCESS;
}

/* The serving process reads the files again. Its options stay as they are. */
static size_t nothing_to_reload(void *arg, void *news, size_t size)
{
    (void)arg, (void)news, (void)size;
    return 0;
}

int main(int argc, char **argv)
{
    static gateway g;
    const warprsa_supervisor_config config = {
        .serve = serve,
        .reload = nothing_to_reload,
        .arg = &g,
        .hang_ms = HANG_MS,
        .log = log_line,
        .log_arg = &g,
    };
    char why[600];

    warprsa_open_stdio();
    if (!warprsa_gateway_options_read(&g.options, argc, argv, why,
                                      sizeof(why))) {
        (void)complain(why);
        return EXIT_USAGE;
    }
    if (g.options.common.help || g.options.common.version) {
        if (g.options.common.help)
            warprsa_gateway_options_help();
        else
            puts("warprsad-gateway " WARPRSA_VERSION);
        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    signal(SIGPIPE, SIG_IGN);
    warprsa_secrets_forbid_dumps(why, sizeof(why));
    if (why[0] != '\0')
        (void)complain(why);
    return warprsa_supervise(&config) == EXIT_SUCCESS ? EXIT_SUCCESS
                                                      : EXIT_FAILURE;
}
