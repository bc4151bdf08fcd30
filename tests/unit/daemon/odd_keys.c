/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client of the daemon that brings keys which are none, to the real engine:
 * its requests are refused, it may stay, and another client's operations go on
 * and are right.
 */
#include "tests/unit/support/raw_client.h"

#include "tests/unit/support/gpu_keys.h"
#include "tests/unit/support/rsa_numbers.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <openssl/rsa.h>

#include "batching/daemon/process/systemd.h"
#include "batching/daemon/server/server.h"

enum {
    BITS = 1024,
    BYTES = BITS / 8,
    SLOTS = 4,
    WRONG_KEYS = 20,
};

static warprsa_queue_config queue_config;
static warprsa_server_config config;
static warprsa_server *server;
static char directory[] = "/tmp/warprsad.XXXXXX", path[64];
static _Atomic unsigned broken; /* lines of the log about a broken protocol */
static rsa_numbers numbers;     /* of a key that is good */
static warprsa_private_key good;
static raw_client honest, hostile;
static uint32_t requests; /* ever; each has another generation */

static int random_of_the_system(void *arg, void *out, size_t len)
{
    return getrandom(out, len, 0) == (ssize_t)len;
}

static bool key_id(const warprsa_private_key *key,
                   uint8_t id[WARPRSA_KEY_ID_BYTES])
{
    memcpy(id, key->p + sizeof(key->p) - WARPRSA_KEY_ID_BYTES,
           WARPRSA_KEY_ID_BYTES);
    return true;
}

static void log_line(void *arg, int level, const char *line)
{
    (void)arg, (void)level;
    if (strstr(line, "broke the protocol") != NULL)
        atomic_fetch_add(&broken, 1);
}

static void make_good_key(void)
{
    EVP_PKEY *key = EVP_RSA_gen(BITS);

    assert_non_null(key);
    assert_true(rsa_numbers_init(&numbers) &&
                rsa_numbers_of_key(&numbers, key) &&
                private_key_from_numbers(&good, &numbers));
    EVP_PKEY_free(key);
}

static void open_queue(void)
{
    warprsa_cpu_reason reason;
    char why[256] = "";

    queue_config = (warprsa_queue_config){
        .engines = {{.engine = warprsa_engine_host(),
                     .devices = UINT32_MAX,
                     .streams = 2,
                     .batch_max = 16}},
        .engine_count = 1,
        .slots = 64,
        .keys_max = 16,
        .deadline_ms = LONG_MS,
        .random = random_of_the_system,
        .counters = warprsa_counters_new(),
    };
    assert_non_null(queue_config.counters);
    config.queue = warprsa_queue_open(&queue_config, &reason, why, sizeof(why));
    if (config.queue == NULL)
        fail_msg("%s", why);
    assert_int_equal(warprsa_queue_wait_ready(config.queue, LONG_MS),
                     WARPRSA_QUEUE_READY);
}

static void start_server(void)
{
    char why[256] = "";

    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/socket", directory);
    config.counters = queue_config.counters;
    config.deadline_ms = LONG_MS;
    config.threads = 1;
    config.limits = (warprsa_server_limits){
        .clients = 4,
        .user_clients = 4,
        .control_connections = 4,
        .user_control_connections = 4,
        .slots = SLOTS,
        .keys = 4,
        .notifiers = 4,
    };
    config.key_id = key_id;
    config.log_level = 1;
    config.log_lines = UINT32_MAX;
    config.log = log_line;
    config.listeners_count = 1;
    config.listeners[0] = warprsa_systemd_listen(path, "", why, sizeof(why));
    if (config.listeners[0] < 0)
        fail_msg("%s", why);
    server = warprsa_server_start(&config, why, sizeof(why));
    if (server == NULL)
        fail_msg("%s", why);
}

static void bring(raw_client *x, uint32_t number,
                  const warprsa_private_key *key)
{
    const warprsa_shm_message message = {
        .type = WARPRSA_SHM_KEY, .number = number, .key = *key};

    raw_client_send(x, &message);
}

static int setup(void **state)
{
    make_good_key();
    open_queue();
    start_server();
    WAIT_UNTIL(raw_client_connect(&honest, path, SLOTS));
    raw_client_attach(&honest);
    bring(&honest, 0, &good);
    WAIT_UNTIL(raw_client_connect(&hostile, path, SLOTS));
    raw_client_attach(&hostile);
    return 0;
}

static int teardown(void **state)
{
    if (server == NULL) /* setup has failed */
        return 1;
    raw_client_leave(&hostile);
    raw_client_leave(&honest);
    warprsa_server_stop(server);
    close(config.listeners[0]);
    assert_int_equal(queue_config.counters->keys, 0);
    assert_true(warprsa_queue_close(config.queue));
    assert_int_equal(queue_config.counters->keys_loaded,
                     queue_config.counters->keys_wiped);
    warprsa_counters_free(queue_config.counters);
    rsa_numbers_free(&numbers);
    unlink(path);
    return rmdir(directory);
}

/* One operation with key `number`, and its answer. */
static warprsa_answer operate(raw_client *x, uint32_t number)
{
    uint32_t generation = ++requests;

    raw_client_fill(x, 0, generation, number, 0);
    raw_client_submit(x, 0);
    return raw_client_answer(x, 0, generation);
}

/* Whether output^e mod n is the input of the last request, which
 * raw_client_fill() has made, for the good key. */
