/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The forms that keys have on a GPU, and how much memory requests with such
 * keys take there. Keys of the large classes have a form of their own
 * (WARPRSA_LARGE in gpu/arith/prepared_key.h), and so have those of the kernel
 * "int32".
 */
#ifndef WARPRSA_GPU_CUDA_KEY_FORM_H
#define WARPRSA_GPU_CUDA_KEY_FORM_H

#include "gpu/engine.h"

typedef struct warprsa_key_form {
    size_t key_bytes;
    size_t exponent_at; /* the place of p's in a key: for WARPRSA_FAULT_FLIP */
    /* Bytes of one request: parts as gpu/kernels/batch.h names them. */
    size_t unblinding_bytes, exponent_bytes, result_bytes;
    /* Fills the key_bytes at `out`, which are zero and aligned for doubles, and
     * sets *windows. Returns what warprsa_prepare_key() returns. Any thread. */
    warprsa_status (*prepare)(void *out, uint16_t *windows,
                              const warprsa_private_key *key);
} warprsa_key_form;

/* Samples of 52 bits, of the large classes and of the others. */
extern const warprsa_key_form warprsa_form_large, warprsa_form_wide;

/* Limbs of 32 bits; for no large class. Such keys and their requests take the
 * places of warprsa_form_wide, which is no shorter. */
extern const warprsa_key_form warprsa_form_int32;

/* The form in samples that keys of a class have. */
static inline const warprsa_key_form *warprsa_form_of(warprsa_size_class size)
{
    return size < WARPRSA_CLASS_LARGE ? &warprsa_form_wide
                                      : &warprsa_form_large;
}

#endif
