/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What hangs on an RSA object of ours: one warprsa_rsa per RSA, held by an
 * RSA_METHOD of its own (a copy of libcrypto's) whose finish function frees
 * it. Not by ex_data: indices and free functions of ex_data belong to the
 * thread's default library context, and an application may change that.
 */
#ifndef WARPRSA_KEY_H
#define WARPRSA_KEY_H

#include <stdatomic.h>
#include <stdbool.h>

#include <openssl/rsa.h>

#include "provider/instance.h"

struct warprsa_context;

enum {
    /* Threads that compute with one key on the CPU before a blinding has to
     * be made for one operation alone. */
    WARPRSA_BLINDINGS = 32,
};

/* The home's copy of the key, per process. */
typedef struct warprsa_handle {
    warprsa_instance *instance;
    const warprsa_backend_ops *calls;
    warprsa_backend_key *key;
    struct warprsa_handle *parent; /* of the forking process */
} warprsa_handle;

typedef struct warprsa_rsa {
    struct warprsa_context *context;
    RSA_METHOD *method;
    unsigned type;     /* index of its keymgmt */
    int size_class;    /* -1: the engines can't take it */
    bool reaches_hook; /* the exponentiation's; false without CRT parameters */
    _Atomic(warprsa_handle *) handle;
    _Atomic(BN_BLINDING *) blindings[WARPRSA_BLINDINGS]; /* idle ones */
} warprsa_rsa;

/* Hangs a warprsa_rsa on a fresh RSA that has none. False: no memory. */
bool warprsa_rsa_attach(struct warprsa_context *context, unsigned type,
                        RSA *rsa);

/* What hangs on an RSA made by our keymgmt; NULL: it isn't one of those. */
warprsa_rsa *warprsa_rsa_of(const RSA *rsa);

/*
 * To be called once the numbers of an RSA are there: finds the size class,
 * and switches libcrypto's blinding off for a key that has one. One thread.
 */
void warprsa_rsa_classify(RSA *rsa);

/* The home's key for an RSA with a size class; it stays the RSA's, and is
 * released with it. NULL: no memory. The caller is between
 * warprsa_instance_enter() and leave(). Any thread. */
warprsa_backend_key *warprsa_rsa_key(const RSA *rsa, warprsa_instance *instance,
                                     const warprsa_backend *backend);

#endif
