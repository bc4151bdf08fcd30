/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The backend that is a queue of the process's own: backend.h's functions by
 * those of queue.h.
 */
#include "provider/backend_local.h"

#include "batching/queue/queue.h"

static bool queue_close(void *impl)
{
    return warprsa_queue_close(impl);
}

static void queue_abandon(void *impl)
{
    warprsa_queue_abandon(impl);
}

static warprsa_queue_state queue_wait_ready(void *impl, unsigned timeout_ms)
{
    return warprsa_queue_wait_ready(impl, timeout_ms);
}

static void queue_tick(void *impl)
{
    warprsa_queue_tick(impl);
}

static unsigned queue_depth(const void *impl)
{
    return warprsa_queue_depth(impl);
}

static warprsa_backend_key *queue_key(void *impl,
                                      const uint8_t id[WARPRSA_KEY_ID_BYTES],
                                      const warprsa_private_key *key)
{
    return (warprsa_backend_key *)warprsa_queue_key(impl, WARPRSA_OWNER_SELF,
                                                    id, key);
}

static void queue_key_release(warprsa_backend_key *key)
{
    warprsa_key_release((warprsa_key *)key);
}

static void queue_key_abandon(warprsa_backend_key *key)
{
    warprsa_key_abandon((warprsa_key *)key);
}

static warprsa_answer queue_submit(void *impl, warprsa_backend_key *key,
                                   const uint8_t *input, warprsa_notify notify,
                                   uint32_t notifier, warprsa_ticket *ticket)
{
    (void)notifier;
    return warprsa_queue_submit(impl, (warprsa_key *)key, input, notify,
                                ticket);
}

static warprsa_answer queue_collect(void *impl, warprsa_ticket ticket,
                                    uint8_t *output)
{
    return warprsa_queue_collect(impl, ticket, output, NULL);
}

static warprsa_answer queue_wait(void *impl, warprsa_ticket ticket,
                                 uint8_t *output)
{
    return warprsa_queue_wait(impl, ticket, output);
}

const warprsa_backend_ops warprsa_backend_local = {
    .close = queue_close,
    .abandon = queue_abandon,
    .wait_ready = queue_wait_ready,
    .tick = queue_tick,
    .depth = queue_depth,
    .key = queue_key,
    .key_release = queue_key_release,
    .key_abandon = queue_key_abandon,
    .submit = queue_submit,
    .collect = queue_collect,
    .wait = queue_wait,
};
