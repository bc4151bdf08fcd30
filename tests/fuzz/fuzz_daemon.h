/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the fuzzers of the daemon share: its server on the fake engine, which
 * serves all inputs of a fuzzer's life, and an honest client beside. Whatever
 * an input does, the honest client is served rightly and soon, and nothing of
 * the hostile client stays behind. If not, the process ends with an error.
 */
#ifndef WARPRSA_TESTS_FUZZ_FUZZ_DAEMON_H
#define WARPRSA_TESTS_FUZZ_FUZZ_DAEMON_H

#include "tests/unit/support/daemon_support.h"

#include "batching/base/clock.h"

enum {
    FUZZ_SLOTS = 16, /* of each client */
};

/* The server; it is started at the first call. */
const test_server *fuzz_daemon(void);

/* One operation of the honest client. */
void fuzz_honest_operation(void);

/* To be called once an input has closed all it had: waits until the daemon has
 * closed its part, and checks the above. */
void fuzz_daemon_check(void);

/* Gives the daemon's threads a moment, until the condition holds or it is not
 * going to. */
#define FUZZ_LET(condition)                                                    \
    do {                                                                       \
        const struct timespec nap = {0, 10000};                                \
        uint64_t until_ns = warprsa_clock_ns() + WARPRSA_NS_PER_MS;            \
        while (!(condition) && warprsa_clock_ns() < until_ns)                  \
            nanosleep(&nap, NULL);                                             \
    } while (0)

#endif
