/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The states of a device: see device_states.h.
 */
#include "batching/queue/device_states.h"

#include "batching/base/clock.h"

enum {
    /* The pause before a lost device is opened again: long enough to cost
     * nothing while it fails again and again, short enough to be worth it. */
    BACKOFF_FIRST_MS = 100,
    BACKOFF_MAX_MS = 60000,
    /* The longest pause for another host. To ask a host costs a connection at
     * most, and one that has come back is wanted at once. */
    BACKOFF_HOST_MAX_MS = 5000,
    /* Out of use for so long, beyond the deadline of a batch, or being opened
     * again for so long, a device hangs. */
    HANGS_MS = 2000,
    OPENING_HANGS_MS = 30000,
    OPENING_SLOW_MS = 10000,
    /* So long beyond the deadline, at which the engine's wait() gives up by
     * itself, a call hangs. A machine may stand still for half a second. */
    CALL_HANGS_MS = 1000,
    /* What is not in the table: the state stays. */
    STAYS = 0,
};

#define TO(state) (WARPRSA_DEVICE_##state + 1)

static const uint8_t next_state[WARPRSA_DEVICE_STATES][WARPRSA_DEVICE_EVENTS] =
    {
        [WARPRSA_DEVICE_ABSENT] =
            {
                [WARPRSA_DEVICE_FOUND] = TO(OPENING),
                [WARPRSA_DEVICE_GIVEN_UP] = TO(GONE),
            },
        [WARPRSA_DEVICE_OPENING] =
            {
                [WARPRSA_DEVICE_OPENED] = TO(READY),
                [WARPRSA_DEVICE_NOT_OPENED] = TO(LOST),
                [WARPRSA_DEVICE_GIVEN_UP] = TO(GONE),
            },
        [WARPRSA_DEVICE_READY] =
            {
                [WARPRSA_DEVICE_OVERDUE] = TO(SUSPECT),
                [WARPRSA_DEVICE_FAILED] = TO(LOST),
                [WARPRSA_DEVICE_LEFT] = TO(LOST),
                [WARPRSA_DEVICE_GIVEN_UP] = TO(GONE),
            },
        [WARPRSA_DEVICE_SUSPECT] =
            {
                [WARPRSA_DEVICE_FAILED] = TO(LOST),
                [WARPRSA_DEVICE_LEFT] = TO(LOST),
                [WARPRSA_DEVICE_TEST_PASSED] = TO(READY),
                [WARPRSA_DEVICE_TEST_FAILED] = TO(LOST),
                [WARPRSA_DEVICE_GIVEN_UP] = TO(GONE),
            },
        [WARPRSA_DEVICE_LOST] =
            {
                [WARPRSA_DEVICE_OPENED] = TO(READY),
                [WARPRSA_DEVICE_GIVEN_UP] = TO(GONE),
            },
};

warprsa_device_state warprsa_device_next_state(warprsa_device_state state,
                                               warprsa_device_event event)
{
    const uint8_t next = next_state[state][event];

    return next == STAYS ? state : (warprsa_device_state)(next - 1);
}

bool warprsa_device_is_blameless(warprsa_status status)
{
    return status == WARPRSA_NO_MEMORY || status == WARPRSA_NO_RANDOM ||
           status == WARPRSA_UNSUPPORTED_KEY;
}

unsigned warprsa_device_backoff_ms(unsigned failures, unsigned deadline_ms,
                                   bool is_host)
{
    const unsigned most = is_host ? BACKOFF_HOST_MAX_MS : BACKOFF_MAX_MS;
    unsigned ms = BACKOFF_FIRST_MS;

    if (failures == 0)
        return 0;
    if (ms > deadline_ms)
        ms = deadline_ms;
    for (unsigned i = 1; i < failures && ms < most; i++)
        ms *= 2;
    return ms < most ? ms : most;
}

bool warprsa_device_opens_slowly(const warprsa_device_history *history,
                                 uint64_t now_ns)
{
    return history->opening_ns != 0 &&
           now_ns >= history->opening_ns + OPENING_SLOW_MS * WARPRSA_NS_PER_MS;
}

bool warprsa_device_call_hangs(uint64_t since_ns, unsigned deadline_ms,
                               uint64_t now_ns)
{
    const uint64_t limit_ms = (uint64_t)deadline_ms + CALL_HANGS_MS;

    return since_ns != 0 && since_ns != WARPRSA_DEVICE_CALL_MAY_LAST &&
           now_ns >= since_ns + limit_ms * WARPRSA_NS_PER_MS;
}

bool warprsa_device_is_beyond_help(warprsa_device_state state,
                                   const warprsa_device_history *history,
                                   uint64_t pause_until_ns, uint64_t now_ns)
{
    const bool is_opened = history->opening_ns != 0;
    const uint64_t limit_ms = is_opened ? OPENING_HANGS_MS : HANGS_MS;
    uint64_t since_ns =
        history->out_ns > pause_until_ns ? history->out_ns : pause_until_ns;

    if (is_opened)
        since_ns = history->opening_ns;
    return history->was_in_use &&
           (state == WARPRSA_DEVICE_SUSPECT || state == WARPRSA_DEVICE_LOST) &&
           (history->reopening_failed ||
            now_ns >= since_ns + limit_ms * WARPRSA_NS_PER_MS);
}
