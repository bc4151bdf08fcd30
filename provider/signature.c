/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The functions of signatures, and the context that they work on.
 */
#include "provider/signature.h"

#include <openssl/crypto.h>

#include "provider/context.h"
#include "provider/errors.h"
#include "provider/function_table.h"

/* A signature context of ours. */
typedef struct signature {
    warprsa_context *context;
    const warprsa_signature_functions *functions; /* of `wrapped` */
    void *wrapped; /* the default provider's context */
} signature;

static signature *signature_new(warprsa_context *context, unsigned index,
                                const char *propq)
{
    signature *ours = OPENSSL_zalloc(sizeof(*ours));

    if (ours == NULL)
        return NULL;
    ours->context = context;
    ours->functions = &context->algorithms.signatures[index];
    ours->wrapped = ours->functions->newctx(context->wrapped_provctx, propq);
    if (ours->wrapped == NULL) {
        OPENSSL_free(ours);
        return NULL;
    }
    return ours;
}

static void freectx(void *ctx)
{
    signature *ours = ctx;

    if (ours == NULL)
        return;
    ours->functions->freectx(ours->wrapped);
    OPENSSL_free(ours);
}

static signature *signature_dup(const signature *from)
{
    signature *copy = OPENSSL_zalloc(sizeof(*copy));

    if (copy == NULL)
        return NULL;
    *copy = *from;
    copy->wrapped = from->functions->dupctx(from->wrapped);
    if (copy->wrapped == NULL) {
        OPENSSL_free(copy);
        return NULL;
    }
    return copy;
}

static void *dupctx(void *ctx)
{
    const signature *from = ctx;

    WARPRSA_RETURN_POINTER(from->context, signature_dup(from));
}

/* ---- functions that only forward: the same name, and the same arguments ---- */

#define FORWARD(name, parameters, ...)                                         \
    static int name parameters                                                 \
    {                                                                          \
        const signature *ours = ctx;                                           \
        WARPRSA_RETURN_INT(ours->context,                                      \
                           ours->functions->name(ours->wrapped, __VA_ARGS__)); \
    }
#define INIT(name)                                                             \
    FORWARD(name, (void *ctx, void *key, const OSSL_PARAM params[]), key,      \
            params)
#define UPDATE(name)                                                           \
    FORWARD(name, (void *ctx, const unsigned char *data, size_t length), data, \
            length)
#define SIGN_FINAL(name)                                                       \
    FORWARD(name,                                                              \
            (void *ctx, unsigned char *result, size_t *length, size_t size),   \
            result, length, size)
#define SIGN_ONCE(name)                                                        \
    FORWARD(name,                                                              \
            (void *ctx, unsigned char *result, size_t *length, size_t size,    \
             const unsigned char *from, size_t from_length),                   \
            result, length, size, from, from_length)
#define VERIFY_ONCE(name)                                                      \
    FORWARD(name,                                                              \
            (void *ctx, const unsigned char *result, size_t length,            \
             const unsigned char *from, size_t from_length),                   \
            result, length, from, from_length)
#define DIGEST_INIT(name)                                                      \
    FORWARD(                                                                   \
        name,                                                                  \
        (void *ctx, const char *digest, void *key, const OSSL_PARAM params[]), \
        digest, key, params)

INIT(sign_init)
SIGN_ONCE(sign)
INIT(sign_message_init)
UPDATE(sign_message_update)
SIGN_FINAL(sign_message_final)
INIT(verify_init)
VERIFY_ONCE(verify)
INIT(verify_message_init)
UPDATE(verify_message_update)
INIT(verify_recover_init)
SIGN_ONCE(verify_recover)
DIGEST_INIT(digest_sign_init)
UPDATE(digest_sign_update)
SIGN_FINAL(digest_sign_final)
SIGN_ONCE(digest_sign)
DIGEST_INIT(digest_verify_init)
UPDATE(digest_verify_update)
FORWARD(digest_verify_final,
        (void *ctx, const unsigned char *result, size_t length), result, length)
VERIFY_ONCE(digest_verify)
FORWARD(get_ctx_params, (void *ctx, OSSL_PARAM params[]), params)
FORWARD(set_ctx_params, (void *ctx, const OSSL_PARAM params[]), params)
FORWARD(get_ctx_md_params, (void *ctx, OSSL_PARAM params[]), params)
FORWARD(set_ctx_md_params, (void *ctx, const OSSL_PARAM params[]), params)

static int verify_message_final(void *ctx)
{
    const signature *ours = ctx;

    WARPRSA_RETURN_INT(ours->context,
                       ours->functions->verify_message_final(ours->wrapped));
}

static const OSSL_PARAM *gettable_ctx_md_params(void *ctx)
{
    const signature *ours = ctx;

    return ours->functions->gettable_ctx_md_params(ours->wrapped);
}

