/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory for secrets: left out of core dumps, zeroed by the kernel in forked
 * children, and kept out of swap as far as RLIMIT_MEMLOCK allows. A kernel, a
 * limit or a sandbox may refuse any of the three; no function here fails for
 * it.
 *
 * At most half of what the process may lock is locked here, since the program
 * may need the rest. A mapping locks at most half of what is left of that half,
 * so even a large first mapping leaves room for later keys.
 *
 * A child finds zeros here. It needs none of the parent's secrets, and may not
 * use the parent's pools, since other threads of the parent may have held their
 * locks.
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

/* Makes a mapping of `size` zero bytes; NULL: no memory. For large or single
 * pieces. Any thread. */
void *warprsa_secret_map(size_t size);

/* Gives a mapping back, which its owner has wiped. NULL: does nothing. Also in
 * the child of a fork. Any thread. */
void warprsa_secret_unmap(void *memory, size_t size);

LIST_HEAD(warprsa_secret_chunks, warprsa_secret_chunk);

/* Many pieces of memory, of a few KiB each, which share mappings. */
typedef struct warprsa_secret_pool {
    pthread_mutex_t lock;
    struct warprsa_secret_chunks with_room;
} warprsa_secret_pool;

/* Makes an empty pool, which maps memory when a piece is taken. False: no
 * lock. */
bool warprsa_secret_pool_init(warprsa_secret_pool *pool);

/* Ends a pool. Pieces that were not given back stay as they are. */
void warprsa_secret_pool_free(warprsa_secret_pool *pool);

/* Takes `size` zero bytes; NULL: no memory. Any thread. */
void *warprsa_secret_take(warprsa_secret_pool *pool, size_t size);

/* Wipes and gives back what take() returned for so many bytes. NULL: does
 * nothing. Any thread. */
void warprsa_secret_give(warprsa_secret_pool *pool, void *memory, size_t size);

/* Whether these bytes, of a mapping or a pool, can't be swapped out. Any
 * thread. */
bool warprsa_secret_is_locked(const void *memory, size_t size);

#endif
