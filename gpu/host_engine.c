/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The engine on the CPU: the device's arithmetic, lane after lane. It proves
 * the arithmetic where no GPU is; it is not there to be fast.
 */
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu/fault.h"
#include "gpu/gpu.h"
#include "gpu/key_slots.h"
#include "gpu/known_answer.h"
#include "gpu/prepared_key.h"
#include "gpu/private_operation.h"

enum {
    TABLE_DOUBLES = WARPRSA_TABLE_DOUBLES * WARPRSA_SLOTS,
};

/* What one operation works in; SECRET. */
typedef struct workspace {
    double inverse[2 * WARPRSA_HALF_SAMPLES];
    uint32_t exponent[2 * WARPRSA_BLINDED_WORDS];
    uint64_t result[WARPRSA_FULL_SAMPLES];
    double table[TABLE_DOUBLES];
    uint8_t output[WARPRSA_MODULUS_OCTETS_MAX];
} workspace;

typedef struct stream_state {
    warprsa_status outcome; /* of wait(): other than OK where a fault struck */
} stream_state;

struct warprsa_device {
    warprsa_device_config config;
    warprsa_key_slots slots;
    warprsa_prepared_key **keys;
    uint32_t capacity;
    warprsa_known_answer test;
    stream_state streams[WARPRSA_STREAMS_MAX];
};

static unsigned host_count(char *why, size_t why_size)
{
    if (warprsa_fault_strikes(WARPRSA_FAULT_NODEVICE)) {
        snprintf(why, why_size, "no device (fault injected)");
        return 0;
    }
    return 1;
}

static void host_unload_key(warprsa_device *device, uint32_t index)
{
    explicit_bzero(device->keys[index], sizeof(*device->keys[index]));
    free(device->keys[index]);
    device->keys[index] = NULL;
    warprsa_key_slots_give(&device->slots, index);
}

static warprsa_status host_load_key(warprsa_device *device,
                                    const warprsa_private_key *key,
                                    uint32_t *index)
{
    warprsa_prepared_key *prepared = malloc(sizeof(*prepared));
    warprsa_status status;

    if (prepared == NULL)
        return WARPRSA_NO_MEMORY;
    status = warprsa_prepare_key(prepared, key);
    if (warprsa_fault_strikes(WARPRSA_FAULT_FLIP))
        prepared->half[0].exponent[1] ^= 1;
    if (status == WARPRSA_OK && !warprsa_key_slots_take(&device->slots, index))
        status = WARPRSA_NO_MEMORY;
    if (status != WARPRSA_OK) {
        explicit_bzero(prepared, sizeof(*prepared));
        free(prepared);
        return status;
    }
    device->keys[*index] = prepared;
    return WARPRSA_OK;
}

static void host_close(warprsa_device *device)
{
    if (device == NULL)
        return;
    for (uint32_t i = 0; device->keys != NULL && i < device->capacity; i++)
        if (device->keys[i] != NULL)
            host_unload_key(device, i);
    free(device->keys);
    warprsa_key_slots_end(&device->slots);
    free(device);
}

static const char *host_describe(const warprsa_device *device)
{
    (void)device;
    return "CPU (host 0)";
}

/* Once more for processors with a fused multiply-add: fma() without it is a
 * call, three times slower. Needs a resolver at load time, which sanitizers
 * do not survive, and clang does not flatten what it clones. */
#if defined(__x86_64__) && !defined(__clang__) &&                              \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WITH_FMA __attribute__((target_clones("fma", "default"), flatten))
#else
#define WITH_FMA
#endif

/* The shapes are constants here so that the compiler sees each class apart. */
WITH_FMA static void operate(const warprsa_operation *op,
                             warprsa_size_class size)
{
    static const warprsa_shape shapes[WARPRSA_CLASSES] = {
        WARPRSA_SHAPE_1024, WARPRSA_SHAPE_2048, WARPRSA_SHAPE_3072,
        WARPRSA_SHAPE_4096};
    const warprsa_shape shape = shapes[size];
    warprsa_number x;

    for (int which = 0; which < 2; which++) {
        warprsa_unblinder(op, which, shape.rows);
        warprsa_blind_exponent(op, which, shape.rows);
    }
    warprsa_blind_and_raise(&x, op, shape.rows, shape.width, shape.per_lane);
    warprsa_unblind_and_recombine(&x, op, shape.rows, shape.width,
                                  shape.per_lane);
    explicit_bzero(&x, sizeof(x));
}

