/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which of the kernels that a device has timings of compute right there, and
 * whether each of its streams does, by the known-answer test. Tests run on all
 * streams at once, so each of them tests a kernel and a stream. Plain C: the
 * caller supplies the function that runs them.
 */
#ifndef WARPRSA_GPU_SELECT_PROOF_H
#define WARPRSA_GPU_SELECT_PROOF_H

#include "gpu/select/selection.h"

/* The known-answer test of one class. */
typedef struct warprsa_kernel_test {
    warprsa_size_class size;
    /* NULL: the one by which the device computes a class without timings. */
    const warprsa_kernel *kernel;
    unsigned stream;
    warprsa_status status; /* WARPRSA_CHECK_FAILED: the answer was wrong */
} warprsa_kernel_test;

/* Runs tests, those of one stream one after the other in this order, those of
 * different streams at once, and sets the status of each. None is under way
 * when it returns, unless a test has missed its deadline. */
typedef void (*warprsa_run_kernel_tests)(void *arg, warprsa_kernel_test *tests,
                                         size_t count);

/* What was found. */
typedef struct warprsa_proof {
    unsigned wrong_count; /* kernels that are left out */
    const warprsa_kernel *wrong[WARPRSA_KERNELS];
    warprsa_kernel_test failed; /* why the device is not to be used */
} warprsa_proof;

/*
 * Tests each row's kernel with its class, each class but the large ones that
 * has no row of a kernel for any request, and each of 1..WARPRSA_STREAMS_MAX
 * streams. `rest` is tested with each class, too: it computes what a kernel for
 * requests of one key does not, if that is for all batches; else it is NULL.
 *
 * A kernel for requests of one key that computes wrongly is left out: its rows
 * of all classes go, and *proof names it. The others compute what it would
 * have. A stream that has passed no other test is tested once more, for the
 * stream may be what is wrong. Any other kernel that computes wrongly, or any
 * other error, is an error of the device, and that status is returned: there
 * need not be a kernel in its place. Of several it is the first in the order of
 * rows, then of classes; those of streams are last. Calls `run` on the caller's
 * thread, twice at most.
 */
warprsa_status warprsa_prove_kernels(warprsa_kernel_timings *timings,
                                     const warprsa_kernel *rest,
                                     unsigned streams,
                                     warprsa_run_kernel_tests run, void *arg,
                                     warprsa_proof *proof);

#endif
