/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The engine for NVIDIA GPUs as programs have it: opens warprsa-cuda.so when
 * somebody asks for devices, and hands each call on to it.
 *
 * The path is absolute and set when warprsa is built, so the environment has no
 * say in what is loaded. The library is opened by the thread that opens the
 * devices, never by a caller, whose stack may be small. It is never closed:
 * CUDA does not get over that.
 *
 * There is no lock, since a fork() could leave one taken in the child. Two
 * threads that open the library at the same time get the same one. If only one
 * of them can, the other leaves alone what it has.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpu/cuda/library.h"

static const char path[] = WARPRSA_CUDA_LIBRARY;

/* The engine of the library, once the library has been opened. */
static _Atomic(const warprsa_engine *) opened;

bool warprsa_engine_cuda_is_installed(char *why, size_t why_size)
{
    if (access(path, F_OK) == 0)
        return true;
    snprintf(why, why_size,
             errno == ENOENT || errno == ENOTDIR
                 ? "no CUDA library is installed: %s"
                 : "the CUDA library is out of reach: %s",
             path);
    return false;
}

static const warprsa_engine *open_library(char *why, size_t why_size)
{
    const warprsa_cuda_library *library;
    void *handle;

    if (!warprsa_engine_cuda_is_installed(why, why_size))
        return NULL;
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL) {
        const char *error = dlerror();

        snprintf(why, why_size, "the CUDA library cannot be loaded: %s",
                 error != NULL ? error : path);
        return NULL;
    }
    library = dlsym(handle, WARPRSA_CUDA_LIBRARY_SYMBOL);
    if (library == NULL) {
        snprintf(why, why_size, "the CUDA library is none of warprsa: %s",
                 path);
        return NULL;
    }
    if (strcmp(library->interface, WARPRSA_ENGINE_INTERFACE) != 0) {
        snprintf(why, why_size,
                 "the CUDA library is of warprsa %s, this is %s: %s",
                 library->interface, WARPRSA_ENGINE_INTERFACE, path);
        return NULL;
    }
    return library->engine;
}

static unsigned count(char *why, size_t why_size)
{
    const warprsa_engine *engine = atomic_load(&opened);

    if (engine == NULL) {
        engine = open_library(why, why_size);
        if (engine != NULL)
            atomic_store(&opened, engine);
    }
    return engine == NULL ? 0 : engine->count(why, why_size);
}

/* Whoever calls the others has called count(). */
static const warprsa_engine *of_library(void)
{
    return atomic_load_explicit(&opened, memory_order_acquire);
}

static warprsa_status open_device(const warprsa_device_config *config,
                                  warprsa_device **device, char *why,
                                  size_t why_size)
{
    return of_library()->open(config, device, why, why_size);
}

static bool close_device(warprsa_device *device)
{
    return device == NULL || of_library()->close(device);
}

static const char *describe(const warprsa_device *device)
{
    return of_library()->describe(device);
}

static warprsa_status load_key(warprsa_device *device,
                               const warprsa_private_key *key, uint32_t *index)
{
    return of_library()->load_key(device, key, index);
}

static warprsa_status unload_key(warprsa_device *device, uint32_t index)
{
    return of_library()->unload_key(device, index);
}

static warprsa_status start(warprsa_device *device, unsigned stream,
                            warprsa_size_class size, warprsa_task *tasks,
                            size_t number)
{
    return of_library()->start(device, stream, size, tasks, number);
}

static warprsa_status wait_for(warprsa_device *device, unsigned stream,
                               unsigned timeout_ms)
{
    return of_library()->wait(device, stream, timeout_ms);
}

static warprsa_status self_test(warprsa_device *device, unsigned stream)
{
    return of_library()->self_test(device, stream);
}

static warprsa_status test_class(warprsa_device *device, unsigned stream,
                                 warprsa_size_class size)
{
    return of_library()->test_class(device, stream, size);
}

const warprsa_engine *warprsa_engine_cuda(void)
{
    static const warprsa_engine engine = {
        .name = "cuda",
        .classes = WARPRSA_CLASSES,
        .halves_large_batches = true,
        .granularity = WARPRSA_CUDA_GRANULARITY,
        .count = count,
        .open = open_device,
        .close = close_device,
        .describe = describe,
        .load_key = load_key,
        .unload_key = unload_key,
        .start = start,
        .wait = wait_for,
        .self_test = self_test,
        .test_class = test_class,
    };

    return &engine;
}
