/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How a process learns that it is a new one, the handler of exit(), and the
 * list of exit links.
 */
#include "provider/fork.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
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

/* fork() never waits for this lock. A child gets a free lock, and a whole list,
 * since each change of the list is one store. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(warprsa_exit_link *) list;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool registered;

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
        pthread_mutex_init(&list_lock, NULL);
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

static void lock_list(void)
{
    (void)warprsa_fork_generation();
    pthread_mutex_lock(&list_lock);
}

static void unlock_list(void)
{
    pthread_mutex_unlock(&list_lock);
}

static void at_exit(void)
{
    lock_list();
    for (warprsa_exit_link *link = atomic_load(&list); link != NULL;
         link = atomic_load(&link->next))
        link->at_exit(link);
    unlock_list();
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

static void register_handlers(void)
{
    map_word();
    registered =
        pthread_atfork(NULL, NULL, in_child) == 0 && atexit(at_exit) == 0;
}

/* Once more is enough: a driver registers its handlers once, too. */
static void register_again(void)
{
    (void)atexit(at_exit);
}

void warprsa_exit_first(void)
{
    static pthread_once_t again = PTHREAD_ONCE_INIT;

    (void)pthread_once(&again, register_again);
}

bool warprsa_fork_init(void)
{
    return pthread_once(&once, register_handlers) == 0 && registered;
}

void warprsa_exit_add(warprsa_exit_link *link)
{
    lock_list();
    atomic_store(&link->next, atomic_load(&list));
    atomic_store(&list, link);
    unlock_list();
}

void warprsa_exit_remove(warprsa_exit_link *link)
{
    lock_list();
    for (_Atomic(warprsa_exit_link *) *at = &list; atomic_load(at) != NULL;
         at = &atomic_load(at)->next) {
        if (atomic_load(at) == link) {
            atomic_store(at, atomic_load(&link->next));
            break;
        }
    }
    unlock_list();
}
