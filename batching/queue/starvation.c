/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The pauses of CPUs in the background: see starvation.h.
 */
#include "batching/queue/starvation.h"

#include "batching/base/clock.h"

/* A try in vain costs the requests of a batch of each thread 0.1 s. Every
 * second that is what one operation in some hundreds has to wait, every minute
 * nothing that anyone would see. */
#define FIRST_NS (1000 * WARPRSA_NS_PER_MS)
#define MAX_NS   (64000 * WARPRSA_NS_PER_MS)

enum {
    FORGOTTEN = 8, /* pauses without a new one */
};

uint64_t warprsa_starvation_note(warprsa_starvation *starvation,
                                 uint64_t now_ns)
{
    const uint64_t until_ns = atomic_load(&starvation->until_ns);
    uint64_t pause_ns = atomic_load(&starvation->pause_ns);

    if (now_ns < until_ns)
        return 0;
    if (pause_ns == 0 || now_ns - until_ns >= FORGOTTEN * pause_ns)
        pause_ns = FIRST_NS;
    else if (pause_ns < MAX_NS)
        pause_ns *= 2;
    atomic_store(&starvation->pause_ns, pause_ns);
    atomic_store(&starvation->until_ns, now_ns + pause_ns);
    return pause_ns;
}
