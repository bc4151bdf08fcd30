/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of the provider's parameters and the line of its status.
 */
#include "provider/status.h"

#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/params.h>

#include "provider/instance.h"

#define PARAM(name, type) OSSL_PARAM_DEFN(name, OSSL_PARAM_##type, NULL, 0)

enum {
    FIRST_COUNTER = 6, /* in the list below */
};
static OSSL_PARAM gettable[FIRST_COUNTER + WARPRSA_COUNTERS + 1] = {
    PARAM(OSSL_PROV_PARAM_NAME, UTF8_PTR),
    PARAM(OSSL_PROV_PARAM_VERSION, UTF8_PTR),
    PARAM(OSSL_PROV_PARAM_BUILDINFO, UTF8_PTR),
    PARAM(OSSL_PROV_PARAM_STATUS, INTEGER),
    PARAM("warprsa-status", UTF8_STRING),
    PARAM("warprsa-counters", UTF8_STRING),
};
static char names[WARPRSA_COUNTERS][WARPRSA_COUNTER_NAME_SIZE];
static pthread_once_t named = PTHREAD_ONCE_INIT;

static void name_counters(void)
{
    for (unsigned i = 0; i < WARPRSA_COUNTERS; i++) {
        warprsa_counter_parameter(warprsa_counter_table[i].name, names[i]);
        gettable[FIRST_COUNTER + i] =
            (OSSL_PARAM)PARAM(names[i], UNSIGNED_INTEGER);
    }
    gettable[FIRST_COUNTER + WARPRSA_COUNTERS] = (OSSL_PARAM)OSSL_PARAM_END;
}

const OSSL_PARAM *warprsa_status_gettable(void *provctx)
{
    (void)provctx;
    pthread_once(&named, name_counters);
    return gettable;
}

static uint64_t counter(const warprsa_counters *from, unsigned i)
{
    return warprsa_counted(
        warprsa_counter_words(&warprsa_counter_table[i], from),
        warprsa_counter_table[i].words);
}

/* The one line that says whether operations run on the GPU, and if not why. */
static void describe(const warprsa_counters *from, char *text, size_t size)
{
    uint64_t gpu = warprsa_counted(from->gpu, WARPRSA_CLASSES);
    uint64_t ifma = warprsa_counted(from->ifma, WARPRSA_CLASSES);
    uint64_t cpu = warprsa_counted(from->cpu, WARPRSA_CLASSES + 1);
    char device[WARPRSA_COUNTERS_TEXT];
    size_t length = 0;

    warprsa_counters_device(from, device);
    if (gpu + ifma + cpu == 0) {
        snprintf(text, size, "no private operation yet");
        return;
    }
    length = (size_t)snprintf(
        text, size,
        "%s: %" PRIu64 " operations on the device, %" PRIu64 " on the CPU",
        device[0] != '\0' ? device : "no device", gpu + ifma, cpu);
    for (unsigned i = 0; i < WARPRSA_CPU_REASONS && length < size; i++) {
        const char *name = names[WARPRSA_ROUTES + i] + strlen("warprsa-cpu-");
        uint64_t value = counter(from, WARPRSA_ROUTES + i);

        if (value > 0)
            length += (size_t)snprintf(text + length, size - length,
                                       ", %s %" PRIu64, name, value);
    }
}

static int set_text(OSSL_PARAM params[], const char *name, const char *text)
{
    OSSL_PARAM *param = OSSL_PARAM_locate(params, name);

    return param == NULL || OSSL_PARAM_set_utf8_string(param, text);
}

static int set_pointer(OSSL_PARAM params[], const char *name, const char *text)
{
    OSSL_PARAM *param = OSSL_PARAM_locate(params, name);

    return param == NULL || OSSL_PARAM_set_utf8_ptr(param, text);
}

static int set_number(OSSL_PARAM params[], const char *name, uint64_t value)
{
    OSSL_PARAM *param = OSSL_PARAM_locate(params, name);

    return param == NULL || OSSL_PARAM_set_uint64(param, value);
}

static int get_counters(const warprsa_counters *from, OSSL_PARAM params[])
{
    char line[WARPRSA_COUNTERS_LINE];

    pthread_once(&named, name_counters);
    describe(from, line, sizeof(line));
    if (!set_text(params, "warprsa-status", line))
        return 0;
    warprsa_counters_format(from, line, sizeof(line));
    if (!set_text(params, "warprsa-counters", line))
        return 0;
    for (unsigned i = 0; i < WARPRSA_COUNTERS; i++)
        if (!set_number(params, names[i], counter(from, i)))
            return 0;
    return 1;
}

int warprsa_status_get(void *provctx, OSSL_PARAM params[])
{
    static const warprsa_counters none;
    warprsa_context *context = provctx;
    warprsa_instance *instance = atomic_load(&context->instance);
    OSSL_PARAM *status = OSSL_PARAM_locate(params, OSSL_PROV_PARAM_STATUS);

    return set_pointer(params, OSSL_PROV_PARAM_NAME,
                       "warprsa: RSA private operations on the GPU") &&
           set_pointer(params, OSSL_PROV_PARAM_VERSION, WARPRSA_VERSION) &&
           set_pointer(params, OSSL_PROV_PARAM_BUILDINFO, WARPRSA_BUILD_INFO) &&
           (status == NULL || OSSL_PARAM_set_int(status, 1)) &&
           get_counters(instance != NULL && warprsa_instance_is_mine(instance)
                            ? instance->counters
                            : &none,
                        params);
}
