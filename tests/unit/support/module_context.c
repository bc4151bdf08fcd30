/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A library context with the module, its configuration and trace files.
 */
#include "tests/unit/support/module_context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/provider.h>

#include "tests/configuration.h"

static int write_conf(const module_context *module, const char *engine,
                      const char *settings)
{
    const char *build = getenv("BUILD_DIR");
    char path[512];
    FILE *file = fopen(module->conf, "w");
    int ok = 0;

    if (build == NULL || file == NULL) {
        perror(build == NULL ? "BUILD_DIR is not set" : module->conf);
        if (file != NULL)
            fclose(file);
        return 0;
    }
    snprintf(path, sizeof(path), "%s/provider/warprsa.so", build);
    configuration_begin(file, path);
    fprintf(file,
            "activate = 1\n"
            "engine = %s\n"
            "route = gpu\n"
            "startup_ms = 600000\n"
            "deadline_ms = 600000\n"
            "%s\n",
            engine, settings);
    ok = !ferror(file);
    return fclose(file) == 0 && ok;
}

int module_context_open(module_context *module, const char *engine,
                        const char *settings)
{
    char trace[128];

    memset(module, 0, sizeof(*module));
    strcpy(module->directory, "/tmp/warprsa.XXXXXX");
    if (mkdtemp(module->directory) == NULL) {
        perror(module->directory);
        return 0;
    }
    snprintf(module->conf, sizeof(module->conf), "%s/openssl.cnf",
             module->directory);
    snprintf(module->trace, sizeof(module->trace), "%s/trace",
             module->directory);
    snprintf(trace, sizeof(trace), "file:%s", module->trace);
    if (setenv("WARPRSA_TRACE", trace, 1) != 0 ||
        !write_conf(module, engine, settings))
        return 0;
    module->libctx = OSSL_LIB_CTX_new();
    if (module->libctx == NULL ||
        !OSSL_LIB_CTX_load_config(module->libctx, module->conf) ||
        !OSSL_PROVIDER_available(module->libctx, "warprsa")) {
        fprintf(stderr, "the provider was not loaded\n");
        ERR_print_errors_fp(stderr);
        return 0;
    }
    return 1;
}

/* The text after the last "counters: " of the trace. */
static void read_counters(module_context *module)
{
    char line[sizeof(module->counters)];
    FILE *file = fopen(module->trace, "r");
    if (file == NULL)
        return;
    while (fgets(line, sizeof(line), file) != NULL) {
        const char *found = strstr(line, "counters: ");
        if (found != NULL)
            strcpy(module->counters, found + strlen("counters:"));
    }
    fclose(file);
}

int module_context_close(module_context *module)
{
    OSSL_LIB_CTX_free(module->libctx);
    module->libctx = NULL;
    read_counters(module);
    unlink(module->conf);
    unlink(module->trace);
    rmdir(module->directory);
    return module->counters[0] != '\0';
}

uint64_t module_context_counter(const module_context *module, const char *name)
{
    char wanted[64];
    snprintf(wanted, sizeof(wanted), " %s=", name);
    const char *found = strstr(module->counters, wanted);
    return found == NULL ? UINT64_MAX
                         : strtoull(found + strlen(wanted), NULL, 10);
}

const char *module_context_engine(void)
{
    const char *engine = getenv("WARPRSA_TEST_ENGINE");
    return engine != NULL ? engine : "host";
}

const char *module_context_engine_counter(void)
{
    return strcmp(module_context_engine(), "ifma") == 0 ? "ifma" : "gpu";
}

/* Whether the CPU and the system have what the engine "ifma" needs. */
static int has_ifma(void)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512ifma");
#else
    return 0;
#endif
}

int module_context_device_missing(void)
{
    if (strcmp(module_context_engine(), "ifma") == 0 && !has_ifma()) {
        printf("this CPU, or the system on it, has no AVX-512 IFMA\n");
        return 1;
    }
    if (strcmp(module_context_engine(), "cuda") != 0 ||
        access("/dev/nvidiactl", F_OK) == 0)
        return 0;
    printf("there is no GPU on this machine\n");
    return 1;
}

unsigned module_context_scaled(unsigned count)
{
    const char *scale = getenv("WARPRSA_TEST_SCALE");
    unsigned long percent = scale != NULL ? strtoul(scale, NULL, 10) : 100;
    unsigned scaled = (unsigned)(count * percent / 100);
    return scaled > 0 ? scaled : 1;
}
