/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Takes over the default provider's tables of RSA algorithms, whole, under
 * properties of our own. Only functions that take a provider context, or that
 * make or copy keys, are replaced by thunks, which call the original with the
 * default provider's context.
 */
#ifndef WARPRSA_PROVIDER_DISPATCH_H
#define WARPRSA_PROVIDER_DISPATCH_H

#include <stdbool.h>

#include "provider/context.h"

/*
 * Fills in context->algorithms from the default provider that the context has
 * loaded. False, with an error raised, if that provider offers no RSA or
 * memory is short; warprsa_dispatch_free() frees what was made either way.
 * One thread, at load.
 */
bool warprsa_dispatch_init(warprsa_context *context);

/* Frees context->algorithms; they may be all zeros. One thread, at unload. */
void warprsa_dispatch_free(warprsa_context *context);

#endif
