/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * 64 honest clients beside 64 hostile ones: every answer is right, everybody
 * gets on, and nothing of the hostile ones stays behind. How long answers take
 * is measured by bench/hostile.
 *
 * Run as root, the hostile clients are of other users.
 */
#include "tests/unit/support/daemon_support.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include "batching/base/clock.h"
#include "tests/unit/support/hostile_client.h"
#include "tests/unit/support/open_files.h"

enum {
    HONEST = 64,
    HOSTILE = 64,
    KEYS = 16, /* of the honest clients together */
    LEAST = 3, /* operations that each honest client gets done */
    USERS = 4, /* of the hostile clients */
    FIRST_USER = 64000,
    MILLISECONDS = 2000,
};

static test_server server;
static _Atomic bool stop;

typedef struct honest_client {
    pthread_t thread;
    test_client client;
    warprsa_backend_key *key;
    unsigned number;
    unsigned done, refused, wrong;
} honest_client;

typedef struct attacker {
    pthread_t thread;
    hostile_client client;
    uid_t uid;
    unsigned attacks;
} attacker;

static void *be_honest(void *arg)
{
    honest_client *me = arg;
    const unsigned key_seed = me->number % KEYS;

    for (unsigned i = 0; !atomic_load(&stop) || me->done < LEAST; i++) {
        fake_request request;

        test_client_fill(&request, WARPRSA_CLASS_2048, key_seed, i);
        if (test_client_submit(&me->client, me->key, &request, 0) ==
                WARPRSA_DONE &&
            test_client_wait(&me->client, &request) == WARPRSA_DONE) {
            me->done++;
            me->wrong += !fake_is_right(&request);
        } else {
            me->refused++;
            (void)test_client_is_ready(&me->client);
        }
    }
    return NULL;
}

static void make_key(uint32_t number, warprsa_private_key *key)
{
    *key = fake_key(WARPRSA_CLASS_1024, 1000 + number);
}

static void *be_hostile(void *arg)
{
    attacker *me = arg;

    me->attacks = (unsigned)hostile_client_run(&me->client, me->uid, &stop);
    return NULL;
}

static void allow_descriptors(void)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void open_server(void)
{
    warprsa_server_limits limits;

    fake_reset();
    test_server_open(&server, 16, LONG_MS);
    limits = server.config.limits;
    limits.clients = 2 * (HONEST + HOSTILE);
    limits.user_clients = HONEST + HOSTILE;
    limits.control_connections = 4 * (HONEST + HOSTILE);
    limits.user_control_connections = 2 * (HONEST + HOSTILE);
    warprsa_server_set_limits(server.server, &limits);
    if (geteuid() != 0)
        return;
    assert_int_equal(chmod(server.directory, 0755), 0);
    assert_int_equal(chmod(server.path, 0777), 0);
}

static void start(pthread_t *thread, void *(*main)(void *), void *arg)
{
    assert_int_equal(pthread_create(thread, NULL, main, arg), 0);
}

static unsigned milliseconds(void)
{
    const char *scale = getenv("WARPRSA_TEST_SCALE");
    unsigned percent = scale != NULL ? (unsigned)atoi(scale) : 100;

    return MILLISECONDS * (percent > 5 ? percent : 5) / 100;
}

static void run(honest_client *honest, attacker *hostile)
{
    struct timespec time = warprsa_timespec(milliseconds() * WARPRSA_NS_PER_MS);

    atomic_store(&stop, false);
    for (unsigned i = 0; i < HONEST; i++)
        start(&honest[i].thread, be_honest, &honest[i]);
    for (unsigned i = 0; i < HOSTILE; i++) {
        hostile[i] = (attacker){
            .client = {.path = server.path,
                       .seed = i,
                       .make_key = make_key,
                       .keys_made = i << 16},
            .uid = geteuid() == 0 ? FIRST_USER + i % USERS : 0,
        };
        start(&hostile[i].thread, be_hostile, &hostile[i]);
    }
    nanosleep(&time, NULL);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < HOSTILE; i++)
        pthread_join(hostile[i].thread, NULL);
    for (unsigned i = 0; i < HONEST; i++)
        pthread_join(honest[i].thread, NULL);
}

static bool all_are_back(honest_client *honest)
{
    for (unsigned i = 0; i < HONEST; i++)
        if (!test_client_is_ready(&honest[i].client))
            return false;
    return warprsa_server_clients(server.server) == HONEST;
}

TEST(hostile_beside_honest)
{
    static honest_client honest[HONEST];
    static attacker hostile[HOSTILE];
    unsigned descriptors, attacks = 0, done = 0, refused = 0;

    allow_descriptors();
    open_server();
    for (unsigned i = 0; i < HONEST; i++) {
        honest[i].number = i;
        test_client_open(&honest[i].client, &server, LONG_MS);
        WAIT_UNTIL(test_client_is_ready(&honest[i].client));
        honest[i].key =
            test_client_key(&honest[i].client, WARPRSA_CLASS_2048, i % KEYS);
        /* Its session has all its descriptors once it serves. */
        test_client_operate(&honest[i].client, honest[i].key,
                            WARPRSA_CLASS_2048, i % KEYS, i);
    }
    descriptors = count_descriptors();
    assert_true(descriptors > 0);
    run(honest, hostile);
    for (unsigned i = 0; i < HONEST; i++) {
        assert_int_equal(honest[i].wrong, 0);
        assert_true(honest[i].done >= LEAST);
        done += honest[i].done;
        refused += honest[i].refused;
    }
    for (unsigned i = 0; i < HOSTILE; i++)
        attacks += hostile[i].attacks;
    print_message("%u operations done, %u refused, beside %u attacks\n", done,
                  refused, attacks);
    assert_true(attacks >= HOSTILE);
    WAIT_UNTIL(all_are_back(honest));
    WAIT_UNTIL(server.queue_config.counters->keys <= KEYS);
    WAIT_UNTIL(count_descriptors() <= descriptors);
    for (unsigned i = 0; i < HONEST; i++) {
        backend->key_release(honest[i].key);
        test_client_close(&honest[i].client);
    }
    WAIT_UNTIL(warprsa_server_clients(server.server) == 0);
    test_server_close(&server);
}

RUN_TESTS(NULL, NULL)
