/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The states of a device, and what follows from them: which event leads to
 * which state, how long a device that failed is left alone, and when it is
 * beyond this process's help. It holds no lock and reads no clock: each
 * function gets the facts and the time, one of warprsa_clock_ns().
 *
 *   ABSENT   not known yet whether there is one
 *   OPENING  the first stream's thread opens it
 *   READY    in use
 *   SUSPECT  a batch missed its deadline, or a call of the engine did not
 *            return; out of use until the streams of such batches and calls are
 *            idle again and the known-answer test has passed
 *   LOST     failed, failed its test or computed wrongly; closed and opened
 *            again once no thread is inside the engine
 *   GONE     there is none; its threads end
 */
#ifndef WARPRSA_BATCHING_QUEUE_DEVICE_STATES_H
#define WARPRSA_BATCHING_QUEUE_DEVICE_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/engine.h"

typedef enum warprsa_device_state {
    WARPRSA_DEVICE_ABSENT,
    WARPRSA_DEVICE_OPENING,
    WARPRSA_DEVICE_READY,
    WARPRSA_DEVICE_SUSPECT,
    WARPRSA_DEVICE_LOST,
    WARPRSA_DEVICE_GONE,
    WARPRSA_DEVICE_STATES,
} warprsa_device_state;

typedef enum warprsa_device_event {
    WARPRSA_DEVICE_FOUND,       /* an engine has it */
    WARPRSA_DEVICE_OPENED,      /* and it passed its tests */
    WARPRSA_DEVICE_NOT_OPENED,  /* or it did not */
    WARPRSA_DEVICE_OVERDUE,     /* a batch missed its deadline, or a call */
    WARPRSA_DEVICE_FAILED,      /* a call of the engine, or a result */
    WARPRSA_DEVICE_LEFT,        /* the engine says so, of another host */
    WARPRSA_DEVICE_TEST_PASSED, /* all overdue batches have ended, too */
    WARPRSA_DEVICE_TEST_FAILED,
    WARPRSA_DEVICE_GIVEN_UP, /* there is no device, or no thread for it */
    WARPRSA_DEVICE_EVENTS,
} warprsa_device_event;

/* The state after the event. An event that can't happen, or says nothing, in a
 * state leaves it as it is. */
warprsa_device_state warprsa_device_next_state(warprsa_device_state state,
                                               warprsa_device_event event);

/* Whether a failure says nothing against the device. */
bool warprsa_device_is_blameless(warprsa_status status);

/* What has happened to a device; zeros to begin with. */
typedef struct warprsa_device_history {
    unsigned failures; /* since a batch last succeeded */
    bool was_in_use;
    bool reopening_failed; /* the last time, after it was in use */
    uint64_t out_ns;       /* when it was last taken out of use */
    uint64_t opening_ns;   /* since when it is being opened; 0: it is not */
    bool told_slow;        /* that this opening takes long */
} warprsa_device_history;

/* The pause before a device is tried again that has failed so often; `is_host`:
 * another host. */
unsigned warprsa_device_backoff_ms(unsigned failures, unsigned deadline_ms,
                                   bool is_host);

/* Whether a device has been in opening for longer than one does whose kernels
 * the driver need not compile. */
bool warprsa_device_opens_slowly(const warprsa_device_history *history,
                                 uint64_t now_ns);

/* The beginning of a call that may take minutes, and not hang. */
#define WARPRSA_DEVICE_CALL_MAY_LAST UINT64_MAX

/* Whether a call of the engine that began at since_ns, or none if that is 0,
 * hangs: it has not returned for longer than a batch may take. */
bool warprsa_device_call_hangs(uint64_t since_ns, unsigned deadline_ms,
                               uint64_t now_ns);

/* Whether a device of this machine was in use and this process can't bring it
 * back: opening it again has failed, or it hangs. It does not while it pauses
 * because of wrong results, up to pause_until_ns. */
bool warprsa_device_is_beyond_help(warprsa_device_state state,
                                   const warprsa_device_history *history,
                                   uint64_t pause_until_ns, uint64_t now_ns);

#endif
