/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Finding the caller's default provider, copying parameters from one operation
 * context to another, and replacing one context by another.
 */
#include "provider/callers_context.h"

#include <string.h>
#include <strings.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/provider.h>

enum {
    NAME_SIZE = 64, /* of a digest or a padding; libcrypto's own limit is 50 */
};

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

bool warprsa_params_name_digest(const OSSL_PARAM params[])
{
    return params != NULL &&
           (OSSL_PARAM_locate_const(params, OSSL_PKEY_PARAM_DIGEST) != NULL ||
            OSSL_PARAM_locate_const(params, OSSL_PKEY_PARAM_MGF1_DIGEST) !=
                NULL);
}

/* A parameter that is a text; empty if it has not been set. False: error. */
static bool get_text(warprsa_get_params_fn *get, void *from, const char *name,
                     char text[NAME_SIZE])
{
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(name, text, NAME_SIZE),
        OSSL_PARAM_construct_end(),
    };

    text[0] = '\0';
    return get(from, params) > 0;
}

static bool set_text(warprsa_set_params_fn *set, void *to, const char *name,
                     char text[NAME_SIZE])
{
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(name, text, 0),
        OSSL_PARAM_construct_end(),
    };

    return text[0] == '\0' || set(to, params) > 0;
}

static bool copy_salt_length(warprsa_get_params_fn *get, void *from,
                             warprsa_set_params_fn *set, void *to)
{
    static const char name[] = OSSL_SIGNATURE_PARAM_PSS_SALTLEN;
    char text[NAME_SIZE];

    return get_text(get, from, name, text) && set_text(set, to, name, text);
}

static bool copy_label(warprsa_get_params_fn *get, void *from,
                       warprsa_set_params_fn *set, void *to)
{
    void *label = NULL;
    OSSL_PARAM got[] = {
        OSSL_PARAM_construct_octet_ptr(OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL,
                                       &label, 0),
        OSSL_PARAM_construct_end(),
    };
    OSSL_PARAM wanted[] = {OSSL_PARAM_construct_end(),
                           OSSL_PARAM_construct_end()};

    if (get(from, got) <= 0)
        return false;
    if (label == NULL || got[0].return_size == 0)
        return true;
    wanted[0] = OSSL_PARAM_construct_octet_string(
        OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL, label, got[0].return_size);
    return set(to, wanted) > 0;
}

bool warprsa_params_copy(warprsa_get_params_fn *get, void *from,
                         warprsa_set_params_fn *set, void *to,
                         const OSSL_PARAM params[])
{
    char padding[NAME_SIZE], digest[NAME_SIZE], mgf1[NAME_SIZE];

    if (!get_text(get, from, OSSL_PKEY_PARAM_PAD_MODE, padding) ||
        !get_text(get, from, OSSL_PKEY_PARAM_DIGEST, digest) ||
        !get_text(get, from, OSSL_PKEY_PARAM_MGF1_DIGEST, mgf1) ||
        !set_text(set, to, OSSL_PKEY_PARAM_PAD_MODE, padding) ||
        !set_text(set, to, OSSL_PKEY_PARAM_DIGEST, digest))
        return false;
    /* MGF1's digest follows the signature's unless it has been set. */
    if (strcmp(mgf1, digest) != 0 &&
        !set_text(set, to, OSSL_PKEY_PARAM_MGF1_DIGEST, mgf1))
        return false;
    if (strcmp(padding, OSSL_PKEY_RSA_PAD_MODE_PSS) == 0 &&
        !copy_salt_length(get, from, set, to))
        return false;
    if (strcmp(padding, OSSL_PKEY_RSA_PAD_MODE_OAEP) == 0 &&
        !copy_label(get, from, set, to))
        return false;
    return set(to, params) > 0;
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
