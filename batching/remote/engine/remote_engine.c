/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The engine "remote"; see remote_engine.h. This file holds one thing, a host
 * as a device of a queue, in this order: what is sent, what the host sends,
 * keys, batches, opening and closing.
 *
 * No host is trusted. A result must belong to an operation that was sent and
 * not answered yet, and be as long as the modulus. The host has checked the
 * result, and `verify` checks it again.
 */
#include "batching/remote/engine/remote_engine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/base/clock.h"
#include "batching/base/id_pool.h"
#include "batching/remote/engine/hosts.h"
#include "batching/remote/engine/link.h"
#include "batching/remote/engine/trust.h"
#include "batching/remote/engine/verify.h"
#include "gpu/known_answer.h"

enum {
    KEY_MS = 5000, /* for a host to take a key */
};

/* A key by its number, which is its index for the queue. */
typedef struct remote_key {
    bool is_loading; /* the host has not answered yet */
    warprsa_remote_status status;
    uint32_t bytes; /* of the modulus */
    warprsa_verify *verify;
} remote_key;

/* A batch under way; the device's lock protects it. */
typedef struct remote_batch {
    pthread_cond_t changed;
    warprsa_task *tasks;      /* NULL: none, or forgotten */
    size_t count, sent, left; /* left: not answered yet */
    bool *is_answered;        /* batch_max of them */
    uint32_t *keys;           /* batch_max of them: the tasks' */
} remote_batch;

struct warprsa_device {
    warprsa_device_config config;
    warprsa_trust trust;
    warprsa_link *link; /* NULL: not open yet */
    warprsa_remote_welcome welcome;
    char description[WARPRSA_ADDRESS_HOST + 32];
    warprsa_id_pool numbers; /* of keys */
    warprsa_known_answer test;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    remote_key *keys;
    uint32_t keys_max;
    remote_batch batches[WARPRSA_STREAMS_MAX];
    size_t in_flight; /* operations that the host has; welcome's at most */
    bool lost, draining;
};

static warprsa_remote_engine_config the_config; /* set once */

static const warprsa_engine *the_engine(void)
{
    return warprsa_engine_remote(NULL);
}

static void count_traffic(const warprsa_device *device, warprsa_traffic what,
                          uint64_t number)
{
    if (device->config.count != NULL && number > 0)
        device->config.count(device->config.device_arg, what, number);
}

/* Tells the queue; called without locks. */
static void tell_lost(const warprsa_device *device, const char *why)
{
    if (device->config.lost != NULL)
        device->config.lost(device->config.device_arg, why);
}

/* ---- What is sent; with the lock held ---- */

/* Sends the next `count` tasks of a stream's batch, 256 at most. False: no
 * memory. */
static bool send_tasks(warprsa_device *device, unsigned stream, size_t count)
{
    const size_t room =
        WARPRSA_REMOTE_PREFIX + 64 + count * WARPRSA_REMOTE_OPERATION_MAX;
    remote_batch *b = &device->batches[stream];
    warprsa_remote_operation operations[WARPRSA_REMOTE_BATCH_MAX];
    uint8_t *bytes = warprsa_link_begin(device->link, room);

    if (bytes == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        const warprsa_task *task = &b->tasks[b->sent + i];

        operations[i] = (warprsa_remote_operation){
            .id = (uint32_t)(stream * device->config.batch_max + b->sent + i),
            .key = task->key,
            .bytes = device->keys[task->key].bytes,
            .input = task->input,
        };
    }
    warprsa_link_end(device->link, warprsa_remote_write_operations(
                                       bytes, room, operations, count));
    b->sent += count;
    device->in_flight += count;
    return true;
}

/* Sends tasks as far as the host takes them now. False: no memory. */
static bool send_more(warprsa_device *device)
{
    const size_t most = device->welcome.operations_max;

    for (unsigned s = 0; s < device->config.streams; s++) {
        remote_batch *b = &device->batches[s];

        while (b->tasks != NULL && b->sent < b->count &&
               device->in_flight < most) {
            size_t count = b->count - b->sent;

            if (count > most - device->in_flight)
                count = most - device->in_flight;
            if (count > WARPRSA_REMOTE_BATCH_MAX)
                count = WARPRSA_REMOTE_BATCH_MAX;
            if (!send_tasks(device, s, count))
                return false;
        }
    }
    return true;
}

/* ---- What the host sends; by the link's thread ---- */

