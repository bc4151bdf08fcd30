/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The stack of jobs that can be resumed.
 */
#include "bench/load/ready.h"

#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/*
 * Either the push sees `asleep` or the sleeper sees the push: both write the
 * one and then read the other, in the one order of sequential consistency.
 */
void load_ready_push(load_ready *ready, load_ready_link *link)
{
    static const uint64_t one = 1;
    load_ready_link *top = NULL;

    if (atomic_exchange(&link->queued, true))
        return;
    top = atomic_load(&ready->top);
    do
        link->next = top;
    while (!atomic_compare_exchange_weak(&ready->top, &top, link));
    if (atomic_load(&ready->asleep) && atomic_exchange(&ready->asleep, false))
        while (write(ready->fd, &one, sizeof(one)) < 0)
            ; /* EINTR alone: the counter is far from full */
}

load_ready_link *load_ready_take(load_ready *ready)
{
    load_ready_link *link = NULL, *reversed = NULL;

    if (atomic_load_explicit(&ready->top, memory_order_relaxed) == NULL)
        return NULL;
    link = atomic_exchange(&ready->top, NULL);
    while (link != NULL) {
        load_ready_link *next = link->next;

        link->next = reversed;
        reversed = link;
        link = next;
    }
    return reversed;
}

bool load_ready_may_sleep(load_ready *ready)
{
    atomic_store(&ready->asleep, true);
    if (atomic_load(&ready->top) == NULL)
        return true;
    load_ready_woken(ready);
    return false;
}

void load_ready_woken(load_ready *ready)
{
    uint64_t written = 0;

    if (!atomic_exchange(&ready->asleep, false))
        while (read(ready->fd, &written, sizeof(written)) < 0)
            ; /* the thread that cleared the flag writes, or has written */
}
