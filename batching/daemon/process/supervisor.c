/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The supervisor of the serving process; see supervisor.h.
 */
#include "batching/daemon/process/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/daemon/process/reader_process.h"
#include "batching/daemon/process/restarts.h"
#include "batching/daemon/process/systemd.h"

enum {
    TICK_MS = 1000,
    OWN_EVENTS = 2, /* signals and reports, before the listeners */
};

typedef struct supervisor {
    const warprsa_supervisor_config *config;
    int signals; /* a signalfd */
    pid_t child; /* the serving process; 0: none now */
    int reports; /* the socket it reports through; -1: none */
    warprsa_reader_process reader;
    bool killed;       /* it hung, and was sent SIGKILL */
    unsigned silent;   /* ticks since its last report */
    bool was_ready;    /* one of them, at any time */
    uint64_t ready_ns; /* since when this one is; 0: it is not */
    warprsa_restarts restarts;
    uint64_t start_ns; /* when the next one is to be started */
    unsigned tick_ms;
    uint64_t tick_ns; /* when the next tick is due */
    bool stopping;    /* told to end */
    /* What systemd has yet to be told, since its socket was full; empty:
     * nothing. */
    char untold[WARPRSA_REPORT_TEXT + 32];
    bool done;
    int status; /* of the daemon, once done */
} supervisor;