/* What a result says of its task. DEVICE_ERROR is for the whole host: it has
 * no room for this client, no device, or a fault. The queue then leaves it
 * alone for a while. UNSUPPORTED is for one key, which any user may have: the
 * host takes other keys. */
static warprsa_status status_of(warprsa_remote_status status)
{
    switch (status) {
    case WARPRSA_REMOTE_OK:
        return WARPRSA_OK;
    case WARPRSA_REMOTE_FAILED:
        return WARPRSA_CHECK_FAILED;
    case WARPRSA_REMOTE_UNSUPPORTED:
        return WARPRSA_UNSUPPORTED_KEY;
    default:
        return WARPRSA_DEVICE_ERROR;
    }
}

/* Takes a result of a batch. NULL, or what is wrong with it. */
static const char *take_result(warprsa_device *device,
                               const warprsa_remote_result *r)
{
    const size_t index = r->id % device->config.batch_max;
    const size_t stream = r->id / device->config.batch_max;
    remote_batch *b = &device->batches[stream % WARPRSA_STREAMS_MAX];
    warprsa_task *task;

    if (stream >= device->config.streams || index >= b->sent ||
        b->is_answered[index])
        return "a result that nobody waits for";
    if (r->status == WARPRSA_REMOTE_OK &&
        r->bytes != device->keys[b->keys[index]].bytes)
        return "a result of the wrong length";
    b->is_answered[index] = true;
    if (b->tasks != NULL) {
        task = &b->tasks[index];
        if (r->status == WARPRSA_REMOTE_OK)
            memcpy(task->output, r->output, r->bytes);
        task->status = status_of(r->status);
    }
    device->in_flight--;
    if (--b->left == 0)
        pthread_cond_broadcast(&b->changed);
    return NULL;
}

static const char *take_key_loaded(warprsa_device *device,
                                   const warprsa_remote_response *r)
{
    if (r->key >= device->keys_max || !device->keys[r->key].is_loading)
        return "a key that nobody has sent";
    device->keys[r->key].is_loading = false;
    device->keys[r->key].status = r->status;
    pthread_cond_broadcast(&device->changed);
    return NULL;
}

static const char *take_results(warprsa_device *device,
                                const warprsa_remote_response *r)
{
    const char *wrong = NULL;

    for (size_t i = 0; i < r->count && wrong == NULL; i++)
        wrong = take_result(device, &r->result[i]);
    if (wrong == NULL && !send_more(device))
        wrong = "no memory";
    return wrong;
}

static const char *take_response(void *arg, const warprsa_remote_response *r)
{
    warprsa_device *device = arg;
    bool drains = false;
    const char *wrong = NULL;

    pthread_mutex_lock(&device->lock);
    if (r->kind == WARPRSA_REMOTE_KEY_LOADED)
        wrong = take_key_loaded(device, r);
    else if (r->kind == WARPRSA_REMOTE_DRAINING)
        drains = device->draining = true;
    else if (r->kind == WARPRSA_REMOTE_RESULTS)
        wrong = take_results(device, r);
    pthread_mutex_unlock(&device->lock);
    if (drains)
        tell_lost(device, "the host drains");
    return wrong;
}

static void lose(void *arg, const char *why)
{
    warprsa_device *device = arg;
    char line[WARPRSA_TLS_WHY + sizeof(device->description)];

    pthread_mutex_lock(&device->lock);
    device->lost = true;
    pthread_cond_broadcast(&device->changed);
    for (unsigned i = 0; i < device->config.streams; i++)
        pthread_cond_broadcast(&device->batches[i].changed);
    pthread_mutex_unlock(&device->lock);
    snprintf(line, sizeof(line), "%s: %s", device->description, why);
    if (device->config.trace != NULL)
        device->config.trace(device->config.trace_arg, 1, line);
    tell_lost(device, why);
}

static void take_traffic(void *arg, uint64_t sent, uint64_t received)
{
    count_traffic(arg, WARPRSA_TRAFFIC_SENT, sent);
    count_traffic(arg, WARPRSA_TRAFFIC_RECEIVED, received);
}

static bool is_trusted(void *arg, SSL *ssl, char why[WARPRSA_TLS_WHY])
{
    warprsa_device *device = arg;

    return warprsa_trust_holds(&device->trust, ssl, device->config.trace,
                               device->config.trace_arg, why);
}

static const warprsa_link_handlers link_handlers = {take_response, lose,
                                                    is_trusted, take_traffic};

/* ---- Keys ---- */

