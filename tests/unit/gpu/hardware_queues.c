/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How many streams work side by side, by the environment and the threads of the
 * process. Each case is a process of its own.
 */
#include "tests/unit/support/unit_test.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/engine.h"

static const char variable[] = "CUDA_DEVICE_MAX_CONNECTIONS";

static void *nothing(void *arg)
{
    return arg;
}

/* The answer in a new process with this value of the variable; NULL: it isn't
 * set. *after says whether it is set to what is wanted then. */
static unsigned queues_in_child(const char *value, bool threads,
                                unsigned wanted, bool *after)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        unsigned queues;
        pthread_t thread;

        if (value == NULL ? unsetenv(variable) != 0
                          : setenv(variable, value, 1) != 0)
            _exit(0);
        if (threads && (pthread_create(&thread, NULL, nothing, NULL) != 0 ||
                        pthread_join(thread, NULL) != 0))
            _exit(0);
        queues = warprsa_hardware_queues(wanted);
        value = getenv(variable);
        if (value != NULL && (unsigned)atoi(value) == wanted)
            queues |= 0x80;
        _exit((int)queues);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    *after = (WEXITSTATUS(status) & 0x80) != 0;
    return WEXITSTATUS(status) & 0x7f;
}

TEST(one_thread_gets_all)
{
    bool after = false;

    assert_int_equal(queues_in_child(NULL, false, 32, &after), 32);
    assert_true(after);
    assert_int_equal(queues_in_child(NULL, false, 9, &after), 9);
    assert_true(after);
}

/* Nobody needs more for 8, and another thread may be reading it. */
TEST(the_environment_stays)
{
    bool after = true;

    for (unsigned wanted = 1; wanted <= 8; wanted++) {
        assert_int_equal(queues_in_child(NULL, false, wanted, &after), wanted);
        assert_false(after);
    }
    assert_int_equal(queues_in_child(NULL, true, 32, &after), 8);
    assert_false(after);
}

/* Whoever has set the variable is not overruled, except that fewer than 8 are
 * no reason to have fewer batches. */
TEST(the_environment_decides)
{
    static const struct {
        const char *value;
        unsigned queues;
    } cases[] = {{"1", 8},
                 {"8", 8},
                 {"9", 9},
                 {"31", 31},
                 {"33", 32},
                 {"", 8},
                 {"x", 8},
                 {"16x", 8},
                 {"-1", 8},
                 {" 16", 8},
                 {"+16", 8},
                 {"1e99", 8},
                 {"9999999999999999999999", 8}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int threads = 0; threads < 2; threads++) {
            bool after = true;

            if (queues_in_child(cases[i].value, threads != 0, 32, &after) !=
                    cases[i].queues ||
                after)
                fail_msg("\"%s\"", cases[i].value);
        }
}

RUN_TESTS(NULL, NULL)
