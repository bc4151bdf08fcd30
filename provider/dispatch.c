/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The thunks of signatures and asymmetric ciphers, and the tables that contain
 * them. KEYMGMT's thunks are in keymgmt.c.
 */
#include "provider/dispatch.h"

#include <string.h>

#include <openssl/crypto.h>
#include <openssl/provider.h>

#include "provider/keymgmt.h"
#include "provider/thunk.h"

/* The highest ids of OpenSSL 3.6. A function that a later version adds might
 * take a provider context, so it is left out. */
enum {
    SIGNATURE_ID_MAX = 32,
    ASYM_CIPHER_ID_MAX = 11,
};

/* A thunk is not told which algorithm it is called for, so there is a set of
 * thunks for each index of the default provider's table. */
#define EACH_INDEX(X)                                                          \
    X(0)                                                                       \
    X(1)                                                                       \
    X(2)                                                                       \
    X(3)                                                                       \
    X(4)                                                                       \
    X(5)                                                                       \
    X(6)                                                                       \
    X(7)                                                                       \
    X(8)                                                                       \
    X(9)                                                                       \
    X(10)                                                                      \
    X(11)                                                                      \
    X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)

#define DEFINE_THUNKS(i)                                                       \
    static void *signature_newctx_##i(void *provctx, const char *propq)        \
    {                                                                          \
        warprsa_context *context = provctx;                                    \
        return context->algorithms.signatures[i].newctx(                       \
            context->wrapped_provctx, propq);                                  \
    }                                                                          \
    static const OSSL_PARAM *signature_gettable_##i(void *ctx, void *provctx)  \
    {                                                                          \
        warprsa_context *context = provctx;                                    \
        return context->algorithms.signatures[i].gettable(                     \
            ctx, context->wrapped_provctx);                                    \
    }                                                                          \
    static const OSSL_PARAM *signature_settable_##i(void *ctx, void *provctx)  \
    {                                                                          \
        warprsa_context *context = provctx;                                    \
        return context->algorithms.signatures[i].settable(                     \
            ctx, context->wrapped_provctx);                                    \
    }                                                                          \
    static void *cipher_newctx_##i(void *provctx)                              \
    {                                                                          \
        warprsa_context *context = provctx;                                    \
        return context->algorithms.ciphers[i].newctx(                          \
            context->wrapped_provctx);                                         \
    }                                                                          \
    static const OSSL_PARAM *cipher_gettable_##i(void *ctx, void *provctx)     \
    {                                                                          \
        warprsa_context *context = provctx;                                    \
        return context->algorithms.ciphers[i].gettable(                        \
            ctx, context->wrapped_provctx);                                    \
    }                                                                          \
    static const OSSL_PARAM *cipher_settable_##i(void *ctx, void *provctx)     \
    {                                                                          \
        warprsa_context *context = provctx;                                    \
        return context->algorithms.ciphers[i].settable(                        \
            ctx, context->wrapped_provctx);                                    \
    }
EACH_INDEX(DEFINE_THUNKS)

