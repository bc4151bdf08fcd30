/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How soon a serving process is replaced, by what became of those before it.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/daemon/process/restarts.h"

enum {
    UNREADY = 0,
    SOON = 1,
    LATE = WARPRSA_RESTARTS_HEALTHY_MS - 1,
    HEALTHY = WARPRSA_RESTARTS_HEALTHY_MS,
};

/* Processes that end one after the other, and the pauses that follow them. */
typedef struct story {
    const char *of;
    struct {
        unsigned times;
        uint64_t ready_ms; /* UNREADY: it never was */
        unsigned pause_s[8];
    } then[8];
} story;

static const story stories[] = {
    {"it was killed ten times, and then again and again",
     {{10, SOON, {0}},
      {7, LATE, {1, 2, 4, 8, 16, 30, 30}},
      {1, HEALTHY, {0}},
      {9, SOON, {0}},
      {1, SOON, {1}}}},
    {"each was ready for a minute",
     {{100, HEALTHY, {0}}, {1, UINT64_MAX, {0}}, {1, SOON, {0}}}},
    {"none is ready",
     {{10, UNREADY, {0}},
      {7, UNREADY, {1, 2, 4, 8, 16, 30, 30}},
      {1, HEALTHY, {0}},
      {2, UNREADY, {0}}}},
    {"one that was ready for a short time ends no row of those that were not",
     {{9, UNREADY, {0}}, {1, SOON, {0}}, {2, UNREADY, {1, 2}}}},
};

TEST(a_pause_follows_a_loop_alone)
{
    for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++) {
        warprsa_restarts restarts = {0};

        for (unsigned j = 0; stories[i].then[j].times > 0; j++)
            for (unsigned k = 0; k < stories[i].then[j].times; k++) {
                const unsigned pause_s = warprsa_restarts_pause_s(
                    &restarts, stories[i].then[j].ready_ms);
                const unsigned expected =
                    k < 8 ? stories[i].then[j].pause_s[k] : 0;

                if (pause_s != expected)
                    fail_msg("%s: part %u, end %u: %u s, not %u", stories[i].of,
                             j, k, pause_s, expected);
            }
    }
}

/* However many have ended. */
TEST(counts_that_are_large)
{
    warprsa_restarts restarts = {.ends = UINT32_MAX};

    assert_int_equal(warprsa_restarts_pause_s(&restarts, UNREADY),
                     WARPRSA_RESTARTS_PAUSE_MAX_S);
    assert_int_equal(warprsa_restarts_pause_s(&restarts, HEALTHY), 0);
}

RUN_TESTS(NULL, NULL)
