/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A use thread that hangs, of a server below a supervisor: another serving
 * process takes its place, and carries out what the first one had. The test is
 * the client. In each process the vault is the fake one, which holds the use
 * threads of the first. That process's clock stands still until then: so one
 * turn of the event loop reads all uses, and begins none of them itself.
 *
 * The program is linked with --wrap=clock_gettime.
 */
#include "tests/unit/daemon/uses_fixture.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "batching/daemon/process/supervisor.h"
#include "batching/daemon/server/session.h"

enum {
    USES = 2 * WARPRSA_USE_BATCH, /* so many that threads take them */
    THREADS_HELD = 2,             /* as many as the server has */
    FEW = 4,
    HEALTHY_MS = 2000,
    POLL_MS = 50,
    HANG_MS = 1000,
};

/* Of the test, the supervisor and the serving processes. */
static struct {
    atomic_uint starts;
    atomic_uint held; /* use threads of the first one */
} * shared;

static pid_t supervisor;

/* ---- In a serving process ---- */

/* When the clock of this process stands still; 0: it does not. */
static _Atomic uint64_t stopped_ns;

int __real_clock_gettime(clockid_t id, struct timespec *now);
int __wrap_clock_gettime(clockid_t id, struct timespec *now);

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
    const int result = __real_clock_gettime(id, now);
    const uint64_t stopped = atomic_load(&stopped_ns);

    if (stopped != 0)
        *now = warprsa_timespec(stopped);
    return result;
}

/* As the serving process of the daemon: it says that it is alive while its
 * server is healthy. */
static void report(int reports)
{
    if (warprsa_server_is_healthy(s.server, HEALTHY_MS))
        warprsa_supervisor_report(reports, WARPRSA_REPORT_ALIVE, "");
}

static void note_held(void)
{
    const unsigned held = fake_vault.held;

    if (held == THREADS_HELD)
        atomic_store(&stopped_ns, 0);
    atomic_store(&shared->held, held);
}

static int serve(void *arg, int reports, int readings)
{
    const struct timespec poll = {0, POLL_MS * 1000000};
    const bool is_first = atomic_fetch_add(&shared->starts, 1) == 0;
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    fake_reset();
    test_server_open_there(&s, 2 * USES, LONG_MS);
    fake_vault.hold_encode = is_first;
    atomic_store(&stopped_ns, is_first ? warprsa_clock_ns() : 0);
    warprsa_supervisor_report(reports, WARPRSA_REPORT_READY, "");
    while (sigtimedwait(&signals, NULL, &poll) != SIGTERM) {
        if (is_first)
            note_held();
        report(reports);
    }
    _exit(EXIT_SUCCESS);
}

static void log_line(void *arg, int level, const char *line)
{
    fprintf(stderr, "%s\n", line);
}

/* ---- In the test ---- */

/* The serving processes make the sockets themselves. */
static int setup(void **state)
{
    const warprsa_supervisor_config config = {
        .serve = serve, .hang_ms = HANG_MS, .log = log_line};

    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    for (unsigned i = 0; i < sizeof(input); i++)
        input[i] = (uint8_t)(7 * i);
    (void)fake_vault_reset(FAKE_VAULT_KEYS);
    test_server_place(&s);
    fflush(NULL);
    supervisor = fork();
    if (supervisor == 0)
        _exit(warprsa_supervise(&config));
    assert_true(supervisor > 0);
    WAIT_UNTIL(access(s.path, F_OK) == 0);
    test_client_open(&g, &s, LONG_MS);
    return 0;
}

static int teardown(void **state)
{
    test_client_close(&g);
    assert_int_equal(kill(supervisor, SIGKILL), 0);
    assert_int_equal(waitpid(supervisor, NULL, 0), supervisor);
    test_server_remove(&s);
    return munmap(shared, sizeof(*shared));
}

/* Asks for so many uses at once that the event loop hands them over: alone it
 * would begin a few itself. */
static void hold_the_threads(raw_client *x)
{
    warprsa_shm_message named = {.type = WARPRSA_SHM_KEY_USE, .generation = 1};

    WAIT_UNTIL(raw_client_connect_for(x, s.path, USES, true));
    raw_client_attach(x);
    fake_vault_spki(KEY, named.spki_sha256);
    raw_client_send(x, &named);
    for (uint32_t i = 0; i < USES; i++) {
        raw_client_fill(x, i, 1, 0, 1);
        x->shm.slot[i].request.bytes = 0;
        x->shm.use[i].header = sign_pss;
        raw_client_put(x, i);
    }
    raw_client_notify(x);
    WAIT_UNTIL(atomic_load(&shared->held) == THREADS_HELD);
}

/* A program whose uses wait for these threads gets all of its answers. */
TEST_IN(another_process_serves, setup, teardown)
{
    warprsa_backend_key *key = vault_key(KEY);
    warprsa_client_use uses[FEW];
    raw_client x;

    hold_the_threads(&x);
    for (unsigned i = 0; i < FEW; i++) {
        warprsa_client_use_begin(g.client, &uses[i], key, &sign_pss, input);
        WAIT_UNTIL(warprsa_client_use_go_on(g.client, &uses[i], 0, output) ==
                       WARPRSA_USE_PENDING &&
                   uses[i].is_submitted);
    }
    assert_int_equal(atomic_load(&shared->starts), 1);
    for (unsigned i = 0; i < FEW; i++) {
        assert_int_equal(warprsa_client_use_wait(g.client, &uses[i], output),
                         WARPRSA_USE_DONE);
        is_right(&uses[i], KEY, &sign_pss);
    }
    assert_true(atomic_load(&shared->starts) >= 2);
    backend->key_release(key);
    raw_client_leave(&x);
}

RUN_TESTS(NULL, NULL)
