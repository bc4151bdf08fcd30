/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The module in mode = daemon with a real warprsad on the host engine: forks,
 * chroot and lost rights between loading the provider and the first operation,
 * as in servers, and a daemon that is killed under load.
 */
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/support/emulator.h"
#include "tests/unit/support/provider_subject.h"
#include "tests/unit/support/wait_until.h"

#include "batching/base/clock.h"

enum {
    THREADS = 6,
    JOBS = 32,
    NOBODY = 65534,
    /* Far less than the time that the program would wait for a daemon that
     * shows that it lives, and more than a machine with too much to do needs.
     */
    HELD_MS = 15000,
};

static char directory[] = "/tmp/warprsa-daemon.XXXXXX";
static char path[64], log_path[64];
static pid_t daemon_pid;
static pid_t stopped_pid; /* its serving process; 0: not stopped */

/* ---- the daemon ---- */

static bool log_says(const char *what)
{
    char line[4096];
    bool found = false;
    FILE *file = fopen(log_path, "r");

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        found |= strstr(line, what) != NULL;
    if (file != NULL)
        fclose(file);
    return found;
}

/* Runs in the child. `listener` is passed on as systemd does; -1: none. */
static void run_daemon(int listener)
{
    char program[512], option[128], pid[16];

    snprintf(program, sizeof(program), "%s/batching/daemon/warprsad",
             getenv("BUILD_DIR"));
    snprintf(option, sizeof(option), "--socket=%s", path);
    if (freopen(log_path, "w", stderr) == NULL)
        _exit(100);
    if (listener >= 0) {
        snprintf(pid, sizeof(pid), "%ld", (long)getpid());
        setenv("LISTEN_PID", pid, 1);
        setenv("LISTEN_FDS", "1", 1);
        if (listener == 3 || dup2(listener, 3) != 3)
            _exit(101);
        exec_emulated((char *[]){NULL, program, "--engine=host",
                                 "--deadline-ms=600000", NULL});
    } else {
        exec_emulated((char *[]){NULL, program, "--engine=host",
                                 "--deadline-ms=600000", option, NULL});
    }
    _exit(102);
}

static void start_daemon(int listener)
{
    pid_t ended = 0;

    unlink(log_path);
    daemon_pid = fork_quietly();
    if (daemon_pid == 0)
        run_daemon(listener);
    assert_true(daemon_pid > 0);
    WAIT_UNTIL(log_says("ready") ||
               (ended = waitpid(daemon_pid, NULL, WNOHANG)) != 0);
    assert_int_equal(ended, 0);
}

/* A serving process that a test has stopped goes on, since it would never take
 * the signal, and this would wait for ever. One that is killed must not: it
 * might answer before the kernel sends it after its supervisor. */
static int end_daemon(int signal)
{
    int status = -1;

    assert_true(daemon_pid > 0); /* 0 would be this process's own group */
    assert_int_equal(kill(daemon_pid, signal), 0);
    if (stopped_pid != 0)
        (void)kill(stopped_pid, signal == SIGKILL ? SIGKILL : SIGCONT);
    stopped_pid = 0;
    assert_int_equal(waitpid(daemon_pid, &status, 0), daemon_pid);
    daemon_pid = 0;
    return status;
}

static int setup_group(void **state)
{
    if (mkdtemp(directory) == NULL || chmod(directory, 0755) != 0)
        return -1;
    snprintf(path, sizeof(path), "%s/socket", directory);
    snprintf(log_path, sizeof(log_path), "%s/log", directory);
    oracle_key = key_make(NULL, "RSA", 1024, 2);
    return 0;
}

static int teardown_group(void **state)
{
    EVP_PKEY_free(oracle_key);
    unlink(path);
    unlink(log_path);
    return rmdir(directory);
}

static void open_subject(void)
{
    char settings[256];

    snprintf(settings, sizeof(settings),
             "mode = daemon\nsocket = %s\nroute = gpu\nstartup_ms = 60000\n"
             "deadline_ms = 600000\n",
             path);
    subject_set(subject_open(settings));
}

static int setup(void **state)
{
    start_daemon(-1);
    open_subject();
    return 0;
}

