/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Errors that our libcrypto raises while it works for a caller with another
 * libcrypto. They lie on a queue that the caller never sees, so they are moved
 * to the caller's queue, through the core. If both have the same libcrypto,
 * there is one queue and nothing to do.
 */
#ifndef WARPRSA_PROVIDER_ERRORS_H
#define WARPRSA_PROVIDER_ERRORS_H

#include "provider/context.h"

/* The queue of this thread as it was before a call. */
typedef struct warprsa_errors {
    bool any; /* it was not empty */
} warprsa_errors;

/* To be called before a call into our libcrypto. Any thread; begin and end
 * belong to one thread, or to one async job, whose caller then has our
 * libcrypto. */
warprsa_errors warprsa_errors_begin(const warprsa_context *context);

/*
 * To be called after the call. If `ok` is false, raises the errors of the call
 * on the caller's queue. In either case our queue is as it was before the call.
 * If it held errors of other code that uses our libcrypto, only the last error
 * of the call is raised, since a queue can't be read from its middle.
 */
void warprsa_errors_end(const warprsa_context *context, warprsa_errors before,
                        bool ok);

/* These end a function with the result of `call`, an expression that calls our
 * libcrypto. An int over 0, or a pointer, means that it has succeeded. */
#define WARPRSA_RETURN_INT(context, call)                                      \
    do {                                                                       \
        warprsa_errors errors_before = warprsa_errors_begin(context);          \
        int returned = (call);                                                 \
        warprsa_errors_end(context, errors_before, returned > 0);              \
        return returned;                                                       \
    } while (0)
#define WARPRSA_RETURN_POINTER(context, call)                                  \
    do {                                                                       \
        warprsa_errors errors_before = warprsa_errors_begin(context);          \
        void *returned = (call);                                               \
        warprsa_errors_end(context, errors_before, returned != NULL);          \
        return returned;                                                       \
    } while (0)

#endif
