/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The id pool of id_pool.h: a stack of released ids above a counter.
 */
#include "batching/base/id_pool.h"

#include <stdlib.h>

bool warprsa_id_pool_init(warprsa_id_pool *pool, uint32_t first, uint32_t count)
{
    /* Pages of a large block from calloc() take no memory until touched. */
    pool->released = calloc(count > 0 ? count : 1, sizeof(*pool->released));
    pool->depth = 0;
    pool->next = first;
    pool->end = first + count;
    if (pool->released == NULL)
        return false;
    if (pthread_mutex_init(&pool->lock, NULL) == 0)
        return true;
    free(pool->released);
    pool->released = NULL;
    return false;
}

void warprsa_id_pool_free(warprsa_id_pool *pool)
{
    if (pool->released == NULL)
        return;
    pthread_mutex_destroy(&pool->lock);
    free(pool->released);
    pool->released = NULL;
}

bool warprsa_id_pool_acquire(warprsa_id_pool *pool, uint32_t *id)
{
    bool any = true;

    pthread_mutex_lock(&pool->lock);
    if (pool->depth > 0)
        *id = pool->released[--pool->depth];
    else if (pool->next < pool->end)
        *id = pool->next++;
    else
        any = false;
    pthread_mutex_unlock(&pool->lock);
    return any;
}

void warprsa_id_pool_release(warprsa_id_pool *pool, uint32_t id)
{
    pthread_mutex_lock(&pool->lock);
    pool->released[pool->depth++] = id;
    pthread_mutex_unlock(&pool->lock);
}

uint32_t warprsa_id_pool_available(warprsa_id_pool *pool)
{
    uint32_t available;

    pthread_mutex_lock(&pool->lock);
    available = pool->depth + (pool->end - pool->next);
    pthread_mutex_unlock(&pool->lock);
    return available;
}
