/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * cmocka, with the headers that it needs before it, and tests that list
 * themselves: TEST(name) defines one, and RUN_TESTS() runs those of the file in
 * the order in which they stand there.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_UNIT_TEST_H
#define WARPRSA_TESTS_UNIT_SUPPORT_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    UNIT_TESTS_MAX = 64, /* of a program */
};

/* cmocka skips what is zero. */
static struct CMUnitTest unit_tests[UNIT_TESTS_MAX] __attribute__((unused));

static inline void unit_test_add(struct CMUnitTest test)
{
    static unsigned count;

    if (count == UNIT_TESTS_MAX)
        abort();
    unit_tests[count++] = test;
}

/* A test between two functions, each may be NULL, with an initial `*state`.
 * Constructors of a file run in their order. */
#define TEST_WITH(name, set_up, tear_down, initial)                            \
    static void name(void **state);                                            \
    static void __attribute__((constructor)) add_##name(void)                  \
    {                                                                          \
        unit_test_add(                                                         \
            (struct CMUnitTest){#name, name, set_up, tear_down, initial});     \
    }                                                                          \
    static void name(void **state)
#define TEST_IN(name, set_up, tear_down)                                       \
    TEST_WITH(name, set_up, tear_down, NULL)
#define TEST(name) TEST_IN(name, NULL, NULL)

/* Defines main(), which runs all tests between two functions; each may be
 * NULL. */
#define RUN_TESTS(set_up, tear_down)                                           \
    int main(void)                                                             \
    {                                                                          \
        return cmocka_run_group_tests(unit_tests, set_up, tear_down);          \
    }

#endif