/* With the lock held: tells the host that a number is free. */
static void send_unload(warprsa_device *device, uint32_t number)
{
    uint8_t *to = warprsa_link_begin(device->link, 32);

    if (to != NULL)
        warprsa_link_end(device->link,
                         warprsa_remote_write_unload_key(to, 32, number));
}

/* Forgets a key that the host has been told about. */
static void forget_key(warprsa_device *device, uint32_t number)
{
    remote_key *key = &device->keys[number];

    pthread_mutex_lock(&device->lock);
    send_unload(device, number);
    warprsa_verify_free(key->verify);
    memset(key, 0, sizeof(*key));
    pthread_mutex_unlock(&device->lock);
    warprsa_id_pool_release(&device->numbers, number);
}

static bool send_key(warprsa_device *device, const warprsa_private_key *key,
                     uint32_t number)
{
    const size_t room = sizeof(*key) + 128;
    uint8_t *to = warprsa_link_begin(device->link, room);

    if (to == NULL)
        return false;
    warprsa_link_end(device->link,
                     warprsa_remote_write_load_key(to, room, number, key));
    return true;
}

/* With the lock held, which is released meanwhile: waits until the host has
 * said whether it takes a key. */
static warprsa_status wait_for_key(warprsa_device *device, uint32_t number)
{
    const struct timespec until =
        warprsa_timespec(warprsa_clock_ns() + KEY_MS * WARPRSA_NS_PER_MS);
    const remote_key *key = &device->keys[number];
    int error = 0;

    while (key->is_loading && !device->lost && error == 0)
        error = pthread_cond_timedwait(&device->changed, &device->lock, &until);
    if (key->is_loading)
        return WARPRSA_DEVICE_ERROR;
    switch (key->status) {
    case WARPRSA_REMOTE_OK:
        return WARPRSA_OK;
    case WARPRSA_REMOTE_UNSUPPORTED:
        return WARPRSA_UNSUPPORTED_KEY;
    case WARPRSA_REMOTE_THROTTLED:
        return WARPRSA_NO_MEMORY;
    default:
        return WARPRSA_DEVICE_ERROR;
    }
}

static warprsa_status remote_load_key(warprsa_device *device,
                                      const warprsa_private_key *key,
                                      uint32_t *index)
{
    warprsa_status status = WARPRSA_NO_MEMORY;
    warprsa_verify *verify = NULL;
    bool silent;

    if (warprsa_key_class(key) < 0)
        return WARPRSA_UNSUPPORTED_KEY;
    if (the_config.verify && (verify = warprsa_verify_new(key)) == NULL)
        return WARPRSA_NO_MEMORY;
    if (!warprsa_id_pool_acquire(&device->numbers, index)) {
        warprsa_verify_free(verify);
        return WARPRSA_NO_MEMORY;
    }
    pthread_mutex_lock(&device->lock);
    device->keys[*index] = (remote_key){
        .is_loading = true, .bytes = key->modulus_bytes, .verify = verify};
    if (device->lost)
        status = WARPRSA_DEVICE_ERROR;
    else if (send_key(device, key, *index))
        status = wait_for_key(device, *index);
    silent = status == WARPRSA_DEVICE_ERROR &&
             device->keys[*index].is_loading && !device->lost;
    pthread_mutex_unlock(&device->lock);
    if (silent)
        tell_lost(device, "a key was not answered for 5 s");
    if (status != WARPRSA_OK)
        forget_key(device, *index);
    return status;
}

static warprsa_status remote_unload_key(warprsa_device *device, uint32_t index)
{
    forget_key(device, index);
    return warprsa_link_is_lost(device->link) ? WARPRSA_DEVICE_ERROR
                                              : WARPRSA_OK;
}

/* ---- Batches ---- */

static warprsa_status remote_start(warprsa_device *device, unsigned stream,
                                   warprsa_size_class size, warprsa_task *tasks,
                                   size_t count)
{
    remote_batch *b = &device->batches[stream];
    bool sent, waits;

    (void)size;
    pthread_mutex_lock(&device->lock);
    if (device->lost || device->draining) {
        pthread_mutex_unlock(&device->lock);
        return WARPRSA_DEVICE_ERROR;
    }
    b->tasks = tasks;
    b->count = b->left = count;
    b->sent = 0;
    memset(b->is_answered, 0, count * sizeof(*b->is_answered));
    for (size_t i = 0; i < count; i++) {
        b->keys[i] = tasks[i].key;
        memset(tasks[i].output, 0, device->keys[tasks[i].key].bytes);
    }
    sent = send_more(device);
    waits = sent && b->sent < b->count;
    if (!sent) /* but a part of it may be on its way */
        b->tasks = NULL;
    pthread_mutex_unlock(&device->lock);
    count_traffic(device, WARPRSA_TRAFFIC_CREDIT_WAITS, waits);
    return sent ? WARPRSA_OK : WARPRSA_DEVICE_ERROR;
}

