/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The daemon's server and the provider's client of it, both sides honest and in
 * time: operations of threads and async jobs, keys, limits, and fork().
 */
#include "tests/unit/support/service_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/daemon/client/client_state.h"
#include "batching/daemon/client/session_connection.h"
#include "batching/daemon/server/user_quota.h"
#include "batching/queue/queue_core.h"
#include "batching/queue/router.h"

enum {
    THREADS = 8,
    ROUNDS = 100,
};

TEST_IN(operations_are_answered_and_counted, begin, end)
{
    test_client_open(&g, &s, LONG_MS);
    WAIT_UNTIL(test_client_is_ready(&g));
    for (unsigned c = 0; c < WARPRSA_CLASSES; c++) {
        warprsa_backend_key *key =
            test_client_key(&g, (warprsa_size_class)c, c);

        test_client_operate(&g, key, (warprsa_size_class)c, c, 1);
        test_client_operate(&g, key, (warprsa_size_class)c, c, 2);
        backend->key_release(key);
        assert_int_equal(g.counters->gpu[c], 2);
        assert_int_equal(s.queue_config.counters->gpu[c], 2);
    }
    assert_int_equal(fake_sum(g.counters->cpu_reason, WARPRSA_CPU_REASONS), 0);
    WAIT_UNTIL(backend->depth(g.client) ==
               0); /* as the daemon published last */
    assert_int_equal(warprsa_server_clients(s.server), 1);
    test_client_close(&g);
    WAIT_UNTIL(warprsa_server_clients(s.server) == 0);
}

typedef struct worker {
    test_client *test_client;
    unsigned number;
    unsigned right;
} worker;

static void *operate_often(void *arg)
{
    worker *w = arg;

    for (unsigned i = 0; i < ROUNDS; i++) {
        warprsa_size_class size =
            (warprsa_size_class)((w->number + i) % WARPRSA_CLASSES);
        unsigned seed = i % 3;
        warprsa_private_key key = fake_key(size, seed);
        uint8_t id[WARPRSA_KEY_ID_BYTES] = {(uint8_t)seed, (uint8_t)size};
        warprsa_backend_key *mine =
            backend->key(w->test_client->client, id, &key);
        fake_request request;
        bool done = false;

        test_client_fill(&request, size, seed, w->number * ROUNDS + i);
        /* On a machine with too much to do the client may take the daemon's
         * threads, which wait for a CPU, to hang: another attempt. */
        for (int j = 0; mine != NULL && !done && j < ROUNDS; j++)
            done = backend->wait_ready(w->test_client->client, 20) ==
                       WARPRSA_QUEUE_READY &&
                   test_client_submit(w->test_client, mine, &request, 0) ==
                       WARPRSA_DONE &&
                   test_client_wait(w->test_client, &request) == WARPRSA_DONE;
        if (done && fake_is_right(&request))
            w->right++;
        backend->key_release(mine);
    }
    return NULL;
}

TEST_IN(many_threads_of_several_clients, begin, end)
{
    test_client clients[3];
    pthread_t threads[3 * THREADS];
    worker workers[3 * THREADS];

    for (unsigned i = 0; i < 3; i++) {
        test_client_open(&clients[i], &s, LONG_MS);
        WAIT_UNTIL(test_client_is_ready(&clients[i]));
    }
    for (unsigned i = 0; i < 3 * THREADS; i++) {
        workers[i] = (worker){&clients[i % 3], i, 0};
        assert_int_equal(
            pthread_create(&threads[i], NULL, operate_often, &workers[i]), 0);
    }
    for (unsigned i = 0; i < 3 * THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(workers[i].right, ROUNDS);
    }
    for (unsigned i = 0; i < 3; i++)
        test_client_close(&clients[i]);
}

typedef struct newcomer {
    test_client *test_client;
    pthread_barrier_t *barrier;
    warprsa_queue_state state;
} newcomer;

/* As the provider waits for a daemon that may still be starting. */
static void *wait_at_once(void *arg)
{
    newcomer *n = arg;

    pthread_barrier_wait(n->barrier);
    n->state = WARPRSA_QUEUE_STARTING;
    for (int i = 0; n->state == WARPRSA_QUEUE_STARTING && i < LONG_MS; i++)
        n->state = backend->wait_ready(n->test_client->client, 20);
    return NULL;
}

