/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A generator of full TLS handshakes, for tests and measurements of servers. It
 * makes many connections at once in a few processes, as fast as possible or at
 * a given rate. Threads would not do: they wait for each other at libcrypto's
 * locks, and 12 of them made no more than 5,200 handshakes a second.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/handshakes/client.h"
#include "bench/handshakes/plan.h"

#define NS_PER_S UINT64_C(1000000000)

enum {
    EVENTS = 256,
    SCAN_NS = 1000000, /* how often all clients' time limits are checked */
};

/* What all processes share. */
typedef struct run {
    plan plan;
    uint64_t begin_ns, end_ns; /* of what is measured */
    _Atomic uint64_t begun;
    _Atomic uint64_t completed, failed, reset, aborted;
} run;

typedef struct worker {
    run *run;
    pid_t process;
    int results; /* the read end of its pipe */
    int epoll;
    SSL_CTX *ctx;
    client *clients;
    unsigned count;
    unsigned *idle; /* a stack */
    unsigned idle_count;
    uint64_t next_ns; /* when the next connection is due */
    uint64_t step_ns; /* between two; 0: as fast as possible */
    float *ms;        /* latencies */
    size_t ms_count, ms_room;
    bool broken;
} worker;

static void keep(worker *worker, double ms)
{
    if (worker->ms_count == worker->ms_room) {
        size_t room = worker->ms_room == 0 ? 4096 : 2 * worker->ms_room;
        float *grown = realloc(worker->ms, room * sizeof(*grown));

        if (grown == NULL) {
            worker->broken = true;
            return;
        }
        worker->ms = grown;
        worker->ms_room = room;
    }
    worker->ms[worker->ms_count++] = (float)ms;
}

static void ended(worker *worker, client *client, client_end end)
{
    run *run = worker->run;
    bool measured = client->handshake_ns >= run->begin_ns &&
                    (run->end_ns == 0 || client->handshake_ns < run->end_ns);

    if (end == CLIENT_DONE && measured)
        keep(worker, (double)(client->handshake_ns - client->due_ns) / 1e6);
    if (end == CLIENT_DONE)
        atomic_fetch_add(&run->completed, 1);
    if (end == CLIENT_FAILED)
        atomic_fetch_add(&run->failed, 1);
    if (end == CLIENT_RESET)
        atomic_fetch_add(&run->reset, 1);
    client_close(client, false);
    worker->idle[worker->idle_count++] = (unsigned)(client - worker->clients);
}

/* Whether another connection may begin; takes its number if so. */
static bool another(worker *worker, uint64_t now_ns, uint64_t *number)
{
    run *run = worker->run;

    if (worker->idle_count == 0 || worker->broken ||
        (worker->step_ns != 0 && now_ns < worker->next_ns) ||
        (run->end_ns != 0 && now_ns >= run->end_ns))
        return false;
    *number = atomic_fetch_add(&run->begun, 1);
    return run->plan.count == 0 || *number < run->plan.count;
}

static void begin_due(worker *worker)
{
    uint64_t number = 0;
    uint64_t now_ns = client_now_ns();

    while (another(worker, now_ns, &number)) {
        client *client = &worker->clients[worker->idle[--worker->idle_count]];
        uint64_t due_ns = worker->step_ns == 0 ? now_ns : worker->next_ns;
        client_end end = client_begin(client, &worker->run->plan, worker->ctx,
                                      worker->epoll, number, due_ns);

        worker->next_ns += worker->step_ns;
        if (end != CLIENT_GOES_ON)
            ended(worker, client, end);
        now_ns = client_now_ns();
    }
}

/* Closes the connections whose time is over: to abort in mid-handshake, or
 * because they have taken too long. */
