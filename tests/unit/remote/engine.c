/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The engine "remote" with a host that misbehaves on demand: the link, TLS and
 * the check of results are replaced by what stands here.
 */
#include "tests/unit/support/unit_test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/remote/engine/hosts.h"
#include "batching/remote/engine/link.h"
#include "batching/remote/engine/remote_engine.h"
#include "batching/remote/engine/verify.h"
#include "gpu/known_answer.h"

enum {
    BYTES = 256,
    BATCH = 300, /* more than a message holds */
    STREAMS = 2,
    LONG_MS = 60000,
    ROOM = WARPRSA_REMOTE_PREFIX + WARPRSA_REMOTE_MESSAGE_MAX,
};

struct warprsa_link {
    warprsa_address address;
};

/* The host, and what was heard of the device. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    warprsa_link link;
    const warprsa_link_handlers *handlers;
    void *arg;
    warprsa_remote_welcome welcome;
    unsigned fail_begin; /* the begin() that fails: 1 is the next; 0: none */
    uint8_t out[ROOM];
    warprsa_remote_request request;
    uint32_t ids[2 * BATCH]; /* operations that wait for their results */
    unsigned operations, most;
    uint32_t key; /* that waits for an answer, plus 1 */
    unsigned unloads;
    unsigned leaves; /* calls of warprsa_tls_leave(), the last one's thread */
    pthread_t left_tls;
    unsigned tls_reloads;
    bool revoked;
    bool ending, silent;
    warprsa_task *unverified[BATCH];
    unsigned verified, verify_ends;
    unsigned lost;
    char why[64];
    uint64_t traffic[WARPRSA_TRAFFIC_KINDS];
} host = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .changed = PTHREAD_COND_INITIALIZER};

/* ---- In the place of the modules that the engine uses ---- */

bool warprsa_tls_open(warprsa_tls *tls, bool is_server,
                      const warprsa_tls_files *files, char *why,
                      size_t why_size)
{
    return true;
}

void warprsa_tls_close(warprsa_tls *tls)
{
}

void warprsa_tls_leave(warprsa_tls *tls)
{
    host.left_tls = pthread_self();
    host.leaves++;
}

bool warprsa_tls_reload(warprsa_tls *tls, const warprsa_tls_files *files,
                        char *why, size_t why_size)
{
    snprintf(why, why_size, "a mistake");
    host.tls_reloads++;
    return false;
}

bool warprsa_tls_still_valid(warprsa_tls *tls, SSL *ssl, unsigned *checked,
                             char why[WARPRSA_TLS_WHY])
{
    if (host.revoked)
        strcpy(why, "revoked");
    return !host.revoked;
}

struct warprsa_verify {
    int unused;
};

warprsa_verify *warprsa_verify_new(const warprsa_private_key *key)
{
    return calloc(1, sizeof(warprsa_verify));
}

void warprsa_verify_free(warprsa_verify *verify)
{
    free(verify);
}

/* Of results that were received each third is wrong. They are refused at the
 * end, all at once. */
void warprsa_verify_add(warprsa_verify_batch *batch,
                        const warprsa_verify *verify, warprsa_task *task)
{
    assert_non_null(verify);
    assert_int_equal(task->status, WARPRSA_OK);
    assert_int_equal(task->output[0], 0xab);
    host.unverified[host.verified++] = task;
}

void warprsa_verify_end(warprsa_verify_batch *batch)
{
    for (unsigned i = 0; i < host.verified; i += 3)
        host.unverified[i]->status = WARPRSA_CHECK_FAILED;
    host.verify_ends++;
}

int warprsa_key_class(const warprsa_private_key *key)
{
    return key->modulus_bytes == BYTES ? WARPRSA_CLASS_2048 : -1;
}

warprsa_status warprsa_known_answer_load(const warprsa_engine *engine,
                                         warprsa_device *device,
                                         warprsa_known_answer *test,
                                         unsigned classes)
{
    return WARPRSA_OK;
}

warprsa_status warprsa_known_answer_class(const warprsa_engine *engine,
                                          warprsa_device *device,
                                          const warprsa_known_answer *test,
                                          unsigned stream,
                                          warprsa_size_class size)
{
    return WARPRSA_OK;
}

