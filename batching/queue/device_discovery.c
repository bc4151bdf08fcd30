/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which devices there are: see device_discovery.h.
 */
#include "batching/queue/device_discovery.h"

#include <stdio.h>

#include "batching/queue/queue_core.h"

/* Gives the devices of an engine, from this ordinal up to `available`, to the
 * entries from `first` on. Returns the next free entry. */
static unsigned give_entries(warprsa_queue *queue, unsigned engine,
                             unsigned ordinal, unsigned available,
                             unsigned first)
{
    const warprsa_queue_engine *from = &queue->config.engines[engine];

    for (; ordinal < available && ordinal < 32 && first < WARPRSA_DEVICES_MAX;
         ordinal++) {
        if (!(from->devices & (UINT32_C(1) << ordinal)))
            continue;
        queue->activity[first].engine = engine;
        /* Others ask all devices whether they are lost. */
        pthread_mutex_lock(&queue->devices[first].lock);
        queue->devices[first].from = from;
        queue->devices[first].ordinal = ordinal;
        pthread_mutex_unlock(&queue->devices[first++].lock);
    }
    return first;
}

/* Gives all devices of an engine to entries; why: the reason if there is none.
 */
static unsigned take_devices(warprsa_queue *queue, unsigned engine,
                             unsigned first, char *why)
{
    const warprsa_engine *from = queue->config.engines[engine].engine;
    unsigned available = from->count(why, WARPRSA_DEVICE_WHY);
    unsigned next = give_entries(queue, engine, 0, available, first);

    if (next == first && available > 0)
        snprintf(why, WARPRSA_DEVICE_WHY, "none of the %u devices is chosen",
                 available);
    if (next == first)
        warprsa_queue_trace(queue, 1, "engine %s: no device, %s", from->name,
                            why);
    return next;
}

void warprsa_devices_discover(warprsa_queue *queue, warprsa_found *found)
{
    char why[WARPRSA_DEVICE_WHY] = "";
    unsigned count;
    bool first_gone;

    found->why[0] = '\0';
    count = take_devices(queue, 0, 0, found->why);
    first_gone = count == 0;
    if (first_gone)
        count = 1;
    for (unsigned e = 1; e < queue->config.engine_count; e++)
        count = take_devices(queue, e, count, why);
    found->count = count;
    found->devices = (UINT32_C(1) << count) - 1 - first_gone;
    warprsa_board_found(&queue->board, found->devices, count);
}

void warprsa_devices_add(warprsa_queue *queue, warprsa_found *found)
{
    const unsigned before = atomic_load(&queue->board.device_count);
    unsigned count = before;

    for (unsigned e = 0; e < queue->config.engine_count; e++) {
        const warprsa_engine *engine = queue->config.engines[e].engine;
        char why[WARPRSA_DEVICE_WHY];
        unsigned next = 0;

        if (!engine->comes_and_goes)
            continue;
        for (unsigned i = 0; i < before; i++)
            if (queue->devices[i].from->engine == engine &&
                queue->devices[i].ordinal >= next)
                next = queue->devices[i].ordinal + 1;
        count = give_entries(queue, e, next, engine->count(why, sizeof(why)),
                             count);
    }
    found->count = count;
    found->devices = (UINT32_C(1) << count) - (UINT32_C(1) << before);
    atomic_store(&queue->board.device_count, count);
}
