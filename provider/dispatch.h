/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The tables of RSA algorithms that we offer: one of ours for each that the
 * default provider has, by the same names, under properties of our own.
 */
#ifndef WARPRSA_PROVIDER_DISPATCH_H
#define WARPRSA_PROVIDER_DISPATCH_H

#include <stdbool.h>

#include "provider/context.h"

/*
 * Fills in context->algorithms from the default provider in context->libctx.
 * False, with an error raised, if that provider offers no RSA or memory is
 * short; warprsa_dispatch_free() frees what was made either way. One thread, at
 * load.
 */
bool warprsa_dispatch_init(warprsa_context *context);

/* Frees context->algorithms; they may be all zeros. One thread, at unload. */
void warprsa_dispatch_free(warprsa_context *context);

#endif