static void scan(worker *worker, uint64_t now_ns)
{
    const plan *plan = &worker->run->plan;

    for (unsigned i = 0; i < worker->count; i++) {
        client *client = &worker->clients[i];

        if (client->state == CLIENT_IDLE)
            continue;
        if (plan->aborts && client->hello_ns != 0 &&
            client->handshake_ns == 0 && now_ns >= client->abort_ns) {
            atomic_fetch_add(&worker->run->aborted, 1);
            client_close(client, i % 2 == 0);
            worker->idle[worker->idle_count++] = i;
        } else if (now_ns > client->due_ns &&
                   (double)(now_ns - client->due_ns) > plan->timeout * 1e9) {
            fprintf(stderr, "handshakes: no end after %g s\n", plan->timeout);
            ended(worker, client, CLIENT_FAILED);
        }
    }
}

static bool more_to_come(const worker *worker)
{
    const run *run = worker->run;

    if (worker->idle_count < worker->count)
        return true;
    if (worker->broken)
        return false;
    return run->plan.count != 0 ? atomic_load(&run->begun) < run->plan.count
                                : client_now_ns() < run->end_ns;
}

static void one_round(worker *worker, uint64_t *next_scan_ns)
{
    struct epoll_event events[EVENTS];
    struct timespec patience = {.tv_nsec = SCAN_NS};
    uint64_t now_ns = client_now_ns();
    int ready = 0;

    if (worker->step_ns != 0 && worker->idle_count > 0) {
        uint64_t left = worker->next_ns > now_ns ? worker->next_ns - now_ns : 0;

        if (left < SCAN_NS)
            patience.tv_nsec = (long)left;
    }
    ready = epoll_pwait2(worker->epoll, events, EVENTS, &patience, NULL);
    if (ready < 0 && errno != EINTR) {
        fprintf(stderr, "handshakes: waiting: %s\n", strerror(errno));
        worker->broken = true;
    }
    for (int i = 0; i < ready; i++) {
        client *client = events[i].data.ptr;
        client_end end = client_go_on(client, &worker->run->plan);

        if (end != CLIENT_GOES_ON)
            ended(worker, client, end);
    }
    now_ns = client_now_ns();
    if (now_ns >= *next_scan_ns) {
        scan(worker, now_ns);
        *next_scan_ns = now_ns + SCAN_NS;
    }
}

static void work(worker *worker)
{
    uint64_t next_scan_ns = 0;

    while (more_to_come(worker)) {
        begin_due(worker);
        one_round(worker, &next_scan_ns);
    }
}

static bool set_up(worker *worker, run *run, unsigned index)
{
    const plan *plan = &run->plan;
    unsigned processes = plan->processes;

    worker->run = run;
    worker->count =
        plan->clients / processes + (index < plan->clients % processes);
    worker->clients = calloc(worker->count, sizeof(*worker->clients));
    worker->idle = calloc(worker->count, sizeof(*worker->idle));
    worker->epoll = epoll_create1(EPOLL_CLOEXEC);
    worker->ctx = client_ctx(plan);
    if (worker->clients == NULL || worker->idle == NULL || worker->epoll < 0 ||
        worker->ctx == NULL)
        return false;
    for (unsigned i = 0; i < worker->count; i++)
        worker->idle[worker->idle_count++] = i;
    if (plan->rate > 0) {
        worker->step_ns = (uint64_t)(1e9 * processes / plan->rate);
        worker->next_ns =
            client_now_ns() + worker->step_ns * index / processes + 1;
    }
    return true;
}

static int by_size(const void *a, const void *b)
{
    float left = *(const float *)a, right = *(const float *)b;

    return (left > right) - (left < right);
}

