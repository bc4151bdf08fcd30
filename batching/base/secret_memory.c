/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory for secrets; see secret_memory.h. Every mapping begins at a multiple
 * of CHUNK_BYTES and with a header, so the header of any piece is found by its
 * address. In a child header and pieces read as zeros.
 */
#include "batching/base/secret_memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    UNIT_BYTES = 4096, /* a key's numbers take one, most prepared keys two */
    CHUNK_UNITS = 64,  /* a bit each of the header's word */
    CHUNK_BYTES = UNIT_BYTES * CHUNK_UNITS,
    LOOKED_AT = 8, /* chunks, before another one is made */
};

typedef struct warprsa_secret_chunk {
    _Alignas(WARPRSA_SECRET_ALIGNMENT) uint32_t locked_pages;
    /* A pool's chunk: the units in use, the first for the header; under the
     * pool's lock. */
    uint64_t used;
    LIST_ENTRY(warprsa_secret_chunk) link; /* while a unit is free */
} header;

/* How many pages the process whose id is in the upper half has locked here. The
 * kernel locks no page of a parent for its child, whose count begins anew. */
static _Atomic uint64_t locked;

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static uint64_t word_of(uint32_t pages)
{
    return (uint64_t)getpid() << 32 | pages;
}

static uint32_t pages_of(uint64_t word)
{
    return word >> 32 == (uint32_t)getpid() ? (uint32_t)word : 0;
}

/* How many of `wanted` pages may be locked beside `have` locked ones. */
static uint32_t may_lock(uint32_t wanted, uint32_t have)
{
    struct rlimit limit;
    uint64_t all, left;

    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        return 0;
    if (limit.rlim_cur == RLIM_INFINITY)
        return wanted;
    all = limit.rlim_cur / page_bytes() / 2;
    left = all > have ? (all - have) / 2 : 0;
    return wanted < left ? wanted : (uint32_t)left;
}

static void count_unlocked(uint32_t pages)
{
    uint64_t word = atomic_load(&locked);
    uint32_t have;

    do
        have = pages_of(word);
    while (!atomic_compare_exchange_weak(
        &locked, &word, word_of(have > pages ? have - pages : 0)));
}

/* Locks the first pages of a mapping, and returns how many. Locking takes no
 * memory for pages that nobody touches. */
static uint32_t lock_first(void *memory, size_t size)
{
    uint64_t word = atomic_load(&locked);
    uint32_t pages;

    do
        pages = may_lock((uint32_t)(size / page_bytes()), pages_of(word));
    while (!atomic_compare_exchange_weak(&locked, &word,
                                         word_of(pages_of(word) + pages)));
    if (pages == 0 || mlock2(memory, pages * page_bytes(), MLOCK_ONFAULT) == 0)
        return pages;
    count_unlocked(pages);
    return 0;
}

static header *header_of(const void *memory)
{
    return (header *)((uintptr_t)memory & ~(uintptr_t)(CHUNK_BYTES - 1));
}

