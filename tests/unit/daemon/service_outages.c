/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The provider's client while the daemon does not run, stops, starts again, is
 * slow or hangs; and the daemon while nobody collects its answers.
 */
#include "tests/unit/support/service_fixture.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/daemon/client/client_state.h"
#include "batching/daemon/client/client_uses.h"
#include "tests/unit/support/use_sign_pss.h"

/* Repeats the request until it has a slot and an answer: a slow machine may
 * miss a short deadline. */
static void gets_through(fake_request *request)
{
    do
        WAIT_UNTIL(test_client_submit(&g, key1, request, 0) == WARPRSA_DONE);
    while (test_client_wait(&g, request) != WARPRSA_DONE);
    assert_true(fake_is_right(request));
}

/* A client with a request more than it has slots; its deadline is long gone
 * when the engine goes on. */
static beginning full_and_slow_beginning = {2, LONG_MS, 200};

TEST_WITH(full_and_slow, begin_both, end_both, &full_and_slow_beginning)
{
    fake_request requests[3];

    FAKE_SET(hold, true);
    for (unsigned i = 0; i < 3; i++)
        test_client_fill(&requests[i], WARPRSA_CLASS_1024, 1, i);
    assert_int_equal(test_client_submit(&g, key1, &requests[0], 0),
                     WARPRSA_DONE);
    assert_int_equal(test_client_submit(&g, key1, &requests[1], 0),
                     WARPRSA_DONE);
    assert_int_equal(test_client_submit(&g, key1, &requests[2], 0),
                     WARPRSA_REFUSED);
    assert_int_equal(reason(WARPRSA_CPU_QUEUE_FULL), 1);
    assert_int_equal(test_client_wait(&g, &requests[0]), WARPRSA_REFUSED);
    assert_int_equal(reason(WARPRSA_CPU_DEADLINE), 1);
    /* The daemon may still write to the slot: it is not used again. */
    assert_int_equal(test_client_submit(&g, key1, &requests[2], 0),
                     WARPRSA_REFUSED);
    FAKE_SET(hold, false);
    gets_through(&requests[2]);
}

static beginning the_daemons_deadline_beginning = {64, 200, LONG_MS};

TEST_WITH(the_daemons_deadline, begin_both, end_both,
          &the_daemons_deadline_beginning)
{
    fake_request request;
    warprsa_notifier notifier;

    assert_true(backend->notifier_open(g.client, &notifier));
    FAKE_SET(hold, true);
    test_client_fill(&request, WARPRSA_CLASS_1024, 1, 1);
    assert_int_equal(test_client_submit(&g, key1, &request, notifier.number),
                     WARPRSA_DONE);
    assert_true(becomes_readable(notifier.fd.fd));
    assert_int_equal(backend->collect(g.client, request.ticket, request.output),
                     WARPRSA_REFUSED);
    assert_int_equal(reason(WARPRSA_CPU_DEADLINE), 1);
    FAKE_SET(hold, false);
    backend->notifier_close(&notifier);
}

TEST_IN(no_daemon_and_one_later, begin, end_both)
{
    fake_request request;

    test_server_stop(&s);
    unlink(s.path);
    open_client(LONG_MS);
    assert_int_equal(backend->wait_ready(g.client, 0), WARPRSA_QUEUE_DOWN);
    test_client_fill(&request, WARPRSA_CLASS_1024, 1, 1);
    assert_int_equal(test_client_submit(&g, key1, &request, 0),
                     WARPRSA_REFUSED);
    assert_int_equal(reason(WARPRSA_CPU_NO_DEVICE), 1);
    test_server_start(&s);
    WAIT_UNTIL(test_client_is_ready(&g));
    test_client_operate(&g, key1, WARPRSA_CLASS_1024, 1, 1);
}

/* Requests under way are answered, later ones are refused; then another daemon
 * gets the same keys. */
TEST_IN(the_daemon_stops_and_comes_back, begin_both, end_both)
{
    fake_request request, late;
    warprsa_notifier notifier;
    char byte;

    assert_true(backend->notifier_open(g.client, &notifier));
    test_client_fill(&request, WARPRSA_CLASS_1024, 1, 1);
    FAKE_SET(hold, true);
    assert_int_equal(test_client_submit(&g, key1, &request, 0), WARPRSA_DONE);
    FAKE_WAIT(fake.running == 1);
    FAKE_SET(hold, false);
    test_server_stop(&s);
    assert_int_equal(test_client_wait(&g, &request), WARPRSA_DONE);
    assert_true(fake_is_right(&request));
    test_client_fill(&late, WARPRSA_CLASS_1024, 1, 2);
    if (test_client_submit(&g, key1, &late, notifier.number) == WARPRSA_DONE) {
        /* The notifier ends with the daemon, so that nobody waits for ever. */
        assert_true(becomes_readable(notifier.fd.fd));
        assert_int_equal(recv(notifier.fd.fd, &byte, 1, MSG_DONTWAIT), 0);
        assert_int_equal(backend->collect(g.client, late.ticket, late.output),
                         WARPRSA_REFUSED);
    }
    assert_int_equal(reason(WARPRSA_CPU_NO_DEVICE), 1);
    WAIT_UNTIL(!test_client_is_ready(&g));
    assert_false(backend->notifier_works(g.client, &notifier));
    test_server_start(&s);
    WAIT_UNTIL(test_client_is_ready(&g));
    assert_false(backend->notifier_works(g.client, &notifier));
    test_client_operate(&g, key1, WARPRSA_CLASS_1024, 1, 3);
    backend->notifier_close(&notifier);
}

