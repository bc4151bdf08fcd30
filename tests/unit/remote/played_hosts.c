/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * GPU hosts that a test plays; see played_hosts.h.
 */
#include "tests/unit/remote/played_hosts.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <openssl/rand.h>
#include <openssl/x509.h>

#include "batching/base/clock.h"
#include "batching/remote/engine/trust.h"
#include "batching/remote/uses/use_connection.h"
#include "batching/vault/padding.h"
#include "batching/vault/vault_reading.h"
#include "tests/unit/support/vault_keys.h"

enum {
    WAIT_MS = 120000,
    LONG_MS = 600000,
    SHORT_MS = 400,
};

struct warprsa_link {
    unsigned host;
    const warprsa_link_handlers *handlers;
    void *arg;
};

struct played fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

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

/* Where a session beside the first has its link; NULL: a free place. */
static warprsa_link **place_of(struct fake_host *host, const warprsa_link *link)
{
    for (unsigned i = 0; i < (link != NULL ? FURTHER : host->further_max); i++)
        if (host->further[i] == link)
            return &host->further[i];
    return NULL;
}

warprsa_link *warprsa_link_open(warprsa_tls *tls,
                                const warprsa_address *address, bool is_further,
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
    host->further_asked += is_further;
    if (!host->away && (!is_further || place_of(host, NULL) != NULL)) {
        link = calloc(1, sizeof(*link));
        assert_non_null(link);
        *link = (warprsa_link){number, handlers, arg};
        *welcome = (warprsa_remote_welcome){
            .keys_max = is_further ? host->further_keys_max : host->keys_max,
            .operations_max = is_further ? host->further_room : host->room,
            .batch_max = 256};
        *(is_further ? place_of(host, NULL) : &host->link) = link;
        host->opened++;
        host->count = is_further ? host->count : 0;
    }
    pthread_mutex_unlock(&fake.lock);
    return link;
}

void warprsa_link_close(warprsa_link *link)
{
    struct fake_host *host = &fake.hosts[link->host];

    pthread_mutex_lock(&reading);
    pthread_mutex_unlock(&reading);
    pthread_mutex_lock(&fake.lock);
    if (host->link == link)
        host->link = NULL;
    else
        *place_of(host, link) = NULL;
    host->closed++;
    pthread_mutex_unlock(&fake.lock);
    free(link);
}

uint8_t *warprsa_link_begin(warprsa_link *link, size_t room)
{
    pthread_mutex_lock(&fake.lock);
    assert_true(room <= sizeof(fake.buffer));
    return fake.buffer;
}

void __real_warprsa_use_host_set_room(warprsa_use_host *host, uint32_t room);
void __wrap_warprsa_use_host_set_room(warprsa_use_host *host, uint32_t room);

void __wrap_warprsa_use_host_set_room(warprsa_use_host *host, uint32_t room)
{
    __real_warprsa_use_host_set_room(host, room);
    if (!fake.has_window)
        host->window = room;
    pthread_mutex_lock(&fake.lock);
    fake.of_place[host->place] = host;
    pthread_mutex_unlock(&fake.lock);
}

bool was_paused(unsigned number)
{
    warprsa_use_host *host = NULL;
    bool was = false;

    pthread_mutex_lock(&fake.lock);
    host = fake.of_place[number - 1];
    pthread_mutex_unlock(&fake.lock);
    pthread_mutex_lock(&host->core->lock);
    was = host->paused_until_ns != 0;
    pthread_mutex_unlock(&host->core->lock);
    return was;
}