/* Maps `size` bytes, whole pages, at a multiple of CHUNK_BYTES. */
static void *map_aligned(size_t size)
{
    uint8_t *room = mmap(NULL, size + CHUNK_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t before;

    if (room == MAP_FAILED)
        return NULL;
    before = (size_t)(-(uintptr_t)room & (CHUNK_BYTES - 1));
    if (before > 0)
        munmap(room, before);
    munmap(room + before + size, CHUNK_BYTES - before);
    return room + before;
}

static header *map(size_t size)
{
    header *h = map_aligned(size);

    if (h == NULL)
        return NULL;
    (void)madvise(h, size, MADV_DONTDUMP);
    (void)madvise(h, size, MADV_WIPEONFORK);
    h->locked_pages = lock_first(h, size);
    return h;
}

static void unmap(header *h, size_t size)
{
    count_unlocked(h->locked_pages);
    munmap(h, size);
}

/* The size of a mapping: header and `size` bytes, in whole pages. */
static size_t mapping_bytes(size_t size)
{
    const size_t page = page_bytes();

    return (sizeof(header) + size + page - 1) / page * page;
}

void *warprsa_secret_map(size_t size)
{
    header *h = map(mapping_bytes(size));

    return h != NULL ? h + 1 : NULL;
}

void warprsa_secret_unmap(void *memory, size_t size)
{
    if (memory != NULL)
        unmap(header_of(memory), mapping_bytes(size));
}

bool warprsa_secret_is_locked(const void *memory, size_t size)
{
    const header *h = header_of(memory);

    return (uintptr_t)memory + size - (uintptr_t)h <=
           h->locked_pages * page_bytes();
}

bool warprsa_secret_pool_init(warprsa_secret_pool *pool)
{
    LIST_INIT(&pool->with_room);
    return pthread_mutex_init(&pool->lock, NULL) == 0;
}

void warprsa_secret_pool_free(warprsa_secret_pool *pool)
{
    header *h, *next;

    for (h = LIST_FIRST(&pool->with_room); h != NULL; h = next) {
        next = LIST_NEXT(h, link);
        if (h->used == 1)
            unmap(h, CHUNK_BYTES);
    }
    LIST_INIT(&pool->with_room);
    pthread_mutex_destroy(&pool->lock);
}

static unsigned units_of(size_t size)
{
    return (unsigned)((size + UNIT_BYTES - 1) / UNIT_BYTES);
}

/* Whether a piece shares a chunk with others. */
static bool is_small(size_t size)
{
    return size <= (CHUNK_UNITS - 1) * UNIT_BYTES;
}

/* The bits of `units` units from the unit `first` on; fewer than 64. */
static uint64_t bits_of(unsigned first, unsigned units)
{
    return ((UINT64_C(1) << units) - 1) << first;
}

/* The first of `units` free units in a row; 0: there are none. Low numbers come
 * first: if not all units can be locked, they are. */
static unsigned find_units(const header *h, unsigned units)
{
    uint64_t starts = ~h->used;

    for (unsigned i = 1; i < units; i++)
        starts &= ~h->used >> i;
    return starts != 0 ? (unsigned)__builtin_ctzll(starts) : 0;
}

static header *add_chunk(warprsa_secret_pool *pool)
{
    header *h = map(CHUNK_BYTES);

    if (h == NULL)
        return NULL;
    h->used = 1;
    LIST_INSERT_HEAD(&pool->with_room, h, link);
    return h;
}

/* With the lock held. */
static void *take_units(warprsa_secret_pool *pool, unsigned units)
{
    header *h = LIST_FIRST(&pool->with_room);
    unsigned first = 0;

    for (unsigned i = 0; i < LOOKED_AT && h != NULL; i++) {
        first = find_units(h, units);
        if (first != 0)
            break;
        h = LIST_NEXT(h, link);
    }
    if (first == 0) {
        h = add_chunk(pool);
        if (h == NULL)
            return NULL;
        first = 1;
    }
    h->used |= bits_of(first, units);
    if (h->used == UINT64_MAX)
        LIST_REMOVE(h, link);
    return (uint8_t *)h + (size_t)first * UNIT_BYTES;
}

void *warprsa_secret_take(warprsa_secret_pool *pool, size_t size)
{
    void *memory;

    if (!is_small(size))
        return warprsa_secret_map(size);
    pthread_mutex_lock(&pool->lock);
    memory = take_units(pool, units_of(size));
    pthread_mutex_unlock(&pool->lock);
    return memory;
}

/* With the lock held. The last chunk stays, so that a key that comes and goes
 * maps nothing. */
static void give_units(warprsa_secret_pool *pool, header *h, unsigned first,
                       unsigned units)
{
    if (h->used == UINT64_MAX)
        LIST_INSERT_HEAD(&pool->with_room, h, link);
    h->used &= ~bits_of(first, units);
    if (h->used != 1 ||
        (LIST_FIRST(&pool->with_room) == h && LIST_NEXT(h, link) == NULL))
        return;
    LIST_REMOVE(h, link);
    unmap(h, CHUNK_BYTES);
}

void warprsa_secret_give(warprsa_secret_pool *pool, void *memory, size_t size)
{
    header *h = header_of(memory);

    if (memory == NULL)
        return;
    explicit_bzero(memory, size);
    if (!is_small(size)) {
        warprsa_secret_unmap(memory, size);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    give_units(pool, h,
               (unsigned)(((uintptr_t)memory - (uintptr_t)h) / UNIT_BYTES),
               units_of(size));
    pthread_mutex_unlock(&pool->lock);
}
