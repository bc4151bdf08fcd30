/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What callers may know of a queue's devices: see device_board.h.
 */
#include "batching/queue/device_board.h"

#include <limits.h>
#include <stdio.h>

#include "batching/base/futex.h"

/* Both number the same devices. */
_Static_assert((int)WARPRSA_COUNTERS_DEVICES == (int)WARPRSA_DEVICES_MAX,
               "each device of a queue has its counters");

static warprsa_queue_state state_of(const warprsa_board_facts *facts)
{
    if (facts->closing)
        return WARPRSA_QUEUE_DOWN;
    if (facts->ready != 0)
        return WARPRSA_QUEUE_READY;
    return facts->opening != 0 ? WARPRSA_QUEUE_STARTING : WARPRSA_QUEUE_DOWN;
}

warprsa_board_summary warprsa_board_sum_up(const warprsa_board_facts *facts)
{
    const uint32_t cpus = facts->ready & facts->on_cpus;
    warprsa_board_summary sum = {
        .state = state_of(facts),
        .cpus = cpus == 0              ? WARPRSA_CPUS_NONE
                : cpus == facts->ready ? WARPRSA_CPUS_ALONE
                                       : WARPRSA_CPUS_BESIDE,
    };

    for (unsigned i = 0; i < WARPRSA_DEVICES_MAX; i++) {
        if ((facts->ready >> i & 1) == 0)
            continue;
        if (facts->classes[i] > sum.classes)
            sum.classes = facts->classes[i];
        if ((cpus >> i & 1) == 0 && facts->classes[i] > sum.others_classes)
            sum.others_classes = facts->classes[i];
    }
    return sum;
}

bool warprsa_board_init(warprsa_device_board *board, warprsa_counters *counters,
                        warprsa_board_listener listener, void *listener_arg)
{
    board->counters = counters;
    board->listener = listener;
    board->listener_arg = listener_arg;
    board->facts.opening = 1;
    atomic_store(&board->state, WARPRSA_QUEUE_STARTING);
    return pthread_mutex_init(&board->lock, NULL) == 0;
}

void warprsa_board_free(warprsa_device_board *board)
{
    pthread_mutex_destroy(&board->lock);
}

/* With the lock held. */
static void count_ready(const warprsa_device_board *board)
{
    const uint32_t ready = board->facts.ready;

    atomic_store_explicit(&board->counters->devices,
                          (uint64_t)__builtin_popcount(ready),
                          memory_order_relaxed);
    for (unsigned i = 0; i < WARPRSA_COUNTERS_DEVICES; i++)
        atomic_store_explicit(&board->counters->device_of[i].ready,
                              (ready >> i) & 1, memory_order_relaxed);
}

/* With the lock held: the device that the counters name. */
static void name_device(const warprsa_device_board *board)
{
    const warprsa_board_facts *facts = &board->facts;
    char text[sizeof(board->down_reason) + sizeof("none: ")];

    if (facts->ready != 0) {
        warprsa_counters_set_device(
            board->counters, board->description[__builtin_ctz(facts->ready)]);
    } else if (facts->opening == 0) {
        snprintf(text, sizeof(text), "none: %s", board->down_reason);
        warprsa_counters_set_device(board->counters, text);
    }
}

/* With the lock held: what callers see, from the state of the devices. The
 * classes stay while no device is ready: a caller that has read the state just
 * before would count its key as one that no device supports, and tell a TLS
 * host so. */
static void publish(warprsa_device_board *board)
{
    warprsa_board_summary sum;

    board->facts.closing = atomic_load(&board->closing);
    sum = warprsa_board_sum_up(&board->facts);
    if (!board->facts.closing)
        name_device(board);
    atomic_store(&board->others_classes, sum.others_classes);
    if (sum.state == WARPRSA_QUEUE_READY)
        atomic_store(&board->classes, sum.classes);
    atomic_store(&board->on_cpus, sum.cpus == WARPRSA_CPUS_ALONE);
    if (!board->facts.closing)
        count_ready(board);
    board->listener(board->listener_arg, &sum);
    atomic_store(&board->state, sum.state);
    warprsa_futex_wake(&board->state, INT_MAX);
}

void warprsa_board_set_closing(warprsa_device_board *board)
{
    pthread_mutex_lock(&board->lock);
    atomic_store(&board->closing, true);
    publish(board);
    pthread_mutex_unlock(&board->lock);
}

void warprsa_board_found(warprsa_device_board *board, uint32_t devices,
                         unsigned count)
{
    pthread_mutex_lock(&board->lock);
    board->facts.opening = devices;
    pthread_mutex_unlock(&board->lock);
    atomic_store(&board->device_count, count);
}

void warprsa_board_up(warprsa_device_board *board, unsigned device,
                      const warprsa_queue_engine *from, const char *description)
{
    const uint32_t bit = UINT32_C(1) << device;
    warprsa_board_facts *facts = &board->facts;

    pthread_mutex_lock(&board->lock);
    facts->ready |= bit;
    facts->opening &= ~bit;
    if (from->on_cpus)
        facts->on_cpus |= bit;
    facts->classes[device] = from->engine->classes;
    atomic_store(&board->ready, facts->ready);
    snprintf(board->description[device], sizeof(board->description[device]),
             "%s", description);
    warprsa_counters_set_name(board->counters, device, description);
    publish(board);
    pthread_mutex_unlock(&board->lock);
}

void warprsa_board_down(warprsa_device_board *board, unsigned device,
                        const char *why)
{
    const uint32_t bit = UINT32_C(1) << device;

    pthread_mutex_lock(&board->lock);
    board->facts.ready &= ~bit;
    board->facts.opening &= ~bit;
    atomic_store(&board->ready, board->facts.ready);
    snprintf(board->down_reason, sizeof(board->down_reason), "%s", why);
    publish(board);
    pthread_mutex_unlock(&board->lock);
}
