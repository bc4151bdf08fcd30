/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Uses of keys that GPU hosts have, with hosts that are played here: which host
 * gets a use, what becomes of it when the host is lost, hangs, refuses or lies,
 * and that each use is answered once.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/remote/uses/remote_uses.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <openssl/rand.h>
#include <openssl/x509.h>

#include "batching/base/clock.h"
#include "batching/queue/counters.h"
#include "batching/remote/engine/link.h"
#include "batching/remote/engine/trust.h"
#include "batching/vault/padding.h"
#include "batching/vault/vault_key.h"
#include "batching/vault/vault_reading.h"
#include "tests/unit/support/vault_keys.h"

enum {
    HOSTS = 2,
    BYTES = 128, /* of the modulus */
    TASKS = 600,
    WAIT_MS = 120000,
    LONG_MS = 600000,
    SHORT_MS = 400,
};

/* ---- Hosts, in the place of link.c and trust.c ---- */

typedef struct sent_use {
    uint32_t id;
    warprsa_key_use use;
    uint8_t input[BYTES];
} sent_use;

struct warprsa_link {
    unsigned host;
    const warprsa_link_handlers *handlers;
    void *arg;
};

static struct {
    pthread_mutex_t lock; /* of all below */
    struct fake_host {
        bool away;
        uint32_t room;
        warprsa_link *link;
        unsigned opened, closed, keys, messages, unloaded;
        size_t largest; /* message, in uses */
        uint8_t spki_sha256[WARPRSA_KEY_SPKI_BYTES];
        sent_use sent[4 * TASKS];
        unsigned count;
    } hosts[HOSTS + 1]; /* from 1 on */
    uint8_t buffer[WARPRSA_REMOTE_PREFIX + WARPRSA_REMOTE_MESSAGE_MAX];
    warprsa_remote_request request;
    char log[65536];
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Held while a handler is called: to close a link is to wait for its reading
 * thread. */
static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER;

bool warprsa_trust_open(warprsa_trust *trust, const warprsa_tls_files *files,
                        char *why, size_t why_size)
{
    return true;
}

bool warprsa_trust_holds(warprsa_trust *trust, SSL *ssl, warprsa_trace_fn log,
                         void *log_arg, char why[WARPRSA_TLS_WHY])
{
    return true;
}

void warprsa_trust_close(warprsa_trust *trust)
{
}

void warprsa_tls_leave(warprsa_tls *tls)
{
}

warprsa_link *warprsa_link_open(warprsa_tls *tls,
                                const warprsa_address *address,
                                const warprsa_link_handlers *handlers,
                                void *arg, warprsa_remote_welcome *welcome,
                                char *why, size_t why_size)
{
    const unsigned number = (unsigned)atoi(address->port);
    struct fake_host *host = &fake.hosts[number];
    warprsa_link *link = NULL;

    assert_in_range(number, 1, HOSTS);
    snprintf(why, why_size, "away");
    pthread_mutex_lock(&fake.lock);
    if (!host->away && (link = calloc(1, sizeof(*link))) != NULL) {
        *link = (warprsa_link){number, handlers, arg};
        *welcome = (warprsa_remote_welcome){
            .keys_max = 16, .operations_max = host->room, .batch_max = 256};
        host->link = link;
        host->opened++;
        host->count = 0;
    }
    pthread_mutex_unlock(&fake.lock);
    return link;
}

void warprsa_link_close(warprsa_link *link)
{
    pthread_mutex_lock(&reading);
    pthread_mutex_unlock(&reading);
    pthread_mutex_lock(&fake.lock);
    fake.hosts[link->host].link = NULL;
    fake.hosts[link->host].closed++;
    pthread_mutex_unlock(&fake.lock);
    free(link);
}

uint8_t *warprsa_link_begin(warprsa_link *link, size_t room)
{
    pthread_mutex_lock(&fake.lock);
    assert_true(room <= sizeof(fake.buffer));
    return fake.buffer;
}

static void take_uses(struct fake_host *host)
{
    const warprsa_remote_request *request = &fake.request;

    host->messages++;
    if (request->count > host->largest)
        host->largest = request->count;
    for (size_t i = 0; i < request->count; i++) {
        const warprsa_remote_operation *o = &request->operation[i];
        sent_use *sent = &host->sent[host->count++];

        assert_in_range(host->count, 1, 4 * TASKS);
        assert_non_null(o->use);
        *sent = (sent_use){.id = o->id, .use = *o->use};
        memcpy(sent->input, o->input, o->bytes);
    }
}

void warprsa_link_end(warprsa_link *link, size_t size)
{
    struct fake_host *host = &fake.hosts[link->host];

    assert_true(size > WARPRSA_REMOTE_PREFIX);
    assert_null(warprsa_remote_read_request(fake.buffer + WARPRSA_REMOTE_PREFIX,
                                            size - WARPRSA_REMOTE_PREFIX,
                                            &fake.request));
    if (fake.request.kind == WARPRSA_REMOTE_OPERATIONS)
        take_uses(host);
    else if (fake.request.kind == WARPRSA_REMOTE_UNLOAD_KEY)
        host->unloaded++;
    else
        host->keys++;
    if (fake.request.kind == WARPRSA_REMOTE_LOAD_KEY_BY_SPKI)
        memcpy(host->spki_sha256, fake.request.spki_sha256,
               sizeof(host->spki_sha256));
    pthread_mutex_unlock(&fake.lock);
}

bool warprsa_link_is_lost(warprsa_link *link)
{
    return false;
}

/* ---- In the place of gpu/ifma: libcrypto checks ---- */

warprsa_status warprsa_ifma_public_key_new(const warprsa_private_key *public,
                                           warprsa_ifma_public_key **out)
{
    *out = NULL;
    return WARPRSA_NO_DEVICE;
}

void warprsa_ifma_public_key_free(warprsa_ifma_public_key *public)
{
    assert_null(public);
}

void warprsa_ifma_check(warprsa_ifma_result *results, size_t count)
{
    fail();
}

/* ---- The key, and what is asked of it ---- */

static EVP_PKEY *pkey;
static warprsa_padding_library *library;
static warprsa_padding_key *private_key;
static warprsa_vault *vault;
static warprsa_vault_key *key;
static warprsa_counters *counters;

static const warprsa_key_use sign_pkcs1 = {.operation = WARPRSA_USE_SIGN,
                                           .padding = WARPRSA_PADDING_PKCS1,
                                           .input_bytes = 20};
static const warprsa_key_use sign_pss = {
    .operation = WARPRSA_USE_SIGN,
    .padding = WARPRSA_PADDING_PSS,
    .digest = WARPRSA_DIGEST_SHA256,
    .mgf1_digest = WARPRSA_DIGEST_SHA256,
    .salt_bytes = WARPRSA_SALT_DIGEST,
    .input_bytes = 32,
};
static const warprsa_key_use decrypt = {.operation = WARPRSA_USE_DECRYPT,
                                        .padding = WARPRSA_PADDING_PKCS1,
                                        .input_bytes = BYTES};
static const warprsa_key_use decrypt_tls = {.operation = WARPRSA_USE_DECRYPT,
                                            .padding = WARPRSA_PADDING_TLS,
                                            .tls_client_version = 0x303,
                                            .input_bytes = BYTES};

typedef struct asked {
    warprsa_use_task task;
    uint8_t input[BYTES], number[BYTES], answer[BYTES];
    atomic_uint done;
} asked;

static asked tasks[TASKS];

static void log_line(void *arg, int level, const char *line)
{
    pthread_mutex_lock(&fake.lock);
    snprintf(fake.log + strlen(fake.log), sizeof(fake.log) - strlen(fake.log),
             "%s\n", line);
    pthread_mutex_unlock(&fake.lock);
}

static void add_key(const char *name)
{
    warprsa_vault_reading reading;
    static warprsa_remote_key remote;
    unsigned char *at = remote.spki;

    remote = (warprsa_remote_key){0};
    strcpy(remote.name, name);
    remote.spki_bytes = (uint32_t)i2d_PUBKEY(pkey, &at);
    warprsa_vault_reading_init(&reading, warprsa_vault_means_of(vault));
    assert_true(warprsa_vault_reading_add_remote(&reading, &remote));
    assert_true(warprsa_vault_replace(vault, &reading));
}

static int set_up(void **state)
{
    pkey = vault_keys_make("RSA", 8 * BYTES, 2);
    library = warprsa_padding_library_new();
    private_key = warprsa_padding_key_new(library, pkey);
    return private_key == NULL;
}

static int tear_down(void **state)
{
    warprsa_padding_key_free(private_key);
    warprsa_padding_library_free(library);
    EVP_PKEY_free(pkey);
    return 0;
}

static const unsigned short_ms = SHORT_MS, hang_ms = 40000, slow_ms = 8000;

static int begin(void **state)
{
    const unsigned *deadline_ms = *state;
    const warprsa_uses_config config = {
        .daemon = {.deadline_ms = deadline_ms != NULL ? *deadline_ms : LONG_MS,
                   .counters = counters = warprsa_counters_new(),
                   .log = log_line},
        .verify = true,
    };
    char why[200];

    memset(fake.hosts, 0, sizeof(fake.hosts));
    fake.log[0] = '\0';
    for (unsigned i = 1; i <= HOSTS; i++)
        fake.hosts[i].room = 1000;
    vault = warprsa_vault_new(log_line, NULL);
    add_key("www");
    key = warprsa_vault_find_name(vault, "www");
    assert_true(warprsa_remote_hosts_set("a:1 b:2", why, sizeof(why)));
    return !warprsa_remote_uses_start(&config);
}

static int end(void **state)
{
    char why[200];

    warprsa_remote_uses_stop();
    warprsa_vault_key_release(key);
    warprsa_vault_free(vault);
    warprsa_counters_free(counters);
    for (unsigned i = 1; i <= HOSTS; i++)
        assert_int_equal(fake.hosts[i].opened, fake.hosts[i].closed);
    return !warprsa_remote_hosts_set("", why, sizeof(why));
}

static void wait_until(bool (*holds)(const void *arg), const void *arg)
{
    const uint64_t until = warprsa_clock_ns() + WAIT_MS * WARPRSA_NS_PER_MS;

    while (!holds(arg)) {
        if (warprsa_clock_ns() > until)
            fail_msg("gave up waiting; the log: %s", fake.log);
        usleep(1000);
    }
}

static void done(warprsa_use_task *task)
{
    atomic_fetch_add(&((asked *)task)->done, 1);
}

static void ask(unsigned i, uint64_t owner, const warprsa_key_use *use)
{
    asked *a = &tasks[i];
    warprsa_use_errors errors;

    memset(a, 0, sizeof(*a));
    assert_int_equal(RAND_bytes(a->input, sizeof(a->input)), 1);
    a->input[0] = 0; /* below the modulus */
    a->task = (warprsa_use_task){.owner = owner,
                                 .key = key,
                                 .use = use,
                                 .input = a->input,
                                 .number = a->number,
                                 .answer = a->answer,
                                 .done = done};
    if (use->operation == WARPRSA_USE_SIGN &&
        use->padding != WARPRSA_PADDING_PSS)
        assert_true(warprsa_padding_encode(key->padding, use, a->input,
                                           a->number, &errors));
    assert_true(warprsa_remote_uses_add(&a->task));
}

static bool is_done(const void *arg)
{
    return atomic_load(&((const asked *)arg)->done) > 0;
}

static void assert_done(unsigned i)
{
    wait_until(is_done, &tasks[i]);
    assert_int_equal(tasks[i].done, 1);
    assert_true(tasks[i].task.has_answer);
    if (tasks[i].task.use->operation == WARPRSA_USE_SIGN)
        assert_true(warprsa_padding_verify(private_key, tasks[i].task.use,
                                           tasks[i].input, tasks[i].answer));
}

typedef struct wanted {
    unsigned host, count;
} wanted;

static bool has_uses(const void *arg)
{
    const wanted *w = arg;
    bool enough = false;

    pthread_mutex_lock(&fake.lock);
    enough = fake.hosts[w->host].link != NULL &&
             fake.hosts[w->host].count >= w->count;
    pthread_mutex_unlock(&fake.lock);
    return enough;
}

/* Waits until a host has got so many uses in its session. */
static void expect_uses(unsigned host, unsigned count)
{
    const wanted w = {host, count};

    wait_until(has_uses, &w);
}

static bool is_connected(const void *arg)
{
    const wanted w = {*(const unsigned *)arg, 0};

    return has_uses(&w);
}

static void expect_session(unsigned host)
{
    wait_until(is_connected, &host);
}

/* The link's thread gives a response, and ends if something is wrong with it.
 * */
static void respond(unsigned number, const warprsa_remote_response *response)
{
    warprsa_link *link = NULL;
    const char *wrong = NULL;

    pthread_mutex_lock(&reading);
    link = fake.hosts[number].link;
    wrong = link->handlers->response(link->arg, response);
    if (wrong != NULL)
        link->handlers->lost(link->arg, wrong);
    pthread_mutex_unlock(&reading);
}

/* The host answers its i-th use with this, or, of OK without an output, with
 * what is right. */
static void answer(unsigned number, unsigned i, warprsa_remote_status status,
                   const uint8_t *output, uint32_t bytes, warprsa_denial denial)
{
    static warprsa_remote_response response;
    uint8_t right[BYTES];
    sent_use sent;
    warprsa_use_errors errors;
    unsigned length = 0;

    pthread_mutex_lock(&fake.lock);
    sent = fake.hosts[number].sent[i];
    pthread_mutex_unlock(&fake.lock);
    sent.use.input_bytes = sent.use.operation == WARPRSA_USE_DECRYPT ? BYTES
                           : sent.use.padding == WARPRSA_PADDING_PSS ? 32
                                                                     : 20;
    if (status == WARPRSA_REMOTE_OK && output == NULL) {
        assert_true(warprsa_padding_compute(private_key, &sent.use, sent.input,
                                            right, &length, &errors));
        output = right;
        bytes = length;
    }
    response =
        (warprsa_remote_response){.kind = WARPRSA_REMOTE_RESULTS, .count = 1};
    response.result[0] = (warprsa_remote_result){.id = sent.id,
                                                 .status = status,
                                                 .bytes = bytes,
                                                 .output = output,
                                                 .denial = denial};
    respond(number, &response);
}

static void answer_right(unsigned number, unsigned i)
{
    answer(number, i, WARPRSA_REMOTE_OK, NULL, 0, WARPRSA_ALLOWED);
}

static void answer_status(unsigned number, unsigned i,
                          warprsa_remote_status status)
{
    answer(number, i, status, NULL, 0, WARPRSA_ALLOWED);
}

static void lose(unsigned number)
{
    warprsa_link *link = NULL;

    pthread_mutex_lock(&reading);
    link = fake.hosts[number].link;
    link->handlers->lost(link->arg, "it was killed");
    pthread_mutex_unlock(&reading);
}

/* Host 1 alone is there, and then it is not. */
static void set_away(unsigned number, bool away)
{
    pthread_mutex_lock(&fake.lock);
    fake.hosts[number].away = away;
    pthread_mutex_unlock(&fake.lock);
}

static bool is_closed(const void *arg)
{
    bool closed = false;

    (void)arg;
    pthread_mutex_lock(&fake.lock);
    closed = fake.hosts[1].link == NULL;
    pthread_mutex_unlock(&fake.lock);
    return closed;
}

static bool have_moved(const void *arg)
{
    return atomic_load(&counters->vault_remote_moved) >= *(const unsigned *)arg;
}

/* ---- The tests ---- */

TEST_IN(test_answers, begin, end)
{
    set_away(2, true);
    ask(0, 7, &sign_pkcs1);
    expect_uses(1, 1);
    answer_right(1, 0);
    assert_done(0);
    ask(1, 7, &sign_pss);
    ask(2, 7, &decrypt);
    expect_uses(1, 3);
    answer_right(1, 1);
    answer(1, 2, WARPRSA_REMOTE_OK, (const uint8_t *)"text", 4,
           WARPRSA_ALLOWED);
    assert_done(1);
    assert_done(2);
    assert_int_equal(tasks[2].task.length, 4);
    assert_memory_equal(tasks[2].answer, "text", 4);
    /* The key was named once, by its digest. */
    assert_int_equal(fake.hosts[1].keys, 1);
    assert_memory_equal(fake.hosts[1].spki_sha256, key->spki_sha256,
                        WARPRSA_KEY_SPKI_BYTES);
    assert_int_equal(counters->vault_remote_moved, 0);
}

/* What waits goes in messages of 256 at most, as far as the host has room. */
TEST_IN(test_messages, begin, end)
{
    unsigned answered = 0;

    set_away(2, true);
    set_away(1, true);
    fake.hosts[1].room = 300;
    for (unsigned i = 0; i < TASKS; i++)
        ask(i, 7, &sign_pkcs1);
    set_away(1, false);
    expect_uses(1, 300);
    assert_int_equal(fake.hosts[1].count, 300);
    assert_int_equal(fake.hosts[1].largest, WARPRSA_REMOTE_BATCH_MAX);
    for (; answered < 300; answered++)
        answer_right(1, answered);
    expect_uses(1, TASKS);
    for (; answered < TASKS; answered++)
        answer_right(1, answered);
    for (unsigned i = 0; i < TASKS; i++)
        assert_done(i);
}

/* A user with many uses does not keep another one waiting. */
TEST_IN(test_turns, begin, end)
{
    set_away(2, true);
    set_away(1, true);
    fake.hosts[1].room = 4;
    for (unsigned i = 0; i < 100; i++)
        ask(i, 7, &sign_pkcs1);
    ask(100, 8, &sign_pkcs1);
    set_away(1, false);
    expect_uses(1, 4);
    assert_memory_equal(fake.hosts[1].sent[0].input, tasks[0].input, 20);
    assert_memory_equal(fake.hosts[1].sent[1].input, tasks[100].input, 20);
    assert_memory_equal(fake.hosts[1].sent[2].input, tasks[1].input, 20);
    for (unsigned i = 0; i <= 100; i++) {
        expect_uses(1, i + 1);
        answer_right(1, i);
    }
    for (unsigned i = 0; i <= 100; i++)
        assert_done(i);
}

/* Nor do those of its uses that a host has sent back. */
TEST_IN(test_turns_again, begin, end)
{
    static const unsigned all = 10;

    set_away(2, true);
    for (unsigned i = 0; i < 10; i++)
        ask(i, 7, &sign_pkcs1);
    expect_uses(1, 10);
    fake.hosts[1].room = 4;
    set_away(1, true);
    lose(1);
    wait_until(have_moved, &all);
    ask(10, 8, &sign_pkcs1);
    ask(11, 8, &sign_pkcs1);
    set_away(1, false);
    expect_uses(1, 4);
    assert_memory_equal(fake.hosts[1].sent[0].input, tasks[0].input, 20);
    assert_memory_equal(fake.hosts[1].sent[1].input, tasks[10].input, 20);
    assert_memory_equal(fake.hosts[1].sent[2].input, tasks[1].input, 20);
    assert_memory_equal(fake.hosts[1].sent[3].input, tasks[11].input, 20);
    for (unsigned i = 0; i < 12; i++) {
        expect_uses(1, i + 1);
        answer_right(1, i);
    }
    for (unsigned i = 0; i < 12; i++)
        assert_done(i);
}

/* All that a host had goes to the other one. */
TEST_IN(test_lost, begin, end)
{
    set_away(2, true);
    for (unsigned i = 0; i < 10; i++)
        ask(i, 7, &sign_pkcs1);
    expect_uses(1, 10);
    answer_right(1, 3);
    assert_done(3);
    set_away(1, true);
    set_away(2, false);
    lose(1);
    expect_uses(2, 9);
    for (unsigned i = 0; i < 9; i++)
        answer_right(2, i);
    for (unsigned i = 0; i < 10; i++)
        assert_done(i);
    assert_int_equal(counters->vault_remote_moved, 9);
    assert_non_null(
        strstr(fake.log, "a:1: no uses of its keys: it was killed"));
}

TEST_IN(test_refusals, begin, end)
{
    expect_session((ask(0, 7, &sign_pkcs1), 1));
    expect_session(2);
    set_away(2, true);
    lose(2); /* so that host 1 has it, or gets it */
    expect_uses(1, 1);
    /* No room, no device: the same host, a little later. */
    answer_status(1, 0, WARPRSA_REMOTE_THROTTLED);
    expect_uses(1, 2);
    answer_status(1, 1, WARPRSA_REMOTE_UNAVAILABLE);
    expect_uses(1, 3);
    /* It can't compute it: another one. */
    answer_status(1, 2, WARPRSA_REMOTE_FAILED);
    set_away(2, false);
    expect_uses(2, 1);
    assert_int_equal(fake.hosts[1].count, 3);
    answer_right(2, 0);
    assert_done(0);
}

/* A host that finds fault with what is valid is not believed. Ciphertexts have
 * faults that only the private key shows. */
TEST_IN(test_invalid, begin, end)
{
    const char *said = NULL;

    set_away(2, true);
    ask(0, 7, &sign_pkcs1);
    ask(1, 7, &sign_pss);
    ask(2, 7, &decrypt);
    expect_uses(1, 3);
    answer_status(1, 2, WARPRSA_REMOTE_INVALID);
    wait_until(is_done, &tasks[2]);
    assert_false(tasks[2].task.has_answer);
    answer_status(1, 0, WARPRSA_REMOTE_INVALID);
    answer_status(1, 1, WARPRSA_REMOTE_INVALID);
    assert_int_equal(tasks[0].done + tasks[1].done, 0);
    set_away(2, false);
    expect_uses(2, 2);
    answer_right(2, 0);
    answer_right(2, 1);
    assert_done(0);
    assert_done(1);
    said = strstr(fake.log, "key www: host a:1 refuses to sign");
    assert_non_null(said);
    assert_null(strstr(said + 1, "key www: host a:1"));
}

/* A key that one host lacks, and one that both do. */
TEST_IN(test_no_key, begin, end)
{
    set_away(2, true);
    ask(0, 7, &sign_pkcs1);
    expect_uses(1, 1);
    answer(1, 0, WARPRSA_REMOTE_DENIED, NULL, 0, WARPRSA_DENIED_NO_KEY);
    assert_int_equal(tasks[0].done, 0);
    set_away(2, false);
    expect_uses(2, 1);
    answer_right(2, 0);
    assert_done(0);
    assert_non_null(strstr(fake.log, "key www: host a:1 does not have it\n"));

    set_away(1, true);
    lose(1);
    wait_until(is_closed, NULL);
    ask(1, 7, &sign_pkcs1);
    expect_uses(2, 2);
    answer(2, 1, WARPRSA_REMOTE_DENIED, NULL, 0, WARPRSA_DENIED_NO_KEY);
    set_away(1, false);
    expect_uses(1, 1);
    answer_status(1, 0, WARPRSA_REMOTE_UNSUPPORTED);
    wait_until(is_done, &tasks[1]);
    assert_false(tasks[1].task.has_answer);
    assert_false(tasks[1].task.is_late);
    assert_int_equal(tasks[1].task.denial, WARPRSA_DENIED_NO_KEY);
    assert_non_null(strstr(fake.log, "a:1 takes no uses of keys of its own\n"));
}

/* A host that could not do it may still have the key: no denial, until that
 * host is gone. */
TEST_IN(test_no_key_and_a_failure, begin, end)
{
    char why[200];

    set_away(2, true);
    ask(0, 7, &sign_pkcs1);
    expect_uses(1, 1);
    answer_status(1, 0, WARPRSA_REMOTE_FAILED);
    set_away(2, false);
    expect_uses(2, 1);
    answer(2, 0, WARPRSA_REMOTE_DENIED, NULL, 0, WARPRSA_DENIED_NO_KEY);
    assert_int_equal(tasks[0].done, 0);
    assert_true(warprsa_remote_hosts_set("b:2", why, sizeof(why)));
    warprsa_remote_uses_look();
    wait_until(is_done, &tasks[0]);
    assert_false(tasks[0].task.is_late);
    assert_int_equal(tasks[0].task.denial, WARPRSA_DENIED_NO_KEY);
}

TEST_IN(test_denial, begin, end)
{
    set_away(2, true);
    ask(0, 7, &sign_pss);
    expect_uses(1, 1);
    answer(1, 0, WARPRSA_REMOTE_DENIED, NULL, 0, WARPRSA_DENIED_DIGEST);
    wait_until(is_done, &tasks[0]);
    assert_int_equal(tasks[0].task.denial, WARPRSA_DENIED_DIGEST);
    assert_non_null(strstr(fake.log,
                           "key www: denied by host a:1: sign, padding pss, "
                           "digest sha256: there keys.conf does not allow"));
}

/* A wrong signature is not released, and the host is not used for a while; nor
 * is what a host has that lies about lengths. */
static void wrong_signature(const warprsa_key_use *use)
{
    uint8_t wrong[BYTES] = {0};

    set_away(2, true);
    ask(0, 7, use);
    expect_uses(1, 1);
    wrong[BYTES - 1] = 2;
    set_away(1, true);
    set_away(2, false);
    answer(1, 0, WARPRSA_REMOTE_OK, wrong, BYTES, WARPRSA_ALLOWED);
    expect_uses(2, 1);
    assert_int_equal(tasks[0].done, 0);
    for (unsigned i = 0; i < BYTES; i++)
        assert_int_equal(tasks[0].answer[i], 0);
    answer_right(2, 0);
    assert_done(0);
    assert_int_equal(counters->vault_remote_wrong, 1);
    assert_non_null(strstr(fake.log, "a:1: no uses of its keys: a signature is "
                                     "wrong"));
}

TEST_IN(test_wrong_pkcs1, begin, end)
{
    wrong_signature(&sign_pkcs1);
}

TEST_IN(test_wrong_pss, begin, end)
{
    wrong_signature(&sign_pss);
}

TEST_IN(test_wrong_length, begin, end)
{
    uint8_t secret[BYTES] = {0};

    set_away(2, true);
    ask(0, 7, &decrypt_tls);
    expect_uses(1, 1);
    set_away(1, true);
    set_away(2, false);
    answer(1, 0, WARPRSA_REMOTE_OK, secret, 47, WARPRSA_ALLOWED);
    expect_uses(2, 1);
    answer(2, 0, WARPRSA_REMOTE_OK, secret, 48, WARPRSA_ALLOWED);
    assert_done(0);
    assert_int_equal(tasks[0].task.length, 48);
    assert_non_null(strstr(fake.log, "a result of the wrong length"));
}

/* A result that belongs to no use, and one that comes twice. */
TEST_IN(test_unasked, begin, end)
{
    set_away(2, true);
    ask(0, 7, &sign_pkcs1);
    expect_uses(1, 1);
    answer_right(1, 0);
    assert_done(0);
    set_away(1, true);
    answer_right(1, 0);
    assert_int_equal(tasks[0].done, 1);
    wait_until(is_closed, NULL);
    ask(1, 7, &sign_pkcs1);
    set_away(1, false);
    expect_uses(1, 1);
    answer_right(1, 0);
    assert_done(1);
    assert_non_null(strstr(fake.log, "a result that nobody waits for"));
}

/* Without a host a use is late, and the answer that comes then is nobody's. */
TEST_WITH(test_late, begin, end, (void *)&short_ms)
{
    set_away(1, true);
    set_away(2, true);
    ask(0, 7, &sign_pkcs1);
    wait_until(is_done, &tasks[0]);
    assert_true(tasks[0].task.is_late);
    set_away(1, false);
    expect_session(1);
    ask(1, 7, &sign_pkcs1);
    expect_uses(1, 1);
    wait_until(is_done, &tasks[1]);
    assert_true(tasks[1].task.is_late);
    answer_right(1, 0);
    assert_int_equal(tasks[1].done, 1);
    assert_false(tasks[1].task.has_answer);
}

/* A host that does not answer: the other one gets its uses, and all others. */
TEST_WITH(test_silent, begin, end, (void *)&hang_ms)
{
    set_away(2, true);
    ask(0, 7, &sign_pkcs1);
    ask(1, 7, &sign_pkcs1);
    expect_uses(1, 2);
    set_away(2, false);
    expect_uses(2, 2);
    answer_right(2, 0);
    answer_right(2, 1);
    assert_done(0);
    assert_done(1);
    ask(2, 7, &sign_pkcs1);
    expect_uses(2, 3);
    answer_right(2, 2);
    assert_done(2);
    /* It is back. */
    answer_right(1, 0);
    answer_right(1, 1);
    assert_int_equal(tasks[0].done, 1);
    assert_int_equal(counters->vault_remote_moved, 2);
}

/* Hosts that are slow, but answer: the first one's answer comes too late, and
 * the second one keeps the use, as the first one has had it. */
TEST_WITH(test_slow, begin, end, (void *)&slow_ms)
{
    static const unsigned moves = 3;

    /* A use that both hosts have had shows by its end how late it is. */
    set_away(2, true);
    ask(1, 7, &sign_pkcs1);
    expect_uses(1, 1);
    set_away(2, false);
    expect_uses(2, 1);
    answer_status(2, 0, WARPRSA_REMOTE_FAILED);
    answer_right(1, 0);
    set_away(2, true);
    lose(2);
    ask(0, 7, &sign_pkcs1);
    expect_uses(1, 2);
    set_away(2, false);
    wait_until(have_moved, &moves); /* in the new session of host 2 */
    expect_uses(2, 1);
    answer_right(1, 1);
    assert_int_equal(tasks[0].done, 0);
    wait_until(is_done, &tasks[1]);
    assert_true(tasks[1].task.is_late);
    answer_right(2, 0);
    assert_done(0);
}

/* A host that is removed answers what it has, and gets no more; a draining one
 * as well. */
TEST_IN(test_removed, begin, end)
{
    const warprsa_remote_response draining = {.kind = WARPRSA_REMOTE_DRAINING};
    char why[200];

    set_away(2, true);
    ask(0, 7, &sign_pkcs1);
    expect_uses(1, 1);
    respond(1, &draining);
    ask(1, 7, &sign_pkcs1);
    set_away(2, false);
    expect_uses(2, 1);
    assert_int_equal(fake.hosts[1].count, 1);
    assert_true(warprsa_remote_hosts_set("b:2", why, sizeof(why)));
    warprsa_remote_uses_look();
    answer_right(1, 0);
    assert_done(0);
    wait_until(is_closed, NULL);
    answer_right(2, 0);
    assert_done(1);
}

static bool is_unloaded(const void *arg)
{
    bool unloaded = false;

    (void)arg;
    pthread_mutex_lock(&fake.lock);
    unloaded = fake.hosts[1].unloaded == 1;
    pthread_mutex_unlock(&fake.lock);
    return unloaded;
}

/* A key that the vault has removed goes from the hosts, too. */
TEST_IN(test_key_goes, begin, end)
{
    set_away(2, true);
    ask(0, 7, &sign_pkcs1);
    expect_uses(1, 1);
    add_key("other"); /* the same key: its old name is gone */
    assert_true(warprsa_vault_key_is_removed(key));
    answer_right(1, 0);
    assert_done(0);
    wait_until(is_unloaded, NULL);
}

RUN_TESTS(set_up, tear_down)
