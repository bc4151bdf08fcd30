/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An event loop of the daemon whose rounds the test makes itself, and sessions
 * of played clients.
 */
#ifndef WARPRSA_TESTS_UNIT_DAEMON_LOOP_FIXTURE_H
#define WARPRSA_TESTS_UNIT_DAEMON_LOOP_FIXTURE_H

#include "tests/unit/support/fake_queue.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batching/daemon/server/event_loop.h"
#include "batching/daemon/server/server_context.h"
#include "batching/daemon/server/session.h"
#include "batching/daemon/server/user_quota.h"
#include "tests/unit/support/raw_client.h"

static warprsa_queue_config queue_config;
static warprsa_queue *queue;
static warprsa_server_context context;
static warprsa_event_loop *loop;

/* A client and its session. */
typedef struct client {
    raw_client raw;
    warprsa_session *session;
    uint32_t generation; /* of its last request */
} client;

static bool key_id(const warprsa_private_key *key,
                   uint8_t id[WARPRSA_KEY_ID_BYTES])
{
    memcpy(id, key->n + sizeof(key->n) - WARPRSA_KEY_ID_BYTES,
           WARPRSA_KEY_ID_BYTES);
    return true;
}

/* Opens the queue of queue_config, and the loop. Of `config` it sets what is
 * the same in all tests. */
static void open_loop(warprsa_server_config *config)
{
    queue = fake_ready_queue(&queue_config);
    config->threads = 1;
    config->key_id = key_id;
    config->queue = queue;
    config->counters = queue_config.counters;
    config->deadline_ms = LONG_MS;
    memset(&context, 0, sizeof(context));
    assert_true(warprsa_server_context_init(&context, config));
    loop = aligned_alloc(_Alignof(warprsa_event_loop), sizeof(*loop));
    assert_non_null(loop);
    memset(loop, 0, sizeof(*loop));
    assert_true(warprsa_event_loop_init(loop, &context));
}

/* Until all sessions have ended. */
static void stop_loop(void)
{
    atomic_store(&context.stopping, true);
    do
        warprsa_event_loop_wake(loop);
    while (warprsa_event_loop_round(loop));
    assert_int_equal(warprsa_user_quota_count(&context.clients), 0);
    assert_int_equal(warprsa_user_quota_count(&context.descriptors), 0);
}

static void close_loop(void)
{
    warprsa_event_loop_free(loop);
    free(loop);
    warprsa_server_context_free(&context);
    fake_finish(queue, &queue_config);
}

static void round_of_loop(void)
{
    warprsa_event_loop_wake(loop);
    assert_true(warprsa_event_loop_round(loop));
}

/* Until nothing is left to be done. */
static void settle(void)
{
    do
        round_of_loop();
    while (loop->has_more || loop->host.ready.count > 0);
}

/* A session of this user, with or without uses of keys of the vault, which the
 * loop is given. It gets as much as the limits allow. */
static void begin_session(client *x, uid_t uid,
                          const warprsa_server_limits *limits, bool uses)
{
    const warprsa_session_user user = {.uid = uid, .owner = uid};
    const warprsa_peer peer = {.by = {.uid = uid}};
    const warprsa_message wanted = {.slots = limits->slots,
                                    .keys = limits->keys,
                                    .notifiers = limits->notifiers,
                                    .uses = uses};
    warprsa_session *s;

    memset(x, 0, sizeof(*x));
    assert_null(warprsa_session_take_seat(&context, &user, limits));
    s = warprsa_session_new(&context, &user, &wanted, limits, &x->raw.socket);
    assert_non_null(s);
    x->raw.control_connection.socket = WARPRSA_NO_FD;
    x->raw.memory = dup(s->memory);
    x->raw.eventfd = dup(s->eventfd);
    assert_true(
        warprsa_shm_map(&x->raw.shm, s->shm.slots, uses, x->raw.memory));
    assert_true(warprsa_session_attach(s, &peer));
    x->session = s;
    warprsa_event_loop_add(loop, s);
}

#endif
