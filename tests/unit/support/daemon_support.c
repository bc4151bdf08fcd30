/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of the daemon share; see daemon_support.h.
 */
#include "tests/unit/support/daemon_support.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "batching/daemon/process/systemd.h"
#include "batching/daemon/wire/message.h"

enum {
    LINES = sizeof(((test_server *)0)->lines) /
            sizeof(((test_server *)0)->lines[0]),
    TRIES = 3,
};

const warprsa_backend_ops *const backend = &warprsa_backend_daemon;

static void log_line(void *arg, int level, const char *line)
{
    test_server *s = arg;
    unsigned left_out, user;

    (void)level;
    pthread_mutex_lock(&s->lock);
    s->found += s->wanted != NULL && strstr(line, s->wanted) != NULL;
    if (sscanf(line, "%u lines about user %u were left out", &left_out,
               &user) == 2)
        s->left_out += left_out;
    s->broken += strstr(line, "broke the protocol") != NULL;
    snprintf(s->lines[s->logged++ % LINES], sizeof(s->lines[0]), "%s", line);
    pthread_mutex_unlock(&s->lock);
}

unsigned test_server_log_length(test_server *s)
{
    unsigned logged;

    pthread_mutex_lock(&s->lock);
    logged = s->logged;
    pthread_mutex_unlock(&s->lock);
    return logged;
}

unsigned test_server_broken(test_server *s)
{
    unsigned broken;

    pthread_mutex_lock(&s->lock);
    broken = s->broken;
    pthread_mutex_unlock(&s->lock);
    return broken;
}

bool test_server_logged(test_server *s, const char *what)
{
    bool found = false;

    pthread_mutex_lock(&s->lock);
    for (unsigned i = 0; i < LINES; i++)
        found = found || strstr(s->lines[i], what) != NULL;
    pthread_mutex_unlock(&s->lock);
    return found;
}

void test_server_count(test_server *s, const char *wanted)
{
    pthread_mutex_lock(&s->lock);
    s->wanted = wanted;
    s->found = s->left_out = 0;
    pthread_mutex_unlock(&s->lock);
}

unsigned test_server_counted(test_server *s)
{
    unsigned count;

    warprsa_server_tick(s->server);
    pthread_mutex_lock(&s->lock);
    count = s->found + s->left_out;
    pthread_mutex_unlock(&s->lock);
    return count;
}

static bool key_id(const warprsa_private_key *key,
                   uint8_t id[WARPRSA_KEY_ID_BYTES])
{
    memcpy(id, key->n + sizeof(key->n) - WARPRSA_KEY_ID_BYTES,
           WARPRSA_KEY_ID_BYTES);
    return true;
}

void test_server_start(test_server *s)
{
    char why[256];

    s->config.queue = s->queue;
    s->config.counters = s->queue_config.counters;
    s->config.deadline_ms = s->queue_config.deadline_ms;
    s->config.key_id = key_id;
    s->config.log_level = 1;
    if (s->config.log_lines == 0)
        s->config.log_lines = UINT32_MAX; /* tests look for lines */
    s->config.log = log_line;
    s->config.log_arg = s;
    s->config.listeners_count = 1;
    s->config.listeners[0] =
        warprsa_systemd_listen(s->path, "", why, sizeof(why));
    if (s->config.listeners[0] < 0)
        fail_msg("%s", why);
    s->server = warprsa_server_start(&s->config, why, sizeof(why));
    if (s->server == NULL)
        fail_msg("%s", why);
}

void test_server_stop(test_server *s)
{
    warprsa_server_stop(s->server);
    close(s->config.listeners[0]);
}

void test_server_place(test_server *s)
{
    memset(s, 0, sizeof(*s));
    strcpy(s->directory, "/tmp/warprsad.XXXXXX");
    assert_non_null(mkdtemp(s->directory));
    snprintf(s->path, sizeof(s->path), "%s/socket", s->directory);
}

void test_server_remove(const test_server *s)
{
    unlink(s->path);
    assert_int_equal(rmdir(s->directory), 0);
}

void test_server_open(test_server *s, unsigned slots, unsigned deadline_ms)
{
    test_server_place(s);
    test_server_open_there(s, slots, deadline_ms);
}

