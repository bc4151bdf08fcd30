/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A row that shown_counters.c adds to the table of counters, for all of its
 * sources.
 */
#ifndef WARPRSA_TESTS_UNIT_STAT_ONE_MORE_COUNTER_H
#define WARPRSA_TESTS_UNIT_STAT_ONE_MORE_COUNTER_H

#define WARPRSA_TEST_COUNTER(X)                                                \
    X(test_events, COUNTER, "events", "warprsa_test_events_total",             \
      "Events of a test")

#endif
