/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Checks a result that another host has computed: output^e mod n is the input
 * (RFC 8017, RSAVP1), by libcrypto.
 */
#ifndef WARPRSA_BATCHING_REMOTE_VERIFY_H
#define WARPRSA_BATCHING_REMOTE_VERIFY_H

#include <stdbool.h>

#include "gpu/engine.h"

typedef struct warprsa_verify warprsa_verify;

/* What is needed for a key. NULL: no memory. */
warprsa_verify *warprsa_verify_new(const warprsa_private_key *key);

/* NULL is allowed. */
void warprsa_verify_free(warprsa_verify *verify);

/* Whether a result is right; both numbers have `bytes` bytes. False also if
 * there is no memory to find out. Any thread. */
bool warprsa_verify_is_right(const warprsa_verify *verify, const uint8_t *input,
                             const uint8_t *output, size_t bytes);

#endif
