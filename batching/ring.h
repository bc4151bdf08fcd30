/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A ring of slot numbers for any number of putting and taking threads: ck_ring
 * of Concurrency Kit.
 *
 * A ring orders nothing but itself: what a slot holds is passed from thread to
 * thread by the slot's own word (slot.h), with C11 atomics. That is why the
 * thread sanitizer, which cannot see into ck's inline assembly, may look away
 * here and here alone without missing anything of ours.
 */
#ifndef WARPRSA_RING_H
#define WARPRSA_RING_H

#include <ck_ring.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WARPRSA_RING_TSAN 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define WARPRSA_RING_TSAN 1
#endif

#ifdef WARPRSA_RING_TSAN
/* Of the sanitizer's run time; no header declares them. */
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#endif

static inline void warprsa_ring_look_away(void)
{
#ifdef WARPRSA_RING_TSAN
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
}

static inline void warprsa_ring_look_again(void)
{
#ifdef WARPRSA_RING_TSAN
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
}

struct warprsa_ring_entry {
    uint32_t slot;
};

CK_RING_PROTOTYPE(warprsa, warprsa_ring_entry)

typedef struct warprsa_ring {
    _Alignas(CK_MD_CACHELINE) ck_ring_t ring;
    struct warprsa_ring_entry *entries;
} warprsa_ring;

/* Makes an empty ring that holds `count` numbers; false: no memory. */
static inline bool warprsa_ring_init(warprsa_ring *ring, unsigned count)
{
    unsigned size = 2;

    /* ck_ring wants a power of two and leaves one place empty. */
    while (size <= count)
        size *= 2;
    ring->entries = calloc(size, sizeof(*ring->entries));
    ck_ring_init(&ring->ring, size);
    return ring->entries != NULL;
}

static inline void warprsa_ring_free(warprsa_ring *ring)
{
    free(ring->entries);
}

/* Appends a number. False when full, which the caller rules out by size. */
static inline bool warprsa_ring_put(warprsa_ring *ring, uint32_t slot)
{
    struct warprsa_ring_entry entry = {slot};
    bool done;

    warprsa_ring_look_away();
    done = CK_RING_ENQUEUE_MPMC(warprsa, &ring->ring, ring->entries, &entry);
    warprsa_ring_look_again();
    return done;
}

/* Takes the oldest number; false when empty. */
static inline bool warprsa_ring_take(warprsa_ring *ring, uint32_t *slot)
{
    struct warprsa_ring_entry entry = {0};
    bool done;

    warprsa_ring_look_away();
    done = CK_RING_DEQUEUE_MPMC(warprsa, &ring->ring, ring->entries, &entry);
    warprsa_ring_look_again();
    *slot = entry.slot;
    return done;
}

/* Looks at the oldest number without taking it: a hint, it may be gone the
 * moment this returns. False when empty. */
static inline bool warprsa_ring_peek(warprsa_ring *ring, uint32_t *slot)
{
    bool some;

    warprsa_ring_look_away();
    some = ck_ring_size(&ring->ring) != 0;
    *slot = ck_pr_load_32(
        &ring->entries[ck_pr_load_uint(&ring->ring.c_head) & ring->ring.mask]
             .slot);
    warprsa_ring_look_again();
    return some;
}

static inline bool warprsa_ring_empty(warprsa_ring *ring)
{
    bool empty;

    warprsa_ring_look_away();
    empty = ck_ring_size(&ring->ring) == 0;
    warprsa_ring_look_again();
    return empty;
}

/* Orders a put before later loads, and earlier stores before a look: the two
 * halves of "either I see your entry or you see that I sleep". */
static inline void warprsa_ring_fence(void)
{
    ck_pr_fence_strict_memory();
}

#endif