static void take_uses(struct fake_host *host, warprsa_link *link)
{
    const warprsa_remote_request *request = &fake.request;

    host->messages++;
    if (request->count > host->largest)
        host->largest = request->count;
    for (size_t i = 0; i < request->count; i++) {
        const warprsa_remote_operation *o = &request->operation[i];
        sent_use *sent = &host->sent[host->count++];

        assert_in_range(host->count, 1, SENT_MAX);
        assert_non_null(o->use);
        *sent = (sent_use){.link = link, .id = o->id, .use = *o->use};
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
        take_uses(host, link);
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

/* ---- In the place of gpu/ifma: the same by libcrypto, if a test wants ---- */

struct warprsa_ifma_public_key {
    BIGNUM *n, *e;
};

warprsa_status warprsa_ifma_public_key_new(const warprsa_private_key *public,
                                           warprsa_ifma_public_key **out)
{
    *out = NULL;
    if (!fake.has_ifma)
        return WARPRSA_NO_DEVICE;
    *out = calloc(1, sizeof(**out));
    assert_non_null(*out);
    (*out)->n = BN_bin2bn(public->n, sizeof(public->n), NULL);
    (*out)->e = BN_bin2bn(public->e, sizeof(public->e), NULL);
    return WARPRSA_OK;
}

void warprsa_ifma_public_key_free(warprsa_ifma_public_key *public)
{
    if (public == NULL)
        return;
    BN_free(public->n);
    BN_free(public->e);
    free(public);
}

void warprsa_ifma_check(warprsa_ifma_result *results, size_t count)
{
    BN_CTX *context = BN_CTX_new();
    BIGNUM *power = BN_new(), *s = BN_new();
    uint8_t bytes[BYTES];

    assert_in_range(count, 1, WARPRSA_IFMA_LANES);
    for (size_t i = 0; i < count; i++) {
        const warprsa_ifma_public_key *public = results[i].key;

        assert_non_null(BN_bin2bn(results[i].output, BYTES, s));
        assert_true(BN_mod_exp(power, s, public->e, public->n, context));
        assert_int_equal(BN_bn2binpad(power, bytes, BYTES), BYTES);
        results[i].is_right = BN_cmp(s, public->n) < 0 &&
                              (results[i].power != NULL ||
                               memcmp(bytes, results[i].input, BYTES) == 0);
        if (results[i].power != NULL)
            memcpy(results[i].power, bytes, BYTES);
        fake.powers += results[i].power != NULL;
    }
    BN_free(s);
    BN_free(power);
    BN_CTX_free(context);
}

/* ---- The key, and what is asked of it ---- */

EVP_PKEY *pkey;
static warprsa_padding_library *library;
static warprsa_padding_key *private_key;
warprsa_vault *vault;
warprsa_vault_key *key;
warprsa_counters *counters;

const warprsa_key_use sign_pkcs1 = {.operation = WARPRSA_USE_SIGN,
                                    .padding = WARPRSA_PADDING_PKCS1,
                                    .input_bytes = 20};
const warprsa_key_use decrypt = {.operation = WARPRSA_USE_DECRYPT,
                                 .padding = WARPRSA_PADDING_PKCS1,
                                 .input_bytes = BYTES};
const warprsa_key_use decrypt_tls = {.operation = WARPRSA_USE_DECRYPT,
                                     .padding = WARPRSA_PADDING_TLS,
                                     .tls_client_version = 0x303,
                                     .input_bytes = BYTES};
const warprsa_key_use decrypt_raw = {.operation = WARPRSA_USE_DECRYPT,
                                     .padding = WARPRSA_PADDING_NONE,
                                     .input_bytes = BYTES};

asked tasks[TASKS];

void log_line(void *arg, int level, const char *line)
{
    pthread_mutex_lock(&fake.lock);
    snprintf(fake.log + strlen(fake.log), sizeof(fake.log) - strlen(fake.log),
             "%s\n", line);
    pthread_mutex_unlock(&fake.lock);
}

unsigned said(const char *text)
{
    unsigned count = 0;

    pthread_mutex_lock(&fake.lock);
    for (const char *at = fake.log; (at = strstr(at, text)) != NULL; at++)
        count++;
    pthread_mutex_unlock(&fake.lock);
    return count;
}

void add_key(const char *name)
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

int set_up(void **state)
{
    pkey = vault_keys_make("RSA", 8 * BYTES, 2);
    library = warprsa_padding_library_new();
    private_key = warprsa_padding_key_new(library, pkey);
    return private_key == NULL;
}

int tear_down(void **state)
{
    warprsa_padding_key_free(private_key);
    warprsa_padding_library_free(library);
    EVP_PKEY_free(pkey);
    return 0;
}

const unsigned short_ms = SHORT_MS, hang_ms = 40000, slow_ms = 8000;

int begin(void **state)
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
    fake.has_window = false;
    fake.has_ifma = false;
    fake.powers = 0;
    for (unsigned i = 1; i <= HOSTS; i++) {
        fake.hosts[i].room = 1000;
        fake.hosts[i].keys_max = 64;
    }
    vault = warprsa_vault_new(log_line, NULL);
    add_key("www");
    key = warprsa_vault_find_name(vault, "www");
    assert_true(warprsa_remote_hosts_set("a:1 b:2", why, sizeof(why)));
    return !warprsa_remote_uses_start(&config);
}

int end(void **state)
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

void wait_until(bool (*holds)(const void *arg), const void *arg)
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

void add_use(unsigned i, uint64_t owner, const warprsa_key_use *use)
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
    if (warprsa_use_is_checkable(use) && use->padding != WARPRSA_PADDING_PSS)
        assert_true(warprsa_padding_encode(key->padding, use, a->input,
                                           a->number, &errors));
    assert_true(warprsa_remote_uses_add(&a->task));
}

