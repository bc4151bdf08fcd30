/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The devices of the engines that compute on the CPU, "host" and "ifma": keys,
 * batches computed where they are started, and faults to inject. What they
 * compute with is a warprsa_host_arithmetic.
 */
#include "gpu/cpu/cpu_device.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#else
#include <fenv.h>
#endif

#include "batching/base/id_pool.h"
#include "batching/base/secret_memory.h"
#include "batching/base/wipe_registers.h"
#include "gpu/arith/prepared_key.h"
#include "gpu/fault.h"
#include "gpu/known_answer.h"

/* Memory that a stream's batches use one after another. Zeros between two.
 * SECRET. */
typedef struct scratch {
    void *memory; /* NULL: none yet */
    size_t size;
} scratch;

/* One batch at a time. */
typedef struct stream_state {
    warprsa_status outcome; /* what wait() returns; OK but for faults */
    scratch workspace, random;
} stream_state;

/* A loaded key, or none where `prepared` is NULL. */
typedef struct loaded_key {
    void *prepared; /* prepared_bytes */
    size_t prepared_bytes;
    uint32_t bytes; /* of the modulus */
    /* What blinds full batches of this key. Each stream has one from its first
     * full batch on, for its thread alone. NULL: the arithmetic keeps none, or
     * there is no memory, or the device has WARPRSA_HOST_BLINDINGS_MAX of them.
     * */
    void **blinding;
    size_t blinding_bytes; /* of each of them */
} loaded_key;

struct warprsa_device {
    warprsa_device_config config;
    const warprsa_engine *engine;
    const warprsa_host_arithmetic *arithmetic;
    char description[128];
    warprsa_secret_pool secrets; /* all that is secret here */
    warprsa_id_pool key_ids;
    loaded_key *keys;
    uint32_t capacity;
    warprsa_known_answer test;
    stream_state streams[WARPRSA_STREAMS_MAX];
    atomic_uint blindings; /* that are kept now, or being made */
};

#ifdef WARPRSA_FAULTS
static atomic_bool lost_for_good, driver_ended;

static void end_driver(void)
{
    atomic_store(&driver_ended, true);
}

/* A batch that ends the device, which this process can open again or not. */
static bool traps(void)
{
    if (!warprsa_fault_active(WARPRSA_FAULT_LOST))
        return warprsa_fault_active(WARPRSA_FAULT_TRAP);
    atomic_store(&lost_for_good, true);
    return true;
}

static bool opens(void)
{
    return (!warprsa_fault_active(WARPRSA_FAULT_EXIT) ||
            atexit(end_driver) == 0) &&
           !atomic_load(&lost_for_good);
}

static bool wipes(void)
{
    return !atomic_load(&driver_ended) &&
           !warprsa_fault_active(WARPRSA_FAULT_WIPE);
}
#else
static bool traps(void)
{
    return false;
}

static bool opens(void)
{
    return true;
}

static bool wipes(void)
{
    return true;
}
#endif

static const warprsa_host_arithmetic *
arithmetic_for(const warprsa_device *device, int size)
{
    return size < WARPRSA_CLASS_LARGE ? device->arithmetic
                                      : device->arithmetic->large;
}

static void free_key(warprsa_device *device, uint32_t index)
{
    loaded_key *key = &device->keys[index];

    for (unsigned i = 0; key->blinding != NULL && i < device->config.streams;
         i++)
        if (key->blinding[i] != NULL) {
            warprsa_secret_give(&device->secrets, key->blinding[i],
                                key->blinding_bytes);
            atomic_fetch_sub(&device->blindings, 1);
        }
    free(key->blinding);
    warprsa_secret_give(&device->secrets, key->prepared, key->prepared_bytes);
    key->prepared = NULL;
    warprsa_id_pool_release(&device->key_ids, index);
}

warprsa_status warprsa_host_unload_key(warprsa_device *device, uint32_t index)
{
    if (!wipes())
        return WARPRSA_DEVICE_ERROR;
    free_key(device, index);
    return WARPRSA_OK;
}

