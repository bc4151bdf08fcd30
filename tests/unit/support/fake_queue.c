/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A queue on the fake engine, with keys and requests: see fake_queue.h.
 */
#include "fake_queue.h"

#include <stdlib.h>

static int fake_random(void *arg, void *out, size_t len)
{
    (void)arg;
    memset(out, 4, len);
    return 1;
}

warprsa_queue_config fake_config(void)
{
    warprsa_queue_config config = {
        .engines = {{.engine = fake_engine_get(),
                     .devices = UINT32_MAX,
                     .streams = 1,
                     .batch_max = 64}},
        .engine_count = 1,
        .slots = 64,
        .keys_max = 64,
        .deadline_ms = LONG_MS,
        .random = fake_random,
        .counters = warprsa_counters_new(),
    };

    assert_non_null(config.counters);
    return config;
}

warprsa_queue *fake_open_queue(const warprsa_queue_config *config)
{
    char why[256] = "";
    warprsa_cpu_reason reason;
    warprsa_queue *queue =
        warprsa_queue_open(config, &reason, why, sizeof(why));

    if (queue == NULL)
        fail_msg("warprsa_queue_open: %s", why);
    return queue;
}

warprsa_queue *fake_ready_queue(const warprsa_queue_config *config)
{
    warprsa_queue *queue = fake_open_queue(config);

    assert_int_equal(warprsa_queue_wait_ready(queue, LONG_MS),
                     WARPRSA_QUEUE_READY);
    return queue;
}

void fake_close_queue(warprsa_queue *queue, const warprsa_queue_config *config)
{
    const warprsa_counters *c = config->counters;

    assert_true(warprsa_queue_close(queue));
    assert_int_equal(c->keys_loaded, c->keys_wiped);
    assert_int_equal(fake.keys, 0);
    assert_int_equal(fake.opens, fake.closes);
    for (unsigned d = 0; d < WARPRSA_COUNTERS_DEVICES; d++)
        assert_int_equal(c->device_of[d].running, 0);
    if (fake.broken != NULL)
        fail_msg("the queue broke a rule of gpu/engine.h: %s", fake.broken);
}

void fake_finish(warprsa_queue *queue, const warprsa_queue_config *config)
{
    fake_close_queue(queue, config);
    warprsa_counters_free(config->counters);
}

warprsa_key *fake_add_key(warprsa_queue *queue, warprsa_size_class size,
                          unsigned seed)
{
    warprsa_private_key key = fake_key(size, seed);
    uint8_t id[WARPRSA_KEY_ID_BYTES] = {(uint8_t)seed, (uint8_t)size};
    warprsa_key *added = warprsa_queue_key(queue, WARPRSA_OWNER_SELF, id, &key);

    assert_non_null(added);
    return added;
}

void fake_fill(fake_request *request, warprsa_size_class size,
               unsigned key_seed, unsigned seed)
{
    memset(request, 0, sizeof(*request));
    request->key = fake_key(size, key_seed);
    memset(request->input, (int)(seed & 0xff), sizeof(request->input));
    memcpy(request->input, &seed, sizeof(seed));
}

warprsa_answer fake_submit(warprsa_queue *queue, warprsa_key *key,
                           fake_request *request)
{
    warprsa_notify none = {0};

    return warprsa_queue_submit(queue, key, request->input, none,
                                &request->ticket);
}

bool fake_is_right(const fake_request *request)
{
    uint8_t expected[WARPRSA_MODULUS_BYTES_MAX];

    fake_result(&request->key, request->input, expected);
    return memcmp(expected, request->output, request->key.modulus_bytes) == 0;
}

warprsa_answer fake_answer(warprsa_queue *queue, warprsa_key *key,
                           unsigned key_seed)
{
    fake_request r;
    warprsa_answer answer;

    fake_fill(&r, WARPRSA_CLASS_2048, key_seed, key_seed);
    answer = fake_submit(queue, key, &r);
    if (answer == WARPRSA_DONE)
        answer = warprsa_queue_wait(queue, r.ticket, r.output);
    if (answer == WARPRSA_DONE)
        assert_true(fake_is_right(&r));
    return answer;
}

uint64_t fake_sum(const _Atomic uint64_t *counters, size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += counters[i];
    return sum;
}

fake_request *fake_submit_many(warprsa_queue *queue, warprsa_key *key,
                               warprsa_size_class size, unsigned key_seed,
                               unsigned count)
{
    fake_request *r = calloc(count, sizeof(*r));

    assert_non_null(r);
    for (unsigned i = 0; i < count; i++) {
        fake_fill(&r[i], size, key_seed, i);
        assert_int_equal(fake_submit(queue, key, &r[i]), WARPRSA_DONE);
    }
    return r;
}

void fake_wait_for_all(warprsa_queue *queue, fake_request *r, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(warprsa_queue_wait(queue, r[i].ticket, r[i].output),
                         WARPRSA_DONE);
        assert_true(fake_is_right(&r[i]));
    }
    free(r);
}

void fake_tell(void *arg)
{
    fake_listener *l = arg;

    pthread_mutex_lock(&l->lock);
    l->calls++;
    pthread_cond_signal(&l->told);
    pthread_mutex_unlock(&l->lock);
}

void fake_listen_to(fake_listener *l)
{
    pthread_mutex_lock(&l->lock);
    while (l->calls == 0)
        pthread_cond_wait(&l->told, &l->lock);
    pthread_mutex_unlock(&l->lock);
}
