/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How a process learns that it is a new one; see fork_generation.h.
 */
#include "batching/base/fork_generation.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

/* Values of a process's word; what is larger is the process's generation. */
enum {
    NEW,       /* nothing has been done in this process yet */
    BEGINNING, /* a thread makes it ours */
};

/* If the kernel can, it sets the word to NEW in a child. If not, the word is
 * here and a handler of fork() sets it; that handler isn't called for a child
 * made by _Fork() or clone(). */
static atomic_uint own_word;
static atomic_uint *word = &own_word;
static atomic_uint last_generation = BEGINNING;
static void (*begin_ours)(void);

static void in_child(void)
{
    atomic_store(word, NEW);
}

/* Handles the first call in a new process. If several threads come at once, one
 * of them does the work and the others wait. */
static unsigned begin_process(void)
{
    unsigned found = NEW;

    if (atomic_compare_exchange_strong(word, &found, BEGINNING)) {
        if (begin_ours != NULL)
            begin_ours();
        atomic_store(word, atomic_fetch_add(&last_generation, 1) + 1);
    }
    while ((found = atomic_load(word)) == BEGINNING)
        sched_yield();
    return found;
}

unsigned warprsa_fork_generation(void)
{
    unsigned mine = atomic_load_explicit(word, memory_order_acquire);

    return mine > BEGINNING ? mine : begin_process();
}

static void map_word(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return;
    if (madvise(page, size, MADV_WIPEONFORK) == 0)
        word = page;
    else
        munmap(page, size);
}

bool warprsa_fork_generation_init(void (*begin)(void))
{
    begin_ours = begin;
    map_word();
    return pthread_atfork(NULL, NULL, in_child) == 0;
}
