/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The serving process; see serving.h. This file reads nothing from a client:
 * the server does.
 */
#include "batching/daemon/server/serving.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/base/log_budget.h"
#include "batching/base/usable_cpus.h"
#include "batching/daemon/process/process_limits.h"
#include "batching/daemon/process/secrets.h"
#include "batching/daemon/process/supervisor.h"
#include "batching/daemon/server/network.h"
#include "batching/daemon/server/server.h"
#include "batching/daemon/server/serving_vault.h"
#include "batching/queue/counters.h"
#include "batching/queue/engines.h"

enum {
    POLL_MS = 100,
    START_POLL_MS = 10, /* until it is ready: uses of the vault wait for keys */
    REPORT_MS = 1000,
    START_MS = 5000, /* for the first device, before a reload goes on */
    /* For the keys of the vault, before the daemon says that it is ready; less
     * than systemd waits for that (90 s). Clients are served meanwhile, and
     * uses of the vault asked for again. */
    FILL_MS = 60000,
    /* Without a heartbeat of an event loop, or in a step of a use thread, at
     * most. */
    HEALTHY_MS = 5000,
    /* While another device works, a lost one is no reason to end earlier. */
    LEAST_LIFE_MS = 60000,
    /* Time for the answers under way once a device is lost. A driver that hangs
     * gets no more. */
    LAST_ANSWERS_S = 2,
    /* Every program that loads the provider makes a control connection, and few
     * of them ever become clients. */
    CONTROL_CONNECTIONS_PER_CLIENT = 16,
    TRIM_KEYS = 1024, /* fewer are not worth it */
    /* Of the vault: a thread carries out some 300,000 uses a second, and the
     * clients need most of the CPUs. */
    CPUS_PER_USE_THREAD = 4,
};

typedef struct serving_state {
    warprsa_serving *serving;
    int reports, readings;
    warprsa_serving_vault *vault; /* NULL: there is none */
    warprsa_queue *queue;
    warprsa_server *server;
    const warprsa_network *network; /* NULL: there is none */
    bool has_hosts;                 /* other hosts compute: they come and go */
    uint64_t start_ns;
    bool ready;
    char device[WARPRSA_COUNTERS_TEXT]; /* as last said */
    uint64_t keys_peak;                 /* since memory was last given back */
    char mistake[600]; /* that the last reload found; empty: none */
} serving_state;

void warprsa_serving_log(void *arg, int level, const char *line)
{
    const warprsa_serving *serving = arg;

    if (level <= (int)serving->options.verbose)
        fprintf(stderr, "warprsad: %s\n", line);
}

static void log_line(const serving_state *s, int level, const char *line)
{
    warprsa_serving_log(s->serving, level, line);
}

static bool complain(const serving_state *s, const char *what)
{
    log_line(s, 0, what);
    return false;
}

/* Adds the engine of other hosts, if any are configured, behind this host's
 * GPUs and before its CPUs, which have other work. */
static bool add_hosts(serving_state *s, warprsa_queue_config *config, char *why,
                      size_t why_size)
{
    warprsa_queue_engine hosts = {0};
    unsigned at = config->engine_count;

    if (!s->network->engine(&s->serving->options, &hosts, why, why_size))
        return false;
    s->has_hosts = hosts.engine != NULL;
    if (!s->has_hosts)
        return true;
    for (; at > 0 && config->engines[at - 1].on_cpus; at--)
        config->engines[at] = config->engines[at - 1];
    config->engines[at] = hosts;
    config->engine_count++;
    return true;
}

/* The engines that compute here. */
static bool choose_engines(serving_state *s, warprsa_queue_config *config)
{
    const warprsa_options *o = &s->serving->options;
    const warprsa_engines_wanted wanted = {
        .engine = (warprsa_engine_choice)o->engine,
        .devices = o->devices,
        .streams = o->streams,
        .batch_max = o->batch_max,
        .cpu_threads = o->cpu_threads,
    };
    char why[400], why_hosts[400];
    bool own = warprsa_engines_choose(&wanted, config, why, sizeof(why));

    if (s->network != NULL &&
        !add_hosts(s, config, why_hosts, sizeof(why_hosts)))
        return complain(s, why_hosts);
    return own || s->has_hosts || complain(s, why);
}

