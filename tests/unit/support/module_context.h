/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A library context with the module loaded as a program loads it: by a
 * configuration file. For tests that use the provider through EVP.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_MODULE_CONTEXT_H
#define WARPRSA_TESTS_UNIT_SUPPORT_MODULE_CONTEXT_H

#include <stdint.h>

#include <openssl/crypto.h>

typedef struct module_context {
    OSSL_LIB_CTX *libctx; /* default, and warprsa preferred */
    char directory[64];   /* holds the files below */
    char conf[96];
    char trace[96];
    char counters[2048]; /* the last line of the trace, once closed */
} module_context;

/*
 * Loads $BUILD_DIR/provider/warprsa.so with "engine = ENGINE", "route = gpu",
 * long times for slow engines, and the lines of `settings` in its section.
 * Returns 1, or 0 with a message on stderr. Only one at a time per process,
 * since the environment says where the trace is.
 */
int module_context_open(module_context *module, const char *engine,
                        const char *settings);

/* Frees the context, which unloads the provider. Then reads the counters that
 * the provider has written to its trace, and removes the files. Returns 1, or 0
 * if there were no counters. */
int module_context_close(module_context *module);

/* A counter by its name, after closing; UINT64_MAX if there is none. */
uint64_t module_context_counter(const module_context *module, const char *name);

/* WARPRSA_TEST_ENGINE, "host" unless set. */
const char *module_context_engine(void);

/* The counter of what that engine computed: "ifma" or "gpu". */
const char *module_context_engine_counter(void);

/* The exit status of a test whose engine has no device on this machine. */
enum {
    MODULE_CONTEXT_SKIPPED = 77
};
int module_context_device_missing(void);

/* `count` times the percentage WARPRSA_TEST_SCALE (100 unless set), >= 1. */
unsigned module_context_scaled(unsigned count);

#endif
