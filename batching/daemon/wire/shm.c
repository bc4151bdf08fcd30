/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The memory that a client shares with the daemon; see shm.h.
 */
#include "batching/daemon/wire/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "batching/base/futex.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1, later than some headers */
#endif

enum {
    PAGE = 4096,
    BLOCK = 512,   /* of st_blocks */
    RING_MIN = 64, /* as in ring.h */
    PIECE = 64 * PAGE,
};

/* Computes the sizes, which follow from the arguments alone. Page 0 is the
 * head; then come the slots, the messages, the ring and, if any, the uses. */
static void lay_out(warprsa_shm *shm, uint32_t slots, bool uses)
{
    uint32_t ring = RING_MIN;
    size_t size;

    while (ring < slots)
        ring *= 2;
    size = PAGE + slots * sizeof(warprsa_shm_slot) +
           WARPRSA_SHM_MESSAGES * sizeof(warprsa_shm_message_cell) +
           ring * sizeof(warprsa_ring_cell);
    if (uses)
        size += slots * sizeof(warprsa_shm_use);
    shm->slots = slots;
    shm->mask = ring - 1;
    shm->size = (size + PAGE - 1) / PAGE * PAGE;
}

_Static_assert(RING_MIN * sizeof(warprsa_ring_cell) %
                       _Alignof(warprsa_shm_use) ==
                   0,
               "the uses follow the ring");

