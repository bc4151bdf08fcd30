/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The fake engine, linked in the place of gpu/: see fake_engine.h.
 */
#include "fake_engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    KEYS_MAX = 64,
};

typedef struct loaded_key {
    bool live;
    unsigned in_flight;
    warprsa_private_key key;
} loaded_key;

typedef struct stream_state {
    bool busy;
    bool forgotten; /* its tasks, after a missed deadline */
    warprsa_task *tasks;
    uint32_t *keys;
    size_t count;
} stream_state;

struct warprsa_device {
    warprsa_device_config config;
    char text[256];
    bool second;
    bool lost;
    loaded_key keys[KEYS_MAX];
    stream_state streams[WARPRSA_STREAMS_MAX];
};

static warprsa_device *last_opened;

fake_engine fake = {.lock = PTHREAD_MUTEX_INITIALIZER,
                    .changed = PTHREAD_COND_INITIALIZER,
                    .devices = 1};

const char *warprsa_status_text(warprsa_status status)
{
    return status == WARPRSA_OK ? "ok" : "fake failure";
}

int warprsa_key_class(const warprsa_private_key *key)
{
    for (int size = 0; size < WARPRSA_CLASSES; size++)
        if (key->modulus_bytes ==
            warprsa_class_bits((warprsa_size_class)size) / 8)
            return size;
    return -1;
}

static void changed(void)
{
    pthread_cond_broadcast(&fake.changed);
}

void fake_reset(void)
{
    fake_engine clean = {.devices = 1};

    pthread_mutex_lock(&fake.lock);
    /* A test that failed may have left threads in a held call. */
    fake.hold_count = fake.hold_open = fake.hold_load = fake.hold = false;
    fake.hold_unload = fake.hold_start = fake.hold_wait = false;
    changed();
    while (fake.waiting > 0)
        pthread_cond_wait(&fake.changed, &fake.lock);
    clean.lock = fake.lock;
    clean.changed = fake.changed;
    memcpy(&fake.devices, &clean.devices,
           sizeof(fake) - offsetof(fake_engine, devices));
    pthread_mutex_unlock(&fake.lock);
}

warprsa_private_key fake_key(warprsa_size_class size, unsigned seed)
{
    warprsa_private_key key = {.modulus_bytes = warprsa_class_bits(size) / 8};
    uint32_t x = 2654435761u * (seed + 1);

    for (unsigned i = 0; i < key.modulus_bytes; i++) {
        x = x * 1664525 + 1013904223;
        key.n[sizeof(key.n) - 1 - i] = (uint8_t)(x >> 24);
    }
    key.n[sizeof(key.n) - key.modulus_bytes] |= 0x80;
    key.n[sizeof(key.n) - 1] |= 1;
    return key;
}

void fake_result(const warprsa_private_key *key, const uint8_t *input,
                 uint8_t *output)
{
    for (unsigned i = 0; i < key->modulus_bytes; i++)
        output[i] = input[i] ^ key->n[sizeof(key->n) - 1 - i];
}

static const char wrong_mark[] = "wrong";

void fake_make_wrong(warprsa_private_key *key)
{
    memcpy(key->dp, wrong_mark, sizeof(wrong_mark));
}

static bool is_wrong(const warprsa_private_key *key)
{
    return memcmp(key->dp, wrong_mark, sizeof(wrong_mark)) == 0;
}

warprsa_status warprsa_check_key(const warprsa_private_key *key)
{
    pthread_mutex_lock(&fake.lock);
    fake.checked_keys++;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
    return is_wrong(key) ? WARPRSA_CHECK_FAILED : WARPRSA_OK;
}

static void rule(bool kept, const char *text)
{
    if (!kept && fake.broken == NULL)
        fake.broken = text;
}

static void held(const bool *flag)
{
    if (!*flag)
        return;
    fake.waiting++;
    changed();
    while (*flag)
        pthread_cond_wait(&fake.changed, &fake.lock);
    fake.waiting--;
    changed();
}

static unsigned count_devices(const unsigned *devices, char *why,
                              size_t why_size)
{
    unsigned n;

    pthread_mutex_lock(&fake.lock);
    held(&fake.hold_count);
    n = *devices;
    if (n == 0)
        snprintf(why, why_size, "no fake device");
    pthread_mutex_unlock(&fake.lock);
    return n;
}