void warprsa_supervisor_report(int reports, enum warprsa_report_kind kind,
                               const char *text)
{
    warprsa_report report = {.kind = kind};

    snprintf(report.text, sizeof(report.text), "%s", text);
    (void)send(reports, &report, sizeof(report), MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool warprsa_supervisor_news(int reports, void *news, size_t size)
{
    bool found = false;

    while (recv(reports, news, size, MSG_DONTWAIT | MSG_TRUNC) == (ssize_t)size)
        found = true;
    return found;
}

__attribute__((format(printf, 2, 3))) static void say(const supervisor *s,
                                                      const char *format, ...)
{
    char line[200];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    s->config->log(s->config->log_arg, 0, line);
}

/* Tells systemd of a state. If that fails, the next tick tries again, unless
 * there is a later state by then. Without READY=1 systemd would end the daemon
 * after a while. */
static void tell(supervisor *s, const char *state)
{
    snprintf(s->untold, sizeof(s->untold), "%s", state);
    if (warprsa_systemd_notify(state))
        s->untold[0] = '\0';
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* Runs in the new process. */
_Noreturn static void serve(const supervisor *s, pid_t parent,
                            const int reports[2], int readings)
{
    sigset_t child_ends;

    /* The supervisor may have been killed before the kernel knew that this
     * process has to go with it. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(EXIT_FAILURE);
    close(s->signals);
    close(reports[0]);
    close_if_open(s->reader.socket);
    sigemptyset(&child_ends);
    sigaddset(&child_ends, SIGCHLD);
    sigprocmask(SIG_UNBLOCK, &child_ends, NULL);
    exit(s->config->serve(s->config->arg, reports[1], readings));
}

/* When the next serving process is to be started. */
static uint64_t next_start(supervisor *s)
{
    const uint64_t now_ns = warprsa_clock_ns();
    const uint64_t ready_ns = s->ready_ns == 0 ? 0 : now_ns - s->ready_ns;
    const unsigned pause_s =
        warprsa_restarts_pause_s(&s->restarts, ready_ns / WARPRSA_NS_PER_MS);

    return now_ns + pause_s * WARPRSA_NS_PER_SEC;
}

/* The serving process has ended, or could not be started, as `how` says.
 * `by_itself`: it has ended itself, and has logged any reason. */
static void ended(supervisor *s, int status, const char *how, bool by_itself)
{
    char line[160];
    uint64_t now_ns;

    s->child = 0;
    warprsa_reader_process_close(&s->reader);
    if (s->stopping || !s->was_ready) {
        if (!by_itself)
            say(s, "the serving process %s", how);
        s->status = status;
        s->done = true;
        return;
    }
    s->start_ns = next_start(s);
    s->ready_ns = 0;
    now_ns = warprsa_clock_ns();
    snprintf(line, sizeof(line),
             "STATUS=starting again: the serving process %s", how);
    tell(s, line);
    say(s, "the serving process %s; another one is started in %llu ms", how,
        s->start_ns > now_ns
            ? (unsigned long long)((s->start_ns - now_ns) / WARPRSA_NS_PER_MS)
            : 0);
}

/* Runs in the reader. Nothing of the daemon's sockets is open any longer than
 * the daemon lives. */
static int read_files(void *arg, int socket)
{
    const supervisor *s = arg;

    for (unsigned i = 0; i < s->config->listeners_count; i++)
        close(s->config->listeners[i]);
    close(s->signals);
    close_if_open(s->reports);
    return s->config->read(s->config->arg, socket);
}

/* Runs what reads files, if it is wanted. */
static void run_reader(supervisor *s)
{
    char why[160];

    if (!s->stopping &&
        !warprsa_reader_process_tick(&s->reader, why, sizeof(why)))
        say(s, "%s", why);
}

static void start(supervisor *s)
{
    int reports[2] = {-1, -1}, readings = -1;
    pid_t self = getpid();
    pid_t child = -1;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
                   reports) == 0 &&
        warprsa_reader_process_open(&s->reader, &readings))
        child = fork();
    if (child == 0)
        serve(s, self, reports, readings);
    if (child < 0) {
        char how[80];

        snprintf(how, sizeof(how), "could not be started: %s", strerror(errno));
        close_if_open(reports[0]);
        close_if_open(reports[1]);
        close_if_open(readings);
        ended(s, EXIT_FAILURE, how, false);
        return;
    }
    close(reports[1]);
    close_if_open(readings);
    s->child = child;
    s->reports = reports[0];
    s->killed = false;
    s->silent = 0;
    warprsa_reader_process_ask(&s->reader);
    run_reader(s);
}

/* Takes a report and tells systemd. */
static void take_report(supervisor *s, warprsa_report *report)
{
    char line[sizeof(s->untold)];

    s->silent = 0;
    report->text[sizeof(report->text) - 1] = '\0';
    for (char *c = report->text; *c != '\0'; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    switch (report->kind) {
    case WARPRSA_REPORT_READY:
        s->was_ready = true;
        if (s->ready_ns == 0)
            s->ready_ns = warprsa_clock_ns();
        snprintf(line, sizeof(line), "READY=1\nSTATUS=%s", report->text);
        tell(s, line);
        break;
    case WARPRSA_REPORT_RELOADING:
        tell(s, "RELOADING=1");
        break;
    case WARPRSA_REPORT_ALIVE:
        break;
    }
}

static void take_reports(supervisor *s)
{
    warprsa_report report;

    while (s->reports >= 0) {
        ssize_t got = recv(s->reports, &report, sizeof(report), MSG_DONTWAIT);

        if (got == (ssize_t)sizeof(report)) {
            take_report(s, &report);
            continue;
        }
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        close(s->reports); /* its end; SIGCHLD says how it ended */
        s->reports = -1;
    }
}

/* SIGHUP. A serving process that hangs takes no news. */
static void reload(supervisor *s)
{
    static _Alignas(max_align_t) char news[WARPRSA_NEWS_BYTES];
    const size_t size = s->config->reload(s->config->arg, news, sizeof(news));

    warprsa_reader_process_ask(&s->reader);
    run_reader(s);
    if (s->child == 0)
        return;
    if (size > 0)
        (void)send(s->reports, news, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)kill(s->child, SIGHUP);
}

static void take_signals(supervisor *s)
{
    struct signalfd_siginfo info;

    while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGHUP) {
            reload(s);
        } else if (info.ssi_signo != SIGCHLD && !s->stopping) {
            s->stopping = true;
            tell(s, "STOPPING=1");
            s->done = s->child == 0;
            if (s->child != 0)
                (void)kill(s->child, SIGTERM);
        }
    }
}

/* Any child: as process 1 of a container the supervisor inherits other
 * processes. */
static void reap(supervisor *s)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        char how[160];

        if (warprsa_reader_process_ended(&s->reader, pid, status, how,
                                         sizeof(how))) {
            if (how[0] != '\0')
                say(s, "%s", how);
            else /* with a reading that was asked for meanwhile */
                run_reader(s);
        }
        if (pid != s->child)
            continue;
        take_reports(s);
        if (s->reports >= 0)
            close(s->reports);
        s->reports = -1;
        if (WIFEXITED(status))
            snprintf(how, sizeof(how), "ended with status %d",
                     WEXITSTATUS(status));
        else
            snprintf(how, sizeof(how), "was killed by signal %d",
                     WTERMSIG(status));
        ended(s, WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE, how,
              WIFEXITED(status));
    }
}

