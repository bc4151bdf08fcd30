/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a device on the CPU needs to know of each way to compute private
 * operations there: the host twin of each kernel that computes with an
 * arithmetic, or by a method, of its own, and those of gpu/ifma.
 */
#ifndef WARPRSA_GPU_KERNELS_HOST_ARITHMETIC_H
#define WARPRSA_GPU_KERNELS_HOST_ARITHMETIC_H

#include <stdbool.h>

#include "gpu/engine.h"

enum {
    WARPRSA_HOST_LANES_MAX = WARPRSA_IFMA_LANES,
    /* Alignment of a workspace, in bytes; memory for secrets has it. */
    WARPRSA_HOST_ALIGNMENT = 64,
};

typedef struct warprsa_host_options {
    /* The batch is one of many requests, not of few: an arithmetic may have a
     * shape for each. */
    bool many;
    bool direct_table_reads; /* see warprsa_device_config */
    /* NULL, or blinding_bytes(size) of memory, aligned to HOST_ALIGNMENT, where
     * the arithmetic keeps what blinds batches of one key: all zeros at first,
     * and given with each of that key's batches of `lanes` requests, by one
     * thread at a time. SECRET. */
    void *blinding;
} warprsa_host_options;

/* A private operation. The caller fills the first three. */
typedef struct warprsa_host_request {
    const void *key;        /* prepared by the same arithmetic */
    const uint8_t *input;   /* modulus_bytes of the key */
    const uint64_t *random; /* WARPRSA_RANDOM_WORDS, for blinding */
    uint8_t output[WARPRSA_MODULUS_BYTES_MAX]; /* modulus_bytes count; SECRET */
    warprsa_status status; /* WARPRSA_OK or WARPRSA_CHECK_FAILED */
} warprsa_host_request;

typedef struct warprsa_host_arithmetic {
    size_t key_bytes; /* size of a prepared key; SECRET */
    size_t lanes;     /* requests that it computes at a time, at most */
    /* operate() leaves secrets on so much of the stack below its caller's, for
     * the caller to wipe; at least 1. */
    size_t stack_bytes;

    /* Scratch memory for requests of a size class; SECRET. Any thread. */
    size_t (*workspace_bytes)(warprsa_size_class size);

    /* Memory for options.blinding. NULL: this arithmetic keeps nothing. */
    size_t (*blinding_bytes)(warprsa_size_class size);

    /* Fills `prepared`, of key_bytes bytes, and returns what
     * warprsa_prepare_key() returns. */
    warprsa_status (*prepare)(void *prepared, const warprsa_private_key *key);

    /* Computes 1..lanes requests of a size class. `workspace` has
     * workspace_bytes(size) bytes and is aligned to HOST_ALIGNMENT. The
     * rounding mode must be toward zero. Any thread. */
    void (*operate)(void *workspace, warprsa_host_request *requests,
                    size_t count, warprsa_size_class size,
                    warprsa_host_options options);

    /* What computes the large classes in its place: this is for the others. */
    const struct warprsa_host_arithmetic *large;
} warprsa_host_arithmetic;

/* The arithmetic of a kernel of the host engine, by its name; NULL is the
 * default. Any thread. */
const warprsa_host_arithmetic *warprsa_host_arithmetic_of(const char *kernel);

/* The default. gpu/kernels/NAME/host.c defines warprsa_host_NAME. */
extern const warprsa_host_arithmetic warprsa_host_cooperative;
extern const warprsa_host_arithmetic warprsa_host_large;
extern const warprsa_host_arithmetic warprsa_host_ifma;
extern const warprsa_host_arithmetic warprsa_host_ifma_large;

#endif