/* Checks the results of a batch that has ended. */
static void verify_all(const warprsa_device *device, warprsa_task *tasks,
                       size_t count)
{
    warprsa_verify_batch batch = {0};

    for (size_t i = 0; i < count; i++)
        if (tasks[i].status == WARPRSA_OK)
            warprsa_verify_add(&batch, device->keys[tasks[i].key].verify,
                               &tasks[i]);
    warprsa_verify_end(&batch);
}

static warprsa_status remote_wait(warprsa_device *device, unsigned stream,
                                  unsigned timeout_ms)
{
    const struct timespec until = warprsa_timespec(
        warprsa_clock_ns() + (uint64_t)timeout_ms * WARPRSA_NS_PER_MS);
    remote_batch *b = &device->batches[stream];
    warprsa_status status = WARPRSA_OK;
    size_t count;
    warprsa_task *tasks;
    int error = 0;

    pthread_mutex_lock(&device->lock);
    count = b->count;
    while (b->left != 0 && !device->lost && error == 0)
        error = pthread_cond_timedwait(&b->changed, &device->lock, &until);
    if (b->left != 0)
        status = device->lost ? WARPRSA_DEVICE_ERROR : WARPRSA_DEADLINE;
    tasks = b->tasks;
    b->tasks = NULL;
    b->left -= b->count - b->sent; /* tasks that will not be sent */
    b->count = b->sent;
    pthread_mutex_unlock(&device->lock);
    if (status == WARPRSA_OK && tasks != NULL && the_config.verify)
        verify_all(device, tasks, count);
    return status;
}

/* ---- Devices ---- */

static unsigned remote_count(char *why, size_t why_size)
{
    const unsigned count = warprsa_remote_hosts_count();

    if (count == 0)
        snprintf(why, why_size, "no host is configured");
    return count;
}

/* The device's host was removed: it takes no more batches. */
static void remove_device(warprsa_device *device)
{
    pthread_mutex_lock(&device->lock);
    device->draining = true;
    pthread_mutex_unlock(&device->lock);
    tell_lost(device, "removed from remote_hosts");
}

static bool init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    bool done;

    if (pthread_condattr_init(&attributes) != 0)
        return false;
    done = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
           pthread_cond_init(condition, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return done;
}

/* Frees a device whose first `batches` batches and conditions are there. */
static void free_device(warprsa_device *device, unsigned batches)
{
    for (unsigned i = 0; i < batches; i++) {
        free(device->batches[i].is_answered);
        free(device->batches[i].keys);
        pthread_cond_destroy(&device->batches[i].changed);
    }
    pthread_cond_destroy(&device->changed);
    pthread_mutex_destroy(&device->lock);
    free(device);
}

static bool init_batch(remote_batch *b, size_t batch_max)
{
    if (!init_condition(&b->changed))
        return false;
    b->is_answered = calloc(batch_max, sizeof(*b->is_answered));
    b->keys = calloc(batch_max, sizeof(*b->keys));
    if (b->is_answered != NULL && b->keys != NULL)
        return true;
    free(b->is_answered);
    free(b->keys);
    pthread_cond_destroy(&b->changed);
    return false;
}

static warprsa_device *new_device(const warprsa_device_config *config,
                                  const warprsa_address *address)
{
    warprsa_device *device = calloc(1, sizeof(*device));
    unsigned batches = 0;

    if (device == NULL)
        return NULL;
    device->config = *config;
    snprintf(device->description, sizeof(device->description),
             "%s:%s (remote %u)", address->host, address->port,
             config->ordinal);
    if (pthread_mutex_init(&device->lock, NULL) != 0) {
        free(device);
        return NULL;
    }
    if (!init_condition(&device->changed)) {
        pthread_mutex_destroy(&device->lock);
        free(device);
        return NULL;
    }
    while (batches < config->streams &&
           init_batch(&device->batches[batches], config->batch_max))
        batches++;
    if (batches == config->streams)
        return device;
    free_device(device, batches);
    return NULL;
}

