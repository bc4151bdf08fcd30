/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The handler of exit(), and the list of exit links.
 */
#include "provider/fork.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "provider/use_watch.h"

/* fork() never waits for this lock. A child gets a free lock, and a whole list,
 * since each change of the list is one store. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(warprsa_exit_link *) list;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool registered;

static void begin_process(void)
{
    pthread_mutex_init(&list_lock, NULL);
    warprsa_use_watch_begin_process();
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

static void register_handlers(void)
{
    registered =
        warprsa_fork_generation_init(begin_process) && atexit(at_exit) == 0;
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
