/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which places of an engine's key memory are taken.
 */
#ifndef WARPRSA_BATCHING_BASE_ID_POOL_H
#define WARPRSA_BATCHING_BASE_ID_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct warprsa_key_slots {
    pthread_mutex_t lock;
    uint32_t *free;
    uint32_t count; /* of free places */
} warprsa_key_slots;

/* false: no memory. */
bool warprsa_key_slots_init(warprsa_key_slots *slots, uint32_t capacity);
void warprsa_key_slots_end(warprsa_key_slots *slots);

/* A free place; false when all are taken. Any thread. */
bool warprsa_key_slots_take(warprsa_key_slots *slots, uint32_t *place);
void warprsa_key_slots_give(warprsa_key_slots *slots, uint32_t place);

#endif
