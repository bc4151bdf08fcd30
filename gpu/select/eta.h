/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How long a batch is expected to take: the recent times, by size class and
 * number of requests. The thread that waits for a batch sleeps for most of this
 * time at once and need not ask the driver again and again. The data are plain
 * memory that one thread at a time uses; they are all zeros to begin with. All
 * times are nanoseconds.
 */
#ifndef WARPRSA_GPU_SELECT_ETA_H
#define WARPRSA_GPU_SELECT_ETA_H

#include <stddef.h>
#include <stdint.h>

#include "gpu/engine.h"

enum {
    WARPRSA_ETA_BINS = 17, /* 1 request, 2-3, 4-7 ... 65536 */
};

typedef struct warprsa_eta {
    uint64_t ns[WARPRSA_CLASSES][WARPRSA_ETA_BINS];
} warprsa_eta;

/* How long to sleep for a batch of `count` requests that begins now. 0: nothing
 * is known, or the batch is too short to sleep for. The sleep ends before the
 * batch does, unless the batch takes less than those before. */
uint64_t warprsa_eta_sleep(const warprsa_eta *eta, warprsa_size_class size,
                           size_t count);

/* How long to sleep before asking the driver again about a batch that began
 * elapsed_ns ago and may have ended. */
uint64_t warprsa_eta_pause(uint64_t elapsed_ns);

/* Records that a batch took elapsed_ns. A time that is shorter than expected
 * counts at once, since the batch may have ended during the sleep. A longer
 * time counts gradually, since the batch may have waited for others on the same
 * device. */
void warprsa_eta_note(warprsa_eta *eta, warprsa_size_class size, size_t count,
                      uint64_t elapsed_ns);

#endif
