/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What libcrypto's core lends to a provider: its functions, and errors raised
 * through them so that they land on the application's error queue.
 */
#ifndef WARPRSA_PROVIDER_CORE_H
#define WARPRSA_PROVIDER_CORE_H

#include <stdbool.h>

#include <openssl/core.h>
#include <openssl/core_dispatch.h>

#include "provider/trace.h"

typedef struct warprsa_core {
    const OSSL_CORE_HANDLE *handle;
    warprsa_trace *trace; /* errors are traced there; NULL: not open yet */
    OSSL_FUNC_core_get_params_fn *get_params;
    OSSL_FUNC_core_get_libctx_fn *get_libctx;
    OSSL_FUNC_core_new_error_fn *new_error;
    OSSL_FUNC_core_set_error_debug_fn *set_error_debug;
    OSSL_FUNC_core_vset_error_fn *vset_error;
    /* Of streams; NULL in a core that has none. */
    OSSL_FUNC_BIO_read_ex_fn *bio_read;
    OSSL_FUNC_BIO_gets_fn *bio_gets;
} warprsa_core;

/* Reasons of errors. They have no texts but what is raised with them: libcrypto
 * would take texts back with the provider, and crashes then if it has cleaned
 * up its own before, as where a program frees a key at the very end of exit().
 */
enum {
    WARPRSA_R_CONFIGURATION = 1,
    WARPRSA_R_DEFAULT_PROVIDER,
    WARPRSA_R_SELF_TEST,
    WARPRSA_R_OUT_OF_MEMORY,
    WARPRSA_R_LIBCRYPTO,
    /* Raised after it has loaded. */
    WARPRSA_R_REFERENCE,
    WARPRSA_R_PRIVATE_NUMBERS,
    WARPRSA_R_DAEMON,
    WARPRSA_R_PUBLIC_NUMBERS,
};

/* Takes the functions from the core's table `in`. False: one is missing; no
 * error can be raised then. One thread, at load. */
bool warprsa_core_init(warprsa_core *core, const OSSL_CORE_HANDLE *handle,
                       const OSSL_DISPATCH *in);

/* Raises an error with one of the reasons above and a text for a person. While
 * the provider loads, also traces the text, since libcrypto drops the errors of
 * a provider that its configuration file activates. Any thread. */
#define warprsa_raise(core, reason, ...)                                       \
    warprsa_core_raise(core, reason, OPENSSL_FILE, OPENSSL_LINE, OPENSSL_FUNC, \
                       __VA_ARGS__)
void warprsa_core_raise(const warprsa_core *core, unsigned reason,
                        const char *file, int line, const char *function,
                        const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* Raises an error of libcrypto's, with its code, its place and its data, which
 * may be empty. Any thread. */
void warprsa_core_raise_code(const warprsa_core *core, unsigned long code,
                             const char *file, int line, const char *function,
                             const char *data);

#endif
