/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A plain queue behind the final interface: one lock, one worker, one device.
 */
#include "batching/queue.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct warprsa_key {
    warprsa_queue *queue;
    warprsa_private_key key;
    warprsa_size_class size;
    uint32_t index;
    bool loaded;
};

typedef struct slot {
    enum {
        FREE,
        QUEUED,
        RUNNING,
        DONE
    } state;
    uint32_t generation;
    warprsa_key *key;
    warprsa_notify notify;
    warprsa_status status;
    uint8_t input[WARPRSA_MODULUS_OCTETS_MAX];
    uint8_t output[WARPRSA_MODULUS_OCTETS_MAX];
} slot;

struct warprsa_queue {
    warprsa_queue_config config;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t worker;
    warprsa_device *device;
    warprsa_queue_state state;
    bool closing;
    unsigned depth;
    slot *slots;
};

static void run(warprsa_queue *q, slot *s)
{
    const warprsa_engine *engine = q->config.engine;
    warprsa_status status = WARPRSA_OK;
    warprsa_task task = {0, s->input, s->output, WARPRSA_OK};

    if (!s->key->loaded) {
        status = engine->load_key(q->device, &s->key->key, &s->key->index);
        s->key->loaded = status == WARPRSA_OK;
    }
    task.key = s->key->index;
    if (status == WARPRSA_OK)
        status = engine->start(q->device, 0, s->key->size, &task, 1);
    if (status == WARPRSA_OK)
        status = engine->wait(q->device, 0, q->config.deadline_ms);
    s->status = status == WARPRSA_OK ? task.status : status;
    warprsa_count(&q->config.counters->batches, 1);
    if (s->notify.wake != NULL)
        s->notify.wake(s->notify.arg);
}

static void *worker(void *arg)
{
    warprsa_queue *q = arg;
    char why[128] = "";
    warprsa_device_config config = {0,
                                    q->config.streams,
                                    q->config.batch_max,
                                    q->config.keys_max,
                                    q->config.random,
                                    q->config.random_arg,
                                    q->config.trace,
                                    q->config.trace_arg};
    warprsa_status status =
        q->config.engine->open(&config, &q->device, why, sizeof(why));

    pthread_mutex_lock(&q->lock);
    q->state = status == WARPRSA_OK ? WARPRSA_QUEUE_READY : WARPRSA_QUEUE_DOWN;
    warprsa_counters_set_device(
        q->config.counters,
        status == WARPRSA_OK ? q->config.engine->describe(q->device) : why);
    pthread_cond_broadcast(&q->changed);
    for (;;) {
        slot *s = NULL;

        for (unsigned i = 0; i < q->config.slots && s == NULL; i++)
            if (q->slots[i].state == QUEUED)
                s = &q->slots[i];
        if (s == NULL) {
            if (q->closing)
                break;
            pthread_cond_wait(&q->changed, &q->lock);
            continue;
        }
        s->state = RUNNING;
        pthread_mutex_unlock(&q->lock);
        run(q, s);
        pthread_mutex_lock(&q->lock);
        s->state = DONE;
        q->depth--;
        pthread_cond_broadcast(&q->changed);
    }
    pthread_mutex_unlock(&q->lock);
    if (q->device != NULL)
        q->config.engine->close(q->device);
    return NULL;
}

warprsa_queue *warprsa_queue_open(const warprsa_queue_config *config, char *why,
                                  size_t why_size)
{
    warprsa_queue *q = calloc(1, sizeof(*q));

    snprintf(why, why_size, "no memory or thread for the queue");
    if (q == NULL)
        return NULL;
    q->config = *config;
    q->slots = calloc(config->slots, sizeof(*q->slots));
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->changed, NULL);
    if (q->slots == NULL || pthread_create(&q->worker, NULL, worker, q) != 0) {
        free(q->slots);
        free(q);
        return NULL;
    }
    return q;
}