/* A key with a wrong exponent stands for one that was damaged on the device. */
static warprsa_status prepare(const warprsa_host_arithmetic *arithmetic,
                              void *prepared, const warprsa_private_key *key)
{
    warprsa_private_key damaged;
    warprsa_status status;

    if (!warprsa_fault_active(WARPRSA_FAULT_FLIP))
        return arithmetic->prepare(prepared, key);
    damaged = *key;
    damaged.dp[sizeof(damaged.dp) - 1] ^= 2;
    status = arithmetic->prepare(prepared, &damaged);
    explicit_bzero(&damaged, sizeof(damaged));
    return status;
}

warprsa_status warprsa_host_load_key(warprsa_device *device,
                                     const warprsa_private_key *key,
                                     uint32_t *index)
{
    const warprsa_host_arithmetic *arithmetic =
        arithmetic_for(device, warprsa_key_class(key));
    void *prepared =
        warprsa_secret_take(&device->secrets, arithmetic->key_bytes);
    warprsa_status status;

    if (prepared == NULL)
        return WARPRSA_NO_MEMORY;
    status = prepare(arithmetic, prepared, key);
    if (status == WARPRSA_OK &&
        !warprsa_id_pool_acquire(&device->key_ids, index))
        status = WARPRSA_NO_MEMORY;
    if (status != WARPRSA_OK) {
        warprsa_secret_give(&device->secrets, prepared, arithmetic->key_bytes);
        return status;
    }
    device->keys[*index] = (loaded_key){.prepared = prepared,
                                        .prepared_bytes = arithmetic->key_bytes,
                                        .bytes = key->modulus_bytes};
    if (arithmetic->blinding_bytes != NULL) {
        device->keys[*index].blinding_bytes = arithmetic->blinding_bytes(
            (warprsa_size_class)warprsa_key_class(key));
        device->keys[*index].blinding =
            calloc(device->config.streams, sizeof(void *));
    }
    return WARPRSA_OK;
}

static void give_room(warprsa_device *device, scratch *room)
{
    warprsa_secret_give(&device->secrets, room->memory, room->size);
    *room = (scratch){0};
}

/* At least `size` bytes; false: no memory. */
static bool has_room(warprsa_device *device, scratch *room, size_t size)
{
    if (room->size >= size)
        return true;
    give_room(device, room);
    room->memory = warprsa_secret_take(&device->secrets, size);
    room->size = room->memory != NULL ? size : 0;
    return room->memory != NULL;
}

bool warprsa_host_close(warprsa_device *device)
{
    bool wiped = true;

    if (device == NULL)
        return true;
    wiped = wipes();
    for (uint32_t i = 0; device->keys != NULL && i < device->capacity; i++)
        if (device->keys[i].prepared != NULL)
            free_key(device, i);
    free(device->keys);
    for (unsigned i = 0; i < device->config.streams; i++) {
        give_room(device, &device->streams[i].workspace);
        give_room(device, &device->streams[i].random);
    }
    warprsa_secret_pool_free(&device->secrets);
    warprsa_id_pool_free(&device->key_ids);
    free(device);
    return wiped;
}

const char *warprsa_host_describe(const warprsa_device *device)
{
    return device->description;
}

/* Releases what was computed, or zeros. */
static void finish_task(const warprsa_device *device, warprsa_task *task,
                        const warprsa_host_request *request)
{
    const uint32_t bytes = device->keys[task->key].bytes;

    task->status = request->status;
    if (warprsa_fault_active(WARPRSA_FAULT_WRONG))
        task->status = WARPRSA_CHECK_FAILED;
    if (warprsa_fault_active(WARPRSA_FAULT_UNCHECKED))
        task->status = WARPRSA_OK;
    if (task->status == WARPRSA_OK)
        memcpy(task->output, request->output, bytes);
    else
        memset(task->output, 0, bytes);
}

/* Zeroed memory for what blinds a key's batches on one stream; or NULL. */
static void *new_blinding(warprsa_device *device, size_t bytes)
{
    void *blinding = NULL;

    if (atomic_fetch_add(&device->blindings, 1) < WARPRSA_HOST_BLINDINGS_MAX)
        blinding = warprsa_secret_take(&device->secrets, bytes);
    if (blinding == NULL)
        atomic_fetch_sub(&device->blindings, 1);
    return blinding;
}

/* What blinds these tasks, if they are as many as the arithmetic takes at a
 * time and all of one key; or NULL. Others have blinding of their own. */
