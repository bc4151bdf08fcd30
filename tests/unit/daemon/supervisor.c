/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The supervisor with serving processes that are killed, hang, end again and
 * again, or never become ready, and a supervisor that is killed itself. Here a
 * serving process does what its number says. Readers send their number to it.
 */
#include "tests/unit/support/wait_until.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/daemon/process/restarts.h"
#include "batching/daemon/process/supervisor.h"

enum {
    STARTS_MAX = 16,
    HANG_MS = 1000,
    STATUS_NOT_READY = 7,
    LOOP = WARPRSA_RESTARTS_AT_ONCE + 1,
};

typedef enum behaviour {
    SERVES,      /* ready, and alive until SIGTERM */
    HANGS,       /* ready, and silent */
    ENDS,        /* ready, and ends at once */
    NEVER_READY, /* ends at once */
    KILLED,      /* by a signal, at once */
} behaviour;

/* Shared by the test, the supervisor and the serving processes. */
static struct {
    behaviour does[STARTS_MAX]; /* the serving process of each number */
    _Atomic unsigned starts;
    _Atomic pid_t pid[STARTS_MAX];
    _Atomic uint64_t start_ns[STARTS_MAX];
    _Atomic unsigned reloads, hangups; /* in the supervisor; below it */
    _Atomic unsigned news;             /* the last that have come */
    _Atomic unsigned reads;            /* readers started */
    _Atomic pid_t reader;              /* the last one */
    _Atomic unsigned failures;         /* readers that are to fail yet */
    atomic_bool held;                  /* readers wait */
    _Atomic unsigned received;         /* by serving processes */
    /* By the log: serving processes that ended, were replaced at once, and
     * were killed. */
    _Atomic unsigned ended, at_once, killed;
} * shared;

static pid_t supervisor;
static bool has_reader;
static unsigned hang_ms; /* HANG_MS where one is to hang */
static int listener = -1, systemd = -1;

/* ---- in the supervisor and below ---- */

static int read_files(void *arg, int socket)
{
    const unsigned number = atomic_fetch_add(&shared->reads, 1) + 1;

    atomic_store(&shared->reader, getpid());
    while (atomic_load(&shared->held))
        usleep(1000);
    if (atomic_load(&shared->failures) > 0) {
        atomic_fetch_sub(&shared->failures, 1);
        return EXIT_FAILURE;
    }
    return send(socket, &number, sizeof(number), 0) == sizeof(number)
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}

static void receive(int readings)
{
    unsigned number;
    ssize_t got;

    while ((got = recv(readings, &number, sizeof(number), MSG_DONTWAIT)) > 0)
        atomic_fetch_add(&shared->received, 1);
    if (got == 0) /* the supervisor has closed its end */
        _exit(101);
}

static int serve_until_told(int reports, int readings)
{
    const struct timespec poll = {0, 50000000};
    unsigned news;
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    for (;;) {
        int caught = sigtimedwait(&signals, NULL, &poll);

        if (caught == SIGTERM)
            return EXIT_SUCCESS;
        if (caught == SIGHUP &&
            warprsa_supervisor_news(reports, &news, sizeof(news))) {
            atomic_store(&shared->news, news);
            atomic_fetch_add(&shared->hangups, 1);
        }
        if (readings >= 0)
            receive(readings);
        warprsa_supervisor_report(reports, WARPRSA_REPORT_ALIVE, "");
    }
}

static int serve(void *arg, int reports, int readings)
{
    unsigned number = atomic_load(&shared->starts);

    if (number >= STARTS_MAX)
        _exit(100);
    atomic_store(&shared->pid[number], getpid());
    atomic_store(&shared->start_ns[number], warprsa_clock_ns());
    atomic_store(&shared->starts, number + 1);
    if (shared->does[number] == NEVER_READY)
        _exit(STATUS_NOT_READY);
    if (shared->does[number] == KILLED)
        (void)raise(SIGKILL);
    warprsa_supervisor_report(reports, WARPRSA_REPORT_READY, "a \"GPU\"\n");
    if (shared->does[number] == ENDS)
        _exit(EXIT_FAILURE);
    while (shared->does[number] == HANGS)
        pause();
    _exit(serve_until_told(reports, readings));
}

