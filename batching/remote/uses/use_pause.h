/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How long a GPU host is left alone after a session with it has ended. A host
 * decides how its sessions end: none that it ends soon, or in which it lies,
 * takes back what earlier ones have cost it.
 */
#ifndef WARPRSA_BATCHING_REMOTE_USES_USE_PAUSE_H
#define WARPRSA_BATCHING_REMOTE_USES_USE_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

/* Of one host; all zeros at first. */
typedef struct warprsa_use_pause {
    unsigned again_ms, wrong_ms; /* the last pauses of each kind; 0: none */
} warprsa_use_pause;

/* How a session was. All zeros: there was none. */
typedef struct warprsa_use_session {
    bool answered;      /* some use */
    bool wrong;         /* a signature was */
    uint64_t lasted_ns; /* from the welcome to the end */
} warprsa_use_session;

/*
 * How many milliseconds to wait before the next session. A pause is twice the
 * one before it, from 100 ms to 5 s. After a wrong signature it is 1 to 60 s.
 * Only a session that has answered something makes an end of that: of the short
 * pauses if it has lasted for a second, of the long ones after a minute without
 * a wrong signature. So a host causes no more than one session a second for
 * long. One thread at a time for each host.
 */
unsigned warprsa_use_pause_after(warprsa_use_pause *pause,
                                 const warprsa_use_session *session);

#endif
