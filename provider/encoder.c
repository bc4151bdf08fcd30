/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The functions of encoders. A key of ours is an RSA, as the default provider's
 * is, so that provider's encoders take it as it is.
 */
#include "provider/encoder.h"

#include "provider/callers_context.h"
#include "provider/forwarding.h"
#include "provider/key.h"
#include "provider/keymgmt.h"

/* The provider context of the default provider that encodes: of the caller's
 * library context if possible, which may have further ciphers. */
static void *home_of(const warprsa_context *context)
{
    void *provctx = warprsa_callers_provctx(context, OSSL_OP_ENCODER);

    return provctx != NULL ? provctx : context->wrapped_provctx;
}

static int encode(unsigned index, void *ctx, OSSL_CORE_BIO *out,
                  const void *key, const OSSL_PARAM abstract[], int selection,
                  OSSL_PASSPHRASE_CALLBACK *callback, void *arg)
{
    if (key == NULL || !warprsa_keymgmt_may_export(key, selection))
        return 0;
    return warprsa_rsa_of(key)->context->algorithms.encoders[index].encode(
        ctx, out, key, abstract, selection, callback, arg);
}

/*
 * Functions left out on purpose: IMPORT_OBJECT and FREE_OBJECT. Without them
 * libcrypto passes keys of other providers to the default provider's encoders,
 * as if ours were not there.
 */
#define ENTRY(ID, name) WARPRSA_ENTRY(ENCODER, ID, name)

/* A context is the default provider's, and so are functions that are given
 * nothing else: warprsa_encoder_wrap() fills them in. */
static const OSSL_DISPATCH theirs[] = {
    {OSSL_FUNC_ENCODER_FREECTX, NULL},
    {OSSL_FUNC_ENCODER_SET_CTX_PARAMS, NULL},
    {0, NULL},
};

/* ---- functions of one algorithm ---- */

#define DEFINE(i)                                                              \
    static void *newctx_##i(void *provctx)                                     \
    {                                                                          \
        const warprsa_context *context = provctx;                              \
        return context->algorithms.encoders[i].newctx(home_of(context));       \
    }                                                                          \
    static const OSSL_PARAM *settable_ctx_params_##i(void *provctx)            \
    {                                                                          \
        const warprsa_context *context = provctx;                              \
        return context->algorithms.encoders[i].settable_ctx_params(            \
            context->wrapped_provctx);                                         \
    }                                                                          \
    static int does_selection_##i(void *provctx, int selection)                \
    {                                                                          \
        const warprsa_context *context = provctx;                              \
        return context->algorithms.encoders[i].does_selection(                 \
            context->wrapped_provctx, selection);                              \
    }                                                                          \
    static int encode_##i(void *ctx, OSSL_CORE_BIO *out, const void *key,      \
                          const OSSL_PARAM abstract[], int selection,          \
                          OSSL_PASSPHRASE_CALLBACK *callback, void *arg)       \
    {                                                                          \
        return encode(i, ctx, out, key, abstract, selection, callback, arg);   \
    }
WARPRSA_EACH_ALGORITHM(DEFINE)

#define ENTRIES(i)                                                             \
    {ENTRY(NEWCTX, newctx_##i),                                                \
     ENTRY(SETTABLE_CTX_PARAMS, settable_ctx_params_##i),                      \
     ENTRY(DOES_SELECTION, does_selection_##i),                                \
     ENTRY(ENCODE, encode_##i),                                                \
     {0, NULL}},
static const OSSL_DISPATCH for_one[WARPRSA_ALGORITHMS_MAX][5] = {
    WARPRSA_EACH_ALGORITHM(ENTRIES)};

#define READ(ID, name) WARPRSA_READ(ENCODER, encoder, ID, name)

OSSL_DISPATCH *warprsa_encoder_wrap(warprsa_algorithms *algorithms,
                                    unsigned index, const OSSL_DISPATCH *table)
{
    warprsa_encoder_functions *functions = &algorithms->encoders[index];
    OSSL_DISPATCH *ours =
        warprsa_function_table_new(table, theirs, for_one[index]);

    WARPRSA_ENCODER_FUNCTIONS(READ)
    for (OSSL_DISPATCH *at = ours; at != NULL && at->function_id != 0; at++)
        if (at->function == NULL)
            at->function = warprsa_function_find(table, at->function_id);
    return ours;
}
