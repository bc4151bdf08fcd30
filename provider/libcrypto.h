/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which libcrypto this module computes with, and whether its caller has the
 * same one. A process may hold several: a program linked statically with one, a
 * Python wheel that brings one along, two major versions side by side. Objects
 * of one must never reach functions of another.
 */
#ifndef WARPRSA_PROVIDER_LIBCRYPTO_H
#define WARPRSA_PROVIDER_LIBCRYPTO_H

#include <stdbool.h>
#include <stddef.h>

#include "provider/core.h"

/*
 * Checks that all functions of libcrypto which this module calls lie in one
 * object, of the major version that the module was built for. If a program
 * exports a part of its own libcrypto, some functions are the program's and the
 * others the shared library's: then `why`, of why_size bytes, says so, and the
 * result is false; no function of libcrypto may be called any more. Else *same
 * says whether the core that calls us lies in that object, too. Calls no
 * function of libcrypto before it knows that it may. One thread, at load.
 */
bool warprsa_libcrypto_check(const warprsa_core *core, bool *same, char *why,
                             size_t why_size);

/* Whether our libcrypto has run its cleanup, as it does at exit() until 3.x.
 * Then allocated memory may still be freed, but no provider or library context,
 * and no object can be made. Any thread. */
bool warprsa_libcrypto_stopped(void);

#endif
