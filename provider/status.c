/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of the provider's parameters and the line of its status.
 */
#include "provider/status.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/params.h>

#include "provider/instance.h"

/* The counters that are one word: the parameter's name, and the offset in
 * warprsa_counters. */
#define COUNTER(field) offsetof(warprsa_counters, field)
#define REASON(reason)                                                         \
    (COUNTER(cpu_reason) + sizeof(uint64_t) * (WARPRSA_CPU_##reason))
#define EACH_COUNTER(X)                                                        \
    X("warprsa-cpu-route", REASON(ROUTE))                                      \
    X("warprsa-cpu-unsupported-key", REASON(UNSUPPORTED_KEY))                  \
    X("warprsa-cpu-starting", REASON(STARTING))                                \
    X("warprsa-cpu-no-device", REASON(NO_DEVICE))                              \
    X("warprsa-cpu-queue-full", REASON(QUEUE_FULL))                            \
    X("warprsa-cpu-deadline", REASON(DEADLINE))                                \
    X("warprsa-cpu-check-failed", REASON(CHECK_FAILED))                        \
    X("warprsa-cpu-error", REASON(ERROR))                                      \
    X("warprsa-cpu-key-cache-full", REASON(KEY_CACHE_FULL))                    \
    X("warprsa-cpu-overflow", REASON(OVERFLOW))                                \
    X("warprsa-cpu-key-rate", REASON(KEY_RATE))                                \
    X("warprsa-cpu-no-threads", REASON(NO_THREADS))                            \
    X("warprsa-cpu-wrong-key", REASON(WRONG_KEY))                              \
    X("warprsa-batches", COUNTER(batches))                                     \
    X("warprsa-wait-ns", COUNTER(wait_ns))                                     \
    X("warprsa-compute-ns", COUNTER(compute_ns))                               \
    X("warprsa-checks-failed", COUNTER(checks_failed))                         \
    X("warprsa-device-losses", COUNTER(device_losses))                         \
    X("warprsa-devices", COUNTER(devices))                                     \
    X("warprsa-keys", COUNTER(keys))                                           \
    X("warprsa-keys-loaded", COUNTER(keys_loaded))                             \
    X("warprsa-keys-wiped", COUNTER(keys_wiped))                               \
    X("warprsa-keys-evicted", COUNTER(keys_evicted))                           \
    X("warprsa-slots", COUNTER(slots))                                         \
    X("warprsa-slots-bytes", COUNTER(slots_bytes))

#define ROW(name, offset) {name, offset},
static const struct {
    const char *name;
    size_t offset;
} counters[] = {EACH_COUNTER(ROW)};
enum {
    COUNTERS = sizeof(counters) / sizeof(counters[0]),
};

#define PARAM(name, type)    OSSL_PARAM_DEFN(name, OSSL_PARAM_##type, NULL, 0)
#define NUMBER(name, offset) PARAM(name, UNSIGNED_INTEGER),

const OSSL_PARAM *warprsa_status_gettable(void *provctx)
{
    static const OSSL_PARAM gettable[] = {
        PARAM(OSSL_PROV_PARAM_NAME, UTF8_PTR),
        PARAM(OSSL_PROV_PARAM_VERSION, UTF8_PTR),
        PARAM(OSSL_PROV_PARAM_BUILDINFO, UTF8_PTR),
        PARAM(OSSL_PROV_PARAM_STATUS, INTEGER),
        PARAM("warprsa-status", UTF8_STRING),
        PARAM("warprsa-counters", UTF8_STRING),
        PARAM("warprsa-gpu", UNSIGNED_INTEGER),
        PARAM("warprsa-ifma", UNSIGNED_INTEGER),
        PARAM("warprsa-cpu", UNSIGNED_INTEGER),
        EACH_COUNTER(NUMBER) OSSL_PARAM_END,
    };

    (void)provctx;
    return gettable;
}

static uint64_t sum(const _Atomic uint64_t *words, int count)
{
    uint64_t total = 0;

    for (int i = 0; i < count; i++)
        total += atomic_load_explicit(&words[i], memory_order_relaxed);
    return total;
}

static uint64_t word_at(const warprsa_counters *from, size_t offset)
{
    return atomic_load_explicit(
        (const _Atomic uint64_t *)((const char *)from + offset),
        memory_order_relaxed);
}

/* The one line that says whether operations run on the GPU, and if not why. */
static void describe(const warprsa_counters *from, char *text, size_t size)
{
    uint64_t gpu = sum(from->gpu, WARPRSA_CLASSES);
    uint64_t ifma = sum(from->ifma, WARPRSA_CLASSES);
    uint64_t cpu = sum(from->cpu, WARPRSA_CLASSES + 1);
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
    for (int i = 0; i < COUNTERS && length < size; i++) {
        static const char head[] = "warprsa-cpu-";
        uint64_t value = word_at(from, counters[i].offset);

        if (strncmp(counters[i].name, head, sizeof(head) - 1) == 0 && value > 0)
            length +=
                (size_t)snprintf(text + length, size - length, ", %s %" PRIu64,
                                 counters[i].name + sizeof(head) - 1, value);
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

    describe(from, line, sizeof(line));
    if (!set_text(params, "warprsa-status", line))
        return 0;
    warprsa_counters_format(from, line, sizeof(line));
    if (!set_text(params, "warprsa-counters", line) ||
        !set_number(params, "warprsa-gpu", sum(from->gpu, WARPRSA_CLASSES)) ||
        !set_number(params, "warprsa-ifma", sum(from->ifma, WARPRSA_CLASSES)) ||
        !set_number(params, "warprsa-cpu", sum(from->cpu, WARPRSA_CLASSES + 1)))
        return 0;
    for (int i = 0; i < COUNTERS; i++)
        if (!set_number(params, counters[i].name,
                        word_at(from, counters[i].offset)))
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
