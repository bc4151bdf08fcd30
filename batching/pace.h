/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * When a free worker of a device takes the next batch. An idle device starts
 * at once; so does one that has little under way, for what a GPU does beside
 * that costs nobody time. One that is busy gets its next batch just before it
 * is predicted to be free: as large as it could grow meanwhile, and early
 * enough to be copied there before the last one ends. One big batch is done
 * sooner than several small ones.
 */
#ifndef WARPRSA_PACE_H
#define WARPRSA_PACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpu/gpu.h"

enum {
    /* Requests under way that make a device busy: about what fills the GPUs
     * this is made for once. */
    WARPRSA_PACE_BUSY = 2048,
};

/* Of one device; zeros to begin with. Its threads write it without a lock:
 * what gets lost in a race makes one batch a little early or late. */
typedef struct warprsa_pace {
    _Atomic uint32_t running; /* requests taken and not answered */
    _Atomic uint64_t free_ns; /* when they are predicted to be done */
    _Atomic uint64_t ended_ns;
    /* Averages for one request of a large batch: of the device's time, and of
     * the time from taking it to its start. 0: not known. */
    _Atomic uint64_t request_ns[WARPRSA_CLASSES];
    _Atomic uint64_t stage_ns;
} warprsa_pace;

/* Whether a batch is to be taken now, with `waiting` requests queued. If not,
 * *again_ns: when to ask again, unless more come (UINT64_MAX: only then). */
bool warprsa_pace_may_start(const warprsa_pace *pace, uint32_t waiting,
                            uint32_t batch_max, uint64_t now_ns,
                            uint64_t *again_ns);

/* From how many requests queued an idle worker wants to be woken. */
uint32_t warprsa_pace_wake_at(const warprsa_pace *pace, uint32_t batch_max);

/* The three moments of a batch: taken, started on the device, ended. */
void warprsa_pace_taken(warprsa_pace *pace, warprsa_size_class size,
                        uint32_t count, uint64_t now_ns);
void warprsa_pace_started(warprsa_pace *pace, uint32_t count, uint64_t taken_ns,
                          uint64_t now_ns);
void warprsa_pace_ended(warprsa_pace *pace, warprsa_size_class size,
                        uint32_t count, uint64_t started_ns, uint64_t now_ns);

#endif
