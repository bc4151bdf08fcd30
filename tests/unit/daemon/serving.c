/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The daemon's serving process while the only worker of its only device hangs
 * in a driver. It is a child of the test, on the fake engine; the client is the
 * test.
 */
#include "tests/unit/support/fake_queue.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "batching/daemon/client/client.h"
#include "batching/daemon/process/systemd.h"
#include "batching/daemon/server/serving.h"
#include "tests/unit/support/raw_client.h"

static const warprsa_backend_ops *const backend = &warprsa_backend_daemon;

/* ---- The machine: its engine `host` is the fake one ---- */

static unsigned no_device(char *why, size_t why_size)
{
    snprintf(why, why_size, "there is none");
    return 0;
}

const warprsa_engine *warprsa_engine_host(void)
{
    return fake_engine_get();
}

const warprsa_engine *warprsa_engine_ifma(void)
{
    static const warprsa_engine engine = {.name = "ifma", .count = no_device};

    return &engine;
}

const warprsa_engine *warprsa_engine_cuda(void)
{
    static const warprsa_engine engine = {.name = "cuda", .count = no_device};

    return &engine;
}

bool warprsa_engine_cuda_is_installed(char *why, size_t why_size)
{
    return no_device(why, why_size) > 0;
}

unsigned warprsa_hardware_queues(unsigned wanted)
{
    return wanted;
}

/* ---- The daemon and its client ---- */

static warprsa_serving serving;
static char directory[32], path[64]; /* of the socket */
static int reports[2];
static pid_t child;
static warprsa_control_connection control_connection;
static warprsa_client *client;
static warprsa_counters *counters; /* the client's */

static void make_serving(void)
{
    char *argv[] = {"warprsad", "--engine=host", "--streams=1",
                    "--deadline-ms=200", NULL};
    char why[600] = "";

    if (!warprsa_options_read(&serving.options, 4, argv, why, sizeof(why)))
        fail_msg("%s", why);
    strcpy(directory, "/tmp/warprsad.XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/socket", directory);
    serving.listeners[0] = warprsa_systemd_listen(path, "", why, sizeof(why));
    if (serving.listeners[0] < 0)
        fail_msg("%s", why);
    serving.listeners_count = 1;
    serving.counters = warprsa_counters_new();
    assert_non_null(serving.counters);
}

static void start_child(void)
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, reports), 0);
    child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(warprsa_serving_run(&serving, reports[1], -1));
}

static void open_client(void)
{
    warprsa_client_config config = {.control_connection = &control_connection,
                                    .slots = 16,
                                    .deadline_ms = LONG_MS};
    char why[256];

    (void)warprsa_control_connection_open(&control_connection, path, why,
                                          sizeof(why));
    counters = warprsa_counters_new();
    assert_non_null(counters);
    config.counters = counters;
    client = warprsa_client_open(&config);
    assert_non_null(client);
}

/* The driver hangs with the first key. */
static int set_up(void **state)
{
    fake_reset();
    FAKE_SET(hold_load, true);
    make_serving();
    start_child();
    open_client();
    return 0;
}

static int tear_down(void **state)
{
    assert_true(backend->close(client));
    warprsa_control_connection_close(&control_connection);
    warprsa_counters_free(counters);
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    close(reports[0]);
    close(reports[1]);
    close(serving.listeners[0]);
    warprsa_counters_free(serving.counters);
    unlink(path);
    assert_int_equal(rmdir(directory), 0);
    fake_reset();
    return 0;
}

/* Takes its exit status, if it has ended. */
static bool has_ended(int *status)
{
    if (waitpid(child, status, WNOHANG) != child)
        return false;
    child = 0;
    return true;
}

/* Submits a request that a job waits for. */
static void submit(warprsa_backend_key *key, fake_request *r,
                   const warprsa_notifier *notifier)
{
    fake_fill(r, WARPRSA_CLASS_1024, 1, 1);
    r->input[0] = 0;
    WAIT_UNTIL(backend->submit(client, key, r->input, (warprsa_notify){0},
                               notifier->number, &r->ticket) == WARPRSA_DONE);
}

/* The worker tells nobody of a deadline, and takes no device out of use. The
 * main thread has the job resumed, and then the device is lost, which another
 * process may be able to open. */
TEST_IN(the_only_worker_hangs, set_up, tear_down)
{
    const warprsa_private_key numbers = fake_key(WARPRSA_CLASS_1024, 1);
    const uint8_t id[WARPRSA_KEY_ID_BYTES] = {1};
    const warprsa_counters *c = serving.counters;
    warprsa_backend_key *key;
    warprsa_notifier notifier;
    fake_request r;
    int status;

    WAIT_UNTIL(backend->wait_ready(client, 100) == WARPRSA_QUEUE_READY);
    WAIT_UNTIL(backend->notifier_open(client, &notifier));
    key = backend->key(client, id, &numbers);
    assert_non_null(key);
    submit(key, &r, &notifier);
    WAIT_UNTIL(c->cpu_reason[WARPRSA_CPU_DEADLINE] != 0);
    assert_true(becomes_readable(notifier.fd.fd));
    assert_int_equal(backend->collect(client, r.ticket, r.output),
                     WARPRSA_REFUSED);
    WAIT_UNTIL(has_ended(&status));
    /* On a slow machine its last answers take longer than they may. */
    assert_true((WIFEXITED(status) &&
                 WEXITSTATUS(status) == WARPRSA_SERVING_DEVICE_LOST) ||
                (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM));
    assert_int_equal(c->device_losses, 1);
    backend->notifier_close(&notifier);
    backend->key_release(key);
}

RUN_TESTS(NULL, NULL)