static bool open_queue(serving_state *s)
{
    const warprsa_options *o = &s->serving->options;
    warprsa_queue_config config = {
        .slots = o->slots,
        .keys_max = o->keys_max,
        .deadline_ms = o->deadline_ms,
        .calibration_file = o->calibration_file,
        .direct_table_reads = o->table_reads,
        .random = warprsa_secrets_random,
        .trace = warprsa_serving_log,
        .trace_arg = s->serving,
        .counters = s->serving->counters,
    };
    warprsa_cpu_reason reason;
    char why[200];

    if (!choose_engines(s, &config))
        return false;
    s->queue = warprsa_queue_open(&config, &reason, why, sizeof(why));
    return s->queue != NULL || complain(s, why);
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

/* The user of warprsad-gateway. If no user has the default name, this process's
 * own user. */
static bool find_gateway(const serving_state *s, uid_t *uid)
{
    const char *name = s->serving->options.gateway_user;
    const struct passwd *user = getpwnam(name);
    char why[128];

    *uid = user != NULL ? user->pw_uid : geteuid();
    if (user != NULL || strcmp(name, WARPRSA_GATEWAY_USER) == 0)
        return true;
    snprintf(why, sizeof(why), "gateway_user = %s: expected the name of a user",
             name);
    return complain(s, why);
}

/* Threads for uses of the vault's keys. */
static unsigned use_threads(void)
{
    const unsigned wanted = warprsa_usable_cpus() / CPUS_PER_USE_THREAD;

    if (wanted < 1)
        return 1;
    return wanted < WARPRSA_USE_THREADS_MAX ? wanted : WARPRSA_USE_THREADS_MAX;
}

static bool start_server(serving_state *s)
{
    const warprsa_serving *serving = s->serving;
    warprsa_server_config config = {
        .queue = s->queue,
        .counters = serving->counters,
        .deadline_ms = serving->options.deadline_ms,
        .threads = serving->options.threads,
        .limits = limits_of(&serving->options),
        .listeners_count = serving->listeners_count,
        .key_id = warprsa_secrets_key_id,
        .log_level = (int)serving->options.verbose,
        .log_lines = WARPRSA_LOG_LINES_A_SECOND,
        .log = warprsa_serving_log,
        .log_arg = s->serving,
    };
    char why[200];

    if (s->vault != NULL) {
        config.vault = warprsa_serving_vault_of(s->vault);
        config.uses = warprsa_serving_vault_uses(s->vault);
        config.use_threads = use_threads();
    }
    if (!find_gateway(s, &config.gateway_uid))
        return false;
    memcpy(config.listeners, serving->listeners, sizeof(config.listeners));
    s->server = warprsa_server_start(&config, why, sizeof(why));
    return s->server != NULL || complain(s, why);
}

/* Gets ready for keys of the vault that other hosts have. */
static bool start_uses(const serving_state *s)
{
    const warprsa_serving *serving = s->serving;
    const warprsa_network_daemon daemon = {
        .deadline_ms = serving->options.deadline_ms,
        .counters = serving->counters,
        .log = warprsa_serving_log,
        .log_arg = s->serving,
    };

    return s->network == NULL || s->vault == NULL ||
           s->network->start_uses(&serving->options, &daemon) ||
           complain(s, "no memory for uses of keys that other hosts have");
}

/* Opens the vault. Its files are out of this process's sight before anything
 * else is done. */
static bool open_vault(serving_state *s)
{
    char why[400];

    if (s->readings < 0)
        return true;
    warprsa_checked_keys_unmap(s->serving->checked);
    if (!warprsa_serving_vault_hide(&s->serving->options, why, sizeof(why)))
        return complain(s, why);
    if (why[0] != '\0')
        log_line(s, 0, why);
    s->vault = warprsa_serving_vault_new(
        &s->serving->options, s->readings, s->serving->accounts,
        warprsa_serving_log, s->serving, why, sizeof(why));
    return s->vault != NULL || complain(s, why);
}

static bool start(serving_state *s)
{
    const warprsa_options *options = &s->serving->options;
    char why[200];

    /* The vault starts threads, before there is a queue. */
    warprsa_engines_prepare((warprsa_engine_choice)options->engine,
                            options->streams);
    s->network = warprsa_network_get();
    warprsa_process_raise_limits();
    if (!warprsa_secrets_init())
        return complain(s, "libcrypto has no random numbers");
    warprsa_secrets_lock_memory(why, sizeof(why));
    if (why[0] != '\0')
        log_line(s, 0, why);
    warprsa_counters_restart(s->serving->counters);
    return open_vault(s) && open_queue(s) && start_uses(s) && start_server(s);
}

static void log_counters(const serving_state *s)
{
    char line[WARPRSA_COUNTERS_LINE + 16] = "counters: ";
    size_t head = strlen(line);

    warprsa_counters_format(s->serving->counters, line + head,
                            sizeof(line) - head);
    log_line(s, 1, line);
}

/* Ends the server, then the queue that it uses. False: a device hangs. */
static bool stop(serving_state *s)
{
    bool ended = true;

    if (s->server != NULL)
        warprsa_server_stop(s->server);
    if (s->network != NULL)
        s->network->stop_uses();
    warprsa_serving_vault_free(s->vault);
    if (s->queue != NULL) {
        ended = warprsa_queue_close(s->queue);
        log_counters(s);
    }
    return ended;
}

/* Ends without a device: answers what is under way, and calls no driver. The
 * driver's own clean-up at exit might never end. */
_Noreturn static void stop_without_device(const serving_state *s, int status)
{
    alarm(LAST_ANSWERS_S);
    warprsa_server_stop(s->server);
    log_counters(s);
    _exit(status);
}

/* What the supervisor has read for the serving process. Plain data. */
typedef struct news {
    char mistake[600]; /* empty: none, and the rest counts */
    warprsa_server_limits limits;
    char remote_hosts[sizeof(((warprsa_options *)0)->remote_hosts)];
} news;
_Static_assert(sizeof(news) <= WARPRSA_NEWS_BYTES,
               "supervisor.h has no room for the news");

/* Reads the options again. False with the reason in why. */
static bool read_again(const warprsa_serving *serving, warprsa_options *options,
                       char *why, size_t why_size)
{
    const warprsa_network *network = warprsa_network_get();

    return warprsa_options_read(options, serving->argc, serving->argv, why,
                                why_size) &&
           (network == NULL ||
            network->check_hosts(options->remote_hosts, why, why_size));
}

size_t warprsa_serving_reload(void *arg, void *out, size_t size)
{
    warprsa_serving *serving = arg;
    warprsa_options options, *mine = &serving->options;
    news *to = out;

    (void)size; /* enough */
    memset(to, 0, sizeof(*to));
    if (!read_again(serving, &options, to->mistake, sizeof(to->mistake)))
        return sizeof(*to);
    memcpy(mine->remote_hosts, options.remote_hosts,
           sizeof(mine->remote_hosts));
    mine->clients = options.clients;
    mine->user_clients = options.user_clients;
    mine->client_slots = options.client_slots;
    mine->client_keys = options.client_keys;
    mine->client_notifiers = options.client_notifiers;
    to->limits = limits_of(mine);
    memcpy(to->remote_hosts, mine->remote_hosts, sizeof(to->remote_hosts));
    return sizeof(*to);
}

/* Notes a mistake that a reload found; systemd is told the first one. */
static void found_mistake(serving_state *s, const char *what)
{
    log_line(s, 0, what);
    if (s->mistake[0] == '\0')
        snprintf(s->mistake, sizeof(s->mistake), "%s", what);
}

/* Uses the hosts that are configured now. */
static void reload_hosts(serving_state *s, const char *hosts)
{
    char why[400];

    if (!s->has_hosts) {
        if (hosts[0] != '\0')
            log_line(s, 0,
                     "remote_hosts: the first of them takes effect with a "
                     "restart");
        return;
    }
    /* Before it is ready, the queue has not asked yet which devices there
     * are. */
    (void)warprsa_queue_wait_ready(s->queue, START_MS);
    if (s->network->set_hosts(hosts, why, sizeof(why)))
        warprsa_queue_add_devices(s->queue);
    else
        found_mistake(s, why);
}

static void report(const serving_state *s, enum warprsa_report_kind kind)
{
    char device[WARPRSA_COUNTERS_TEXT] = "", text[WARPRSA_REPORT_TEXT];

    if (kind == WARPRSA_REPORT_READY)
        warprsa_counters_device(s->serving->counters, device);
    snprintf(text, sizeof(text), "%s%s%s", device,
             s->mistake[0] != '\0' ? "; the last reload found a mistake: " : "",
             s->mistake);
    warprsa_supervisor_report(s->reports, kind, text);
}

static void reload(serving_state *s)
{
    news new;

    if (!warprsa_supervisor_news(s->reports, &new, sizeof(new)))
        return;
    report(s, WARPRSA_REPORT_RELOADING);
    s->mistake[0] = '\0';
    if (new.mistake[0] == '\0') {
        warprsa_server_set_limits(s->server, &new.limits);
        reload_hosts(s, new.remote_hosts);
        log_line(s, 1, "reloaded: limits on clients as configured now");
    } else {
        found_mistake(s, new.mistake);
        log_line(s, 0, "options not reloaded");
    }
    report(s, WARPRSA_REPORT_READY);
}

/* Reports that there is no device, if that is no reason to end: clients compute
 * by themselves until a host is there. */
static bool say_waiting(const serving_state *s)
{
    log_line(s, 0, "no device, and no host answers: tried again and again");
    report(s, WARPRSA_REPORT_READY);
    return true;
}

/* Reports that the daemon is ready, and with which device: once the CPUs serve,
 * and again when a GPU serves, which takes longer to open. */
static void say_ready(serving_state *s)
{
    const uint64_t fill_ns = s->start_ns + FILL_MS * WARPRSA_NS_PER_MS;
    char device[WARPRSA_COUNTERS_TEXT], line[WARPRSA_COUNTERS_TEXT + 16];

    if (!s->ready && !warprsa_serving_vault_is_filled(s->vault) &&
        warprsa_clock_ns() < fill_ns)
        return;
    warprsa_counters_device(s->serving->counters, device);
    if (s->ready && strcmp(device, s->device) == 0)
        return;
    snprintf(line, sizeof(line), "ready: %s", device);
    log_line(s, 0, line);
    report(s, WARPRSA_REPORT_READY);
    memcpy(s->device, device, sizeof(device));
    s->ready = true;
}

static void stop_if_no_device(const serving_state *s, warprsa_queue_state state)
{
    char device[WARPRSA_COUNTERS_TEXT];
    uint64_t least_ns = s->start_ns + LEAST_LIFE_MS * WARPRSA_NS_PER_MS;

    if (!s->ready && state == WARPRSA_QUEUE_DOWN) {
        warprsa_counters_device(s->serving->counters, device);
        log_line(s, 0, device);
        stop_without_device(s, WARPRSA_SERVING_NO_DEVICE);
    }
    if (warprsa_queue_has_lost_device(s->queue) &&
        (state != WARPRSA_QUEUE_READY || warprsa_clock_ns() >= least_ns)) {
        log_line(s, 0, "a device is lost to this process: a new one opens it");
        stop_without_device(s, WARPRSA_SERVING_DEVICE_LOST);
    }
}

/* Gives memory back to the system once most keys are gone. Otherwise the memory
 * of a departed client's made-up keys would stay in malloc()'s lists for
 * good. */
static void trim(serving_state *s)
{
    const uint64_t keys = atomic_load(&s->serving->counters->keys);

    if (keys > s->keys_peak)
        s->keys_peak = keys;
    if (s->keys_peak < TRIM_KEYS || keys > s->keys_peak / 2)
        return;
    s->keys_peak = keys;
    (void)malloc_trim(0);
}

/* The main thread: signals, and a watch over queue and server, until it is told
 * to stop. */
static void watch(serving_state *s, const sigset_t *signals)
{
    unsigned since_ms = 0;

    for (;;) {
        const unsigned poll_ms = s->ready ? POLL_MS : START_POLL_MS;
        const struct timespec poll = {0, poll_ms * 1000000L};
        int caught = sigtimedwait(signals, NULL, &poll);
        warprsa_queue_state state;

        if (caught == SIGTERM || caught == SIGINT)
            return;
        if (caught == SIGHUP)
            reload(s);
        warprsa_serving_vault_tick(s->vault);
        state = warprsa_queue_wait_ready(s->queue, 0);
        if (state == WARPRSA_QUEUE_READY)
            say_ready(s);
        if (!s->ready && state == WARPRSA_QUEUE_DOWN && s->has_hosts)
            s->ready = say_waiting(s);
        atomic_store_explicit(&s->serving->counters->clients,
                              warprsa_server_clients(s->server),
                              memory_order_relaxed);
        stop_if_no_device(s, state);
        warprsa_server_tick(s->server);
        warprsa_queue_tick(s->queue);
        warprsa_queue_trace_left_out(s->queue);
        trim(s);
        since_ms += poll_ms;
        if (since_ms >= REPORT_MS &&
            warprsa_server_is_healthy(s->server, HEALTHY_MS)) {
            report(s, WARPRSA_REPORT_ALIVE);
            since_ms = 0;
        }
    }
}

int warprsa_serving_run(void *arg, int reports, int readings)
{
    serving_state s = {.serving = arg,
                       .reports = reports,
                       .readings = readings,
                       .start_ns = warprsa_clock_ns()};
    sigset_t signals;
    bool done;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    done = start(&s);
    if (done)
        watch(&s, &signals);
    done = stop(&s) && done;
    return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
