/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What this provider attaches to an RSA object: one warprsa_rsa per RSA. It is
 * the application data of an RSA_METHOD made for this RSA alone, whose finish
 * function frees it. ex_data would not do: its indices and free functions
 * belong to the thread's default library context, and an application may
 * change that.
 */
#ifndef WARPRSA_PROVIDER_KEY_H
#define WARPRSA_PROVIDER_KEY_H

#include <stdatomic.h>
#include <stdbool.h>

#include <openssl/rsa.h>

#include "batching/vault/wire/key_name.h"
#include "batching/vault/wire/reference.h"
#include "provider/instance.h"

enum {
    /* How many blindings a key keeps. If more threads compute with the key on
     * the CPU at once, each further one makes a blinding for a single
     * operation. */
    WARPRSA_BLINDINGS = 32,
};

/* A backend's copy of the key: one per process that has used the key. */
typedef struct warprsa_key_handle {
    warprsa_instance *instance;
    const warprsa_backend_ops *ops;
    warprsa_backend_key *key;
    struct warprsa_key_handle *parent; /* of the process that forked this */
} warprsa_key_handle;

/* What a key has that is a reference: its private numbers are warprsad's. */
typedef struct warprsa_key_reference {
    uint8_t spki_sha256[WARPRSA_KEY_SPKI_BYTES];
    char name[WARPRSA_KEY_NAME_SIZE];
    char socket[WARPRSA_REFERENCE_SOCKET_SIZE];
    unsigned modulus_bytes;
} warprsa_key_reference;

typedef struct warprsa_rsa {
    warprsa_context *context;
    RSA_METHOD *method;
    warprsa_key_reference *reference; /* NULL: an ordinary key */
    unsigned type;                    /* index of its keymgmt */
    int size_class;                   /* -1: the engines can't take it */
    bool uses_mod_exp; /* libcrypto calls the method's mod_exp for it */
    /* RSA_size() bytes of n, big-endian. Each number without padding is
     * compared with it. To write the BIGNUM as bytes each time takes 6,000
     * instructions for RSA-2048. NULL: there was no memory, or the key has no
     * size class and is no reference. */
    uint8_t *modulus;
    _Atomic(warprsa_key_handle *) handle;
    _Atomic(BN_BLINDING *) blindings[WARPRSA_BLINDINGS]; /* idle ones */
} warprsa_rsa;

/*
 * Sets `method` on a fresh RSA and attaches a warprsa_rsa to it, which takes
 * the method over, even where this fails. `type` is the index of the RSA's
 * keymgmt. False: no memory. One thread.
 */
bool warprsa_rsa_attach(warprsa_context *context, unsigned type, RSA *rsa,
                        RSA_METHOD *method);

/* What is attached to an RSA; NULL: the RSA wasn't made by our keymgmt. */
warprsa_rsa *warprsa_rsa_of(const RSA *rsa);

/* Makes a reference of an RSA with public numbers alone, by a copy. From then
 * on libcrypto calls the method's mod_exp for every private operation. False:
 * no memory. One thread. */
bool warprsa_rsa_set_reference(RSA *rsa, const warprsa_key_reference *from);

/* Whether a key of our keymgmt is a reference. Any thread. */
bool warprsa_rsa_is_reference(const RSA *rsa);

/*
 * To be called once an RSA has its numbers: finds the size class. If there is
 * one, copies the modulus and switches libcrypto's blinding off. One thread.
 */
void warprsa_rsa_classify(RSA *rsa);

/* The backend's key of this instance that the warprsa_rsa has; NULL: none yet.
 * Any thread. */
warprsa_backend_key *warprsa_rsa_held_key(const warprsa_rsa *ours,
                                          const warprsa_instance *instance);

/* Gives the warprsa_rsa a backend's key, which it owns from now on. Returns the
 * key that it has then: another one, if another thread has come first. NULL: no
 * memory. Any thread. */
warprsa_backend_key *warprsa_rsa_hold_key(warprsa_rsa *ours,
                                          warprsa_instance *instance,
                                          const warprsa_backend_ops *ops,
                                          warprsa_backend_key *key);

/*
 * The backend's key for an RSA that has a size class. The warprsa_rsa owns the
 * backend's key and releases it at its end. The caller is between
 * warprsa_instance_enter() and leave(). NULL: no memory. Any thread.
 */
warprsa_backend_key *warprsa_rsa_key(warprsa_rsa *ours, const RSA *rsa,
                                     warprsa_instance *instance,
                                     const warprsa_backend *backend);

#endif
