/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the engine for NVIDIA GPUs is to those who open it. It is a library of
 * its own, warprsa-cuda.so, so that programs which use no GPU neither load its
 * kernels nor need it. loader.c opens it; library.c is its one exported name.
 */
#ifndef WARPRSA_GPU_CUDA_LIBRARY_H
#define WARPRSA_GPU_CUDA_LIBRARY_H

#include "gpu/engine.h"

/* The library's one name. Its first member stays where it is for ever: who
 * opens the library compares it before it looks at anything else. */
typedef struct warprsa_cuda_library {
    /* WARPRSA_ENGINE_INTERFACE: the version and a digest of gpu/engine.h. */
    const char *interface;
    const warprsa_engine *engine;
} warprsa_cuda_library;

#define WARPRSA_CUDA_LIBRARY_SYMBOL "warprsa_cuda_library_is"
extern const warprsa_cuda_library warprsa_cuda_library_is;

/* The engine itself; inside the library, and where it is linked statically. */
extern const warprsa_engine warprsa_cuda_engine;

/* What is known of the engine before the library is opened: the requests of an
 * item of the fold (gpu/kernels/fold/). */
enum {
    WARPRSA_CUDA_GRANULARITY = 64
};

#endif