/* As after the whole machine has stood still for longer than a daemon that
 * lives is ever silent: played by what it left to be seen, long ago. False: the
 * client has not used the daemon at once, or has connected again. */
static bool stands_still(unsigned number)
{
    const unsigned long long before = g.counters->keys_loaded;
    warprsa_connection *c = warprsa_client_connection(g.client);
    bool at_once;

    assert_non_null(c);
    atomic_store(&c->shm.head->heartbeat_ns, 0);
    warprsa_connection_drop(c);
    at_once = backend->wait_ready(g.client, 0) == WARPRSA_QUEUE_READY;
    WAIT_UNTIL(test_client_is_ready(&g));
    test_client_operate(&g, key1, WARPRSA_CLASS_1024, 1, number);
    return at_once && g.counters->keys_loaded == before;
}

/* Three times in a row, but on a machine that really stands still then. */
TEST_IN(a_machine_that_stood_still, begin_both, end_both)
{
    unsigned in_a_row = 0;

    for (unsigned i = 0; i < 30 && in_a_row < 3; i++)
        in_a_row = stands_still(i) ? in_a_row + 1 : 0;
    assert_int_equal(in_a_row, 3);
}

/* An answer that nobody collects does not keep its slot for ever. */
static beginning answers_nobody_comes_for_beginning = {2, LONG_MS, 100};

TEST_WITH(answers_nobody_comes_for, begin_both, end_both,
          &answers_nobody_comes_for_beginning)
{
    fake_request requests[3];

    for (unsigned i = 0; i < 3; i++)
        test_client_fill(&requests[i], WARPRSA_CLASS_1024, 1, i);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(test_client_submit(&g, key1, &requests[i], 0),
                         WARPRSA_DONE);
    gets_through(&requests[2]);
    /* A caller that comes for the answer after all is refused. */
    assert_int_equal(
        backend->collect(g.client, requests[0].ticket, requests[0].output),
        WARPRSA_REFUSED);
}

/* A program's event loop is not held for longer than it takes to see that the
 * daemon does not answer. */
TEST(naps_end_soon_where_there_are_cpus)
{
    const uint64_t nap_ns = WARPRSA_NAP_MS * WARPRSA_NS_PER_MS;
    warprsa_naps naps = {0};
    int silent[2];

    assert_int_equal(pipe(silent), 0);
    while (!warprsa_naps_are_over(&naps, false))
        assert_false(warprsa_nap(&naps, silent[0]));
    assert_true(naps.slept_ns >= naps.count * nap_ns);
    assert_int_equal(write(silent[1], "", 1), 1);
    assert_true(warprsa_nap(&naps, silent[0]));
    close(silent[0]);
    close(silent[1]);
    naps = (warprsa_naps){20, 20 * nap_ns};
    assert_true(warprsa_naps_are_over(&naps, false)); /* 40 ms */
    naps = (warprsa_naps){19, 19 * nap_ns};
    assert_false(warprsa_naps_are_over(&naps, false));
    /* A busy daemon; and clients that wait for a CPU, as the daemon does. */
    naps = (warprsa_naps){20, 20 * nap_ns};
    assert_false(warprsa_naps_are_over(&naps, true));
    naps = (warprsa_naps){20, 40 * nap_ns};
    assert_false(warprsa_naps_are_over(&naps, false));
    naps = (warprsa_naps){100, 200 * nap_ns};
    assert_true(warprsa_naps_are_over(&naps, true));
}

static uint64_t clock_now_ns(clockid_t clock)
{
    struct timespec now;

    assert_int_equal(clock_gettime(clock, &now), 0);
    return (uint64_t)now.tv_sec * WARPRSA_NS_PER_SEC + (uint64_t)now.tv_nsec;
}

/* Until the process has used the CPU time that its start needs, which is some
 * under an emulator, and would look busy. ThreadSanitizer's own thread goes on,
 * but uses less than a thousandth of a CPU. */
static void wait_until_idle(pid_t pid)
{
    const struct timespec nap = {0, 100000000};
    uint64_t before_ns, now_ns;
    clockid_t clock;

    assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
    now_ns = clock_now_ns(clock);
    do {
        before_ns = now_ns;
        nanosleep(&nap, NULL);
        now_ns = clock_now_ns(clock);
    } while (now_ns - before_ns > (uint64_t)nap.tv_nsec / 1000);
}

/* A process that listens there and never looks, as a daemon that hangs. It ends
 * with the test, even if that fails. */