void warprsa_queue_close(warprsa_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->closing = true;
    q->state = WARPRSA_QUEUE_DOWN;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    pthread_join(q->worker, NULL);
}

void warprsa_queue_abandon(warprsa_queue *q)
{
    (void)q;
}

warprsa_queue_state warprsa_queue_wait_ready(warprsa_queue *q,
                                             unsigned timeout_ms)
{
    warprsa_queue_state state;
    struct timespec end;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += timeout_ms / 1000;
    pthread_mutex_lock(&q->lock);
    while (q->state == WARPRSA_QUEUE_STARTING &&
           pthread_cond_timedwait(&q->changed, &q->lock, &end) == 0)
        ;
    state = q->state;
    pthread_mutex_unlock(&q->lock);
    return state;
}

unsigned warprsa_queue_depth(const warprsa_queue *q)
{
    return q->depth;
}

warprsa_key *warprsa_queue_key(warprsa_queue *q,
                               const uint8_t id[WARPRSA_KEY_ID_OCTETS],
                               const warprsa_private_key *key)
{
    warprsa_key *k = calloc(1, sizeof(*k));
    int size = warprsa_key_class(key);

    (void)id;
    if (k == NULL || size < 0) {
        free(k);
        return NULL;
    }
    k->queue = q;
    k->key = *key;
    k->size = (warprsa_size_class)size;
    return k;
}

void warprsa_key_release(warprsa_key *key)
{
    explicit_bzero(key, sizeof(*key));
    free(key);
}

void warprsa_key_abandon(warprsa_key *key)
{
    warprsa_key_release(key);
}

warprsa_answer warprsa_queue_submit(warprsa_queue *q, warprsa_key *key,
                                    const uint8_t *input, warprsa_notify notify,
                                    warprsa_ticket *ticket)
{
    warprsa_answer answer = WARPRSA_REFUSED;

    pthread_mutex_lock(&q->lock);
    for (unsigned i = 0; i < q->config.slots; i++) {
        slot *s = &q->slots[i];

        if (q->state != WARPRSA_QUEUE_READY || s->state != FREE)
            continue;
        s->state = QUEUED;
        s->key = key;
        s->notify = notify;
        memcpy(s->input, input, key->key.modulus_octets);
        *ticket = (warprsa_ticket){i, s->generation};
        q->depth++;
        answer = WARPRSA_DONE;
        break;
    }
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    if (answer == WARPRSA_REFUSED)
        warprsa_count(&q->config.counters->cpu_reason[WARPRSA_CPU_NO_DEVICE],
                      1);
    return answer;
}

static warprsa_answer collect(warprsa_queue *q, warprsa_ticket ticket,
                              uint8_t *output, bool wait)
{
    slot *s = &q->slots[ticket.slot];
    warprsa_answer answer = WARPRSA_PENDING;

    pthread_mutex_lock(&q->lock);
    while (s->state != DONE && wait)
        pthread_cond_wait(&q->changed, &q->lock);
    if (s->state == DONE) {
        answer = s->status == WARPRSA_OK ? WARPRSA_DONE : WARPRSA_REFUSED;
        memcpy(output, s->output, s->key->key.modulus_octets);
        if (answer == WARPRSA_DONE)
            warprsa_count(&q->config.counters->gpu[s->key->size], 1);
        else
            warprsa_count(&q->config.counters->cpu_reason[WARPRSA_CPU_ERROR],
                          1);
        s->state = FREE;
        s->generation++;
    }
    pthread_mutex_unlock(&q->lock);
    return answer;
}

warprsa_answer warprsa_queue_collect(warprsa_queue *q, warprsa_ticket ticket,
                                     uint8_t *output)
{
    return collect(q, ticket, output, false);
}

warprsa_answer warprsa_queue_wait(warprsa_queue *q, warprsa_ticket ticket,
                                  uint8_t *output)
{
    return collect(q, ticket, output, true);
}
