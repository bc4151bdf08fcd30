/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * warprsad, the program: options, the queue, the server (server.h), signals,
 * and what systemd is told. It meets no client.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "batching/daemon/options.h"
#include "batching/daemon/secrets.h"
#include "batching/daemon/server.h"
#include "batching/daemon/systemd.h"

enum {
    EXIT_USAGE = 2,
    POLL_MS = 100,
    /* CUDA can't use a lost device again in the same process. With none left
     * for so many polls, the daemon ends, and the service manager starts
     * another. */
    DOWN_POLLS = 100,
    HEALTHY_MS = 10000, /* without a heartbeat of an event loop, at most */
    /* Every program that loads the provider makes a control connection, and few
     * of them ever become clients. */
    CONTROL_CONNECTIONS_PER_CLIENT = 16,
};

typedef struct daemon_state {
    int argc;
    char **argv;
    warprsa_options options;
    warprsa_counters *counters;
    warprsa_queue *queue;
    warprsa_server *server;
    warprsa_server_config config;
    bool own_socket;
    bool ready;
} daemon_state;

static void log_line(void *arg, int level, const char *line)
{
    const daemon_state *d = arg;

    if (level <= (int)d->options.verbose)
        fprintf(stderr, "warprsad: %s\n", line);
}

static bool complain(const char *what)
{
    fprintf(stderr, "warprsad: %s\n", what);
    return false;
}

/* Descriptors for every client and every async job of theirs: as many as the
 * hard limit allows. */
static void raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static bool open_queue(daemon_state *d)
{
    const warprsa_options *o = &d->options;
    warprsa_queue_config config = {
        .engine =
            o->engine == 1 ? warprsa_engine_host() : warprsa_engine_cuda(),
        .devices = o->devices,
        .slots = o->slots,
        .streams = o->streams,
        .batch_max = o->batch_max,
        .keys_max = o->keys_max,
        .deadline_ms = o->deadline_ms,
        .calibration_file = o->calibration_file,
        .direct_table_reads = o->direct_table_reads,
        .random = warprsa_secrets_random,
        .trace = log_line,
        .trace_arg = d,
    };
    char why[200];

    if (config.engine == NULL)
        return complain("no cuda engine in this build; only --engine host");
    d->counters = warprsa_counters_new();
    config.counters = d->counters;
    if (d->counters == NULL)
        return complain("no memory");
    d->queue = warprsa_queue_open(&config, why, sizeof(why));
    return d->queue != NULL || complain(why);
}

static bool listen_somewhere(daemon_state *d)
{
    char why[400];
    int passed = warprsa_systemd_passed(
        d->config.listeners, WARPRSA_LISTENERS_MAX, why, sizeof(why));

    if (passed < 0)
        return complain(why);
    d->config.listeners_count = (unsigned)passed;
    if (passed > 0)
        return true;
    d->config.listeners[0] = warprsa_systemd_listen(
        d->options.socket, d->options.group, why, sizeof(why));
    if (d->config.listeners[0] < 0)
        return complain(why);
    d->config.listeners_count = 1;
    d->own_socket = true;
    return true;
}

static warprsa_server_limits limits_of(const warprsa_options *o)
{
    return (warprsa_server_limits){
        .clients = o->clients,
        .user_clients = o->user_clients,
        .control_connections = CONTROL_CONNECTIONS_PER_CLIENT * o->clients,
        .user_control_connections =
            CONTROL_CONNECTIONS_PER_CLIENT * o->user_clients,
        .slots = o->client_slots,
        .keys = o->client_keys,
        .notifiers = o->client_notifiers,
    };
}

static bool start(daemon_state *d)
{
    char why[200];

    raise_descriptors();
    if (!warprsa_secrets_init())
        return complain("libcrypto has no random numbers");
    warprsa_secrets_lock_memory(why, sizeof(why));
    if (why[0] != '\0')
        log_line(d, 0, why);
    if (!listen_somewhere(d) || !open_queue(d))
        return false;
    d->config.queue = d->queue;
    d->config.counters = d->counters;
    d->config.deadline_ms = d->options.deadline_ms;
    d->config.threads = d->options.threads;
    d->config.limits = limits_of(&d->options);
    d->config.key_id = warprsa_secrets_key_id;
    d->config.log = log_line;
    d->config.log_arg = d;
    d->server = warprsa_server_start(&d->config, why, sizeof(why));
    return d->server != NULL || complain(why);
}

