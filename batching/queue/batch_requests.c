/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The memory of a batch: see batch_requests.h.
 */
#include "batching/queue/batch_requests.h"

#include <stdlib.h>
#include <string.h>

#include "batching/base/secret_memory.h"

static size_t outputs_bytes(const warprsa_batch *batch)
{
    return (size_t)batch->room * WARPRSA_MODULUS_BYTES_MAX;
}

bool warprsa_batch_init(warprsa_batch *batch,
                        struct warprsa_queue_device *device, unsigned stream,
                        unsigned room)
{
    *batch = (warprsa_batch){.device = device, .stream = stream, .room = room};
    batch->requests = calloc(room, sizeof(*batch->requests));
    batch->tasks = calloc(room, sizeof(*batch->tasks));
    if (batch->requests != NULL && batch->tasks != NULL)
        return true;
    warprsa_batch_free(batch);
    return false;
}

void warprsa_batch_free(warprsa_batch *batch)
{
    free(batch->requests);
    free(batch->tasks);
    if (batch->outputs == NULL)
        return;
    /* A batch that failed as a whole may have left some of its results. */
    explicit_bzero(batch->outputs, outputs_bytes(batch));
    warprsa_secret_unmap(batch->outputs, outputs_bytes(batch));
}

bool warprsa_batch_place_outputs(warprsa_batch *batch,
                                 const warprsa_slots *slots)
{
    if (batch->size < WARPRSA_CLASS_LARGE)
        return true;
    if (batch->outputs == NULL)
        batch->outputs = warprsa_secret_map(outputs_bytes(batch));
    for (size_t i = 0; i < batch->count && batch->outputs != NULL; i++)
        if (warprsa_slot_is_shared(&slots->slot[batch->requests[i].slot]))
            batch->tasks[i].output =
                batch->outputs + i * WARPRSA_MODULUS_BYTES_MAX;
    return batch->outputs != NULL;
}