static void *blinding_for(warprsa_device *device, unsigned stream, size_t lanes,
                          const warprsa_task *tasks, size_t count)
{
    loaded_key *key = &device->keys[tasks[0].key];
    void **blinding;

    for (size_t i = 0; i < count; i++)
        if (tasks[i].key != tasks[0].key)
            return NULL;
    if (key->blinding == NULL || count < lanes)
        return NULL;
    blinding = &key->blinding[stream];
    if (*blinding == NULL)
        *blinding = new_blinding(device, key->blinding_bytes);
    return *blinding;
}

/* What functions that have returned left on the stack. */
static __attribute__((noinline)) void wipe_stack(size_t bytes)
{
    uint8_t below[bytes];

    explicit_bzero(below, bytes);
}

/* Computes as many tasks as the arithmetic takes at a time. If a task fails,
 * the blinding of these tasks is forgotten. */
static void run_tasks(const warprsa_device *device, void *workspace,
                      const uint64_t *random, warprsa_size_class size,
                      warprsa_host_options options, warprsa_task *tasks,
                      size_t count)
{
    const warprsa_host_arithmetic *arithmetic = arithmetic_for(device, size);
    warprsa_host_request requests[WARPRSA_HOST_LANES_MAX];
    bool failed = false;

    for (size_t i = 0; i < count; i++) {
        requests[i].key = device->keys[tasks[i].key].prepared;
        requests[i].input = tasks[i].input;
        requests[i].random = random + i * WARPRSA_RANDOM_WORDS;
    }
    arithmetic->operate(workspace, requests, count, size, options);
    wipe_stack(arithmetic->stack_bytes);
    for (size_t i = 0; i < count; i++) {
        finish_task(device, &tasks[i], &requests[i]);
        failed |= requests[i].status != WARPRSA_OK;
    }
    if (failed && options.blinding != NULL)
        explicit_bzero(options.blinding,
                       device->keys[tasks[0].key].blinding_bytes);
    explicit_bzero(requests, sizeof(requests));
}

/* How doubles are rounded. On x86-64 that is SSE's affair alone, and <fenv.h>
 * would be all that the module needs of libm. */
#ifdef __x86_64__
#define TOWARD_ZERO ((int)_MM_ROUND_TOWARD_ZERO)

static int rounding_now(void)
{
    return (int)_MM_GET_ROUNDING_MODE();
}

static bool round_by(int mode)
{
    _MM_SET_ROUNDING_MODE((unsigned)mode);
    return true;
}
#else
#define TOWARD_ZERO FE_TOWARDZERO

static int rounding_now(void)
{
    return fegetround();
}

static bool round_by(int mode)
{
    return fesetround(mode) == 0;
}
#endif

static warprsa_status run_batch(warprsa_device *device, unsigned stream,
                                void *workspace, const uint64_t *random,
                                warprsa_size_class size, warprsa_task *tasks,
                                size_t count)
{
    warprsa_host_options options = {.many = count > 1,
                                    .direct_table_reads =
                                        device->config.direct_table_reads};
    const size_t lanes = arithmetic_for(device, size)->lanes;
    int rounding = rounding_now();

    if (rounding < 0 || !round_by(TOWARD_ZERO))
        return WARPRSA_DEVICE_ERROR;
    for (size_t i = 0; i < count; i += lanes) {
        const size_t some = count - i < lanes ? count - i : lanes;

        options.blinding = blinding_for(device, stream, lanes, &tasks[i], some);
        run_tasks(device, workspace, random + i * WARPRSA_RANDOM_WORDS, size,
                  options, &tasks[i], some);
    }
    return round_by(rounding) ? WARPRSA_OK : WARPRSA_DEVICE_ERROR;
}

/* Computes the whole batch. wait() only reports. */
static warprsa_status start_batch(warprsa_device *device, unsigned stream,
                                  warprsa_size_class size, warprsa_task *tasks,
                                  size_t count)
{
    const size_t bytes = count * WARPRSA_RANDOM_WORDS * sizeof(uint64_t);
    const size_t workspace_bytes =
        arithmetic_for(device, size)->workspace_bytes(size);
    scratch *workspace = &device->streams[stream].workspace;
    scratch *random = &device->streams[stream].random;
    warprsa_status status;

    if (warprsa_fault_active(WARPRSA_FAULT_LAUNCH))
        return WARPRSA_DEVICE_ERROR;
    if (warprsa_fault_active(WARPRSA_FAULT_HANG)) {
        device->streams[stream].outcome = WARPRSA_DEADLINE;
        return WARPRSA_OK;
    }
    if (traps()) {
        device->streams[stream].outcome = WARPRSA_DEVICE_ERROR;
        return WARPRSA_OK;
    }
    if (!has_room(device, workspace, workspace_bytes) ||
        !has_room(device, random, bytes))
        return WARPRSA_NO_MEMORY;
    status =
        device->config.random(device->config.random_arg, random->memory, bytes)
            ? run_batch(device, stream, workspace->memory, random->memory, size,
                        tasks, count)
            : WARPRSA_NO_RANDOM;
    explicit_bzero(workspace->memory, workspace_bytes);
    explicit_bzero(random->memory, bytes);
    warprsa_wipe_registers();
    return status;
}

