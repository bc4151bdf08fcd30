/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The caller's library context may have digests that ours lacks: those of the
 * legacy provider, or of another provider. If the caller has our libcrypto, an
 * operation with such a digest moves to the default provider there. The key
 * stays the same RSA, with our RSA_METHOD in it. The caller's context may also
 * have another source of random numbers, so keys are made there.
 */
#ifndef WARPRSA_PROVIDER_CALLERS_CONTEXT_H
#define WARPRSA_PROVIDER_CALLERS_CONTEXT_H

#include <stdbool.h>

#include <openssl/core_dispatch.h>

#include "provider/context.h"

/*
 * The provider context of the default provider in the caller's library context,
 * which has the same functions for `operation` (OSSL_OP_*) as the one in ours.
 * NULL: the caller has another libcrypto or no default provider. It belongs to
 * the caller; operations that begin now may use it, as if the caller had begun
 * them. Leaves no error on the queue. Any thread.
 */
void *warprsa_callers_provctx(const warprsa_context *context, int operation);

/*
 * Whether the caller's library context has a provider, besides libcrypto's own
 * and this one, that keeps RSA keys: of a TPM or a token, for example. False
 * where the caller has another libcrypto, which cannot be asked. Any thread.
 */
bool warprsa_callers_keep_keys(const warprsa_context *context);

/*
 * Ends an attempt on the operation context *wrapped, which began with
 * ERR_set_mark(), and returns its result. `moved`, unless it is NULL, is a
 * context of the caller's for which the attempt has succeeded: it takes the
 * place of *wrapped, which freectx() frees, and 1 is returned without the
 * attempt's errors. One thread.
 */
int warprsa_attempt_end(int result, void **wrapped, void *moved,
                        void (*freectx)(void *ctx));

#endif
