/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory for secrets: left out of core dumps, zeroed by the kernel in forked
 * children, and kept out of swap as far as RLIMIT_MEMLOCK allows. Nothing here
 * fails because one of the three is refused: a kernel, a limit or a sandbox may
 * do so.
 *
 * Locking takes at most a half of what the process may lock, since the program
 * may want the rest, and a mapping at most a half of what is left of that. So
 * the first mapping, however large, leaves room for the keys that come later.
 *
 * A child finds zeros here. It neither needs the parent's secrets nor may it
 * use the parent's pools, whose locks other threads of the parent may have
 * held.
 */
#ifndef WARPRSA_BATCHING_BASE_SECRET_MEMORY_H
#define WARPRSA_BATCHING_BASE_SECRET_MEMORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

enum {
    WARPRSA_SECRET_ALIGNMENT = 64, /* of all memory from here, in bytes */
};

/* A mapping of its own, of zeros, for `size` bytes; NULL: no memory. For what
 * is large, or there only once. Any thread. */
void *warprsa_secret_map(size_t size);

/* Gives such memory back. Its owner has wiped what it wrote there. NULL: does
 * nothing. Also in the child of a fork. Any thread. */
void warprsa_secret_unmap(void *memory, size_t size);

LIST_HEAD(warprsa_secret_chunks, warprsa_secret_chunk);

/* Many pieces of memory, of a few KiB each, which share mappings. */
typedef struct warprsa_secret_pool {
    pthread_mutex_t lock;
    struct warprsa_secret_chunks with_room;
} warprsa_secret_pool;

/* An empty pool. It maps memory when some is taken. False: no lock. */
bool warprsa_secret_pool_init(warprsa_secret_pool *pool);

/* The end of a pool from which nothing is taken any more. What was taken and
 * not given back stays as it is. */
void warprsa_secret_pool_free(warprsa_secret_pool *pool);

/* Memory of zeros for `size` bytes; NULL: no memory. Any thread. */
void *warprsa_secret_take(warprsa_secret_pool *pool, size_t size);

/* Wipes and gives back what take() returned for so many bytes. NULL: does
 * nothing. Any thread. */
void warprsa_secret_give(warprsa_secret_pool *pool, void *memory, size_t size);

/* Whether these bytes, of a mapping or a pool, can't be swapped out. Any
 * thread. */
bool warprsa_secret_is_locked(const void *memory, size_t size);

#endif