warprsa_status warprsa_host_wait(warprsa_device *device, unsigned stream,
                                 unsigned timeout_ms)
{
    stream_state *s = &device->streams[stream];
    warprsa_status outcome = s->outcome;

    (void)timeout_ms;
    s->outcome = WARPRSA_OK;
    return outcome;
}

warprsa_status warprsa_host_start(warprsa_device *device, unsigned stream,
                                  warprsa_size_class size, warprsa_task *tasks,
                                  size_t count)
{
    static const warprsa_engine unproven = {.start = start_batch,
                                            .wait = warprsa_host_wait};
    warprsa_status status = warprsa_known_answer_prove(
        &unproven, device, &device->test, stream, size);

    return status == WARPRSA_OK
               ? start_batch(device, stream, size, tasks, count)
               : status;
}

warprsa_status warprsa_host_self_test(warprsa_device *device, unsigned stream)
{
    return warprsa_known_answer_run(device->engine, device, &device->test,
                                    stream);
}

warprsa_status warprsa_host_test_class(warprsa_device *device, unsigned stream,
                                       warprsa_size_class size)
{
    return warprsa_known_answer_class(device->engine, device, &device->test,
                                      stream, size);
}

/* Loads the known-answer test's keys and runs it. */
static warprsa_status prove(warprsa_device *device)
{
    warprsa_status status = warprsa_known_answer_load(
        device->engine, device, &device->test, WARPRSA_CLASSES);

    return status == WARPRSA_OK ? warprsa_host_self_test(device, 0) : status;
}

unsigned warprsa_host_count(const char *missing, char *why, size_t why_size)
{
    if (warprsa_fault_active(WARPRSA_FAULT_NODEVICE))
        missing = "no device (fault injected)";
    if (missing != NULL)
        snprintf(why, why_size, "%s", missing);
    return missing == NULL ? 1 : 0;
}

warprsa_status warprsa_host_open(const warprsa_engine *engine,
                                 const warprsa_host_arithmetic *arithmetic,
                                 const char *name,
                                 const warprsa_device_config *config,
                                 warprsa_device **out, char *why,
                                 size_t why_size)
{
    warprsa_status status = WARPRSA_NO_MEMORY;
    warprsa_device *device;

    *out = NULL;
    if (engine->count(why, why_size) == 0)
        return WARPRSA_NO_DEVICE;
    device = calloc(1, sizeof(*device));
    if (device == NULL || !warprsa_secret_pool_init(&device->secrets)) {
        free(device);
        return WARPRSA_NO_MEMORY;
    }
    if (!opens()) {
        snprintf(why, why_size, "%s engine: lost to this process",
                 engine->name);
        warprsa_secret_pool_free(&device->secrets);
        free(device);
        return WARPRSA_DEVICE_ERROR;
    }
    device->config = *config;
    device->engine = engine;
    device->capacity = config->keys_max + WARPRSA_CLASSES;
    device->arithmetic = arithmetic;
    snprintf(device->description, sizeof(device->description), "%s (%s 0%s)",
             name, engine->name,
             config->direct_table_reads ? ", direct reads" : "");
    device->keys = calloc(device->capacity, sizeof(*device->keys));
    if (device->keys != NULL &&
        warprsa_id_pool_init(&device->key_ids, 0, device->capacity))
        status = prove(device);
    if (status != WARPRSA_OK) {
        snprintf(why, why_size, "%s engine: known-answer test: %s",
                 engine->name, warprsa_status_text(status));
        warprsa_host_close(device);
        return status;
    }
    *out = device;
    return WARPRSA_OK;
}
