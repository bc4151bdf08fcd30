/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Runs the known-answer test through the functions of an engine.
 */
#include "gpu/known_answer.h"

#include <string.h>

#include "batching/base/clock.h"
#include "gpu/fault.h"
#include "gpu/known_answer_keys.h"

/* The value of a hexadecimal digit; letters are no capitals. */
static unsigned digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* Puts a number of so many bytes into the last ones of its array. */
static void put(uint8_t *array, size_t size, const char *hex, size_t length)
{
    for (size_t i = 0; i < length; i++)
        array[size - length + i] =
            (uint8_t)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
}

void warprsa_known_answer_key(warprsa_private_key *key, warprsa_size_class size)
{
    const warprsa_known_answer_numbers *from = &warprsa_known_answer_keys[size];
    const size_t whole = from->modulus_bytes, half = whole / 2;

    memset(key, 0, sizeof(*key));
    key->modulus_bytes = from->modulus_bytes;
    put(key->n, sizeof(key->n), from->n, whole);
    put(key->e, sizeof(key->e), "010001", 3);
    put(key->p, sizeof(key->p), from->p, half);
    put(key->q, sizeof(key->q), from->q, half);
    put(key->dp, sizeof(key->dp), from->dp, half);
    put(key->dq, sizeof(key->dq), from->dq, half);
    put(key->qinv, sizeof(key->qinv), from->qinv, half);
}

size_t warprsa_known_answer_result(uint8_t *result, warprsa_size_class size)
{
    const warprsa_known_answer_numbers *from = &warprsa_known_answer_keys[size];

    put(result, from->modulus_bytes, from->answer, from->modulus_bytes);
    return from->modulus_bytes;
}

warprsa_status warprsa_known_answer_load(const warprsa_engine *engine,
                                         warprsa_device *device,
                                         warprsa_known_answer *test,
                                         unsigned classes)
{
    warprsa_status status = WARPRSA_OK;
    warprsa_private_key key;

    warprsa_fault_suppress(true);
    while (status == WARPRSA_OK && test->loaded < classes) {
        const unsigned i = test->loaded;

        warprsa_known_answer_key(&key, (warprsa_size_class)i);
        status = engine->load_key(device, &key, &test->key[i]);
        test->loaded += status == WARPRSA_OK;
    }
    warprsa_fault_suppress(false);
    return status;
}

/* The input is fixed like the keys: byte i is i modulo 256. Its first byte is
 * zero, so it is below n. */
static void fill_input(uint8_t *input, size_t length)
{
    for (size_t i = 0; i < length; i++)
        input[i] = (uint8_t)i;
}

/* All tasks share one output buffer, as all results should be equal. */
static void set_tasks(warprsa_task *tasks, size_t count, uint32_t key,
                      const uint8_t *input, uint8_t *output)
{
    for (size_t i = 0; i < count; i++)
        tasks[i] = (warprsa_task){.key = key,
                                  .input = input,
                                  .output = output,
                                  .status = WARPRSA_CHECK_FAILED};
}

/* What became of tasks that wait() has returned `status` for. The device has
 * checked each result. The last one written is compared with the answer. */
static warprsa_status judge(warprsa_status status, warprsa_size_class size,
                            const warprsa_task *tasks, size_t count,
                            const uint8_t *output)
{
    uint8_t right[WARPRSA_MODULUS_BYTES_MAX];

    for (size_t i = 0; status == WARPRSA_OK && i < count; i++)
        status = tasks[i].status;
    if (status == WARPRSA_OK &&
        memcmp(output, right, warprsa_known_answer_result(right, size)) != 0)
        status = WARPRSA_CHECK_FAILED;
    return status;
}

