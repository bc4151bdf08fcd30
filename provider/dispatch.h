/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The tables of RSA algorithms that this provider offers: one for each RSA
 * algorithm of the default provider, with the same names and this provider's
 * properties.
 */
#ifndef WARPRSA_PROVIDER_DISPATCH_H
#define WARPRSA_PROVIDER_DISPATCH_H

#include <stdbool.h>

#include "provider/context.h"

/*
 * Fills in context->algorithms from the default provider in context->libctx.
 * False, with an error raised: the default provider offers no RSA, or no
 * memory. warprsa_dispatch_free() frees the tables in either case. One thread,
 * at load.
 */
bool warprsa_dispatch_init(warprsa_context *context);

/* Frees context->algorithms; they may be all zeros. One thread, at unload. */
void warprsa_dispatch_free(warprsa_context *context);

#endif
