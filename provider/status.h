/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The provider's parameters: name, version and the counters, so that a program
 * can ask with OSSL_PROVIDER_get_params() where its operations run.
 */
#ifndef WARPRSA_STATUS_H
#define WARPRSA_STATUS_H

#include <openssl/core.h>

/* OSSL_FUNC_provider_gettable_params and _get_params: `provctx` is a
 * warprsa_context. Any thread, while others operate. get() fails as
 * OSSL_PARAM_set_*() do, of a buffer too small. */
const OSSL_PARAM *warprsa_status_gettable(void *provctx);
int warprsa_status_get(void *provctx, OSSL_PARAM params[]);

#endif