static void note_late_daemon(void *arg, int level, const char *line)
{
    _Atomic bool *late = arg;

    if (strstr(line, "warprsad does not answer") != NULL)
        atomic_store(late, true);
}

/* Whether a connection's daemon has shown no sign of life once. */
static bool was_silent(warprsa_client *client)
{
    warprsa_connection *c = warprsa_client_connection(client);
    bool silent;

    if (c == NULL)
        return false;
    silent = atomic_load(&c->hang_tick_ns) != 0;
    warprsa_connection_drop(c);
    return silent;
}

/* One client's first operations. Whether the daemon was in time for them. */
static bool first_operations(pthread_barrier_t *barrier)
{
    pthread_t threads[THREADS];
    newcomer newcomers[THREADS];
    _Atomic bool late = false;

    test_client_open(&g, &s, LONG_MS);
    g.client->config.trace = note_late_daemon;
    g.client->config.trace_arg = &late;
    for (unsigned i = 0; i < THREADS; i++) {
        newcomers[i] = (newcomer){.test_client = &g, .barrier = barrier};
        assert_int_equal(
            pthread_create(&threads[i], NULL, wait_at_once, &newcomers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    if (was_silent(g.client))
        late = true;
    for (unsigned i = 0; i < THREADS && !late; i++)
        assert_int_equal(newcomers[i].state, WARPRSA_QUEUE_READY);
    test_client_close(&g);
    WAIT_UNTIL(warprsa_server_clients(s.server) == 0);
    return !late;
}

/* None of them is told that there is no daemon while another one connects. Of a
 * daemon that finds no CPU for some 40 ms they are told so; then the round does
 * not count. */
TEST_IN(first_operations_of_many_threads, begin, end)
{
    pthread_barrier_t barrier;

    assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    for (unsigned in_time = 0; in_time < ROUNDS;)
        in_time += first_operations(&barrier);
    pthread_barrier_destroy(&barrier);
}

/* Nor if the thread that connects, preempted in the middle of it, takes
 * long. */
TEST_IN(one_who_connects_slowly, begin, end_both)
{
    open_client(LONG_MS);
    pthread_mutex_lock(&g.client->connect_lock);
    assert_int_equal(backend->wait_ready(g.client, 20), WARPRSA_QUEUE_STARTING);
    pthread_mutex_unlock(&g.client->connect_lock);
    WAIT_UNTIL(test_client_is_ready(&g));
}

TEST_IN(notifiers_wake, begin, end)
{
    warprsa_notifier notifiers[8];
    fake_request requests[8];
    warprsa_backend_key *key;
    char bytes[8];

    test_client_open(&g, &s, LONG_MS);
    WAIT_UNTIL(test_client_is_ready(&g));
    key = test_client_key(&g, WARPRSA_CLASS_2048, 1);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 8; i++) {
            if (round == 0)
                assert_true(backend->notifier_open(g.client, &notifiers[i]));
            assert_true(backend->notifier_works(g.client, &notifiers[i]));
            test_client_fill(&requests[i], WARPRSA_CLASS_2048, 1, i);
            assert_int_equal(
                test_client_submit(&g, key, &requests[i], notifiers[i].number),
                WARPRSA_DONE);
        }
        for (unsigned i = 8; i-- > 0;) {
            assert_true(becomes_readable(notifiers[i].fd.fd));
            assert_int_equal(
                recv(notifiers[i].fd.fd, bytes, sizeof(bytes), MSG_DONTWAIT),
                1);
            assert_int_equal(backend->collect(g.client, requests[i].ticket,
                                              requests[i].output),
                             WARPRSA_DONE);
            assert_true(fake_is_right(&requests[i]));
        }
    }
    backend->key_release(key);
    test_client_close(&g);
    /* Notifiers may outlive the client. */
    for (unsigned i = 0; i < 8; i++)
        backend->notifier_close(&notifiers[i]);
}

/* A request that is left counts no more as under way, and its slot comes free
 * once it is answered. The queue takes all that the client has slots for. */
static beginning few_slots = {.slots = 32, .server_ms = LONG_MS};

TEST_WITH(requests_are_left, begin, end, &few_slots)
{
    const unsigned slots = few_slots.slots;
    warprsa_notifier notifier;
    fake_request request;
    warprsa_backend_key *key;

    test_client_open(&g, &s, LONG_MS);
    WAIT_UNTIL(test_client_is_ready(&g));
    key = test_client_key(&g, WARPRSA_CLASS_1024, 1);
    assert_true(backend->notifier_open(g.client, &notifier));
    /* Few requests may wait while their key is loaded. */
    test_client_operate(&g, key, WARPRSA_CLASS_1024, 1, 0);
    FAKE_SET(hold, true);
    for (unsigned i = 0; i < slots; i++) {
        test_client_fill(&request, WARPRSA_CLASS_1024, 1, i);
        assert_int_equal(test_client_submit(&g, key, &request, notifier.number),
                         WARPRSA_DONE);
        backend->leave(&notifier, request.ticket);
    }
    assert_int_equal(test_client_submit(&g, key, &request, notifier.number),
                     WARPRSA_REFUSED);
    FAKE_SET(hold, false);
    WAIT_UNTIL(test_client_submit(&g, key, &request, notifier.number) ==
                   WARPRSA_DONE &&
               test_client_wait(&g, &request) == WARPRSA_DONE);
    WAIT_UNTIL(backend->depth(g.client) == 0);
    for (unsigned i = 0; i < 2 * slots; i++)
        test_client_operate(&g, key, WARPRSA_CLASS_1024, 1, i);
    WAIT_UNTIL(backend->depth(g.client) == 0);
    backend->key_release(key);
    test_client_close(&g);
    backend->notifier_close(&notifier);
}

/* The router hears how long the daemon took, not when an event loop came for
 * the answer. */
TEST_IN(what_the_caller_does_meanwhile, begin_both, end_both)
{
    const warprsa_size_class size = WARPRSA_CLASS_2048;
    const struct timespec nap = {0, 50000000};
    static warprsa_router router;
    warprsa_notifier notifier;
    fake_request request;
    uint64_t old_ns, told_ns, since_ns;
    warprsa_backend_key *key = test_client_key(&g, size, 1);

    warprsa_router_init(&router, &warprsa_router_system_clocks, 4);
    /* So much that no measurement is cut. */
    warprsa_router_calibrate(&router, UINT64_C(4000000000000), false);
    old_ns = warprsa_router_device_ns(&router, size, 0);
    g.client->config.router = &router;
    assert_true(backend->notifier_open(g.client, &notifier));
    test_client_fill(&request, size, 1, 1);
    since_ns = warprsa_clock_ns();
    assert_int_equal(test_client_submit(&g, key, &request, notifier.number),
                     WARPRSA_DONE);
    assert_true(becomes_readable(notifier.fd.fd));
    told_ns = warprsa_clock_ns() - since_ns;
    nanosleep(&nap, NULL);
    assert_int_equal(backend->collect(g.client, request.ticket, request.output),
                     WARPRSA_DONE);
    /* A quarter of the new average is the new measurement. */
    assert_in_range(
        (warprsa_router_device_ns(&router, size, 0) - (old_ns - old_ns / 4)) *
            4,
        1, told_ns);
    backend->notifier_close(&notifier);
    backend->key_release(key);
}

/* A GPU comes into use beside CPUs that serve already, or is lost, while the
 * daemon stays ready: its client routes by what there is. */
TEST_IN(a_client_knows_what_computes, begin_both, end_both)
{
    static warprsa_router router;

    warprsa_router_init(&router, &warprsa_router_system_clocks, 4);
    g.client->config.router = &router;
    atomic_store(&s.queue->board.on_cpus, true);
    WAIT_UNTIL(test_client_is_ready(&g) &&
               router.cpus_kind == WARPRSA_CPUS_ALONE);
    atomic_store(&s.queue->board.on_cpus, false);
    WAIT_UNTIL(test_client_is_ready(&g) &&
               router.cpus_kind == WARPRSA_CPUS_NONE);
}

/* The longest name of a device, and all that is said of it, is known to its
 * client as a whole. */
TEST_IN(a_long_name_is_not_cut, reset, end_both)
{
    static const char name[] =
        "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition (cuda 15, "
        "kernel timings: calibration_file, direct reads)";
    char text[WARPRSA_COUNTERS_TEXT], wanted[sizeof(name) + 32];

    snprintf(wanted, sizeof(wanted), "%s, by warprsad", name);
    FAKE_SET(text, name);
    test_server_open(&s, 64, LONG_MS);
    open_client(LONG_MS);
    WAIT_UNTIL(test_client_is_ready(&g));
    warprsa_counters_device(s.queue_config.counters, text);
    assert_string_equal(text, name);
    warprsa_counters_name(s.queue_config.counters, 0, text);
    assert_string_equal(text, name);
    WAIT_UNTIL(test_client_is_ready(&g));
    warprsa_counters_device(g.counters, text);
    assert_string_equal(text, wanted);
}

TEST_IN(one_key_is_uploaded_once, begin, end)
{
    warprsa_backend_key *first, *second, *other;

    test_client_open(&g, &s, LONG_MS);
    WAIT_UNTIL(test_client_is_ready(&g));
    first = test_client_key(&g, WARPRSA_CLASS_1024, 1);
    second = test_client_key(&g, WARPRSA_CLASS_1024, 1);
    other = test_client_key(&g, WARPRSA_CLASS_1024, 2);
    assert_ptr_equal(first, second);
    assert_ptr_not_equal(first, other);
    test_client_operate(&g, first, WARPRSA_CLASS_1024, 1, 1);
    test_client_operate(&g, second, WARPRSA_CLASS_1024, 1, 2);
    test_client_operate(&g, other, WARPRSA_CLASS_1024, 2, 3);
    assert_int_equal(g.counters->keys_loaded, 2);
    assert_int_equal(s.queue_config.counters->keys, 2);
    backend->key_release(first);
    backend->key_release(other);
    WAIT_UNTIL(s.queue_config.counters->keys == 1);
    test_client_operate(&g, second, WARPRSA_CLASS_1024, 1, 4);
    backend->key_release(second);
    WAIT_UNTIL(s.queue_config.counters->keys == 0);
    test_client_close(&g);
}

/* The client counts an operation that the daemon's queue has refused under the
 * queue's reason. */
TEST_IN(why_the_queue_refused, begin_both, end_both)
{
    fake_request request;

    FAKE_SET(bad_checks, 1);
    test_client_fill(&request, WARPRSA_CLASS_1024, 1, 1);
    assert_int_equal(test_client_submit(&g, key1, &request, 0), WARPRSA_DONE);
    assert_int_equal(test_client_wait(&g, &request), WARPRSA_REFUSED);
    assert_int_equal(reason(WARPRSA_CPU_CHECK_FAILED), 1);
    assert_int_equal(reason(WARPRSA_CPU_ERROR), 0);
}

TEST_IN(too_many_keys_of_one_client, begin_both, end_both)
{
    warprsa_backend_key *keys[17];
    fake_request request;

    for (unsigned i = 0; i < 17; i++)
        keys[i] = test_client_key(&g, WARPRSA_CLASS_1024, i);
    for (unsigned i = 0; i < 16; i++)
        test_client_operate(&g, keys[i], WARPRSA_CLASS_1024, i, i);
    test_client_fill(&request, WARPRSA_CLASS_1024, 16, 16);
    assert_int_equal(test_client_submit(&g, keys[16], &request, 0),
                     WARPRSA_REFUSED);
    assert_int_equal(reason(WARPRSA_CPU_KEY_CACHE_FULL), 1);
    backend->key_release(keys[0]);
    test_client_operate(&g, keys[16], WARPRSA_CLASS_1024, 16, 17);
    for (unsigned i = 1; i < 17; i++)
        backend->key_release(keys[i]);
}

enum {
    CLIENTS_MAX = 8, /* of a server, see test_server_open() */
};

/* One client more than `most` is not served before one of them has gone. */
static void serves_no_more_than(unsigned most)
{
    test_client clients[CLIENTS_MAX + 1];

    for (unsigned i = 0; i <= most; i++)
        test_client_open(&clients[i], &s, LONG_MS);
    for (unsigned i = 0; i < most; i++)
        WAIT_UNTIL(test_client_is_ready(&clients[i]));
    WAIT_UNTIL(backend->wait_ready(clients[most].client, 0) ==
               WARPRSA_QUEUE_DOWN);
    assert_int_equal(warprsa_server_clients(s.server), most);
    test_client_close(&clients[0]);
    WAIT_UNTIL(test_client_is_ready(&clients[most]));
    for (unsigned i = 1; i <= most; i++)
        test_client_close(&clients[i]);
}

TEST_IN(no_more_clients_than_allowed, begin, end)
{
    serves_no_more_than(CLIENTS_MAX);
}

/* There would be room for more in all. */
TEST_IN(no_more_clients_of_one_user, begin, end)
{
    warprsa_server_limits limits = s.config.limits;

    limits.user_clients = 3;
    warprsa_server_set_limits(s.server, &limits);
    serves_no_more_than(limits.user_clients);
}

/* Receives the WELCOME of a session with three descriptors. */
static warprsa_connection *receive_welcome(int socket, char *why, size_t size)
{
    warprsa_message welcome;
    int fds[WARPRSA_MESSAGE_FDS];

    assert_int_equal(warprsa_message_receive(socket, &welcome, fds),
                     WARPRSA_RECEIVED);
    return warprsa_connection_new(&welcome, fds, 1, why, size);
}

/* A process with too many open files is told that these are the reason. */
TEST(no_room_for_descriptors)
{
    warprsa_message welcome = {
        .type = WARPRSA_MESSAGE_WELCOME, .slots = 16, .keys = 1};
    struct rlimit before, tight;
    warprsa_connection *c;
    int fds[WARPRSA_MESSAGE_FDS], ends[2];
    char why[200] = "";

    assert_int_equal(
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    for (unsigned i = 0; i < WARPRSA_MESSAGE_FDS; i++)
        fds[i] = ends[0];
    assert_true(
        warprsa_message_send(ends[0], &welcome, fds, WARPRSA_MESSAGE_FDS));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    tight = before;
    tight.rlim_cur = (rlim_t)dup(ends[0]) + 1; /* all below are open */
    close((int)tight.rlim_cur - 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    c = receive_welcome(ends[1], why, sizeof(why));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_null(c);
    assert_string_equal(why, "no connection to warprsad: Too many open files");
    close(ends[0]);
    close(ends[1]);
}

TEST(seats_of_users)
{
    warprsa_user_quota quota;

    assert_true(warprsa_user_quota_init(&quota));
    assert_null(warprsa_user_quota_acquire(&quota, 1, 4, 2));
    assert_null(warprsa_user_quota_acquire(&quota, 1, 4, 2));
    assert_non_null(warprsa_user_quota_acquire(&quota, 1, 4, 2));
    assert_null(warprsa_user_quota_acquire(&quota, 2, 4, 2));
    assert_null(warprsa_user_quota_acquire(&quota, 0, 4, 2));
    assert_int_equal(warprsa_user_quota_count(&quota), 4);
    assert_non_null(warprsa_user_quota_acquire(&quota, 3, 4, 2));
    warprsa_user_quota_release(&quota, 1);
    assert_non_null(warprsa_user_quota_acquire(&quota, 1, 3, 2));
    assert_null(warprsa_user_quota_acquire(&quota, 3, 4, 2));
    warprsa_user_quota_release(&quota, 1);
    warprsa_user_quota_release(&quota, 2);
    warprsa_user_quota_release(&quota, 0);
    assert_int_equal(warprsa_user_quota_count(&quota), 1);
    warprsa_user_quota_free(&quota);
}

/* The child can't reach the socket any more: the control connection is
 * enough. */
static int in_child(void)
{
    fake_request request;
    warprsa_client_config config = {.control_connection = &g.control_connection,
                                    .slots = 64,
                                    .deadline_ms = LONG_MS};
    warprsa_private_key key = fake_key(WARPRSA_CLASS_1024, 1);
    uint8_t id[WARPRSA_KEY_ID_BYTES] = {1};
    warprsa_backend_key *mine;

    backend->abandon(g.client);
    config.counters = warprsa_counters_new();
    g.client = warprsa_client_open(&config);
    for (int i = 0; i < LONG_MS / 100 && !test_client_is_ready(&g); i++)
        ;
    mine = backend->key(g.client, id, &key);
    test_client_fill(&request, WARPRSA_CLASS_1024, 1, 7);
    return test_client_submit(&g, mine, &request, 0) == WARPRSA_DONE &&
                   test_client_wait(&g, &request) == WARPRSA_DONE &&
                   fake_is_right(&request)
               ? 0
               : 1;
}

TEST_IN(a_forked_child_has_its_own_connection, begin_both, end_both)
{
    pid_t child;
    int status = -1;

    test_client_operate(&g, key1, WARPRSA_CLASS_1024, 1, 1);
    assert_int_equal(unlink(s.path), 0);
    child = fork();
    if (child == 0)
        _exit(in_child());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    test_client_operate(&g, key1, WARPRSA_CLASS_1024, 1, 2);
    assert_int_equal(s.queue_config.counters->gpu[WARPRSA_CLASS_1024], 3);
}

RUN_TESTS(NULL, NULL)
