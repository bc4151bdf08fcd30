/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whether a daemon is busy or hangs; see busy.h.
 */
#include "batching/daemon/client/busy.h"

#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "batching/base/clock.h"

enum {
    /* An idle daemon uses less than this part of a CPU. */
    BUSY_PART = 400,
    /* So many naps are enough. Fewer are enough if they take at most a quarter
     * longer than they should. */
    NAPS = 100,
    PUNCTUAL_NAPS = 20,
};

bool warprsa_nap(warprsa_naps *naps, int fd)
{
    struct pollfd arrival = {.fd = fd, .events = POLLIN};
    uint64_t begun_ns = warprsa_clock_ns();

    int ready = poll(&arrival, 1, WARPRSA_NAP_MS);

    if (ready == 0) { /* else it was a signal that woke it */
        naps->count++;
        naps->slept_ns += warprsa_clock_ns() - begun_ns;
    }
    return ready > 0;
}

bool warprsa_naps_are_over(const warprsa_naps *naps, bool is_busy)
{
    uint64_t wanted_ns = naps->count * WARPRSA_NAP_MS * WARPRSA_NS_PER_MS;

    return naps->count >= NAPS || (!is_busy && naps->count >= PUNCTUAL_NAPS &&
                                   naps->slept_ns <= wanted_ns + wanted_ns / 4);
}

/* 0: unknown. */
static uint64_t cpu_ns(int socket)
{
    struct ucred peer = {0};
    socklen_t length = sizeof(peer);
    struct timespec used;
    clockid_t clock;

    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
        peer.pid <= 0 || clock_getcpuclockid(peer.pid, &clock) != 0 ||
        clock_gettime(clock, &used) != 0)
        return 0;
    return (uint64_t)used.tv_sec * WARPRSA_NS_PER_SEC + (uint64_t)used.tv_nsec;
}

void warprsa_busy_watch(warprsa_busy *busy, int socket)
{
    busy->since_ns = warprsa_clock_ns();
    busy->cpu_ns = cpu_ns(socket);
}

bool warprsa_busy_now(const warprsa_busy *busy, int socket)
{
    uint64_t now_ns = cpu_ns(socket);

    return now_ns > busy->cpu_ns &&
           now_ns - busy->cpu_ns >
               (warprsa_clock_ns() - busy->since_ns) / BUSY_PART;
}