/* The news are how many reloads there were. */
static size_t reload(void *arg, void *news, size_t size)
{
    const unsigned count = atomic_fetch_add(&shared->reloads, 1) + 1;

    assert_true(size >= sizeof(count));
    memcpy(news, &count, sizeof(count));
    return sizeof(count);
}

static void log_line(void *arg, int level, const char *line)
{
    (void)arg, (void)level;
    if (strstr(line, "another one is started in 0 ms") != NULL)
        atomic_fetch_add(&shared->at_once, 1);
    if (strstr(line, "the serving process ended") != NULL)
        atomic_fetch_add(&shared->ended, 1);
    if (strstr(line, "the serving process was killed by signal 9") != NULL)
        atomic_fetch_add(&shared->killed, 1);
    fprintf(stderr, "%s\n", line);
}

/* ---- in the test ---- */

/* A socket at an abstract address, of which `name` gets the name. Each has
 * another one: LeakSanitizer looks at a reader that ends from a process of its
 * own, which has the reader's sockets a moment longer. */
static int abstract_socket(int type, char name[64])
{
    static unsigned count;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    snprintf(name, 64, "@warprsa-supervisor-%d-%u", (int)getpid(), count++);
    strcpy(address.sun_path, name);
    address.sun_path[0] = '\0';
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
                                      strlen(name))),
                     0);
    return fd;
}

static void supervise(void)
{
    const warprsa_supervisor_config config = {
        .serve = serve,
        .reload = reload,
        .read = has_reader ? read_files : NULL,
        .listeners = &listener,
        .listeners_count = 1,
        .hang_ms = hang_ms,
        .log = log_line,
    };

    fflush(NULL);
    supervisor = fork();
    if (supervisor == 0)
        _exit(warprsa_supervise(&config));
    assert_true(supervisor > 0);
}

static int end_supervisor(int signal)
{
    int status = -1;

    assert_int_equal(kill(supervisor, signal), 0);
    assert_int_equal(waitpid(supervisor, &status, 0), supervisor);
    return status;
}

static bool is_gone(pid_t pid)
{
    /* Orphans are this process's to wait for. */
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    return kill(pid, 0) != 0 && errno == ESRCH;
}

static pid_t serving(unsigned number)
{
    WAIT_UNTIL(atomic_load(&shared->starts) > number);
    return atomic_load(&shared->pid[number]);
}

/* Waits for a message to systemd that has this in it. The kernel keeps ten, and
 * the supervisor does not wait until there is room: a test waits for one of the
 * first ones. */
static void assert_told(const char *what)
{
    const uint64_t until_ns = warprsa_clock_ns() + LONG_MS * WARPRSA_NS_PER_MS;
    struct pollfd message = {.fd = systemd, .events = POLLIN};
    char text[256];

    do {
        ssize_t length;

        assert_true(warprsa_clock_ns() < until_ns); /* one comes each second */
        assert_int_equal(poll(&message, 1, LONG_MS), 1);
        length = recv(systemd, text, sizeof(text) - 1, 0);
        assert_true(length > 0);
        text[length] = '\0';
    } while (strstr(text, what) == NULL);
}

/* As many end as make a loop; the last one is followed by a pause. */
static void begin_loop(void)
{
    for (unsigned i = 0; i < LOOP; i++)
        shared->does[i] = ENDS;
    supervise();
    WAIT_UNTIL(atomic_load(&shared->ended) == LOOP);
}

static int setup(void **state)
{
    char name[64];

    hang_ms = LONG_MS;
    has_reader = false;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return -1;
    listener = abstract_socket(SOCK_SEQPACKET, name);
    systemd = abstract_socket(SOCK_DGRAM, name);
    return listen(listener, 8) == 0 && setenv("NOTIFY_SOCKET", name, 1) == 0
               ? 0
               : -1;
}

static int teardown(void **state)
{
    close(listener);
    close(systemd);
    return munmap(shared, sizeof(*shared));
}

TEST_IN(a_killed_process_is_replaced_at_once, setup, teardown)
{
    int status;

    supervise();
    assert_told("READY=1\nSTATUS=a \"GPU\"?");
    assert_int_equal(kill(serving(0), SIGKILL), 0);
    assert_told("STATUS=starting again: the serving process was killed by "
                "signal 9");
    (void)serving(1);
    assert_told("READY=1");
    status = end_supervisor(SIGTERM);
    assert_told("STOPPING=1");
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    assert_int_equal(atomic_load(&shared->starts), 2);
    assert_true(is_gone(serving(0)) && is_gone(serving(1)));
}

