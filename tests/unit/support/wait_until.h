/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Waiting in a test for what must happen, however slow the machine is.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_WAIT_UNTIL_H
#define WARPRSA_TESTS_UNIT_SUPPORT_WAIT_UNTIL_H

#include <stdbool.h>

#include <time.h>

#include "tests/unit/support/unit_test.h"

enum {
    LONG_MS = 60000,
};

/* Waits for a condition that no condition variable announces; fails after
 * LONG_MS. */
#define WAIT_UNTIL(condition)                                                  \
    do {                                                                       \
        struct timespec tick = {0, 1000000};                                   \
        bool holds = (condition);                                              \
        for (int left = LONG_MS; !holds && left > 0; left--) {                 \
            nanosleep(&tick, NULL);                                            \
            holds = (condition);                                               \
        }                                                                      \
        assert_true(holds);                                                    \
    } while (0)

#endif
