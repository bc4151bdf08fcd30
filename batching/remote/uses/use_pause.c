/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pauses between sessions with a GPU host; see use_pause.h.
 */
#include "batching/remote/uses/use_pause.h"

#include "batching/base/clock.h"

enum {
    AGAIN_MS = 100,
    AGAIN_MS_MAX = 5000,
    STEADY_MS = 1000, /* a host that keeps a session so long is no nuisance */
    WRONG_MS = 1000,
    WRONG_MS_MAX = 60000, /* so long must it be right, too */
};

static unsigned twice(unsigned ms, unsigned first, unsigned most)
{
    if (ms == 0)
        return first;
    return ms > most / 2 ? most : 2 * ms;
}

unsigned warprsa_use_pause_after(warprsa_use_pause *pause,
                                 const warprsa_use_session *session)
{
    const uint64_t ms =
        session->answered ? session->lasted_ns / WARPRSA_NS_PER_MS : 0;

    if (session->wrong) {
        pause->wrong_ms = twice(pause->wrong_ms, WRONG_MS, WRONG_MS_MAX);
        return pause->wrong_ms;
    }
    if (ms >= WRONG_MS_MAX)
        pause->wrong_ms = 0;
    pause->again_ms =
        ms >= STEADY_MS ? 0 : twice(pause->again_ms, AGAIN_MS, AGAIN_MS_MAX);
    return pause->again_ms;
}
