/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The provider's parameters: name, version and the counters. A program reads
 * them by OSSL_PROVIDER_get_params() and learns where its operations run.
 */
#ifndef WARPRSA_PROVIDER_STATUS_H
#define WARPRSA_PROVIDER_STATUS_H

#include <openssl/core.h>

/* OSSL_FUNC_provider_gettable_params and OSSL_FUNC_provider_get_params.
 * `provctx` is a warprsa_context. get() returns 0 where OSSL_PARAM_set_*()
 * does, as for a buffer that is too small. Any thread, at any time. */
const OSSL_PARAM *warprsa_status_gettable(void *provctx);
int warprsa_status_get(void *provctx, OSSL_PARAM params[]);

#endif