static unsigned fake_count(char *why, size_t why_size)
{
    return count_devices(&fake.devices, why, why_size);
}

static unsigned second_count(char *why, size_t why_size)
{
    return count_devices(&fake.second_devices, why, why_size);
}

static warprsa_status open_device(const warprsa_device_config *config,
                                  bool second, warprsa_device **device,
                                  char *why, size_t why_size)
{
    warprsa_status status = WARPRSA_OK;
    bool goes = false;

    pthread_mutex_lock(&fake.lock);
    held(&fake.hold_open);
    rule(config->ordinal < (second ? fake.second_devices : fake.devices),
         "open: ordinal");
    if (fake.open_failures > 0) {
        fake.open_failures--;
        status = WARPRSA_DEVICE_ERROR;
        snprintf(why, why_size, "told to fail");
    } else {
        *device = calloc(1, sizeof(**device));
        if (*device == NULL)
            abort();
        fake.opens++;
        goes = fake.open_losses > 0;
        fake.open_losses -= goes;
        last_opened = *device;
        (*device)->config = *config;
        (*device)->second = second;
        if (fake.text != NULL)
            snprintf((*device)->text, sizeof((*device)->text), "%s", fake.text);
        else
            snprintf((*device)->text, sizeof((*device)->text), "Fake (%s %u)",
                     second ? "second" : "fake", config->ordinal);
    }
    changed();
    pthread_mutex_unlock(&fake.lock);
    if (goes)
        config->lost(config->device_arg, "told to go");
    return status;
}

static warprsa_status fake_open(const warprsa_device_config *config,
                                warprsa_device **device, char *why,
                                size_t why_size)
{
    return open_device(config, false, device, why, why_size);
}

static warprsa_status second_open(const warprsa_device_config *config,
                                  warprsa_device **device, char *why,
                                  size_t why_size)
{
    return open_device(config, true, device, why, why_size);
}

static bool fake_close(warprsa_device *device)
{
    bool wiped;

    pthread_mutex_lock(&fake.lock);
    for (unsigned s = 0; s < WARPRSA_STREAMS_MAX; s++)
        rule(device->lost || !device->streams[s].busy, "close: would wait");
    for (unsigned k = 0; k < KEYS_MAX; k++)
        fake.keys -= device->keys[k].live;
    for (unsigned s = 0; s < WARPRSA_STREAMS_MAX; s++) {
        fake.running -= device->streams[s].busy;
        free(device->streams[s].keys);
    }
    fake.closes++;
    wiped = fake.bad_wipes == 0;
    fake.bad_wipes -= !wiped;
    explicit_bzero(device, sizeof(*device));
    free(device);
    changed();
    pthread_mutex_unlock(&fake.lock);
    return wiped;
}

void fake_free_device(void)
{
    for (unsigned s = 0; s < WARPRSA_STREAMS_MAX; s++)
        free(last_opened->streams[s].keys);
    free(last_opened);
}

static const char *fake_describe(const warprsa_device *device)
{
    return device->text;
}

/* With the lock held: whether the device takes no more keys of this class. */
static bool is_full(const warprsa_device *device,
                    const warprsa_private_key *key)
{
    unsigned large = 0;

    for (unsigned k = 0; k < KEYS_MAX; k++)
        large += device->keys[k].live &&
                 warprsa_key_class(&device->keys[k].key) >= WARPRSA_CLASS_LARGE;
    return warprsa_key_class(key) >= WARPRSA_CLASS_LARGE &&
           fake.large_keys_max != 0 && large >= fake.large_keys_max;
}

static warprsa_status fake_load_key(warprsa_device *device,
                                    const warprsa_private_key *key,
                                    uint32_t *index)
{
    warprsa_status status = WARPRSA_NO_MEMORY;
    bool full;

    pthread_mutex_lock(&fake.lock);
    held(&fake.hold_load);
    if (fake.load_status != WARPRSA_OK)
        status = fake.load_status;
    full = is_full(device, key);
    if (full)
        status = WARPRSA_LARGE_KEYS_FULL;
    if (fake.load_failures > 0) {
        fake.load_failures--;
        device->lost = true;
        status = WARPRSA_DEVICE_ERROR;
    }
    for (unsigned k = 0;
         k < KEYS_MAX && k < device->config.keys_max &&
         fake.load_status == WARPRSA_OK && !full && !device->lost;
         k++) {
        if (device->keys[k].live)
            continue;
        device->keys[k] = (loaded_key){.live = true, .key = *key};
        *index = k;
        fake.loads++;
        fake.keys++;
        status = WARPRSA_OK;
        break;
    }
    changed();
    pthread_mutex_unlock(&fake.lock);
    return status;
}

