/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The library context of our libcrypto: one per process, with only the default
 * provider in it. All provider contexts share it. Their keys, digests, paddings
 * and random numbers come from it, so that they don't depend on a caller's
 * context or libcrypto.
 *
 * It is made once and never freed. libcrypto keeps random generators for each
 * thread that has signed or decrypted there, and frees them when the thread
 * ends. It would do so even if another thread has freed the library context:
 * each thread has to call OPENSSL_thread_stop_ex(3) first. A program can't do
 * this for a context that it does not know. A provider can't do it for the
 * program: libcrypto calls a provider's handler of a thread's end with the lock
 * held that OPENSSL_thread_stop_ex() takes.
 */
#ifndef WARPRSA_PROVIDER_LIBRARY_CONTEXT_H
#define WARPRSA_PROVIDER_LIBRARY_CONTEXT_H

#include <stdbool.h>

#include <openssl/types.h>

typedef struct warprsa_library_context {
    /* Used instead of NULL: the default context of our libcrypto would load
     * this module by its configuration. */
    OSSL_LIB_CTX *libctx;
    OSSL_PROVIDER *provider; /* the default provider, in libctx */
} warprsa_library_context;

/* Returns the library context, which is made if there is none yet. The process
 * owns it. False: no memory, or the default provider can't be loaded; the next
 * call tries again. Any thread. */
bool warprsa_library_context_get(warprsa_library_context *out);

#endif
