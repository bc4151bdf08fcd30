/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See eta.h.
 */
#include "gpu/select/eta.h"

enum {
    MARGIN = 8, /* 1 / MARGIN of the expected time is not slept */
    SLOW = 16,  /* a longer time moves the expected one by 1 / SLOW of the
                  * difference */
    LONG = 2, /* a longer time counts as at most LONG times the expected one */
    OFTEN = 64,  /* an end is noticed late by 1 / OFTEN of the time */
    LATE = 60000 /* ns by which a sleep takes longer: Linux's timer slack */
};

#define PAUSE_LEAST_NS UINT64_C(20000)
#define PAUSE_MOST_NS  UINT64_C(1000000)

/* The bin of a number of requests: floor(log2(count)), at most the last. */
static unsigned bin_of(size_t count)
{
    unsigned bin = 0;

    while (count > 1 && bin < WARPRSA_ETA_BINS - 1) {
        count /= 2;
        bin++;
    }
    return bin;
}

uint64_t warprsa_eta_sleep(const warprsa_eta *eta, warprsa_size_class size,
                           size_t count)
{
    uint64_t expected = eta->ns[size][bin_of(count)];
    uint64_t sleep = expected - expected / MARGIN;

    return sleep > LATE + PAUSE_LEAST_NS ? sleep - LATE : 0;
}

uint64_t warprsa_eta_pause(uint64_t elapsed_ns)
{
    uint64_t pause = elapsed_ns / OFTEN;

    if (pause < PAUSE_LEAST_NS)
        return PAUSE_LEAST_NS;
    return pause < PAUSE_MOST_NS ? pause : PAUSE_MOST_NS;
}

void warprsa_eta_note(warprsa_eta *eta, warprsa_size_class size, size_t count,
                      uint64_t elapsed_ns)
{
    uint64_t *expected = &eta->ns[size][bin_of(count)];

    if (*expected == 0 || elapsed_ns < *expected)
        *expected = elapsed_ns;
    else if (elapsed_ns < LONG * *expected)
        *expected += (elapsed_ns - *expected) / SLOW;
    else
        *expected += *expected / SLOW;
}
