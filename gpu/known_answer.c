/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gpu/known_answer.h"

#include <string.h>

#include "gpu/fault.h"
#include "gpu/known_answer_keys.h"

enum {
    KNOWN_ANSWER_TIMEOUT_MS = 10000,
};

warprsa_status warprsa_known_answer_load(const warprsa_engine *engine,
                                         warprsa_device *device,
                                         warprsa_known_answer *test)
{
    warprsa_status status = WARPRSA_OK;

    warprsa_fault_spare(true);
    for (int i = 0; status == WARPRSA_OK && i < WARPRSA_CLASSES; i++)
        status = engine->load_key(device, &warprsa_known_answer_keys[i].key,
                                  &test->key[i]);
    warprsa_fault_spare(false);
    return status;
}

/* The input is fixed, too: octet i is i, after a zero octet. */
static void fill_input(uint8_t *input, size_t length)
{
    for (size_t i = 0; i < length; i++)
        input[i] = (uint8_t)i;
}

static warprsa_status run(const warprsa_engine *engine, warprsa_device *device,
                          const warprsa_known_answer *test, unsigned stream)
{
    uint8_t input[WARPRSA_MODULUS_OCTETS_MAX];
    uint8_t output[WARPRSA_MODULUS_OCTETS_MAX];

    fill_input(input, sizeof(input));
    for (int i = 0; i < WARPRSA_CLASSES; i++) {
        warprsa_task task = {.key = test->key[i],
                             .input = input,
                             .output = output,
                             .status = WARPRSA_CHECK_FAILED};
        warprsa_status status =
            engine->start(device, stream, (warprsa_size_class)i, &task, 1);

        if (status == WARPRSA_OK)
            status = engine->wait(device, stream, KNOWN_ANSWER_TIMEOUT_MS);
        if (status == WARPRSA_OK)
            status = task.status;
        if (status != WARPRSA_OK)
            return status;
        if (memcmp(output, warprsa_known_answer_keys[i].answer,
                   warprsa_known_answer_keys[i].key.modulus_octets) != 0)
            return WARPRSA_CHECK_FAILED;
    }
    return WARPRSA_OK;
}

warprsa_status warprsa_known_answer_run(const warprsa_engine *engine,
                                        warprsa_device *device,
                                        const warprsa_known_answer *test,
                                        unsigned stream)
{
    warprsa_status status;

    warprsa_fault_spare(true);
    status = run(engine, device, test, stream);
    warprsa_fault_spare(false);
    return status;
}
