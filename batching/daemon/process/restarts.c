/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How soon another serving process is started; see restarts.h.
 */
#include "batching/daemon/process/restarts.h"

unsigned warprsa_restarts_pause_s(warprsa_restarts *restarts, uint64_t ready_ms)
{
    unsigned loop = 0;

    if (ready_ms >= WARPRSA_RESTARTS_HEALTHY_MS)
        restarts->ends = 0;
    if (restarts->ends < UINT32_MAX)
        restarts->ends++;
    if (restarts->ends <= WARPRSA_RESTARTS_AT_ONCE)
        return 0;
    loop = restarts->ends - WARPRSA_RESTARTS_AT_ONCE;
    return loop > 5 ? WARPRSA_RESTARTS_PAUSE_MAX_S : 1u << (loop - 1);
}
