/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Secrets that tests of gpu/ look for in memory: eight bytes each, as they lie
 * there. Short or common numbers would prove nothing and are left out. Main
 * thread only.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_GPU_SECRETS_H
#define WARPRSA_TESTS_UNIT_SUPPORT_GPU_SECRETS_H

#include <stddef.h>

#include "tests/unit/support/gpu_keys.h"

/* Forgets all secrets. */
void secrets_forget(void);

/* Each whole eight bytes of these is a secret. */
void secrets_add(const void *from, size_t size);

/* A key's private numbers as they are given, and its answer to `input`, which
 * is filled here. */
void secrets_add_key(made_key *key, uint8_t *input);

/* How many there are. */
unsigned secrets_count(void);

/* How many are in a block, at any multiple of four bytes. */
unsigned secrets_in(const void *block, size_t size);

#endif