warprsa_status warprsa_known_answer_run(const warprsa_engine *engine,
                                        warprsa_device *device,
                                        warprsa_known_answer *test,
                                        unsigned stream)
{
    return WARPRSA_OK;
}

warprsa_link *warprsa_link_open(warprsa_tls *tls,
                                const warprsa_address *address, bool is_further,
                                const warprsa_link_handlers *handlers,
                                void *arg, warprsa_remote_welcome *welcome,
                                char *why, size_t why_size)
{
    host.link.address = *address;
    host.handlers = handlers;
    host.arg = arg;
    *welcome = host.welcome;
    return &host.link;
}

void warprsa_link_close(warprsa_link *link)
{
}

uint8_t *warprsa_link_begin(warprsa_link *link, size_t room)
{
    pthread_mutex_lock(&host.lock);
    assert_true(room <= sizeof(host.out));
    if (host.fail_begin == 0 || --host.fail_begin > 0)
        return host.out;
    pthread_mutex_unlock(&host.lock);
    return NULL;
}

/* Notes what was sent; the test answers it. */
void warprsa_link_end(warprsa_link *link, size_t size)
{
    const warprsa_remote_request *r = &host.request;

    assert_null(warprsa_remote_read_request(host.out + WARPRSA_REMOTE_PREFIX,
                                            size - WARPRSA_REMOTE_PREFIX,
                                            &host.request));
    if (r->kind == WARPRSA_REMOTE_LOAD_KEY) {
        host.key = r->key + 1;
    } else if (r->kind == WARPRSA_REMOTE_UNLOAD_KEY) {
        host.unloads++;
    } else {
        for (size_t i = 0; i < r->count; i++)
            host.ids[host.operations++] = r->operation[i].id;
        if (host.operations > host.most)
            host.most = host.operations;
    }
    pthread_cond_broadcast(&host.changed);
    pthread_mutex_unlock(&host.lock);
}

bool warprsa_link_is_lost(warprsa_link *link)
{
    return false;
}

/* ---- What the host answers ---- */

static const char *answer(const warprsa_remote_response *response)
{
    return host.handlers->response(host.arg, response);
}

static const char *answer_one(uint32_t id, warprsa_remote_status status,
                              uint32_t bytes)
{
    static uint8_t output[WARPRSA_MODULUS_BYTES_MAX];
    warprsa_remote_response *r = calloc(1, sizeof(*r));
    const char *wrong;

    assert_non_null(r);
    memset(output, 0xab, sizeof(output));
    r->kind = WARPRSA_REMOTE_RESULTS;
    r->count = 1;
    r->result[0] = (warprsa_remote_result){
        .id = id, .status = status, .bytes = bytes, .output = output};
    wrong = answer(r);
    free(r);
    return wrong;
}

/* Answers operations, the latest first, until none is left. */
static void answer_all(warprsa_remote_status status)
{
    for (;;) {
        uint32_t id = 0;
        bool any;

        pthread_mutex_lock(&host.lock);
        any = host.operations > 0;
        if (any)
            id = host.ids[--host.operations];
        pthread_mutex_unlock(&host.lock);
        if (!any)
            return;
        assert_null(
            answer_one(id, status, status == WARPRSA_REMOTE_OK ? BYTES : 0));
    }
}

/* Says yes to each key. */
static void *answer_keys(void *arg)
{
    pthread_mutex_lock(&host.lock);
    while (!host.ending) {
        static warprsa_remote_response yes = {.kind = WARPRSA_REMOTE_KEY_LOADED,
                                              .status = WARPRSA_REMOTE_OK};

        if (host.key == 0 || host.silent) {
            pthread_cond_wait(&host.changed, &host.lock);
            continue;
        }
        yes.key = host.key - 1;
        host.key = 0;
        pthread_mutex_unlock(&host.lock);
        assert_null(answer(&yes));
        pthread_mutex_lock(&host.lock);
    }
    pthread_mutex_unlock(&host.lock);
    return NULL;
}

/* ---- The tests ---- */

static void lost(void *arg, const char *why)
{
    host.lost++;
    snprintf(host.why, sizeof(host.why), "%s", why);
}

static void count(void *arg, warprsa_traffic what, uint64_t number)
{
    host.traffic[what] += number;
}

