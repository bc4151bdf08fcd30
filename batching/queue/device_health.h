/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whether a device computes right, from what has happened to it and when. It
 * holds no lock and reads no clock: each function gets the time, one of
 * warprsa_clock_ns(), and the caller lets one thread in at a time.
 *
 * A result that failed its check is wrong because of the device or because of
 * its key's own numbers. warprsa_check_key() (gpu/engine.h) tells which: only
 * wrong results of keys whose numbers are right are held against the device.
 * Checking a key costs time of a CPU. It is limited to a tenth of a CPU for
 * each device, and 0.1 s in advance, so that nobody takes more by bringing many
 * keys with wrong numbers.
 *
 * Three wrong results within ten seconds take the device out of use. It comes
 * back after a pause, if it passes the known-answer test of each size class
 * that was wrong. The pause is a second at first and twice as long each time,
 * up to 64 s. It is a second again after the device has been in use for eight
 * times its last pause.
 */
#ifndef WARPRSA_BATCHING_QUEUE_DEVICE_HEALTH_H
#define WARPRSA_BATCHING_QUEUE_DEVICE_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/engine.h"

enum {
    /* So many wrong results are too many; and so many failed results of one
     * batch are looked at. */
    WARPRSA_HEALTH_WRONG_MAX = 3,
};

/* Zeros to begin with. */
typedef struct warprsa_device_health {
    uint64_t wrong_ns[WARPRSA_HEALTH_WRONG_MAX]; /* when, the latest of them */
    unsigned wrong;                              /* since it came into use */
    unsigned classes; /* bit per size class that was wrong in this time */
    bool is_judging;
    uint64_t judge_ns; /* when the time that looking has taken is made up for */
    uint64_t pause_ns; /* the last pause; 0: there was none */
    uint64_t until_ns; /* and its end */
    uint64_t back_ns;  /* when it came back from it; 0: it has not */
} warprsa_device_health;

/* Whether failed results of a batch may be looked at now. If so,
 * warprsa_device_health_judged() follows. */
bool warprsa_device_health_judge(warprsa_device_health *health,
                                 uint64_t now_ns);

/* They have been looked at, which has taken used_ns of a CPU's time. */
void warprsa_device_health_judged(warprsa_device_health *health,
                                  uint64_t used_ns, uint64_t now_ns);

/* A result of this class was wrong because of the device. True: it has to be
 * taken out of use, until until_ns. */
bool warprsa_device_health_wrong(warprsa_device_health *health,
                                 warprsa_size_class size, uint64_t now_ns);

/* Out of use, it has failed a known-answer test: until_ns is the end of another
 * pause. */
void warprsa_device_health_failed_test(warprsa_device_health *health,
                                       uint64_t now_ns);

/* It is in use, again or for the first time. */
void warprsa_device_health_in_use(warprsa_device_health *health,
                                  uint64_t now_ns);

#endif
