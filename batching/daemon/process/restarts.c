/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How soon another serving process is started; see restarts.h.
 */
#include "batching/daemon/process/restarts.h"

/* How much of `count` is over what is free. */
static unsigned excess(unsigned count, unsigned free)
{
    return count > free ? count - free : 0;
}

/* 0, 1, 2, 4, ... */
static unsigned doubled(unsigned times)
{
    if (times == 0)
        return 0;
    return times > 5 ? WARPRSA_RESTARTS_PAUSE_MAX_S : 1u << (times - 1);
}

unsigned warprsa_restarts_pause_s(warprsa_restarts *restarts, bool was_ready,
                                  uint64_t ready_ms)
{
    unsigned loop = 0, never_ready = 0;

    if (was_ready && ready_ms >= WARPRSA_RESTARTS_HEALTHY_MS)
        *restarts = (warprsa_restarts){0};
    restarts->ends++;
    restarts->unready = was_ready ? 0 : restarts->unready + 1;
    loop = excess(restarts->ends, WARPRSA_RESTARTS_AT_ONCE);
    never_ready = excess(restarts->unready, 1);
    return doubled(loop > never_ready ? loop : never_ready);
}