/* Ticks are counted instead of time: after the machine has stood still, the
 * serving process has had no time to report. If even SIGKILL does not end a
 * process, systemd takes over. */
static void tick(supervisor *s)
{
    if (s->untold[0] != '\0' && warprsa_systemd_notify(s->untold))
        s->untold[0] = '\0';
    if (!s->killed)
        (void)warprsa_systemd_notify("WATCHDOG=1");
    run_reader(s);
    if (s->child == 0 || s->stopping || s->killed)
        return;
    if (++s->silent * s->tick_ms <= s->config->hang_ms)
        return;
    say(s, "the serving process hangs: it is killed");
    s->killed = true;
    (void)kill(s->child, SIGKILL);
}

/* Turns away whoever connects, since no serving process will come soon. */
static void turn_away(const supervisor *s)
{
    for (unsigned i = 0; i < s->config->listeners_count; i++) {
        int fd;

        while ((fd = accept4(s->config->listeners[i], NULL, NULL,
                             SOCK_CLOEXEC)) >= 0)
            close(fd);
    }
}

/* Sleeps until there is something to do. */
static void sleep_for_events(const supervisor *s)
{
    struct pollfd events[OWN_EVENTS + WARPRSA_LISTENERS_MAX] = {
        {.fd = s->signals, .events = POLLIN},
        {.fd = s->reports, .events = POLLIN},
    };
    nfds_t count = OWN_EVENTS;
    uint64_t until_ns = s->tick_ns, now_ns = warprsa_clock_ns();

    if (s->child == 0 && s->start_ns < until_ns)
        until_ns = s->start_ns;
    for (unsigned i = 0; s->child == 0 && i < s->config->listeners_count; i++)
        events[count++] =
            (struct pollfd){.fd = s->config->listeners[i], .events = POLLIN};
    (void)poll(events, count,
               until_ns > now_ns
                   ? (int)((until_ns - now_ns) / WARPRSA_NS_PER_MS) + 1
                   : 0);
}

static void step(supervisor *s)
{
    if (s->child == 0 && warprsa_clock_ns() >= s->start_ns)
        start(s);
    if (s->done)
        return;
    sleep_for_events(s);
    take_signals(s);
    take_reports(s);
    reap(s);
    if (s->child == 0 && warprsa_clock_ns() < s->start_ns)
        turn_away(s);
    if (warprsa_clock_ns() >= s->tick_ns) {
        s->tick_ns = warprsa_clock_ns() + s->tick_ms * WARPRSA_NS_PER_MS;
        tick(s);
    }
}

int warprsa_supervise(const warprsa_supervisor_config *config)
{
    unsigned watchdog_ms = warprsa_systemd_watchdog_ms();
    supervisor s = {.config = config,
                    .reports = -1,
                    .tick_ms = watchdog_ms > 0 && watchdog_ms < TICK_MS
                                   ? watchdog_ms
                                   : TICK_MS};
    sigset_t mine;

    warprsa_reader_process_init(&s.reader,
                                config->read != NULL ? read_files : NULL, &s);
    sigemptyset(&mine);
    sigaddset(&mine, SIGTERM);
    sigaddset(&mine, SIGINT);
    sigaddset(&mine, SIGHUP);
    sigaddset(&mine, SIGCHLD);
    s.signals = signalfd(-1, &mine, SFD_NONBLOCK | SFD_CLOEXEC);
    if (s.signals < 0 || sigprocmask(SIG_BLOCK, &mine, NULL) != 0) {
        say(&s, "signals can't be taken: %s", strerror(errno));
        return EXIT_FAILURE;
    }
    while (!s.done)
        step(&s);
    warprsa_reader_process_close(&s.reader);
    close(s.signals);
    return s.status;
}