/* Ends the server, then the queue that it uses, then the counters that the
 * queue uses. False: a device hangs, so that the queue and its counters must
 * stay. */
static bool stop(daemon_state *d)
{
    bool ended = true;

    if (d->own_socket)
        unlink(d->options.socket);
    if (d->server != NULL)
        warprsa_server_stop(d->server);
    for (unsigned i = 0; i < d->config.listeners_count; i++)
        close(d->config.listeners[i]);
    if (d->queue != NULL)
        ended = warprsa_queue_close(d->queue);
    if (d->counters != NULL) {
        char line[WARPRSA_COUNTERS_LINE + 16] = "counters: ";
        size_t head = strlen(line);

        warprsa_counters_format(d->counters, line + head, sizeof(line) - head);
        log_line(d, 1, line);
    }
    if (ended)
        warprsa_counters_free(d->counters);
    return ended;
}

static void reload(daemon_state *d)
{
    warprsa_options options;
    warprsa_server_limits limits;
    char why[600];

    warprsa_systemd_notify("RELOADING=1");
    if (warprsa_options_read(&options, d->argc, d->argv, why, sizeof(why))) {
        limits = limits_of(&options);
        warprsa_server_set_limits(d->server, &limits);
        log_line(d, 1, "reloaded: limits on clients as configured now");
    } else {
        log_line(d, 0, why);
        log_line(d, 0, "not reloaded");
    }
    warprsa_systemd_notify("READY=1");
}

static bool say_ready(daemon_state *d)
{
    char device[WARPRSA_COUNTERS_TEXT], line[128];

    warprsa_counters_device(d->counters, device);
    snprintf(line, sizeof(line), "ready: %s", device);
    log_line(d, 0, line);
    snprintf(line, sizeof(line), "READY=1\nSTATUS=%s", device);
    warprsa_systemd_notify(line);
    return true;
}

/* Says when the devices are ready. False: there has been none for too long. */
static bool look_at_queue(daemon_state *d, unsigned *down)
{
    warprsa_queue_state state = warprsa_queue_wait_ready(d->queue, 0);

    if (!d->ready && state == WARPRSA_QUEUE_READY)
        d->ready = say_ready(d);
    *down = state == WARPRSA_QUEUE_DOWN ? *down + 1 : 0;
    return *down < (d->ready ? DOWN_POLLS : 1);
}

/* The main thread: signals, and a watch over queue and server. True: told to
 * stop. False: no device is left. */
static bool watch(daemon_state *d, const sigset_t *signals)
{
    const struct timespec poll = {0, POLL_MS * 1000000L};
    unsigned watchdog_ms = warprsa_systemd_watchdog_ms();
    unsigned down = 0, since_ms = 0;

    for (;;) {
        int caught = sigtimedwait(signals, NULL, &poll);

        if (caught == SIGTERM || caught == SIGINT)
            return true;
        if (caught == SIGHUP)
            reload(d);
        atomic_store_explicit(&d->counters->clients,
                              warprsa_server_clients(d->server),
                              memory_order_relaxed);
        if (!look_at_queue(d, &down)) {
            char device[WARPRSA_COUNTERS_TEXT];

            warprsa_counters_device(d->counters, device);
            log_line(d, 0, device);
            return false;
        }
        since_ms += POLL_MS;
        if (watchdog_ms > 0 && since_ms >= watchdog_ms &&
            warprsa_server_is_healthy(d->server, HEALTHY_MS)) {
            warprsa_systemd_notify("WATCHDOG=1");
            since_ms = 0;
        }
    }
}

int main(int argc, char **argv)
{
    static daemon_state d;
    sigset_t signals;
    char why[600];
    bool done;

    d.argc = argc;
    d.argv = argv;
    if (!warprsa_options_read(&d.options, argc, argv, why, sizeof(why))) {
        (void)complain(why);
        return EXIT_USAGE;
    }
    if (d.options.help || d.options.version) {
        if (d.options.help)
            warprsa_options_help();
        else
            puts("warprsad " WARPRSA_VERSION);
        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    /* Blocked in every thread to come, so that only watch() takes them. */
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    done = start(&d) && watch(&d, &signals);
    warprsa_systemd_notify("STOPPING=1");
    done = stop(&d) && done;
    return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