static warprsa_status fake_unload_key(warprsa_device *device, uint32_t index)
{
    warprsa_status status = WARPRSA_OK;

    pthread_mutex_lock(&fake.lock);
    held(&fake.hold_unload);
    rule(index < KEYS_MAX && device->keys[index].live, "unload: no such key");
    rule(device->keys[index].in_flight == 0, "unload: key in use");
    /* Another worker may have lost the device just now. */
    if (device->lost || fake.bad_wipes > 0) {
        fake.bad_wipes -= !device->lost;
        device->lost = true;
        status = WARPRSA_DEVICE_ERROR;
    } else {
        explicit_bzero(&device->keys[index], sizeof(device->keys[index]));
        fake.unloads++;
        fake.keys--;
    }
    changed();
    pthread_mutex_unlock(&fake.lock);
    return status;
}

static void check_batch(warprsa_device *device, unsigned stream,
                        warprsa_size_class size, const warprsa_task *tasks,
                        size_t count)
{
    rule(stream < device->config.streams, "start: stream");
    rule(!device->streams[stream].busy, "start: busy stream");
    rule(count >= 1 && count <= device->config.batch_max, "start: count");
    for (size_t i = 0; i < count; i++) {
        const loaded_key *key = &device->keys[tasks[i].key];

        rule(key->live, "start: key not loaded");
        rule(warprsa_key_class(&key->key) == (int)size, "start: key's class");
    }
}

/* Like a CPU engine whose thread waits for a CPU. */
static void maybe_sleep(void)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    bool slow;

    pthread_mutex_lock(&fake.lock);
    slow = fake.slow_starts > 0;
    fake.slow_starts -= slow;
    pthread_mutex_unlock(&fake.lock);
    if (slow)
        nanosleep(&pause, NULL);
}

static warprsa_status fake_start(warprsa_device *device, unsigned stream,
                                 warprsa_size_class size, warprsa_task *tasks,
                                 size_t count)
{
    stream_state *s = &device->streams[stream];
    warprsa_status status = WARPRSA_OK;

    maybe_sleep();
    pthread_mutex_lock(&fake.lock);
    held(&fake.hold_start);
    check_batch(device, stream, size, tasks, count);
    if (fake.start_failures > 0) {
        fake.start_failures--;
        status = fake.start_status;
        device->lost = status == WARPRSA_DEVICE_ERROR;
    } else {
        *s = (stream_state){.busy = true, .tasks = tasks, .count = count};
        s->keys = calloc(count, sizeof(*s->keys));
        for (size_t i = 0; i < count; i++) {
            s->keys[i] = tasks[i].key;
            device->keys[tasks[i].key].in_flight++;
        }
        if (fake.batches < FAKE_BATCHES_LOGGED) {
            fake.log[fake.batches].size = size;
            fake.log[fake.batches].count = count;
            fake.log[fake.batches].second = device->second;
            fake.log[fake.batches].device = device->config.ordinal;
            fake.log[fake.batches].stream = stream;
        }
        fake.batches++;
        fake.running++;
        fake.hold |= fake.batches == fake.hold_at;
    }
    changed();
    pthread_mutex_unlock(&fake.lock);
    return status;
}

static void finish(warprsa_device *device, stream_state *s)
{
    for (size_t i = 0; i < s->count; i++) {
        loaded_key *key = &device->keys[s->keys[i]];

        key->in_flight--;
        if (s->forgotten)
            continue;
        if (fake.unanswered > 0) {
            fake.unanswered--;
            s->tasks[i].status = fake.unsupported ? WARPRSA_UNSUPPORTED_KEY
                                                  : WARPRSA_DEVICE_ERROR;
            memset(s->tasks[i].output, 0, key->key.modulus_bytes);
        } else if (fake.bad_checks > 0 || is_wrong(&key->key)) {
            fake.bad_checks -= !is_wrong(&key->key);
            s->tasks[i].status = WARPRSA_CHECK_FAILED;
            memset(s->tasks[i].output, 0, key->key.modulus_bytes);
        } else {
            s->tasks[i].status = WARPRSA_OK;
            fake_result(&key->key, s->tasks[i].input, s->tasks[i].output);
        }
    }
    free(s->keys);
    *s = (stream_state){0};
    fake.running--;
    changed();
}

