/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Finding the caller's default provider, and replacing one operation context by
 * another.
 */
#include "provider/callers_context.h"

#include <string.h>
#include <strings.h>

#include <openssl/err.h>
#include <openssl/provider.h>

static const void *functions_of(const OSSL_PROVIDER *provider, int operation)
{
    int no_cache = 0;

    return OSSL_PROVIDER_query_operation(provider, operation, &no_cache);
}

/* Documented for providers that have the caller's libcrypto. */
static OSSL_LIB_CTX *libctx_of(const warprsa_context *context)
{
    return (OSSL_LIB_CTX *)context->core.get_libctx(context->core.handle);
}

static void *find(const warprsa_context *context, int operation)
{
    OSSL_LIB_CTX *libctx = libctx_of(context);
    OSSL_PROVIDER *theirs = NULL;
    void *provctx = NULL;

    if (!OSSL_PROVIDER_available(libctx, "default"))
        return NULL;
    theirs = OSSL_PROVIDER_load(libctx, "default");
    if (theirs == NULL)
        return NULL;
    if (functions_of(theirs, operation) ==
        functions_of(context->wrapped, operation))
        provctx = OSSL_PROVIDER_get0_provider_ctx(theirs);
    OSSL_PROVIDER_unload(theirs);
    return provctx;
}

void *warprsa_callers_provctx(const warprsa_context *context, int operation)
{
    void *provctx = NULL;

    if (!context->same_libcrypto)
        return NULL;
    ERR_set_mark();
    provctx = find(context, operation);
    ERR_pop_to_mark();
    return provctx;
}

/* A search for a provider that keeps RSA keys. */
typedef struct search {
    const warprsa_context *context;
    bool found;
} search;

static bool is_known(const OSSL_PROVIDER *provider,
                     const warprsa_context *context)
{
    const char *name = OSSL_PROVIDER_get0_name(provider);

    return OSSL_PROVIDER_get0_provider_ctx(provider) == context ||
           strcmp(name, "default") == 0 || strcmp(name, "fips") == 0;
}

static int look_at(OSSL_PROVIDER *provider, void *arg)
{
    search *state = arg;
    int no_cache = 0;
    const OSSL_ALGORITHM *at = is_known(provider, state->context)
                                   ? NULL
                                   : OSSL_PROVIDER_query_operation(
                                         provider, OSSL_OP_KEYMGMT, &no_cache);

    for (; at != NULL && at->algorithm_names != NULL; at++)
        state->found =
            state->found || strncasecmp(at->algorithm_names, "RSA", 3) == 0;
    return 1;
}

bool warprsa_callers_keep_keys(const warprsa_context *context)
{
    search state = {context, false};

    if (!context->same_libcrypto || !context->loaded)
        return false;
    ERR_set_mark();
    OSSL_PROVIDER_do_all(libctx_of(context), look_at, &state);
    ERR_pop_to_mark();
    return state.found;
}

int warprsa_attempt_end(int result, void **wrapped, void *moved,
                        void (*freectx)(void *ctx))
{
    if (moved == NULL) {
        ERR_clear_last_mark();
        return result;
    }
    ERR_pop_to_mark();
    freectx(*wrapped);
    *wrapped = moved;
    return 1;
}