/* Connects and makes room for the keys that the host takes. */
static warprsa_status connect_device(warprsa_device *device,
                                     const warprsa_address *address, char *why,
                                     size_t why_size)
{
    uint32_t most = device->config.keys_max + WARPRSA_CLASSES;

    if (!warprsa_trust_open(&device->trust, &the_config.tls, why, why_size))
        return WARPRSA_DEVICE_ERROR;
    device->keys = calloc(most, sizeof(*device->keys));
    if (device->keys == NULL)
        return WARPRSA_NO_MEMORY;
    device->keys_max = most;
    device->link =
        warprsa_link_open(&device->trust.tls, address, false, &link_handlers,
                          device, &device->welcome, why, why_size);
    /* Another thread may close the device, while this one goes on. */
    warprsa_tls_leave(&device->trust.tls);
    if (device->link == NULL)
        return WARPRSA_DEVICE_ERROR;
    if (device->welcome.keys_max < most)
        most = device->welcome.keys_max;
    if (most <= WARPRSA_CLASSES) {
        snprintf(why, why_size, "the host takes %u keys", most);
        return WARPRSA_NO_MEMORY;
    }
    return warprsa_id_pool_init(&device->numbers, 0, most) ? WARPRSA_OK
                                                           : WARPRSA_NO_MEMORY;
}

static bool remote_close(warprsa_device *device)
{
    bool wiped = true;

    if (device == NULL)
        return true;
    warprsa_remote_hosts_leave(device->config.ordinal, device);
    if (device->link != NULL) {
        wiped = !warprsa_link_is_lost(device->link);
        warprsa_link_close(device->link);
    }
    for (uint32_t i = 0; device->keys != NULL && i < device->keys_max; i++)
        warprsa_verify_free(device->keys[i].verify);
    free(device->keys);
    warprsa_id_pool_free(&device->numbers);
    warprsa_trust_close(&device->trust);
    free_device(device, device->config.streams);
    return wiped;
}

static warprsa_status remote_open(const warprsa_device_config *config,
                                  warprsa_device **opened, char *why,
                                  size_t why_size)
{
    warprsa_status status = WARPRSA_NO_MEMORY;
    warprsa_device *device;
    warprsa_address address;

    *opened = NULL;
    snprintf(why, why_size, "removed from remote_hosts");
    if (!warprsa_remote_hosts_get(config->ordinal, &address))
        return WARPRSA_NO_DEVICE;
    snprintf(why, why_size, "no memory");
    device = new_device(config, &address);
    if (device == NULL)
        return status;
    status = connect_device(device, &address, why, why_size);
    if (status == WARPRSA_OK) {
        snprintf(why, why_size, "the known-answer test failed");
        status = warprsa_known_answer_load(the_engine(), device, &device->test,
                                           WARPRSA_CLASS_LARGE);
    }
    if (status == WARPRSA_OK)
        status =
            warprsa_known_answer_run(the_engine(), device, &device->test, 0);
    if (status == WARPRSA_OK &&
        !warprsa_remote_hosts_join(config->ordinal, &address, device,
                                   remove_device)) {
        snprintf(why, why_size, "removed from remote_hosts");
        status = WARPRSA_NO_DEVICE;
    }
    if (status == WARPRSA_OK)
        *opened = device;
    else
        (void)remote_close(device);
    return status;
}

static const char *remote_describe(const warprsa_device *device)
{
    return device->description;
}

static warprsa_status remote_self_test(warprsa_device *device, unsigned stream)
{
    return warprsa_known_answer_run(the_engine(), device, &device->test,
                                    stream);
}

/* The test loads its key of a large class here first. A host that takes no keys
 * of large classes has not answered with one. */
static warprsa_status remote_test_class(warprsa_device *device, unsigned stream,
                                        warprsa_size_class size)
{
    warprsa_status status = warprsa_known_answer_load(
        the_engine(), device, &device->test, (unsigned)size + 1);

    return status == WARPRSA_OK
               ? warprsa_known_answer_class(the_engine(), device, &device->test,
                                            stream, size)
               : status;
}

const warprsa_engine *
warprsa_engine_remote(const warprsa_remote_engine_config *config)
{
    static const warprsa_engine engine = {
        .name = "remote",
        .classes = WARPRSA_CLASSES,
        .comes_and_goes = true,
        .count = remote_count,
        .open = remote_open,
        .close = remote_close,
        .describe = remote_describe,
        .load_key = remote_load_key,
        .unload_key = remote_unload_key,
        .start = remote_start,
        .wait = remote_wait,
        .self_test = remote_self_test,
        .test_class = remote_test_class,
    };

    if (config != NULL)
        the_config = *config;
    return &engine;
}