/* Sends as many lines as one socket may have on the way. False: none. */
static bool send_lines(void)
{
    struct sockaddr_un address;
    socklen_t length = sizeof(address);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    unsigned sent = 0;

    assert_int_equal(getsockname(systemd, (struct sockaddr *)&address, &length),
                     0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, length), 0);
    while (send(fd, "X=1", 3, 0) == 3)
        sent++;
    assert_int_equal(errno, EAGAIN);
    close(fd);
    return sent > 0;
}

/* Systemd may have too much to read just when the daemon is ready. */
static void fill_systemd(void)
{
    while (send_lines())
        ;
}

/* The serving process takes the first hangup after it has said that it is
 * ready. So the supervisor has told systemd by the third one. */
TEST_IN(systemd_is_told_later_if_it_has_to_be, setup, teardown)
{
    fill_systemd();
    supervise();
    (void)serving(0);
    assert_int_equal(kill(supervisor, SIGHUP), 0);
    WAIT_UNTIL(atomic_load(&shared->hangups) == 1);
    for (unsigned i = 2; i <= 3; i++) {
        assert_int_equal(kill(supervisor, SIGHUP), 0);
        WAIT_UNTIL(atomic_load(&shared->reloads) == i);
    }
    assert_told("READY=1\nSTATUS=a \"GPU\"?");
    (void)end_supervisor(SIGTERM);
}

TEST_IN(one_that_hangs_is_killed, setup, teardown)
{
    shared->does[0] = HANGS;
    hang_ms = HANG_MS;
    supervise();
    assert_told("killed by signal 9");
    (void)serving(1);
    (void)end_supervisor(SIGINT);
    assert_true(is_gone(serving(0)));
}

/* Those that served are replaced at once, but for a loop of them: who connects
 * in its pause is turned away. */
TEST_IN(one_that_ends_again_and_again, setup, teardown)
{
    struct sockaddr_un address;
    socklen_t length = sizeof(address);
    int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    char byte;

    begin_loop();
    assert_int_equal(atomic_load(&shared->at_once), WARPRSA_RESTARTS_AT_ONCE);
    assert_int_equal(
        getsockname(listener, (struct sockaddr *)&address, &length), 0);
    assert_int_equal(connect(client, (struct sockaddr *)&address, length), 0);
    assert_int_equal(recv(client, &byte, 1, 0), 0);
    close(client);
    assert_int_equal(atomic_load(&shared->starts), LOOP);
    (void)serving(LOOP);
    assert_true(atomic_load(&shared->start_ns[LOOP]) -
                    atomic_load(&shared->start_ns[LOOP - 1]) >=
                WARPRSA_NS_PER_SEC);
    assert_int_equal(atomic_load(&shared->at_once), WARPRSA_RESTARTS_AT_ONCE);
    (void)end_supervisor(SIGTERM);
}

TEST_IN(told_to_end_in_a_pause, setup, teardown)
{
    int status;

    begin_loop();
    status = end_supervisor(SIGTERM);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    assert_int_equal(atomic_load(&shared->starts), LOOP);
}

TEST_IN(one_that_was_never_ready_ends_the_daemon, setup, teardown)
{
    int status = -1;

    shared->does[0] = NEVER_READY;
    supervise();
    assert_int_equal(waitpid(supervisor, &status, 0), supervisor);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), STATUS_NOT_READY);
    assert_int_equal(atomic_load(&shared->starts), 1);
}

/* It could not say why itself. */
TEST_IN(one_that_was_killed_before_it_was_ready, setup, teardown)
{
    int status = -1;

    shared->does[0] = KILLED;
    supervise();
    assert_int_equal(waitpid(supervisor, &status, 0), supervisor);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EXIT_FAILURE);
    assert_int_equal(atomic_load(&shared->starts), 1);
    assert_int_equal(atomic_load(&shared->killed), 1);
}

/* After that it is tried again for ever. */
TEST_IN(one_that_is_no_longer_ready_does_not, setup, teardown)
{
    int status;

    shared->does[0] = ENDS;
    shared->does[1] = NEVER_READY;
    supervise();
    (void)serving(2);
    status = end_supervisor(SIGTERM);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
}

