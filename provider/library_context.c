/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Making the library context that all provider contexts share.
 */
#include "provider/library_context.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include <openssl/crypto.h>
#include <openssl/provider.h>

/* Set once, by one store: a child has the whole context or none. */
static _Atomic(warprsa_library_context *) made;

static void give_back(warprsa_library_context *mine)
{
    if (mine->provider != NULL)
        OSSL_PROVIDER_unload(mine->provider);
    OSSL_LIB_CTX_free(mine->libctx);
    free(mine);
}

/* NULL: no memory, or the provider can't be loaded. */
static warprsa_library_context *make(void)
{
    warprsa_library_context *mine = calloc(1, sizeof(*mine));

    if (mine == NULL)
        return NULL;
    mine->libctx = OSSL_LIB_CTX_new();
    if (mine->libctx != NULL)
        mine->provider = OSSL_PROVIDER_load(mine->libctx, "default");
    if (mine->provider != NULL)
        return mine;
    give_back(mine);
    return NULL;
}

bool warprsa_library_context_get(warprsa_library_context *out)
{
    warprsa_library_context *found = atomic_load(&made), *mine;

    if (found == NULL) {
        mine = make();
        if (mine == NULL)
            return false;
        /* Meanwhile another thread may have made a context, or libcrypto may
         * have read its configuration and loaded this module once more. */
        if (atomic_compare_exchange_strong(&made, &found, mine))
            found = mine;
        else
            give_back(mine);
    }
    *out = *found;
    return true;
}