static const OSSL_PARAM *settable_ctx_md_params(void *ctx)
{
    const signature *ours = ctx;

    return ours->functions->settable_ctx_md_params(ours->wrapped);
}

/* The types of keys that a signature with its digest takes. */
static const char **query_key_types(void)
{
    static const char *types[] = {"RSA", NULL};

    return types;
}

#define ENTRY(ID, name)                                                        \
    {                                                                          \
        OSSL_FUNC_SIGNATURE_##ID, WARPRSA_FUNCTION(name)                       \
    }
static const OSSL_DISPATCH for_all[] = {
    ENTRY(SIGN_INIT, sign_init),
    ENTRY(SIGN, sign),
    ENTRY(SIGN_MESSAGE_INIT, sign_message_init),
    ENTRY(SIGN_MESSAGE_UPDATE, sign_message_update),
    ENTRY(SIGN_MESSAGE_FINAL, sign_message_final),
    ENTRY(VERIFY_INIT, verify_init),
    ENTRY(VERIFY, verify),
    ENTRY(VERIFY_MESSAGE_INIT, verify_message_init),
    ENTRY(VERIFY_MESSAGE_UPDATE, verify_message_update),
    ENTRY(VERIFY_MESSAGE_FINAL, verify_message_final),
    ENTRY(VERIFY_RECOVER_INIT, verify_recover_init),
    ENTRY(VERIFY_RECOVER, verify_recover),
    ENTRY(DIGEST_SIGN_INIT, digest_sign_init),
    ENTRY(DIGEST_SIGN_UPDATE, digest_sign_update),
    ENTRY(DIGEST_SIGN_FINAL, digest_sign_final),
    ENTRY(DIGEST_SIGN, digest_sign),
    ENTRY(DIGEST_VERIFY_INIT, digest_verify_init),
    ENTRY(DIGEST_VERIFY_UPDATE, digest_verify_update),
    ENTRY(DIGEST_VERIFY_FINAL, digest_verify_final),
    ENTRY(DIGEST_VERIFY, digest_verify),
    ENTRY(FREECTX, freectx),
    ENTRY(DUPCTX, dupctx),
    ENTRY(GET_CTX_PARAMS, get_ctx_params),
    ENTRY(SET_CTX_PARAMS, set_ctx_params),
    ENTRY(GET_CTX_MD_PARAMS, get_ctx_md_params),
    ENTRY(GETTABLE_CTX_MD_PARAMS, gettable_ctx_md_params),
    ENTRY(SET_CTX_MD_PARAMS, set_ctx_md_params),
    ENTRY(SETTABLE_CTX_MD_PARAMS, settable_ctx_md_params),
    ENTRY(QUERY_KEY_TYPES, query_key_types),
    {0, NULL},
};

/* ---- functions of one algorithm ---- */

#define DEFINE(i)                                                              \
    static void *newctx_##i(void *provctx, const char *propq)                  \
    {                                                                          \
        warprsa_context *context = provctx;                                    \
        WARPRSA_RETURN_POINTER(context, signature_new(context, i, propq));     \
    }                                                                          \
    static const OSSL_PARAM *gettable_##i(void *ctx, void *provctx)            \
    {                                                                          \
        const warprsa_context *context = provctx;                              \
        const signature *ours = ctx;                                           \
        return context->algorithms.signatures[i].gettable_ctx_params(          \
            ours == NULL ? NULL : ours->wrapped, context->wrapped_provctx);    \
    }                                                                          \
    static const OSSL_PARAM *settable_##i(void *ctx, void *provctx)            \
    {                                                                          \
        const warprsa_context *context = provctx;                              \
        const signature *ours = ctx;                                           \
        return context->algorithms.signatures[i].settable_ctx_params(          \
            ours == NULL ? NULL : ours->wrapped, context->wrapped_provctx);    \
    }
WARPRSA_EACH_ALGORITHM(DEFINE)

#define ENTRIES(i)                                                             \
    {ENTRY(NEWCTX, newctx_##i),                                                \
     ENTRY(GETTABLE_CTX_PARAMS, gettable_##i),                                 \
     ENTRY(SETTABLE_CTX_PARAMS, settable_##i),                                 \
     {0, NULL}},
static const OSSL_DISPATCH for_one[WARPRSA_ALGORITHMS_MAX][4] = {
    WARPRSA_EACH_ALGORITHM(ENTRIES)};

#define READ(ID, name)                                                         \
    functions->name =                                                          \
        (OSSL_FUNC_signature_##name##_fn *)warprsa_function_find(              \
            table, OSSL_FUNC_SIGNATURE_##ID);

OSSL_DISPATCH *warprsa_signature_wrap(warprsa_algorithms *algorithms,
                                      unsigned index,
                                      const OSSL_DISPATCH *table)
{
    warprsa_signature_functions *functions = &algorithms->signatures[index];

    WARPRSA_SIGNATURE_FUNCTIONS(READ)
    return warprsa_function_table_new(table, for_all, for_one[index]);
}