void ask(unsigned i, uint64_t owner, const warprsa_key_use *use)
{
    add_use(i, owner, use);
    warprsa_remote_uses_send();
}

bool is_done(const void *arg)
{
    return atomic_load(&((const asked *)arg)->done) > 0;
}

void assert_done(unsigned i)
{
    wait_until(is_done, &tasks[i]);
    assert_int_equal(tasks[i].done, 1);
    assert_true(tasks[i].task.has_answer);
    if (warprsa_use_is_checkable(tasks[i].task.use))
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
void expect_uses(unsigned host, unsigned count)
{
    const wanted w = {host, count};

    wait_until(has_uses, &w);
}

static bool is_connected(const void *arg)
{
    const wanted w = {*(const unsigned *)arg, 0};

    return has_uses(&w);
}

void expect_session(unsigned host)
{
    wait_until(is_connected, &host);
}

/* The link's thread gives a response, and ends if something is wrong with it.
 * */
void respond(unsigned number, const warprsa_remote_response *response)
{
    respond_by(fake.hosts[number].link, response);
}

void respond_by(warprsa_link *link, const warprsa_remote_response *response)
{
    const char *wrong = NULL;

    pthread_mutex_lock(&reading);
    wrong = link->handlers->response(link->arg, response);
    if (wrong != NULL)
        link->handlers->lost(link->arg, wrong);
    pthread_mutex_unlock(&reading);
}

/* The wire has no such field: a message has the length of each input. */
static uint16_t input_bytes_of(const warprsa_key_use *use)
{
    if (use->operation == WARPRSA_USE_DECRYPT)
        return BYTES;
    return use->padding == WARPRSA_PADDING_PSS ? 32 : 20;
}

/* The host answers its i-th use with this, or, of OK without an output, with
 * what is right. */
void answer(unsigned number, unsigned i, warprsa_remote_status status,
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
    sent.use.input_bytes = input_bytes_of(&sent.use);
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
    respond_by(sent.link, &response);
}

void compute_right(unsigned number, unsigned i, uint8_t right[BYTES])
{
    warprsa_use_errors errors;
    unsigned length = 0;
    sent_use sent;

    pthread_mutex_lock(&fake.lock);
    sent = fake.hosts[number].sent[i];
    pthread_mutex_unlock(&fake.lock);
    sent.use.input_bytes = input_bytes_of(&sent.use);
    assert_true(warprsa_padding_compute(private_key, &sent.use, sent.input,
                                        right, &length, &errors));
    assert_int_equal(length, BYTES);
}

void answer_right(unsigned number, unsigned i)
{
    answer(number, i, WARPRSA_REMOTE_OK, NULL, 0, WARPRSA_ALLOWED);
}

void answer_status(unsigned number, unsigned i, warprsa_remote_status status)
{
    answer(number, i, status, NULL, 0, WARPRSA_ALLOWED);
}

static void lose_link(warprsa_link *const *place)
{
    const warprsa_link *link = NULL;

    pthread_mutex_lock(&reading);
    link = *place;
    link->handlers->lost(link->arg, "it was killed");
    pthread_mutex_unlock(&reading);
}

void lose(unsigned number)
{
    lose_link(&fake.hosts[number].link);
}

void lose_further(unsigned number, unsigned i)
{
    lose_link(&fake.hosts[number].further[i]);
}

/* Host 1 alone is there, and then it is not. */
void set_away(unsigned number, bool away)
{
    pthread_mutex_lock(&fake.lock);
    fake.hosts[number].away = away;
    pthread_mutex_unlock(&fake.lock);
}

bool is_closed(const void *arg)
{
    bool closed = false;

    (void)arg;
    pthread_mutex_lock(&fake.lock);
    closed = fake.hosts[1].link == NULL;
    pthread_mutex_unlock(&fake.lock);
    return closed;
}

bool have_moved(const void *arg)
{
    return atomic_load(&counters->vault_remote_moved) >= *(const unsigned *)arg;
}
