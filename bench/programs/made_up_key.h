/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * RSA-4096 keys that cost little to make and as much to prepare as any: n is
 * the product of two odd numbers, and no operation with them is right.
 */
#ifndef WARPRSA_BENCH_MADE_UP_KEY_H
#define WARPRSA_BENCH_MADE_UP_KEY_H

#include "gpu/engine.h"

/* Fills in a key; another number, another key. Errors end the program. Any
 * thread. */
void made_up_key(uint32_t number, warprsa_private_key *key);

#endif