typedef struct setting {
    const warprsa_engine *engine;
    warprsa_device *device;
    pthread_t keys;
    warprsa_task tasks[BATCH];
    uint8_t input[BYTES], output[BATCH][BYTES];
} setting;

static warprsa_status open_device(setting *s, unsigned ordinal)
{
    const warprsa_device_config config = {.ordinal = ordinal,
                                          .streams = STREAMS,
                                          .batch_max = BATCH,
                                          .keys_max = 4,
                                          .lost = lost,
                                          .count = count};
    char why[128];

    return s->engine->open(&config, &s->device, why, sizeof(why));
}

static setting *set_up(unsigned operations_max)
{
    static const warprsa_remote_engine_config config = {.verify = false};
    setting *s = calloc(1, sizeof(*s));
    char why[128];

    assert_non_null(s);
    host.welcome = (warprsa_remote_welcome){.keys_max = 8,
                                            .operations_max = operations_max};
    host.fail_begin = host.operations = host.most = host.unloads = host.lost =
        host.leaves = host.verified = host.verify_ends = 0;
    memset(host.traffic, 0, sizeof(host.traffic));
    host.ending = host.silent = false;
    host.key = 0;
    s->engine = warprsa_engine_remote(&config);
    assert_true(warprsa_remote_hosts_set("a:1", why, sizeof(why)));
    assert_int_equal(open_device(s, 0), WARPRSA_OK);
    assert_int_equal(pthread_create(&s->keys, NULL, answer_keys, NULL), 0);
    for (unsigned i = 0; i < BATCH; i++)
        s->tasks[i] = (warprsa_task){.input = s->input, .output = s->output[i]};
    return s;
}

static void tear_down(setting *s)
{
    pthread_mutex_lock(&host.lock);
    host.ending = true;
    pthread_cond_broadcast(&host.changed);
    pthread_mutex_unlock(&host.lock);
    pthread_join(s->keys, NULL);
    (void)s->engine->close(s->device);
    free(s);
}

static void load_key(setting *s)
{
    const warprsa_private_key key = {.modulus_bytes = BYTES};
    uint32_t index;

    assert_int_equal(s->engine->load_key(s->device, &key, &index), WARPRSA_OK);
    for (unsigned i = 0; i < BATCH; i++)
        s->tasks[i].key = index;
}

static warprsa_status start(setting *s)
{
    return s->engine->start(s->device, 0, WARPRSA_CLASS_2048, s->tasks, BATCH);
}

TEST(never_more_is_in_flight_than_granted)
{
    setting *s = set_up(100);

    load_key(s);
    assert_int_equal(start(s), WARPRSA_OK);
    assert_int_equal(host.operations, 100);
    answer_all(WARPRSA_REMOTE_OK);
    assert_int_equal(s->engine->wait(s->device, 0, LONG_MS), WARPRSA_OK);
    assert_true(host.most <= 100);
    assert_int_equal(host.traffic[WARPRSA_TRAFFIC_CREDIT_WAITS], 1);
    for (unsigned i = 0; i < BATCH; i++) {
        assert_int_equal(s->tasks[i].status, WARPRSA_OK);
        assert_int_equal(s->output[i][0], 0xab);
    }
    tear_down(s);
}

/* Each status of an operation that is not computed. */
TEST(what_a_host_refuses_is_not_done)
{
    /* The queue leaves a host alone for a while that can't compute, but not for
     * a key that it does not take. */
    static const warprsa_status expected[WARPRSA_REMOTE_STATUSES] = {
        [WARPRSA_REMOTE_INVALID] = WARPRSA_DEVICE_ERROR,
        [WARPRSA_REMOTE_UNSUPPORTED] = WARPRSA_UNSUPPORTED_KEY,
        [WARPRSA_REMOTE_THROTTLED] = WARPRSA_DEVICE_ERROR,
        [WARPRSA_REMOTE_DEADLINE] = WARPRSA_DEVICE_ERROR,
        [WARPRSA_REMOTE_UNAVAILABLE] = WARPRSA_DEVICE_ERROR,
        [WARPRSA_REMOTE_FAILED] = WARPRSA_CHECK_FAILED,
        [WARPRSA_REMOTE_DENIED] = WARPRSA_DEVICE_ERROR,
    };
    setting *s = set_up(4096);

    load_key(s);
    for (int status = WARPRSA_REMOTE_INVALID; status < WARPRSA_REMOTE_STATUSES;
         status++) {
        assert_int_equal(start(s), WARPRSA_OK);
        answer_all((warprsa_remote_status)status);
        assert_int_equal(s->engine->wait(s->device, 0, LONG_MS), WARPRSA_OK);
        for (unsigned i = 0; i < BATCH; i++) {
            assert_int_equal(s->tasks[i].status, expected[status]);
            assert_int_equal(s->output[i][0], 0);
        }
    }
    assert_int_equal(host.traffic[WARPRSA_TRAFFIC_CREDIT_WAITS], 0);
    tear_down(s);
}

