/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Programs of the build that tests start: where the tests themselves run under
 * an emulator, WARPRSA_TEST_EMULATOR names it, and it runs these as well.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_EMULATOR_H
#define WARPRSA_TESTS_UNIT_SUPPORT_EMULATOR_H

#include <stdlib.h>
#include <unistd.h>

/* The emulator's name; "": there is none. */
static inline const char *emulator(void)
{
    const char *name = getenv("WARPRSA_TEST_EMULATOR");

    return name != NULL ? name : "";
}

/* In a child: becomes the program arguments[1], with arguments[1] and those
 * behind it up to a NULL; arguments[0] is overwritten. Returns if it can't. */
static inline void exec_emulated(char *arguments[])
{
    arguments[0] = (char *)emulator();
    if (arguments[0][0] != '\0')
        execvp(arguments[0], arguments);
    else
        execv(arguments[1], arguments + 1);
}

#endif