TEST_IN(a_killed_supervisor_leaves_nothing, setup, teardown)
{
    supervise();
    (void)serving(0);
    (void)end_supervisor(SIGKILL);
    WAIT_UNTIL(is_gone(serving(0)));
}

TEST_IN(a_hangup_is_for_both, setup, teardown)
{
    supervise();
    (void)serving(0);
    assert_int_equal(kill(supervisor, SIGHUP), 0);
    WAIT_UNTIL(atomic_load(&shared->hangups) == 1);
    assert_int_equal(atomic_load(&shared->reloads), 1);
    assert_int_equal(atomic_load(&shared->news), 1);
    assert_int_equal(kill(supervisor, SIGHUP), 0);
    WAIT_UNTIL(atomic_load(&shared->news) == 2);
    (void)end_supervisor(SIGTERM);
}

/* ---- the reader ---- */

static int setup_reader(void **state)
{
    const int status = setup(state);

    has_reader = true;
    return status;
}

/* The last reader may be ending just now, and has the test's sockets till
 * then. */
static void assert_ends_well(void)
{
    const int status = end_supervisor(SIGTERM);

    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    WAIT_UNTIL(is_gone(atomic_load(&shared->reader)));
}

/* Each serving process gets a reading, and one more with each hangup. */
TEST_IN(it_reads_at_start_and_with_each_hangup, setup_reader, teardown)
{
    supervise();
    WAIT_UNTIL(atomic_load(&shared->received) == 1);
    assert_int_equal(kill(supervisor, SIGHUP), 0);
    WAIT_UNTIL(atomic_load(&shared->received) == 2);
    assert_int_equal(kill(serving(0), SIGKILL), 0);
    (void)serving(1);
    WAIT_UNTIL(atomic_load(&shared->received) == 3);
    assert_int_equal(kill(supervisor, SIGHUP), 0);
    WAIT_UNTIL(atomic_load(&shared->received) == 4);
    assert_int_equal(atomic_load(&shared->reads), 4);
    assert_int_equal(atomic_load(&shared->starts), 2);
    assert_ends_well();
}

/* However many hangups come during a reading, one more follows it. */
TEST_IN(a_hangup_during_a_reading, setup_reader, teardown)
{
    atomic_store(&shared->held, true);
    supervise();
    WAIT_UNTIL(atomic_load(&shared->reads) == 1);
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(kill(supervisor, SIGHUP), 0);
        WAIT_UNTIL(atomic_load(&shared->reloads) == i);
    }
    assert_int_equal(atomic_load(&shared->reads), 1);
    atomic_store(&shared->held, false);
    WAIT_UNTIL(atomic_load(&shared->received) == 2);
    assert_ends_well();
    assert_int_equal(atomic_load(&shared->reads), 2);
}

TEST_IN(a_reader_that_fails_is_tried_again, setup_reader, teardown)
{
    atomic_store(&shared->failures, 2);
    supervise();
    WAIT_UNTIL(atomic_load(&shared->received) == 1);
    assert_int_equal(atomic_load(&shared->reads), 3);
    assert_int_equal(atomic_load(&shared->starts), 1);
    assert_ends_well();
}

/* A reader whose serving process has ended sends nothing to the next one. There
 * is a next one only where this one was ready, which it need not be before the
 * reader runs. */
TEST_IN(a_reader_ends_with_its_serving_process, setup_reader, teardown)
{
    pid_t first;

    atomic_store(&shared->held, true);
    supervise();
    assert_told("READY=1");
    WAIT_UNTIL(atomic_load(&shared->reads) == 1);
    first = atomic_load(&shared->reader);
    assert_int_equal(kill(serving(0), SIGKILL), 0);
    (void)serving(1);
    WAIT_UNTIL(is_gone(first));
    atomic_store(&shared->held, false);
    WAIT_UNTIL(atomic_load(&shared->received) == 1);
    assert_ends_well();
    assert_int_equal(atomic_load(&shared->reads), 2);
}

TEST_IN(a_killed_supervisor_leaves_no_reader, setup_reader, teardown)
{
    atomic_store(&shared->held, true);
    supervise();
    (void)serving(0);
    WAIT_UNTIL(atomic_load(&shared->reads) == 1);
    (void)end_supervisor(SIGKILL);
    WAIT_UNTIL(is_gone(atomic_load(&shared->reader)));
    WAIT_UNTIL(is_gone(serving(0)));
}

RUN_TESTS(NULL, NULL)