static warprsa_status fake_wait(warprsa_device *device, unsigned stream,
                                unsigned timeout_ms)
{
    stream_state *s = &device->streams[stream];
    warprsa_status status = WARPRSA_OK;
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    until.tv_sec += timeout_ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&fake.lock);
    held(&fake.hold_wait);
    while (fake.hold && s->busy && !device->lost && status == WARPRSA_OK) {
        if (fake.overdue > 0 && !s->forgotten) {
            fake.overdue--;
            changed();
            status = WARPRSA_DEADLINE;
        } else if (pthread_cond_timedwait(&fake.changed, &fake.lock, &until) ==
                   ETIMEDOUT) {
            status = WARPRSA_DEADLINE;
        }
    }
    if (fake.wait_failures > 0 && s->busy && status == WARPRSA_OK) {
        fake.wait_failures--;
        device->lost = true;
        changed();
    }
    if (device->lost)
        status = WARPRSA_DEVICE_ERROR;
    if (status == WARPRSA_OK && s->busy)
        finish(device, s);
    else
        s->forgotten = true;
    pthread_mutex_unlock(&fake.lock);
    return status;
}

static warprsa_status fake_self_test(warprsa_device *device, unsigned stream)
{
    warprsa_status status = WARPRSA_OK;

    pthread_mutex_lock(&fake.lock);
    rule(!device->streams[stream].busy, "self_test: busy stream");
    fake.self_tests++;
    if (fake.bad_self_tests > 0) {
        fake.bad_self_tests--;
        status = WARPRSA_CHECK_FAILED;
    }
    changed();
    pthread_mutex_unlock(&fake.lock);
    return status;
}

unsigned fake_class_tests(warprsa_size_class size)
{
    unsigned count;

    pthread_mutex_lock(&fake.lock);
    count = fake.class_tests[size];
    pthread_mutex_unlock(&fake.lock);
    return count;
}

static warprsa_status fake_test_class(warprsa_device *device, unsigned stream,
                                      warprsa_size_class size)
{
    warprsa_status status = WARPRSA_OK;

    pthread_mutex_lock(&fake.lock);
    for (unsigned s = 0; s < WARPRSA_STREAMS_MAX; s++)
        rule(!device->streams[s].busy, "test_class: busy stream");
    rule(stream < device->config.streams, "test_class: stream");
    fake.class_tests[size]++;
    if (fake.bad_class_tests > 0) {
        fake.bad_class_tests--;
        status = WARPRSA_CHECK_FAILED;
    }
    changed();
    pthread_mutex_unlock(&fake.lock);
    return status;
}

#define FAKE_ENGINE(its_name, its_count, its_open, comes, on_cpus)             \
    {                                                                          \
        .name = its_name, .comes_and_goes = comes,                             \
        .computes_in_start = on_cpus, .count = its_count,                      \
        .classes = WARPRSA_CLASSES, .open = its_open, .close = fake_close,     \
        .describe = fake_describe, .load_key = fake_load_key,                  \
        .unload_key = fake_unload_key, .start = fake_start, .wait = fake_wait, \
        .self_test = fake_self_test, .test_class = fake_test_class,            \
    }

const warprsa_engine *fake_engine_get(void)
{
    static const warprsa_engine engine =
        FAKE_ENGINE("fake", fake_count, fake_open, false, false);

    return &engine;
}

const warprsa_engine *fake_engine_second(void)
{
    static const warprsa_engine engine =
        FAKE_ENGINE("second", second_count, second_open, false, false);

    return &engine;
}

const warprsa_engine *fake_engine_hosts(void)
{
    static const warprsa_engine engine =
        FAKE_ENGINE("hosts", fake_count, fake_open, true, false);

    return &engine;
}

const warprsa_engine *fake_engine_cpus(void)
{
    static const warprsa_engine engine =
        FAKE_ENGINE("cpus", fake_count, fake_open, false, true);

    return &engine;
}

void fake_lose_device(void)
{
    warprsa_device *device = last_opened;

    device->config.lost(device->config.device_arg, "told to go");
}