#define FUNCTION(f) ((void (*)(void))(f))
#define SIGNATURE_THUNKS(i)                                                    \
    {{OSSL_FUNC_SIGNATURE_NEWCTX, FUNCTION(signature_newctx_##i)},             \
     {OSSL_FUNC_SIGNATURE_GETTABLE_CTX_PARAMS,                                 \
      FUNCTION(signature_gettable_##i)},                                       \
     {OSSL_FUNC_SIGNATURE_SETTABLE_CTX_PARAMS,                                 \
      FUNCTION(signature_settable_##i)},                                       \
     {0, NULL}},
#define CIPHER_THUNKS(i)                                                       \
    {{OSSL_FUNC_ASYM_CIPHER_NEWCTX, FUNCTION(cipher_newctx_##i)},              \
     {OSSL_FUNC_ASYM_CIPHER_GETTABLE_CTX_PARAMS,                               \
      FUNCTION(cipher_gettable_##i)},                                          \
     {OSSL_FUNC_ASYM_CIPHER_SETTABLE_CTX_PARAMS,                               \
      FUNCTION(cipher_settable_##i)},                                          \
     {0, NULL}},
static const warprsa_thunk signature_thunks[WARPRSA_ALGORITHMS_MAX][4] = {
    EACH_INDEX(SIGNATURE_THUNKS)};
static const warprsa_thunk cipher_thunks[WARPRSA_ALGORITHMS_MAX][4] = {
    EACH_INDEX(CIPHER_THUNKS)};

/* RSA itself, RSA-PSS, or a signature with its digest, as RSA-SHA2-256 in 3.4.
 */
static bool is_rsa(const OSSL_ALGORITHM *algorithm)
{
    const char *names = algorithm->algorithm_names;

    return strncmp(names, "RSA", 3) == 0 &&
           (names[3] == '\0' || names[3] == ':' || names[3] == '-');
}

#define ORIGINAL(field, function, ID)                                          \
    originals->field =                                                         \
        (OSSL_FUNC_##function##_fn *)warprsa_thunk_find(table, OSSL_FUNC_##ID)

static OSSL_DISPATCH *wrap_signature(warprsa_algorithms *algorithms, unsigned i,
                                     const OSSL_DISPATCH *table)
{
    warprsa_signature_originals *originals = &algorithms->signatures[i];

    ORIGINAL(newctx, signature_newctx, SIGNATURE_NEWCTX);
    ORIGINAL(gettable, signature_gettable_ctx_params,
             SIGNATURE_GETTABLE_CTX_PARAMS);
    ORIGINAL(settable, signature_settable_ctx_params,
             SIGNATURE_SETTABLE_CTX_PARAMS);
    return warprsa_thunk_replace(table, signature_thunks[i], SIGNATURE_ID_MAX);
}

static OSSL_DISPATCH *wrap_cipher(warprsa_algorithms *algorithms, unsigned i,
                                  const OSSL_DISPATCH *table)
{
    warprsa_cipher_originals *originals = &algorithms->ciphers[i];

    ORIGINAL(newctx, asym_cipher_newctx, ASYM_CIPHER_NEWCTX);
    ORIGINAL(gettable, asym_cipher_gettable_ctx_params,
             ASYM_CIPHER_GETTABLE_CTX_PARAMS);
    ORIGINAL(settable, asym_cipher_settable_ctx_params,
             ASYM_CIPHER_SETTABLE_CTX_PARAMS);
    return warprsa_thunk_replace(table, cipher_thunks[i], ASYM_CIPHER_ID_MAX);
}

static OSSL_DISPATCH *wrap_keymgmt(warprsa_algorithms *algorithms, unsigned i,
                                   const OSSL_DISPATCH *table)
{
    return warprsa_keymgmt_wrap(&algorithms->keymgmts[i], i, table);
}

/*
 * Wraps the RSA algorithms of an operation, `max` at most, under `property`.
 * Their names stay those of the default provider: by them libcrypto finds our
 * algorithm for a key of the default provider.
 */
static OSSL_ALGORITHM *take_over(warprsa_context *context, int operation,
                                 const char *property, unsigned max,
                                 OSSL_DISPATCH *(*wrap)(warprsa_algorithms *,
                                                        unsigned,
                                                        const OSSL_DISPATCH *))
{
    int no_cache = 0;
    const OSSL_ALGORITHM *all =
        OSSL_PROVIDER_query_operation(context->wrapped, operation, &no_cache);
    OSSL_ALGORITHM *taken = OPENSSL_zalloc((max + 1) * sizeof(*taken));
    unsigned count = 0;

    if (taken == NULL)
        return NULL;
    for (; all != NULL && all->algorithm_names != NULL && count < max; all++) {
        if (!is_rsa(all))
            continue;
        taken[count] = *all;
        taken[count].property_definition = property;
        taken[count].implementation =
            wrap(&context->algorithms, count, all->implementation);
        if (taken[count++].implementation == NULL)
            break;
    }
    return taken;
}

static bool complete(const OSSL_ALGORITHM *taken)
{
    bool ok = taken != NULL && taken->algorithm_names != NULL;

    for (; ok && taken->algorithm_names != NULL; taken++)
        ok = taken->implementation != NULL;
    return ok;
}

bool warprsa_dispatch_init(warprsa_context *context)
{
    warprsa_algorithms *algorithms = &context->algorithms;

    algorithms->signature =
        take_over(context, OSSL_OP_SIGNATURE, "provider=warprsa",
                  WARPRSA_ALGORITHMS_MAX, wrap_signature);
    algorithms->asym_cipher =
        take_over(context, OSSL_OP_ASYM_CIPHER, "provider=warprsa",
                  WARPRSA_ALGORITHMS_MAX, wrap_cipher);
    /*
     * Not provider=warprsa: an application that asks for "?provider=warprsa"
     * must not get our KEYMGMT when it makes, decodes or encodes keys. For an
     * operation of ours, libcrypto finds this KEYMGMT by the provider.
     */
    algorithms->keymgmt =
        take_over(context, OSSL_OP_KEYMGMT, "warprsa.keymgmt=yes",
                  WARPRSA_KEY_TYPES, wrap_keymgmt);
    if (complete(algorithms->signature) && complete(algorithms->asym_cipher) &&
        complete(algorithms->keymgmt))
        return true;
    warprsa_raise(&context->core, WARPRSA_R_DEFAULT_PROVIDER,
                  "the default provider offers no RSA, or there is no memory");
    return false;
}

static void free_table(OSSL_ALGORITHM *table)
{
    for (OSSL_ALGORITHM *at = table; at != NULL && at->algorithm_names != NULL;
         at++)
        OPENSSL_free((void *)at->implementation);
    OPENSSL_free(table);
}

void warprsa_dispatch_free(warprsa_context *context)
{
    free_table(context->algorithms.signature);
    free_table(context->algorithms.asym_cipher);
    free_table(context->algorithms.keymgmt);
    context->algorithms = (warprsa_algorithms){0};
}