/* The first message of a batch is sent, the second is not: the batch has
 * failed, and results of the first one reach nobody's memory. */
TEST(a_batch_that_is_sent_in_part_fails)
{
    setting *s = set_up(4096);

    load_key(s);
    host.fail_begin = 2;
    assert_int_equal(start(s), WARPRSA_DEVICE_ERROR);
    assert_int_equal(host.operations, WARPRSA_REMOTE_BATCH_MAX);
    answer_all(WARPRSA_REMOTE_OK);
    for (unsigned i = 0; i < BATCH; i++)
        assert_int_equal(s->output[i][0], 0);
    tear_down(s);
}

TEST(a_key_that_is_not_sent_is_forgotten)
{
    const warprsa_private_key key = {.modulus_bytes = BYTES};
    setting *s = set_up(4096);
    uint32_t index;

    for (unsigned i = 0; i < 20; i++) { /* more than there are numbers */
        host.fail_begin = 1;
        assert_int_equal(s->engine->load_key(s->device, &key, &index),
                         WARPRSA_NO_MEMORY);
    }
    load_key(s);
    tear_down(s);
}

/* The log is to say more than "device error". */
TEST(a_key_that_is_not_answered_is_the_reason)
{
    const warprsa_private_key key = {.modulus_bytes = BYTES};
    setting *s = set_up(4096);
    uint32_t index;

    host.silent = true;
    assert_int_equal(s->engine->load_key(s->device, &key, &index),
                     WARPRSA_DEVICE_ERROR);
    assert_int_equal(host.lost, 1);
    assert_string_equal(host.why, "a key was not answered for 5 s");
    assert_int_equal(host.unloads, 1);
    tear_down(s);
}

TEST(results_that_make_no_sense_are_refused)
{
    setting *s = set_up(4096);

    load_key(s);
    assert_non_null(answer_one(0, WARPRSA_REMOTE_OK, BYTES)); /* none sent */
    assert_int_equal(start(s), WARPRSA_OK);
    assert_non_null(answer_one(BATCH - 1 + BATCH, WARPRSA_REMOTE_OK, BYTES));
    assert_non_null(answer_one(STREAMS * BATCH, WARPRSA_REMOTE_OK, BYTES));
    assert_non_null(answer_one(UINT32_MAX, WARPRSA_REMOTE_OK, BYTES));
    assert_non_null(answer_one(5, WARPRSA_REMOTE_OK, BYTES - 1));
    assert_null(answer_one(5, WARPRSA_REMOTE_OK, BYTES));
    assert_non_null(answer_one(5, WARPRSA_REMOTE_OK, BYTES)); /* twice */
    tear_down(s);
}

/* What was received is checked, each result once, and nothing else is. */
TEST(each_result_is_checked)
{
    static const warprsa_remote_engine_config checks = {.verify = true};
    setting *s = set_up(4096);

    s->engine = warprsa_engine_remote(&checks);
    load_key(s);
    assert_int_equal(start(s), WARPRSA_OK);
    host.operations -= 3;
    for (unsigned i = 0; i < 3; i++)
        assert_null(answer_one(host.ids[host.operations + i],
                               WARPRSA_REMOTE_UNAVAILABLE, 0));
    answer_all(WARPRSA_REMOTE_OK);
    assert_int_equal(host.verified, 0);
    assert_int_equal(s->engine->wait(s->device, 0, LONG_MS), WARPRSA_OK);
    assert_int_equal(host.verified, BATCH - 3);
    assert_int_equal(host.verify_ends, 1);
    for (unsigned i = 0; i < BATCH; i++)
        assert_int_equal(s->tasks[i].status, i >= BATCH - 3
                                                 ? WARPRSA_DEVICE_ERROR
                                             : i % 3 == 0 ? WARPRSA_CHECK_FAILED
                                                          : WARPRSA_OK);
    tear_down(s);
}

