/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What batches have taken lately, by size class and number of requests, for
 * the thread that waits for one: it sleeps most of that time in one go instead
 * of asking the driver again and again. Plain data of one thread at a time, all
 * zeros to begin with. Nanoseconds.
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

/* How long a batch of `count` requests that begins now is best left alone; 0:
 * nothing is known. Shorter than it will take, if it takes no less than those
 * before. */
uint64_t warprsa_eta_sleep(const warprsa_eta *eta, warprsa_size_class size,
                           size_t count);

/* How long to leave alone one that has gone on for elapsed_ns and could have
 * ended. */
uint64_t warprsa_eta_pause(uint64_t elapsed_ns);

/* Notes that a batch has taken so long. It counts at once if it was shorter
 * than expected, which may be because it ended asleep; a longer one only by
 * and by, since it may have waited for others on the same device. */
void warprsa_eta_note(warprsa_eta *eta, warprsa_size_class size, size_t count,
                      uint64_t elapsed_ns);

#endif