static pid_t start_hanging(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int ready[2];
    pid_t pid;
    char byte;

    strcpy(address.sun_path, path);
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        int listening = socket(AF_UNIX, SOCK_SEQPACKET, 0);

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (bind(listening, (struct sockaddr *)&address, sizeof(address)) ==
                0 &&
            listen(listening, 8) == 0 && write(ready[1], "", 1) == 1)
            pause();
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    wait_until_idle(pid);
    return pid;
}

/* A process without a session: its first operation waits for 100 naps, which
 * are 0.2 s, and no other one waits for any. */
TEST_IN(a_daemon_that_hangs_is_waited_for_once, reset, NULL)
{
    warprsa_backend_key *key;
    fake_request request;
    pid_t hanging;

    test_server_place(&s);
    hanging = start_hanging(s.path);
    test_client_open(&g, &s, LONG_MS);
    key = test_client_key(&g, WARPRSA_CLASS_1024, 1);
    test_client_fill(&request, WARPRSA_CLASS_1024, 1, 1);
    for (unsigned i = 1; i <= 10; i++) {
        assert_int_equal(backend->wait_ready(g.client, LONG_MS),
                         WARPRSA_QUEUE_DOWN);
        assert_int_equal(g.client->naps.count, 100);
        assert_int_equal(test_client_submit(&g, key, &request, 0),
                         WARPRSA_REFUSED);
        assert_int_equal(reason(WARPRSA_CPU_NO_DEVICE), i);
    }
    backend->key_release(key);
    test_client_close(&g);
    assert_int_equal(kill(hanging, SIGKILL), 0);
    assert_int_equal(waitpid(hanging, NULL, 0), hanging);
    test_server_remove(&s);
}

/* ---- Keys that are freed while the daemon reads nothing ---- */

enum {
    /* Of a client here; twice as many as the daemon can be told of at once. */
    KEYS = 2 * WARPRSA_SHM_MESSAGES,
};

static warprsa_backend_key *many[KEYS];

/* A server whose event loops begin the uses themselves, and which a fake vault
 * so can hold; with a client that has all the keys that it may have. */
static int begin_with_many_keys(void **state)
{
    begin(state);
    test_server_stop(&s);
    s.config.use_threads = 0;
    s.config.limits.keys = KEYS + 1;
    test_server_start(&s);
    open_client(LONG_MS);
    WAIT_UNTIL(test_client_is_ready(&g));
    for (unsigned i = 0; i < KEYS; i++) {
        many[i] = test_client_key(&g, WARPRSA_CLASS_1024, 2 + i);
        test_client_operate(&g, many[i], WARPRSA_CLASS_1024, 2 + i, i);
    }
    assert_int_equal(s.queue_config.counters->keys, KEYS);
    return 0;
}

/* Frees the keys while the daemon is held by a use of a key of the vault, which
 * has the number that is left. */
static void free_while_it_is_held(void)
{
    static const uint8_t input[128];
    static uint8_t output[128];
    uint8_t spki[WARPRSA_KEY_SPKI_BYTES];
    warprsa_backend_key *key;
    warprsa_client_use use;

    fake_vault_spki(1, spki);
    key = warprsa_client_vault_key(g.client, spki, sizeof(input));
    assert_non_null(key);
    fake_vault.hold_encode = true;
    warprsa_client_use_begin(g.client, &use, key, &sign_pss, input);
    WAIT_UNTIL(warprsa_client_use_go_on(g.client, &use, 0, output) ==
                   WARPRSA_USE_PENDING &&
               fake_vault.held == 1);
    for (unsigned i = 0; i < KEYS; i++)
        backend->key_release(many[i]);
    /* The control: the daemon could not be told of all. */
    assert_true(g.counters->keys_wiped < KEYS);
    fake_vault.hold_encode = false;
    assert_int_equal(warprsa_client_use_wait(g.client, &use, output),
                     WARPRSA_USE_DONE);
    backend->key_release(key);
}

/* The daemon wipes all of them once the client uses any key, and their numbers
 * serve again: the client gets as many keys as before, over the same
 * connection. */
TEST_IN(keys_freed_while_the_daemon_is_slow, begin_with_many_keys, end_both)
{
    const warprsa_connection *c = g.client->connection;
    fake_request request;

    free_while_it_is_held();
    test_client_fill(&request, WARPRSA_CLASS_1024, 1, 1);
    WAIT_UNTIL((gets_through(&request), s.queue_config.counters->keys == 1));
    for (unsigned i = 0; i < KEYS; i++)
        many[i] = test_client_key(&g, WARPRSA_CLASS_1024, 2 + i);
    for (unsigned i = 0; i < KEYS; i++)
        test_client_operate(&g, many[i], WARPRSA_CLASS_1024, 2 + i, i);
    assert_ptr_equal(g.client->connection, c);
    for (unsigned i = 0; i < KEYS; i++)
        backend->key_release(many[i]);
}

RUN_TESTS(NULL, NULL)