TEST(a_host_that_drains_takes_no_more)
{
    static const warprsa_remote_response draining = {
        .kind = WARPRSA_REMOTE_DRAINING};
    setting *s = set_up(4096);

    load_key(s);
    assert_int_equal(start(s), WARPRSA_OK);
    assert_null(answer(&draining));
    assert_int_equal(host.lost, 1);
    assert_string_equal(host.why, "the host drains");
    assert_int_equal(
        s->engine->start(s->device, 1, WARPRSA_CLASS_2048, s->tasks, 1),
        WARPRSA_DEVICE_ERROR);
    answer_all(WARPRSA_REMOTE_OK); /* what was under way is answered */
    assert_int_equal(s->engine->wait(s->device, 0, LONG_MS), WARPRSA_OK);
    tear_down(s);
}

/* What libcrypto keeps of the thread that shook hands must not outlive the
 * device, which another thread may close: the first one would crash at its
 * end. */
TEST(the_thread_that_opens_leaves_tls)
{
    setting *s = set_up(4096);

    assert_int_equal(host.leaves, 1);
    assert_true(pthread_equal(host.left_tls, pthread_self()));
    tear_down(s);
}

/* Its files are read again at a reload, and only then; one with a mistake is no
 * reason to give a host up, and a certificate that is no longer taken is. */
TEST(a_host_is_trusted_until_it_is_not)
{
    setting *s = set_up(4096);
    char why[WARPRSA_TLS_WHY] = "";

    assert_true(host.handlers->is_trusted(host.arg, NULL, why));
    assert_int_equal(host.tls_reloads, 0);
    assert_true(warprsa_remote_hosts_set("a:1", why, sizeof(why)));
    for (int i = 0; i < 3; i++)
        assert_true(host.handlers->is_trusted(host.arg, NULL, why));
    assert_int_equal(host.tls_reloads, 1);
    assert_string_equal(why, "");
    assert_false(warprsa_remote_hosts_set("a", why, sizeof(why)));
    host.revoked = true;
    assert_false(host.handlers->is_trusted(host.arg, NULL, why));
    assert_int_equal(host.tls_reloads, 2);
    assert_string_equal(why, "revoked");
    tear_down(s);
}

TEST(hosts_come_and_go)
{
    setting *s = set_up(4096);
    warprsa_device *first = s->device;
    char why[128];

    assert_false(warprsa_remote_hosts_set("b", why, sizeof(why)));
    assert_false(warprsa_remote_hosts_set("b:1 b:1", why, sizeof(why)));
    assert_false(warprsa_remote_hosts_check(
        "a:1 a:2 a:3 a:4 a:5 a:6 a:7 a:8 a:9", why, sizeof(why)));
    assert_int_equal(host.lost, 0); /* a mistake changes nothing */
    assert_true(warprsa_remote_hosts_set("b:1 a:1", why, sizeof(why)));
    assert_int_equal(host.lost, 0);
    assert_int_equal(s->engine->count(why, sizeof(why)), 2);
    assert_true(warprsa_remote_hosts_set("b:1", why, sizeof(why)));
    assert_int_equal(host.lost, 1);
    assert_string_equal(host.why, "removed from remote_hosts");
    assert_int_equal(open_device(s, 0), WARPRSA_NO_DEVICE);
    assert_true(warprsa_remote_hosts_set("c:1 b:1", why, sizeof(why)));
    assert_int_equal(s->engine->count(why, sizeof(why)), 2);
    (void)s->engine->close(first);
    assert_int_equal(open_device(s, 0), WARPRSA_OK);
    assert_string_equal(s->engine->describe(s->device), "c:1 (remote 0)");
    assert_string_equal(host.link.address.host, "c");
    tear_down(s);
    assert_true(warprsa_remote_hosts_set("", why, sizeof(why)));
}

RUN_TESTS(NULL, NULL)
