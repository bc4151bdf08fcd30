/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The turns of sessions; see session_turns.h.
 */
#include "batching/daemon/server/session_turns.h"

#include "batching/base/clock.h"
#include "batching/base/container_of.h"
#include "batching/daemon/server/session_answers.h"
#include "batching/daemon/server/session_completions.h"
#include "batching/daemon/server/session_leave.h"
#include "batching/daemon/server/session_messages.h"
#include "batching/daemon/server/session_requests.h"
#include "batching/daemon/server/session_vault.h"

enum {
    /* The time of a turn. Work that is begun is finished: a key takes about 10
     * us, a request or answer less than 1. */
    TURN_NS = 100000,
};

/* Reads messages and requests, and lets go of keys that the vault has removed.
 * Messages are read in any case: if the last turn
 * left some, no flag says so. Returns whether there may be more. */
static bool read_some(warprsa_session *s)
{
    const bool more_keys = warprsa_session_review_keys(s);

    s->messages_read = 0;
    warprsa_session_clear_flags(s);
    warprsa_session_read_messages(s);
    return !s->closed &&
           (warprsa_session_read_ring(s) || s->messages_left || more_keys);
}

static void take_turn(warprsa_session *s)
{
    bool more = false;

    s->now_ns = warprsa_clock_ns();
    s->turn_until_ns = s->now_ns + TURN_NS;
    warprsa_session_complete_some(s);
    if (s->gone != NULL)
        warprsa_session_end(s, s->gone);
    if (!s->closed)
        more = read_some(s);
    warprsa_session_notify_all(&s->host->answering);
    if (s->closed)
        warprsa_session_leave(s);
    else if (more || s->answered != NULL)
        warprsa_session_make_ready(s);
}

void warprsa_session_run_ready(warprsa_session_host *host)
{
    warprsa_rounds_entry *entry;

    warprsa_rounds_begin(&host->ready);
    while ((entry = warprsa_rounds_next(&host->ready)) != NULL)
        take_turn(WARPRSA_CONTAINER_OF(entry, warprsa_session, ready));
}
