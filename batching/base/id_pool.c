/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batching/base/id_pool.h"

#include <stdlib.h>

bool warprsa_key_slots_init(warprsa_key_slots *slots, uint32_t capacity)
{
    slots->free = malloc(capacity * sizeof(*slots->free));
    if (slots->free == NULL)
        return false;
    if (pthread_mutex_init(&slots->lock, NULL) != 0) {
        free(slots->free);
        slots->free = NULL;
        return false;
    }
    slots->count = capacity;
    for (uint32_t i = 0; i < capacity; i++)
        slots->free[i] = capacity - 1 - i;
    return true;
}

void warprsa_key_slots_end(warprsa_key_slots *slots)
{
    if (slots->free == NULL)
        return;
    pthread_mutex_destroy(&slots->lock);
    free(slots->free);
    slots->free = NULL;
}

bool warprsa_key_slots_take(warprsa_key_slots *slots, uint32_t *place)
{
    bool any;

    pthread_mutex_lock(&slots->lock);
    any = slots->count > 0;
    if (any)
        *place = slots->free[--slots->count];
    pthread_mutex_unlock(&slots->lock);
    return any;
}

void warprsa_key_slots_give(warprsa_key_slots *slots, uint32_t place)
{
    pthread_mutex_lock(&slots->lock);
    slots->free[slots->count++] = place;
    pthread_mutex_unlock(&slots->lock);
}
