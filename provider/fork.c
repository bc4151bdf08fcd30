/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The handlers of fork() and exit(), the fork generation and the list of exit
 * links.
 */
#include "provider/fork.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static atomic_uint generation;
static pthread_mutex_t hold_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static warprsa_exit_link *list;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool registered;

static void before_fork(void)
{
    pthread_mutex_lock(&list_lock);
    pthread_mutex_lock(&hold_lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&hold_lock);
    pthread_mutex_unlock(&list_lock);
}

static void in_child(void)
{
    atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
    after_fork();
}

static void at_exit(void)
{
    pthread_mutex_lock(&list_lock);
    for (warprsa_exit_link *link = list; link != NULL; link = link->next)
        link->at_exit(link);
    pthread_mutex_unlock(&list_lock);
}

static void register_handlers(void)
{
    registered = pthread_atfork(before_fork, after_fork, in_child) == 0 &&
                 atexit(at_exit) == 0;
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

unsigned warprsa_fork_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

void warprsa_fork_hold(void)
{
    pthread_mutex_lock(&hold_lock);
}

void warprsa_fork_release(void)
{
    pthread_mutex_unlock(&hold_lock);
}

void warprsa_exit_add(warprsa_exit_link *link)
{
    pthread_mutex_lock(&list_lock);
    link->next = list;
    list = link;
    pthread_mutex_unlock(&list_lock);
}

void warprsa_exit_remove(warprsa_exit_link *link)
{
    pthread_mutex_lock(&list_lock);
    for (warprsa_exit_link **at = &list; *at != NULL; at = &(*at)->next) {
        if (*at == link) {
            *at = link->next;
            break;
        }
    }
    pthread_mutex_unlock(&list_lock);
}
