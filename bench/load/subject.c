/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Opening a subject by a configuration file made for it, and reading its
 * counters.
 */
#include "bench/load/subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/conf.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/params.h>

#include "tests/configuration.h"

#define IS_SUM_COUNTER        true
#define IS_SUM_GAUGE          false
#define IS_SUM_PEAK           false
#define ROW(name, kind, ...)  {#name, IS_SUM_##kind},
#define REASON(id, name, ...) {"cpu_" #name, true},
const load_counter load_counter_table[LOAD_COUNTERS] = {WARPRSA_EACH_ROUTE(
    ROW) WARPRSA_EACH_REASON(REASON) WARPRSA_EACH_COUNTER(ROW)};

static bool write_settings(FILE *file, const char *module, const char *settings)
{
    configuration_begin(file, module);
    fprintf(file, "activate = 1\n");
    while (*settings != '\0') {
        int length = (int)strcspn(settings, " ");

        fprintf(file, "%.*s\n", length, settings);
        settings += length;
        settings += strspn(settings, " ");
    }
    return fflush(file) == 0 && !ferror(file);
}

/* Writes a configuration file: OpenSSL takes a provider's section from files
 * only. */
static bool load_settings(load_subject *subject, const char *module)
{
    char path[] = "/tmp/warprsa-load.XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool ok = file != NULL &&
              write_settings(file, module, subject->options->settings) &&
              OSSL_LIB_CTX_load_config(subject->libctx, path) == 1;

    if (file != NULL)
        fclose(file);
    else if (fd >= 0)
        close(fd);
    if (fd >= 0)
        unlink(path);
    return ok;
}

void load_subject_open(load_subject *subject, const load_options *options,
                       const load_subject_options *which)
{
    *subject = (load_subject){.options = which, .libctx = OSSL_LIB_CTX_new()};
    if (subject->libctx == NULL)
        load_fail("no memory for a library context");
    if (which->is_default) {
        subject->provider = OSSL_PROVIDER_load(subject->libctx, "default");
        if (subject->provider == NULL)
            load_fail("OpenSSL's default provider can't be loaded");
        return;
    }
    /* OpenSSL reports no error where a module refuses its settings. */
    if (load_settings(subject, options->module) &&
        OSSL_PROVIDER_available(subject->libctx, "warprsa"))
        subject->provider = OSSL_PROVIDER_load(subject->libctx, "warprsa");
    if (subject->provider == NULL) {
        ERR_print_errors_fp(stderr);
        load_fail("%s: %s can't be loaded with \"%s\"; WARPRSA_TRACE=stderr "
                  "tells why",
                  which->name, options->module, which->settings);
    }
}

void load_subject_close(load_subject *subject)
{
    OSSL_PROVIDER_unload(subject->provider);
    OSSL_LIB_CTX_free(subject->libctx);
}

load_counters load_subject_counters(const load_subject *subject)
{
    load_counters counters = {0};
    OSSL_PARAM request[LOAD_COUNTERS + 1];
    char names[LOAD_COUNTERS][WARPRSA_COUNTER_NAME_SIZE];

    if (subject->options->is_default)
        return counters;
    for (int i = 0; i < LOAD_COUNTERS; i++) {
        warprsa_counter_parameter(load_counter_table[i].name, names[i]);
        request[i] = OSSL_PARAM_construct_uint64(names[i], &counters.value[i]);
    }
    request[LOAD_COUNTERS] = OSSL_PARAM_construct_end();
    if (!OSSL_PROVIDER_get_params(subject->provider, request))
        load_fail("the provider doesn't give its counters");
    for (int i = 0; i < LOAD_COUNTERS; i++)
        if (!OSSL_PARAM_modified(&request[i]))
            load_fail("the provider has no counter \"%s\"", names[i]);
    return counters;
}

load_counters load_counters_between(const load_counters *from,
                                    const load_counters *to,
                                    const load_counters *now)
{
    load_counters between;

    for (int i = 0; i < LOAD_COUNTERS; i++)
        between.value[i] = load_counter_table[i].is_sum
                               ? to->value[i] - from->value[i]
                               : now->value[i];
    return between;
}

bool load_subject_uses_devices(const load_subject *subject)
{
    const char *settings = subject->options->settings;

    return !subject->options->is_default &&
           strstr(settings, "route=cpu") == NULL &&
           strstr(settings, "engine=none") == NULL;
}
