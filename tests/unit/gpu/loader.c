/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two threads open the library of the engine for NVIDIA GPUs at the same time,
 * and one of them can't: it came too early, or the process had no descriptor
 * left at that moment. What the other has opened stays in use. This file plays
 * dlopen() and the library, and lets one thread run while the other looks for
 * the file.
 */
#include "tests/unit/support/unit_test.h"

#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

#include "gpu/cuda/library.h"

static unsigned count(char *why, size_t why_size)
{
    return 3;
}

static const char *describe(const warprsa_device *device)
{
    return "played";
}

static const warprsa_engine played = {.count = count, .describe = describe};
static const warprsa_cuda_library library = {WARPRSA_ENGINE_INTERFACE, &played};

static bool is_first;
static bool is_there;

int access(const char *path, int how)
{
    char why[160];

    if (is_first) {
        is_first = false;
        is_there = true;
        assert_int_equal(warprsa_engine_cuda()->count(why, sizeof(why)), 3);
        is_there = false;
    }
    errno = ENOENT;
    return is_there ? 0 : -1;
}

void *dlopen(const char *path, int how)
{
    assert_string_equal(path, WARPRSA_CUDA_LIBRARY);
    return &is_there;
}

void *dlsym(void *handle, const char *name)
{
    assert_string_equal(name, WARPRSA_CUDA_LIBRARY_SYMBOL);
    return (void *)(uintptr_t)&library;
}

TEST(one_of_two_threads_opens_it)
{
    const warprsa_engine *engine = warprsa_engine_cuda();
    char why[160] = "";

    assert_int_equal(engine->count(why, sizeof(why)), 0);
    assert_string_equal(why,
                        "no CUDA library is installed: " WARPRSA_CUDA_LIBRARY);
    is_first = true;
    assert_int_equal(engine->count(why, sizeof(why)), 0);
    /* The other thread goes on with what it has. */
    assert_string_equal(engine->describe(NULL), "played");
    assert_int_equal(engine->count(why, sizeof(why)), 3);
}

RUN_TESTS(NULL, NULL)
