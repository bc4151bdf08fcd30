/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * OSSL_OP_STORE: the URI "warprsa:NAME", or "warprsa:NAME?socket=PATH", stands
 * for the reference of that vault key. warprsad is asked for it.
 */
#ifndef WARPRSA_PROVIDER_STORE_H
#define WARPRSA_PROVIDER_STORE_H

#include <openssl/core.h>

/* What query_operation() returns. */
extern const OSSL_ALGORITHM warprsa_stores[];

#endif
