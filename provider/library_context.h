/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The library context of our libcrypto: one a process, with nothing in it but
 * the default provider. All provider contexts share it. Their keys, digests,
 * paddings and random numbers are from there, so that nothing of ours depends
 * on a caller's context or on its libcrypto.
 *
 * It is made once and never freed. libcrypto keeps random generators for each
 * thread that has signed or decrypted there, and frees them when the thread
 * ends. A library context that was freed before, by another thread, is used
 * then all the same: OPENSSL_thread_stop_ex(3) demands that each thread calls
 * it first. A program can do so for its own context and knows nothing of ours.
 * A provider can't do it for the program: libcrypto calls a provider's handler
 * of a thread's end with the lock held that OPENSSL_thread_stop_ex() takes.
 */
#ifndef WARPRSA_PROVIDER_LIBRARY_CONTEXT_H
#define WARPRSA_PROVIDER_LIBRARY_CONTEXT_H

#include <stdbool.h>

#include <openssl/types.h>

typedef struct warprsa_library_context {
    /* Never NULL in its place: the default context of our libcrypto would load
     * this module by its configuration. */
    OSSL_LIB_CTX *libctx;
    OSSL_PROVIDER *provider; /* the default provider, in libctx */
} warprsa_library_context;

/* Gives the library context, which is made if there is none yet. The process
 * owns it. False: no memory, or the default provider can't be loaded; then the
 * next call tries again. Any thread. */
bool warprsa_library_context_get(warprsa_library_context *out);

#endif