static int teardown(void **state)
{
    int status;

    subject_free();
    status = end_daemon(SIGTERM);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* ---- processes ---- */

TEST_IN(one_process, setup, teardown)
{
    assert_true(signs_right(subject, subject_key, oracle_key));
    assert_counted(subject, 1, 0);
}

/* Counted by has_session_and_notifier(). */
static uint64_t made_on_device, made_on_cpu;

/* Makes operations until one in a job has waited for the daemon. On a machine
 * with too much to do the daemon may be late for the first ones, which the CPU
 * computes then. */
static bool has_session_and_notifier(void)
{
    signing job = {0};
    bool right = signs_right(subject, subject_key, oracle_key);
    bool paused = signing_step(&job) == ASYNC_PAUSE;

    right = run_impatiently(&job, 1) != UINT32_MAX && right;
    right = signings_end(&job, 1) && right;
    made_on_device = plain_counter_of(subject, "warprsa-gpu");
    made_on_cpu = plain_counter_of(subject, "warprsa-cpu");
    return right && paused;
}

/* A job with a callback sleeps. */
TEST_IN(jobs_told_of_in_odd_ways, setup, teardown)
{
    WAIT_UNTIL(has_session_and_notifier());
    assert_true(signs_under_a_lock(JOBS));
    assert_counted(subject, made_on_device + JOBS, made_on_cpu);
    assert_true(signs_in_jobs_of_one_wait_ctx());
    assert_counted(subject, made_on_device + JOBS + 3, made_on_cpu);
}

/* As nginx does: a launcher loads the provider and forks the master, which
 * forks workers. The launcher frees everything while they go on. */
TEST_IN(a_launcher_that_forks_twice, setup, teardown)
{
    int ready[2];
    char byte = 0;
    pid_t master;

    assert_int_equal(pipe(ready), 0);
    master = fork_quietly();
    if (master == 0) {
        int status = -1;
        pid_t worker;

        /* Wait until the launcher is done. */
        if (read(ready[0], &byte, 1) != 1)
            _exit(WRONG_SETUP);
        worker = fork();
        if (worker == 0)
            _exit(sign_in_child(3, 3, 0));
        waitpid(worker, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : WRONG_COUNTERS);
    }
    subject_free();
    assert_int_equal(unlink(path), 0);
    assert_int_equal(write(ready[1], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    assert_all_right(master);
}

/* As haproxy does: chroot, another user, no more threads or processes. */
static bool drop_rights(void)
{
    struct rlimit none = {0, 0};
    pthread_t thread;

    if (chroot(directory) != 0 || chdir("/") != 0 || setgroups(0, NULL) != 0 ||
        setgid(NOBODY) != 0 || setuid(NOBODY) != 0 ||
        setrlimit(RLIMIT_NPROC, &none) != 0)
        return false;
    return pthread_create(&thread, NULL, (void *(*)(void *))abort, NULL) != 0;
}

/* Makes JOBS operations at once on this thread. */
static int sign_in_jobs(void)
{
    static signing works[JOBS];

    memset(works, 0, sizeof(works));
    for (unsigned i = 0; i < JOBS; i++)
        if (signing_step(&works[i]) != ASYNC_PAUSE)
            return WRONG_COUNTERS;
    if (run_impatiently(works, JOBS) == UINT32_MAX ||
        !signings_end(works, JOBS))
        return WRONG_SIGNATURE;
    return ALL_RIGHT;
}

static int child_without_rights(void)
{
    int status;

    if (!drop_rights())
        return WRONG_SETUP;
    for (int attempts = 1000; !has_session_and_notifier(); attempts--) {
        if (attempts == 0)
            return WRONG_COUNTERS;
        usleep(10000);
    }
    status = sign_in_jobs();
    return status == ALL_RIGHT
               ? sign_in_child(3, made_on_device + JOBS + 3, made_on_cpu)
               : status;
}

TEST_IN(a_process_without_rights, setup, teardown)
{
    pid_t child;

    if (geteuid() != 0)
        skip();
    child = fork_quietly();
    if (child == 0)
        _exit(child_without_rights());
    assert_all_right(child);
}

/* A user who may not connect: the CPU computes, and the counters say why. */
TEST_IN(a_user_who_may_not, setup, teardown)
{
    pid_t child;

    if (geteuid() != 0)
        skip();
    subject_free();
    child = fork_quietly();
    if (child == 0) {
        if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
            _exit(WRONG_SETUP);
        open_subject();
        if (!signs_right(subject, subject_key, oracle_key))
            _exit(WRONG_SIGNATURE);
        _exit(plain_counter_of(subject, "warprsa-gpu") == 0 &&
                      plain_counter_of(subject, "warprsa-cpu-no-device") == 1
                  ? ALL_RIGHT
                  : WRONG_COUNTERS);
    }
    assert_all_right(child);
    open_subject();
    assert_true(signs_right(subject, subject_key, oracle_key));
    assert_counted(subject, 1, 0);
}

TEST_IN(jobs_of_one_thread, setup, teardown)
{
    WAIT_UNTIL(has_session_and_notifier());
    assert_int_equal(sign_in_jobs(), ALL_RIGHT);
    assert_counted(subject, made_on_device + JOBS, made_on_cpu);
    assert_int_equal(sign_in_jobs(), ALL_RIGHT);
    assert_counted(subject, made_on_device + 2 * JOBS, made_on_cpu);
}

/* ---- load ---- */

static bool more_on_device(uint64_t from)
{
    return counter_of(subject, "warprsa-gpu") > from;
}

/* However the daemon ends, no operation fails; and once there is a daemon
 * again, it is used. */
TEST_IN(a_daemon_that_ends_under_load, setup, teardown)
{
    static const int signals[] = {SIGKILL, SIGTERM, SIGKILL};
    static signer signers[THREADS];
    unsigned made;

    signers_start(signers, THREADS);
    for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        uint64_t before;

        signers_make(signers, THREADS, 1);
        (void)end_daemon(signals[i]);
        signers_make(signers, THREADS, 4);
        before = counter_of(subject, "warprsa-gpu");
        start_daemon(-1);
        WAIT_UNTIL(more_on_device(before));
    }
    made = signers_end(signers, THREADS);
    assert_true(counter_of(subject, "warprsa-cpu-no-device") > 0);
    /* The one key, which only the last daemon has now. */
    assert_int_equal(counter_of(subject, "warprsa-keys-loaded"),
                     counter_of(subject, "warprsa-keys-wiped") + 1);
    assert_int_equal(counter_of(subject, "warprsa-gpu") +
                         counter_of(subject, "warprsa-cpu"),
                     made);
}

/* The number that a command prints first; 0: it prints nothing. */
static long number_from(const char *command, pid_t pid)
{
    char line[128], text[16];
    long number = 0;
    FILE *output;

    snprintf(line, sizeof(line), command, (int)pid);
    output = popen(line, "r");
    assert_non_null(output);
    if (fgets(text, sizeof(text), output) != NULL)
        number = strtol(text, NULL, 10);
    pclose(output);
    return number;
}

/* Stops the daemon's serving process, and returns once each of its threads has
 * stopped: until then they may still answer. */
static void stop_daemon(void)
{
    stopped_pid = (pid_t)number_from("pgrep -P %d", daemon_pid);
    assert_true(stopped_pid > 0);
    assert_int_equal(kill(stopped_pid, SIGSTOP), 0);
    WAIT_UNTIL(number_from("grep -c State:.[^T] /proc/%d/task/*/status | "
                           "grep -c :1",
                           stopped_pid) == 0);
}

/* Makes an operation in a job, stops the daemon and lets the next one wait in a
 * job. Returns that job's descriptor. */
static OSSL_ASYNC_FD wait_for_a_stopped_daemon(signing *one)
{
    OSSL_ASYNC_FD fd = -1;
    size_t count = 1;

    WAIT_UNTIL(has_session_and_notifier());
    stop_daemon();
    assert_int_equal(signing_step(one), ASYNC_PAUSE);
    assert_int_equal(ASYNC_WAIT_CTX_get_all_fds(one->wait_ctx, &fd, &count), 1);
    assert_int_equal(count, 1);
    return fd;
}

/* Asserts that the job is woken and that the CPU computes it. */
static void goes_on(signing *one, OSSL_ASYNC_FD fd)
{
    struct pollfd poller = {fd, POLLIN, 0};

    assert_int_equal(poll(&poller, 1, LONG_MS), 1);
    assert_true(run_impatiently(one, 1) != UINT32_MAX);
    assert_true(signings_end(one, 1));
}

/* Jobs that wait when the daemon is killed are woken. */
TEST_IN(a_daemon_killed_with_jobs_waiting, setup, teardown)
{
    signing one = {0};
    OSSL_ASYNC_FD fd = wait_for_a_stopped_daemon(&one);

    (void)end_daemon(SIGKILL);
    goes_on(&one, fd);
    assert_counted(subject, made_on_device, made_on_cpu + 1);
    start_daemon(-1);
}

/* Makes operations until the descriptor can be read from. Returns how many. */
static unsigned sign_until_woken(OSSL_ASYNC_FD fd)
{
    struct pollfd poller = {fd, POLLIN, 0};
    unsigned made = 0;

    while (poll(&poller, 1, 10) == 0) {
        assert_true(signs_right(subject, subject_key, oracle_key));
        made++;
    }
    return made;
}

/* A daemon that hangs: the next callers find it out, for all who wait. */
TEST_IN(a_daemon_that_hangs, setup, teardown)
{
    signing one = {0};
    OSSL_ASYNC_FD fd = wait_for_a_stopped_daemon(&one);
    unsigned made = sign_until_woken(fd);

    goes_on(&one, fd);
    assert_counted(subject, made_on_device, made_on_cpu + made + 1);
    /* If that took too long, the daemon has killed it and started another. */
    (void)kill(stopped_pid, SIGCONT);
    WAIT_UNTIL(signs_right(subject, subject_key, oracle_key) &&
               more_on_device(1));
}

/* What a program has done when the daemon stops. */
typedef enum moment {
    NOT_LOADED,
    LOADED,
    HAS_SESSION,
    HAS_NOTIFIER,
    MOMENTS,
} moment;

static void come_to(moment when)
{
    subject_free();
    if (when >= LOADED)
        open_subject();
    if (when >= HAS_SESSION)
        assert_true(signs_right(subject, subject_key, oracle_key));
    if (when >= HAS_NOTIFIER)
        WAIT_UNTIL(has_session_and_notifier());
    stop_daemon();
    if (when == NOT_LOADED)
        open_subject();
}

/* Starts a job and makes an operation of the thread's own, some times: none of
 * the calls waits for the daemon for long. The jobs go on in the end. */
static void make_without_daemon(void)
{
    signing jobs[3] = {0};
    uint64_t begun_ns = warprsa_clock_ns();

    for (unsigned i = 0; i < 3; i++) {
        int step = signing_step(&jobs[i]);

        assert_true(step == ASYNC_PAUSE || step == ASYNC_FINISH);
        assert_true(signs_right(subject, subject_key, oracle_key));
    }
    assert_true(warprsa_clock_ns() - begun_ns < HELD_MS * WARPRSA_NS_PER_MS);
    (void)kill(stopped_pid, SIGCONT);
    for (unsigned i = 0; i < 3; i++)
        while (!signing_is_right(&jobs[i]))
            assert_true(run_impatiently(&jobs[i], 1) != UINT32_MAX);
    assert_true(signings_end(jobs, 3));
}

/* The program's startup_ms and deadline_ms are minutes. */
TEST_IN(a_daemon_that_hangs_at_any_moment, setup, teardown)
{
    for (moment when = NOT_LOADED; when < MOMENTS; when++) {
        come_to(when);
        make_without_daemon();
        WAIT_UNTIL(signs_right(subject, subject_key, oracle_key) &&
                   more_on_device(0));
    }
}

/* ---- unloading, activation ---- */

TEST_IN(unloaded_and_loaded_again, setup, teardown)
{
    for (int i = 0; i < 5; i++) {
        assert_true(signs_right(subject, subject_key, oracle_key));
        subject_free();
        open_subject();
    }
    subject_free(); /* and once without an operation */
    open_subject();
}

/* Signs until the daemon computes it: on a busy machine it may answer too late,
 * and the process computes itself. Returns how often it signed. */
static uint64_t sign_on_device(void)
{
    const uint64_t before = counter_of(subject, "warprsa-gpu");
    uint64_t made = 0;

    WAIT_UNTIL(++made > 0 && signs_right(subject, subject_key, oracle_key) &&
               more_on_device(before));
    return made;
}

/* Each operation of a context is counted there, and none on the CPU but for a
 * daemon that did not answer. */
static void assert_made(OSSL_LIB_CTX *by, uint64_t made)
{
    const uint64_t cpu = counter_of(by, "warprsa-cpu-no-device");

    assert_in_range(cpu, 0, made - 1);
    assert_counted(by, made - cpu, cpu);
}

TEST_IN(two_contexts_in_one_process, setup, teardown)
{
    OSSL_LIB_CTX *first = subject;
    EVP_PKEY *first_key = subject_key;
    uint64_t of_first, of_second;

    of_first = sign_on_device();
    open_subject();
    of_second = sign_on_device();
    assert_true(signs_right(first, first_key, oracle_key));
    of_first++;
    assert_made(subject, of_second);
    assert_made(first, of_first);
    subject_free();
    subject = first;
    subject_key = first_key;
    of_first += sign_on_device();
    assert_made(first, of_first);
}

/* The socket is there before the daemon, and after it. */
TEST_IN(activated_by_socket, setup, teardown)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    int high = -1;

    subject_free();
    assert_int_equal(WEXITSTATUS(end_daemon(SIGTERM)), 0);
    strcpy(address.sun_path, path);
    assert_int_equal(
        bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 10), 0);
    high = dup2(listener, 50);
    close(listener);
    assert_int_equal(high, 50);
    open_subject(); /* its connection waits to be accepted */
    start_daemon(high);
    assert_true(signs_right(subject, subject_key, oracle_key));
    assert_counted(subject, 1, 0);
    assert_int_equal(WEXITSTATUS(end_daemon(SIGTERM)), 0);
    start_daemon(high);
    WAIT_UNTIL(signs_right(subject, subject_key, oracle_key) &&
               more_on_device(1));
    assert_int_equal(WEXITSTATUS(end_daemon(SIGTERM)), 0);
    close(high);
    assert_int_equal(unlink(path), 0);
    start_daemon(-1);
}

RUN_TESTS(setup_group, teardown_group)