static bool is_right(const raw_client *x)
{
    BIGNUM **v = numbers.value;
    BIGNUM *output = BN_bin2bn(x->shm.slot[0].request.number, BYTES, NULL);
    BIGNUM *input = BN_new();
    bool right;

    assert_non_null(output);
    assert_non_null(input);
    assert_true(BN_set_word(input, (uint8_t)requests));
    assert_true(
        BN_mod_exp(output, output, v[NUMBER_E], v[NUMBER_N], numbers.ctx));
    right = BN_cmp(output, input) == 0;
    BN_free(output);
    BN_free(input);
    return right;
}

/* The client brings this as its key 1, which no engine takes. */
static void is_refused(const warprsa_private_key *key)
{
    const warprsa_shm_message no_more = {.type = WARPRSA_SHM_KEY_FREE,
                                         .number = 1};

    bring(&hostile, 1, key);
    assert_int_equal(operate(&hostile, 1), WARPRSA_REFUSED);
    assert_int_equal(hostile.shm.slot[0].reason, WARPRSA_CPU_UNSUPPORTED_KEY);
    raw_client_send(&hostile, &no_more);
    assert_int_equal(operate(&honest, 0), WARPRSA_DONE);
    assert_true(is_right(&honest));
}

/* Those that warprsa_key_class() sees through, and those whose numbers do not
 * belong together, which the engine finds out. */
TEST(keys_that_no_engine_takes)
{
    static const uint32_t lengths[] = {0,   1,   BYTES - 1, BYTES + 1,
                                       512, 513, UINT32_MAX};
    const int last = WARPRSA_PRIME_BYTES_MAX - 1;
    warprsa_private_key key = good;

    assert_true(
        BN_sqr(numbers.value[NUMBER_Q], numbers.value[NUMBER_P], numbers.ctx));
    memcpy(key.q, key.p, sizeof(key.q)); /* p = q, and n = p q */
    assert_int_equal(
        BN_bn2binpad(numbers.value[NUMBER_Q], key.n, sizeof(key.n)),
        sizeof(key.n));
    is_refused(&key);
    key = good; /* p = q alone */
    memcpy(key.q, key.p, sizeof(key.q));
    is_refused(&key);
    key = good; /* n is not p q */
    key.n[sizeof(key.n) - 1] ^= 4;
    is_refused(&key);
    key = good; /* a q of the same length that is another */
    key.q[last] ^= 4;
    is_refused(&key);
    key = good; /* not the inverse of q */
    key.qinv[last] ^= 1;
    is_refused(&key);
    memset(key.qinv, 0, sizeof(key.qinv));
    is_refused(&key);
    memset(key.qinv, 0xff, sizeof(key.qinv));
    is_refused(&key);
    key = good; /* even numbers */
    key.p[last] ^= 1;
    is_refused(&key);
    key = good;
    key.n[sizeof(key.n) - 1] ^= 1;
    is_refused(&key);
    key = good; /* e = 1 */
    memset(key.e, 0, sizeof(key.e));
    key.e[sizeof(key.e) - 1] = 1;
    is_refused(&key);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        key = good;
        key.modulus_bytes = lengths[i];
        is_refused(&key);
    }
    memset(&key, 0, sizeof(key));
    is_refused(&key);
    memset(&key, 0xff, sizeof(key));
    is_refused(&key);
    key.modulus_bytes = 512;
    is_refused(&key);
    assert_int_equal(broken, 0);
    assert_int_equal(queue_config.counters->device_losses, 0);
}

/* A key that only the check of each result shows to be wrong. */
TEST(a_key_with_a_wrong_exponent)
{
    warprsa_private_key key = good;

    key.dp[sizeof(key.dp) - 1] ^= 2;
    bring(&hostile, 2, &key);
    assert_int_equal(operate(&hostile, 2), WARPRSA_REFUSED);
    assert_int_equal(hostile.shm.slot[0].reason, WARPRSA_CPU_CHECK_FAILED);
    assert_int_equal(operate(&honest, 0), WARPRSA_DONE);
    assert_true(is_right(&honest));
    assert_int_equal(queue_config.counters->device_losses, 0);
}

/* 1 to any power is 1, which passes the check; an engine that blinds computes
 * the power of something else. The device is not to blame. */
TEST(an_input_that_any_exponent_fits)
{
    const warprsa_shm_message no_more = {.type = WARPRSA_SHM_KEY_FREE,
                                         .number = 1};
    warprsa_private_key key = good;
    uint8_t *input = hostile.shm.slot[0].request.number;

    for (uint8_t i = 1; i <= WRONG_KEYS; i++) {
        const uint32_t generation = ++requests;

        key.dp[sizeof(key.dp) - 1] = good.dp[sizeof(key.dp) - 1] ^ (2 * i);
        bring(&hostile, 1, &key);
        raw_client_fill(&hostile, 0, generation, 1, 0);
        memset(input, 0, BYTES);
        input[BYTES - 1] = 1;
        raw_client_submit(&hostile, 0);
        assert_int_equal(raw_client_answer(&hostile, 0, generation),
                         WARPRSA_REFUSED);
        raw_client_send(&hostile, &no_more);
        assert_int_equal(operate(&honest, 0), WARPRSA_DONE);
        assert_true(is_right(&honest));
    }
    assert_int_equal(queue_config.counters->device_losses, 0);
    assert_int_equal(broken, 0);
}

/* The same client has its operations computed with a key that is one. */
TEST(a_good_key_after_that)
{
    bring(&hostile, 3, &good);
    assert_int_equal(operate(&hostile, 3), WARPRSA_DONE);
    assert_true(is_right(&hostile));
    assert_int_equal(broken, 0);
}

RUN_TESTS(setup, teardown)
