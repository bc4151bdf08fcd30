/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The program warprsa-stat, compiled into a test, and what it prints about the
 * test's own process.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_STAT_OUTPUT_H
#define WARPRSA_TESTS_UNIT_SUPPORT_STAT_OUTPUT_H

#include "tests/unit/support/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* The program's main() is called here. */
#define main warprsa_stat_main
#include "batching/stat/stat.c"
#undef main

/* Runs warprsa-stat on this process, with an option or NULL. Returns what it
 * printed, until the next call. */
static const char *stat_this_process(char *option)
{
    static char text[65536];
    char pid[16], *arguments[] = {"warprsa-stat", pid, option, NULL};
    FILE *to = tmpfile();
    size_t length;
    pid_t child;
    int status;

    assert_non_null(to);
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(dup2(fileno(to), STDOUT_FILENO) < 0
                  ? EXIT_FAILURE
                  : warprsa_stat_main(option != NULL ? 3 : 2, arguments));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    rewind(to);
    length = fread(text, 1, sizeof(text) - 1, to);
    assert_in_range(length, 1, sizeof(text) - 2);
    text[length] = '\0';
    fclose(to);
    return text;
}

#endif
