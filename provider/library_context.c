/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Making the library context that all provider contexts share.
 */
#include "provider/library_context.h"

#include <stddef.h>

#include <openssl/crypto.h>
#include <openssl/provider.h>

#include "provider/fork.h"

/* Written once, under warprsa_fork_hold(): a child has all of it or nothing. */
static warprsa_library_context made;

static bool make(warprsa_library_context *out)
{
    out->libctx = OSSL_LIB_CTX_new();
    out->provider =
        out->libctx == NULL ? NULL : OSSL_PROVIDER_load(out->libctx, "default");
    if (out->provider != NULL)
        return true;
    OSSL_LIB_CTX_free(out->libctx);
    return false;
}

/* Makes `mine` the context of the process, unless another thread has set its
 * own. Returns whether it did, and the one that is set. */
static bool set(const warprsa_library_context *mine,
                warprsa_library_context *out)
{
    bool first;

    warprsa_fork_hold();
    first = made.libctx == NULL;
    if (first && mine != NULL)
        made = *mine;
    *out = made;
    warprsa_fork_release();
    return first;
}

bool warprsa_library_context_get(warprsa_library_context *out)
{
    warprsa_library_context mine;

    if (!set(NULL, out))
        return true;
    /* Not under the lock: libcrypto may read its configuration, which may load
     * this module once more. */
    if (!make(&mine))
        return false;
    if (!set(&mine, out)) {
        OSSL_PROVIDER_unload(mine.provider);
        OSSL_LIB_CTX_free(mine.libctx);
    }
    return true;
}