static warprsa_status run(const warprsa_engine *engine, warprsa_device *device,
                          const warprsa_known_answer *test, unsigned stream,
                          warprsa_size_class size, warprsa_task *tasks,
                          size_t count, double *ms)
{
    uint8_t input[WARPRSA_MODULUS_BYTES_MAX];
    uint8_t output[WARPRSA_MODULUS_BYTES_MAX];
    warprsa_status status;
    uint64_t started;

    fill_input(input, sizeof(input));
    set_tasks(tasks, count, test->key[size], input, output);
    status = engine->start(device, stream, size, tasks, count);
    started = warprsa_clock_ns();
    if (status == WARPRSA_OK)
        status = engine->wait(device, stream, WARPRSA_KNOWN_ANSWER_TIMEOUT_MS);
    *ms = (double)(warprsa_clock_ns() - started) / (double)WARPRSA_NS_PER_MS;
    return judge(status, size, tasks, count, output);
}

warprsa_status warprsa_known_answer_start(const warprsa_engine *engine,
                                          warprsa_device *device,
                                          const warprsa_known_answer *test,
                                          unsigned stream,
                                          warprsa_size_class size,
                                          warprsa_known_answer_trial *trial)
{
    warprsa_status status;

    trial->size = size;
    fill_input(trial->input, sizeof(trial->input));
    set_tasks(&trial->task, 1, test->key[size], trial->input, trial->output);
    warprsa_fault_suppress(true);
    status = engine->start(device, stream, size, &trial->task, 1);
    warprsa_fault_suppress(false);
    return status;
}

warprsa_status warprsa_known_answer_wait(const warprsa_engine *engine,
                                         warprsa_device *device,
                                         unsigned stream,
                                         warprsa_known_answer_trial *trial,
                                         unsigned timeout_ms)
{
    warprsa_status status;

    warprsa_fault_suppress(true);
    status = engine->wait(device, stream, timeout_ms);
    warprsa_fault_suppress(false);
    return judge(status, trial->size, &trial->task, 1, trial->output);
}

warprsa_status
warprsa_known_answer_batch(const warprsa_engine *engine, warprsa_device *device,
                           const warprsa_known_answer *test, unsigned stream,
                           warprsa_size_class size, warprsa_task *tasks,
                           size_t count, double *ms)
{
    warprsa_status status;

    warprsa_fault_suppress(true);
    status = run(engine, device, test, stream, size, tasks, count, ms);
    warprsa_fault_suppress(false);
    return status;
}

warprsa_status warprsa_known_answer_run(const warprsa_engine *engine,
                                        warprsa_device *device,
                                        warprsa_known_answer *test,
                                        unsigned stream)
{
    warprsa_status status = WARPRSA_OK;
    warprsa_task task;
    double ms;

    for (int i = WARPRSA_CLASS_LARGE; i < WARPRSA_CLASSES; i++)
        atomic_store(&test->is_proven[i], false);
    for (int i = 0; status == WARPRSA_OK && i < WARPRSA_CLASS_LARGE; i++)
        status = warprsa_known_answer_batch(
            engine, device, test, stream, (warprsa_size_class)i, &task, 1, &ms);
    return status;
}

warprsa_status warprsa_known_answer_prove(const warprsa_engine *engine,
                                          warprsa_device *device,
                                          warprsa_known_answer *test,
                                          unsigned stream,
                                          warprsa_size_class size)
{
    warprsa_status status;
    warprsa_task task;
    double ms;

    if (size < WARPRSA_CLASS_LARGE || atomic_load(&test->is_proven[size]))
        return WARPRSA_OK;
    status = warprsa_known_answer_batch(engine, device, test, stream, size,
                                        &task, 1, &ms);
    if (status == WARPRSA_OK)
        atomic_store(&test->is_proven[size], true);
    return status;
}

warprsa_status warprsa_known_answer_class(const warprsa_engine *engine,
                                          warprsa_device *device,
                                          const warprsa_known_answer *test,
                                          unsigned stream,
                                          warprsa_size_class size)
{
    warprsa_task task;
    double ms;

    return run(engine, device, test, stream, size, &task, 1, &ms);
}