static bool map(warprsa_shm *shm, bool uses, int fd)
{
    uint8_t *at =
        mmap(NULL, shm->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (at == MAP_FAILED)
        return false;
    /* A precaution that some sandbox may deny. */
    (void)madvise(at, shm->size, MADV_DONTDUMP);
    shm->head = (warprsa_shm_head *)at;
    shm->slot = (warprsa_shm_slot *)(at + PAGE);
    shm->message = (warprsa_shm_message_cell *)(shm->slot + shm->slots);
    shm->cell = (warprsa_ring_cell *)(shm->message + WARPRSA_SHM_MESSAGES);
    shm->use = uses ? (warprsa_shm_use *)(shm->cell + shm->mask + 1) : NULL;
    return true;
}

/* Whether the whole file has memory. That is charged to the process that has
 * allocated it. Where pages are large, the blocks may not show a hole. */
static bool is_allocated(const struct stat *file)
{
    return file->st_blocks >= file->st_size / BLOCK;
}

/* In pieces: a signal undoes what the kernel has allocated in a call, and a
 * program may have a timer that is quicker than that for all of it. */
static bool allocate(int fd, size_t size)
{
    int error = 0;

    for (size_t at = 0; error == 0 && at < size; at += PIECE) {
        const size_t bytes = size - at < PIECE ? size - at : PIECE;

        do
            error = posix_fallocate(fd, (off_t)at, (off_t)bytes);
        while (error == EINTR);
    }
    errno = error;
    return error == 0;
}

/* A file of this size, and never another one. Its head is written here, at
 * once: without memory that would end the daemon. */
static bool size_and_map(warprsa_shm *shm, bool uses, bool allocated, int fd)
{
    return ftruncate(fd, (off_t)shm->size) == 0 &&
           fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0 &&
           allocate(fd, allocated ? shm->size : PAGE) && map(shm, uses, fd);
}

bool warprsa_shm_create(warprsa_shm *shm, uint32_t slots, bool uses,
                        bool allocated, int *fd)
{
    int error;

    lay_out(shm, slots, uses);
    *fd = memfd_create("warprsa-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*fd < 0)
        return false;
    if (size_and_map(shm, uses, allocated, *fd))
        return true;
    error = errno;
    close(*fd);
    *fd = -1;
    errno = error;
    return false;
}

bool warprsa_shm_seal(int fd)
{
    struct stat st;

    if (fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0 ||
        fstat(fd, &st) != 0)
        return false;
    if (!is_allocated(&st)) {
        errno = EPROTO;
        return false;
    }
    return allocate(fd, (size_t)st.st_size);
}

static void begin_rings(warprsa_shm *shm)
{
    for (uint32_t i = 0; i <= shm->mask; i++)
        atomic_init(&shm->cell[i].sequence, i);
    for (uint32_t i = 0; i < WARPRSA_SHM_MESSAGES; i++)
        atomic_init(&shm->message[i].sequence, i);
}

/* All of it is allocated here: a page that is first written when there is no
 * memory would end the program. */
bool warprsa_shm_map(warprsa_shm *shm, uint32_t slots, bool uses, int fd)
{
    struct stat st;

    lay_out(shm, slots, uses);
    if (fstat(fd, &st) != 0)
        return false;
    if ((size_t)st.st_size != shm->size) {
        errno = EPROTO;
        return false;
    }
    if ((!is_allocated(&st) && !allocate(fd, shm->size)) || !map(shm, uses, fd))
        return false;
    if (madvise(shm->head, shm->size, MADV_DONTFORK) == 0) {
        begin_rings(shm);
        return true;
    }
    warprsa_shm_unmap(shm);
    return false;
}

void warprsa_shm_unmap(warprsa_shm *shm)
{
    if (shm->head != NULL)
        munmap(shm->head, shm->size);
    shm->head = NULL;
}

bool warprsa_shm_dequeue(const warprsa_shm *shm, uint32_t *ring_offset,
                         uint32_t *slot)
{
    warprsa_ring_cell *cell = &shm->cell[*ring_offset & shm->mask];

    if (atomic_load(&cell->sequence) != *ring_offset + 1)
        return false;
    *slot = atomic_load_explicit(&cell->slot, memory_order_relaxed);
    atomic_store_explicit(&cell->sequence, *ring_offset + shm->mask + 1,
                          memory_order_release);
    (*ring_offset)++;
    return true;
}

/* The compiler may not read the client's memory again in place of the copy. */
static void copy_once(void *to, const void *from, size_t size)
{
    memcpy(to, from, size);
    __asm__ volatile("" : : "r"(to) : "memory");
}

void warprsa_shm_copy(const warprsa_shm *shm, uint32_t slot,
                      warprsa_shm_request *request)
{
    const warprsa_shm_request *from = &shm->slot[slot].request;
    const size_t head = offsetof(warprsa_shm_request, number);

    copy_once(request, from, head);
    copy_once(request->number, from->number,
              request->bytes < sizeof(request->number)
                  ? request->bytes
                  : sizeof(request->number));
}

void warprsa_shm_copy_header(const warprsa_shm *shm, uint32_t slot,
                             warprsa_key_use *header)
{
    copy_once(header, &shm->use[slot].header, sizeof(*header));
}

void warprsa_shm_copy_input(const warprsa_shm *shm, uint32_t slot,
                            uint8_t *input, size_t bytes)
{
    copy_once(input, shm->use[slot].number, bytes);
}

bool warprsa_shm_send(const warprsa_shm *shm, uint32_t *offset,
                      const warprsa_shm_message *message)
{
    warprsa_shm_message_cell *cell =
        &shm->message[*offset % WARPRSA_SHM_MESSAGES];

    if (atomic_load_explicit(&cell->sequence, memory_order_acquire) != *offset)
        return false;
    cell->message = *message;
    atomic_store_explicit(&cell->sequence, ++*offset, memory_order_release);
    return true;
}

bool warprsa_shm_has_room(const warprsa_shm *shm, uint32_t offset)
{
    const warprsa_shm_message_cell *cell =
        &shm->message[offset % WARPRSA_SHM_MESSAGES];

    return atomic_load_explicit(&cell->sequence, memory_order_acquire) ==
           offset;
}

bool warprsa_shm_receive(const warprsa_shm *shm, uint32_t *offset,
                         warprsa_shm_message *message)
{
    warprsa_shm_message_cell *cell =
        &shm->message[*offset % WARPRSA_SHM_MESSAGES];

    if (atomic_load_explicit(&cell->sequence, memory_order_acquire) !=
        *offset + 1)
        return false;
    copy_once(message, &cell->message, sizeof(*message));
    explicit_bzero(&cell->message, sizeof(cell->message));
    atomic_store_explicit(&cell->sequence, *offset + WARPRSA_SHM_MESSAGES,
                          memory_order_release);
    ++*offset;
    return true;
}

void warprsa_shm_sleep(_Atomic uint32_t *word, uint32_t value,
                       uint64_t until_ns)
{
    struct timespec until = warprsa_timespec(until_ns);

    syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value, &until, NULL,
            FUTEX_BITSET_MATCH_ANY);
}

void warprsa_shm_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