static void run_task(const warprsa_device *device, workspace *w,
                     const uint64_t *random, warprsa_size_class size,
                     warprsa_task *task)
{
    const warprsa_prepared_key *key = device->keys[task->key];
    uint32_t status = WARPRSA_CHECK_FAILED;
    warprsa_operation op = {.key = key,
                            .input = task->input,
                            .output = w->output,
                            .random = random,
                            .inverse = w->inverse,
                            .exponent = w->exponent,
                            .windows = (int)key->windows,
                            .result = w->result,
                            .table = w->table,
                            .table_stride = 2 * warprsa_shape_of(size).width,
                            .status = &status};

    operate(&op, size);
    if (warprsa_fault_strikes(WARPRSA_FAULT_UNCHECKED))
        status = WARPRSA_OK;
    task->status = (warprsa_status)status;
    if (status == WARPRSA_OK)
        memcpy(task->output, w->output, key->modulus_octets);
    else
        memset(task->output, 0, key->modulus_octets);
}

static warprsa_status run_batch(const warprsa_device *device, workspace *w,
                                const uint64_t *random, warprsa_size_class size,
                                warprsa_task *tasks, size_t count)
{
    int rounding = fegetround();

    if (rounding < 0 || fesetround(FE_TOWARDZERO) != 0)
        return WARPRSA_DEVICE_ERROR;
    for (size_t i = 0; i < count; i++)
        run_task(device, w, random + i * WARPRSA_RANDOM_WORDS, size, &tasks[i]);
    return fesetround(rounding) == 0 ? WARPRSA_OK : WARPRSA_DEVICE_ERROR;
}

/* The batch is computed here and now; wait() only tells. */
static warprsa_status host_start(warprsa_device *device, unsigned stream,
                                 warprsa_size_class size, warprsa_task *tasks,
                                 size_t count)
{
    const size_t octets = count * WARPRSA_RANDOM_WORDS * sizeof(uint64_t);
    warprsa_status status = WARPRSA_NO_MEMORY;
    workspace *w = NULL;
    uint64_t *random = NULL;

    if (warprsa_fault_strikes(WARPRSA_FAULT_LAUNCH))
        return WARPRSA_DEVICE_ERROR;
    if (warprsa_fault_strikes(WARPRSA_FAULT_HANG)) {
        device->streams[stream].outcome = WARPRSA_DEADLINE;
        return WARPRSA_OK;
    }
    if (warprsa_fault_strikes(WARPRSA_FAULT_TRAP)) {
        device->streams[stream].outcome = WARPRSA_DEVICE_ERROR;
        return WARPRSA_OK;
    }
    w = malloc(sizeof(*w));
    random = malloc(octets);
    if (w != NULL && random != NULL)
        status =
            device->config.random(device->config.random_arg, random, octets)
                ? run_batch(device, w, random, size, tasks, count)
                : WARPRSA_NO_RANDOM;
    if (w != NULL)
        explicit_bzero(w, sizeof(*w));
    if (random != NULL)
        explicit_bzero(random, octets);
    free(w);
    free(random);
    return status;
}

static warprsa_status host_wait(warprsa_device *device, unsigned stream,
                                unsigned timeout_ms)
{
    stream_state *s = &device->streams[stream];
    warprsa_status outcome = s->outcome;

    (void)timeout_ms;
    s->outcome = WARPRSA_OK;
    return outcome;
}

static warprsa_status host_self_test(warprsa_device *device, unsigned stream)
{
    return warprsa_known_answer_run(warprsa_engine_host(), device,
                                    &device->test, stream);
}

static warprsa_status host_open(const warprsa_device_config *config,
                                warprsa_device **out, char *why,
                                size_t why_size)
{
    warprsa_device *device = calloc(1, sizeof(*device));
    warprsa_status status = WARPRSA_NO_MEMORY;

    *out = NULL;
    if (device == NULL)
        return WARPRSA_NO_MEMORY;
    device->config = *config;
    device->capacity = config->keys_max + WARPRSA_CLASSES;
    device->keys = calloc(device->capacity, sizeof(warprsa_prepared_key *));
    if (device->keys != NULL &&
        warprsa_key_slots_init(&device->slots, device->capacity))
        status = warprsa_known_answer_load(warprsa_engine_host(), device,
                                           &device->test);
    if (status == WARPRSA_OK)
        status = host_self_test(device, 0);
    if (status != WARPRSA_OK) {
        snprintf(why, why_size, "host engine: known-answer test: %s",
                 warprsa_status_text(status));
        host_close(device);
        return status;
    }
    *out = device;
    return WARPRSA_OK;
}

const warprsa_engine *warprsa_engine_host(void)
{
    static const warprsa_engine engine = {
        .name = "host",
        .count = host_count,
        .open = host_open,
        .close = host_close,
        .describe = host_describe,
        .load_key = host_load_key,
        .unload_key = host_unload_key,
        .start = host_start,
        .wait = host_wait,
        .self_test = host_self_test,
    };

    return &engine;
}
