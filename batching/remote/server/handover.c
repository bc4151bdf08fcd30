/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sockets for another network thread; see handover.h.
 */
#include "batching/remote/server/handover.h"

#include <string.h>
#include <unistd.h>

void warprsa_handover_init(warprsa_handover *h)
{
    h->count = 0;
    pthread_mutex_init(&h->lock, NULL); /* can't fail on Linux */
}

void warprsa_handover_free(warprsa_handover *h)
{
    for (unsigned i = 0; i < h->count; i++)
        close(h->accepted[i].socket);
    pthread_mutex_destroy(&h->lock);
}

bool warprsa_handover_put(warprsa_handover *h, const warprsa_accepted *accepted)
{
    bool has_room = false;

    pthread_mutex_lock(&h->lock);
    has_room = h->count < WARPRSA_HANDOVER_MAX;
    if (has_room)
        h->accepted[h->count++] = *accepted;
    pthread_mutex_unlock(&h->lock);
    return has_room;
}

bool warprsa_handover_take(warprsa_handover *h, warprsa_accepted *accepted)
{
    bool any = false;

    pthread_mutex_lock(&h->lock);
    any = h->count > 0;
    if (any) {
        *accepted = h->accepted[0];
        h->count--;
        memmove(h->accepted, h->accepted + 1,
                h->count * sizeof(h->accepted[0]));
    }
    pthread_mutex_unlock(&h->lock);
    return any;
}
