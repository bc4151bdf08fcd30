/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Errors that our libcrypto raises while it works for a caller with another
 * libcrypto. They lie on a queue that the caller never sees, so they are moved
 * to the caller's, through the core. Where both have the same libcrypto, there
 * is one queue and nothing to do.
 */
#ifndef WARPRSA_PROVIDER_ERRORS_H
#define WARPRSA_PROVIDER_ERRORS_H

#include "provider/context.h"

/* The queue of this thread as it was before a call. */
typedef struct warprsa_errors {
    bool any; /* it was not empty */
} warprsa_errors;

/* Before a call into our libcrypto. Any thread; the pair of calls belongs to
 * one thread, or one async job, which has the caller's libcrypto then. */
warprsa_errors warprsa_errors_begin(const warprsa_context *context);

/*
 * After it. Where `ok` is false, raises the errors of the call on the caller's
 * queue. Our queue is as it was before the call, in either case. If it held
 * errors of somebody else, who uses our libcrypto as well, only the last error
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