static double cpu_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void report(run *run, worker *all)
{
    uint64_t end_ns = run->end_ns != 0 ? run->end_ns : client_now_ns();
    double seconds = (double)(end_ns - run->begin_ns) / 1e9;

    qsort(all->ms, all->ms_count, sizeof(*all->ms), by_size);
    printf("handshakes=%zu failed=%llu reset=%llu aborted=%llu seconds=%.3f "
           "rate=%.1f",
           all->ms_count, (unsigned long long)run->failed,
           (unsigned long long)run->reset, (unsigned long long)run->aborted,
           seconds, (double)all->ms_count / seconds);
    if (all->ms_count > 0)
        printf(" p50_ms=%.3f p99_ms=%.3f p999_ms=%.3f max_ms=%.3f",
               (double)all->ms[all->ms_count / 2],
               (double)all->ms[all->ms_count * 99 / 100],
               (double)all->ms[all->ms_count * 999 / 1000],
               (double)all->ms[all->ms_count - 1]);
    printf(" completed=%llu client_cpu_s=%.2f\n",
           (unsigned long long)run->completed, cpu_seconds());
}

static bool write_all(int fd, const void *from, size_t bytes)
{
    const char *next = from;

    while (bytes > 0) {
        ssize_t written = write(fd, next, bytes);

        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0) {
            next += written;
            bytes -= (size_t)written;
        }
    }
    return true;
}

/* The work of one process, which writes its latencies to the pipe. */
static _Noreturn void child(run *run, unsigned index, int results)
{
    worker worker = {0};
    bool ok = set_up(&worker, run, index);

    if (ok)
        work(&worker);
    ok = ok && !worker.broken &&
         write_all(results, worker.ms, worker.ms_count * sizeof(*worker.ms));
    _exit(ok ? 0 : 2);
}

static bool start(worker *worker, run *run, unsigned index)
{
    int ends[2];

    if (pipe(ends) != 0)
        return false;
    worker->process = fork();
    if (worker->process == 0) {
        close(ends[0]);
        child(run, index, ends[1]);
    }
    close(ends[1]);
    worker->results = ends[0];
    return worker->process > 0;
}

/* Reads all that a process has measured. */
static bool gather(const worker *from, worker *all)
{
    FILE *results = fdopen(from->results, "r");
    float ms = 0;
    int status = 0;

    while (results != NULL && fread(&ms, sizeof(ms), 1, results) == 1)
        keep(all, (double)ms);
    if (results != NULL)
        fclose(results);
    return waitpid(from->process, &status, 0) == from->process &&
           WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Starts the processes and collects what they have measured. */
static bool run_all(run *run, worker *workers, worker *all)
{
    unsigned processes = run->plan.processes;
    unsigned started = 0;
    bool ok = true;

    while (started < processes && start(&workers[started], run, started))
        started++;
    ok = started == processes;
    for (unsigned i = 0; i < started; i++)
        ok = gather(&workers[i], all) && ok;
    return ok && !all->broken;
}

static void raise_limit(unsigned clients)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0 &&
        limit.rlim_cur < (rlim_t)clients + 64)
        fprintf(stderr, "handshakes: only %llu descriptors\n",
                (unsigned long long)limit.rlim_cur);
}

/* Sets the times at which measuring begins and ends. */
static void set_times(run *run)
{
    run->begin_ns =
        client_now_ns() + (uint64_t)(run->plan.warmup * (double)NS_PER_S);
    if (run->plan.count == 0)
        run->end_ns =
            run->begin_ns + (uint64_t)(run->plan.seconds * (double)NS_PER_S);
}

int main(int argc, char **argv)
{
    run *run = mmap(NULL, sizeof(*run), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    worker all = {0};
    worker *workers = NULL;
    bool ok = true;

    if (run == MAP_FAILED || !plan_parse(&run->plan, argc, argv))
        return 2;
    signal(SIGPIPE, SIG_IGN);
    raise_limit(run->plan.clients);
    workers = calloc(run->plan.processes, sizeof(*workers));
    if (workers == NULL)
        return 2;
    set_times(run);
    ok = run_all(run, workers, &all);
    if (ok)
        report(run, &all);
    else
        fprintf(stderr, "handshakes: could not run\n");
    free(workers);
    free(all.ms);
    return !ok ? 2 : run->failed != 0 || run->reset != 0;
}
