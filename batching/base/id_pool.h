/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A pool of small numbers (ids). Each id has one holder at a time. Ids are the
 * indices of keys in a device's memory, and the request slots, keys and
 * notifiers of a client's connection to the daemon.
 */
#ifndef WARPRSA_BATCHING_BASE_ID_POOL_H
#define WARPRSA_BATCHING_BASE_ID_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A released id is acquired again before an id that was never held. So memory
 * is touched only for as many ids as were ever held at once. A server may have
 * hundreds of processes that need few ids each.
 */
typedef struct warprsa_id_pool {
    pthread_mutex_t lock; /* of all that follows */
    uint32_t *released;   /* a stack of ids; NULL: not initialised */
    uint32_t depth;       /* of the stack */
    uint32_t next, end;   /* never acquired yet: from next to end - 1 */
} warprsa_id_pool;

/* A pool of the `count` ids from `first` on; count may be 0. False: no memory
 * or no lock, and the pool is as after free(). */
bool warprsa_id_pool_init(warprsa_id_pool *pool, uint32_t first,
                          uint32_t count);

/* Frees what init() allocated; nobody may use the pool any more. Does nothing
 * to a pool of zero bytes, or to one that was freed. */
void warprsa_id_pool_free(warprsa_id_pool *pool);

/* Takes an id. False: all are held. Any thread. */
bool warprsa_id_pool_acquire(warprsa_id_pool *pool, uint32_t *id);

/* Gives back an id that acquire() gave. Any thread. */
void warprsa_id_pool_release(warprsa_id_pool *pool, uint32_t id);

/* How many ids nobody holds. Any thread; the number may be out of date at once,
 * unless the caller keeps others from acquiring and releasing. */
uint32_t warprsa_id_pool_available(warprsa_id_pool *pool);

#endif