void test_server_open_there(test_server *s, unsigned slots,
                            unsigned deadline_ms)
{
    pthread_mutex_init(&s->lock, NULL);
    s->config.threads = 2;
    s->config.use_threads = 2;
    s->config.limits = (warprsa_server_limits){
        .clients = 8,
        .user_clients = 8,
        .control_connections = 12,
        .user_control_connections = 12,
        .slots = slots,
        .keys = 16,
        .notifiers = 64,
    };
    s->config.vault = fake_vault_reset(FAKE_VAULT_KEYS);
    s->config.uses = &fake_vault_uses;
    s->queue_config = fake_config();
    s->queue_config.deadline_ms = deadline_ms;
    s->queue = fake_ready_queue(&s->queue_config);
    test_server_start(s);
}

void test_server_close(test_server *s)
{
    test_server_stop(s);
    /* A worker may let go of a key after it has answered for it. */
    WAIT_UNTIL(s->queue_config.counters->keys == 0);
    fake_finish(s->queue, &s->queue_config);
    assert_int_equal(fake_vault_references(), 0);
    test_server_remove(s);
    pthread_mutex_destroy(&s->lock);
}

void test_client_open(test_client *g, const test_server *s,
                      unsigned deadline_ms)
{
    char why[256];
    warprsa_client_config config = {.control_connection =
                                        &g->control_connection,
                                    .slots = 1024,
                                    .deadline_ms = deadline_ms,
                                    .uses = true};

    (void)warprsa_control_connection_open(&g->control_connection, s->path, why,
                                          sizeof(why));
    g->counters = warprsa_counters_new();
    assert_non_null(g->counters);
    config.counters = g->counters;
    g->client = warprsa_client_open(&config);
    assert_non_null(g->client);
}

bool test_client_is_ready(test_client *g)
{
    return backend->wait_ready(g->client, 100) == WARPRSA_QUEUE_READY;
}

void test_client_close(test_client *g)
{
    assert_true(backend->close(g->client));
    warprsa_control_connection_close(&g->control_connection);
    warprsa_counters_free(g->counters);
}

warprsa_backend_key *test_client_key(test_client *g, warprsa_size_class size,
                                     unsigned seed)
{
    warprsa_private_key key = fake_key(size, seed);
    uint8_t id[WARPRSA_KEY_ID_BYTES] = {(uint8_t)seed, (uint8_t)size};
    warprsa_backend_key *added = backend->key(g->client, id, &key);

    assert_non_null(added);
    return added;
}

void test_client_fill(fake_request *request, warprsa_size_class size,
                      unsigned key_seed, unsigned seed)
{
    fake_fill(request, size, key_seed, seed);
    request->input[0] = 0;
}

warprsa_answer test_client_submit(test_client *g, warprsa_backend_key *key,
                                  fake_request *request, uint32_t notifier)
{
    warprsa_notify none = {0};

    return backend->submit(g->client, key, request->input, none, notifier,
                           &request->ticket);
}

warprsa_answer test_client_wait(test_client *g, fake_request *request)
{
    return backend->wait(g->client, request->ticket, request->output);
}

/* False: the daemon had no CPU for so long that the client computes. */
static bool operate_once(test_client *g, warprsa_backend_key *key,
                         fake_request *request)
{
    const _Atomic uint64_t *given_up =
        &g->counters->cpu_reason[WARPRSA_CPU_NO_DEVICE];
    const uint64_t before = *given_up;
    warprsa_answer answer = test_client_submit(g, key, request, 0);

    if (answer == WARPRSA_DONE)
        answer = test_client_wait(g, request);
    assert_int_equal(*given_up - before, answer != WARPRSA_DONE);
    return answer == WARPRSA_DONE;
}

void test_client_operate(test_client *g, warprsa_backend_key *key,
                         warprsa_size_class size, unsigned key_seed,
                         unsigned seed)
{
    fake_request request;
    unsigned tries = 1;

    test_client_fill(&request, size, key_seed, seed);
    while (!operate_once(g, key, &request)) {
        assert_true(tries++ < TRIES);
        WAIT_UNTIL(test_client_is_ready(g));
    }
    assert_true(fake_is_right(&request));
}

void raw_client_key(raw_client *x, uint32_t number, uint32_t generation,
                    unsigned seed)
{
    warprsa_shm_message message = {.type = WARPRSA_SHM_KEY,
                                   .number = number,
                                   .generation = generation,
                                   .key = fake_key(WARPRSA_CLASS_1024, seed)};

    raw_client_send(x, &message);
}
