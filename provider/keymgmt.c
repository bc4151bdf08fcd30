/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The thunks of KEYMGMT: making, importing, copying and generating keys.
 */
#include "provider/keymgmt.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>

#include "provider/key.h"
#include "provider/rsa_method.h"
#include "provider/thunk.h"

/* Ids that later versions of OpenSSL use. The header of 3.0 knows none above
 * 44. */
enum {
    KEYMGMT_GEN_GET_PARAMS = 15,
    KEYMGMT_GEN_GETTABLE_PARAMS = 16,
    KEYMGMT_IMPORT_TYPES_EX = 45,
    KEYMGMT_EXPORT_TYPES_EX = 46,
    KEYMGMT_ID_MAX = 46,
};

/* A key generation under way. */
typedef struct generation {
    warprsa_context *context;
    unsigned type;
    void *wrapped; /* the default provider's */
} generation;

static const warprsa_keymgmt_originals *originals_of(const generation *gen)
{
    return &gen->context->algorithms.keymgmts[gen->type];
}

static void *key_new(warprsa_context *context, unsigned type)
{
    const warprsa_keymgmt_originals *originals =
        &context->algorithms.keymgmts[type];
    void *key = originals->new (context->wrapped_provctx);

    if (key != NULL && !warprsa_rsa_method_attach(context, type, key)) {
        originals->free(key);
        return NULL;
    }
    return key;
}

static int key_import(void *key, int selection, const OSSL_PARAM params[])
{
    const warprsa_rsa *ours = warprsa_rsa_of(key);

    if (!ours->context->algorithms.keymgmts[ours->type].import(key, selection,
                                                               params))
        return 0;
    warprsa_rsa_classify(key);
    return 1;
}

/* A copy of a key under way. */
typedef struct copying {
    void *to;
    int selection;
} copying;

static int import_copy(const OSSL_PARAM params[], void *arg)
{
    const copying *copy = arg;

    return key_import(copy->to, copy->selection, params);
}

/* Copies a key by export and import, because libcrypto refuses to duplicate an
 * RSA whose method isn't its own. */
static void *key_dup(const void *from, int selection)
{
    const warprsa_rsa *ours = warprsa_rsa_of(from);
    const warprsa_keymgmt_originals *originals =
        &ours->context->algorithms.keymgmts[ours->type];
    copying copy = {key_new(ours->context, ours->type),
                    selection | OSSL_KEYMGMT_SELECT_OTHER_PARAMETERS};

    if (copy.to == NULL || RSA_get0_n(from) == NULL ||
        (selection & OSSL_KEYMGMT_SELECT_KEYPAIR) == 0)
        return copy.to;
    if (originals->export((void *)from, copy.selection, import_copy, &copy))
        return copy.to;
    originals->free(copy.to);
    return NULL;
}

static void *gen_init(warprsa_context *context, unsigned type, int selection,
                      const OSSL_PARAM params[])
{
    generation *gen = OPENSSL_zalloc(sizeof(*gen));

    if (gen == NULL)
        return NULL;
    gen->context = context;
    gen->type = type;
    gen->wrapped = originals_of(gen)->gen_init(context->wrapped_provctx,
                                               selection, params);
    if (gen->wrapped == NULL) {
        OPENSSL_free(gen);
        return NULL;
    }
    return gen;
}

static int gen_set_template(void *genctx, void *template_key)
{
    generation *gen = genctx;

    return originals_of(gen)->gen_set_template(gen->wrapped, template_key);
}

static int gen_set_params(void *genctx, const OSSL_PARAM params[])
{
    generation *gen = genctx;

    return originals_of(gen)->gen_set_params(gen->wrapped, params);
}

static const OSSL_PARAM *gen_settable_params(void *genctx, void *provctx)
{
    generation *gen = genctx;
    warprsa_context *context = provctx;

    return originals_of(gen)->gen_settable_params(gen->wrapped,
                                                  context->wrapped_provctx);
}

static void *gen_generate(void *genctx, OSSL_CALLBACK *progress, void *arg)
{
    generation *gen = genctx;
    void *key = originals_of(gen)->gen(gen->wrapped, progress, arg);

    if (key == NULL)
        return NULL;
    if (!warprsa_rsa_method_attach(gen->context, gen->type, key)) {
        originals_of(gen)->free(key);
        return NULL;
    }
    warprsa_rsa_classify(key);
    return key;
}

static void gen_cleanup(void *genctx)
{
    generation *gen = genctx;

    if (gen == NULL)
        return;
    originals_of(gen)->gen_cleanup(gen->wrapped);
    OPENSSL_free(gen);
}

#define DEFINE_THUNKS(type)                                                    \
    static void *new_##type(void *provctx)                                     \
    {                                                                          \
        return key_new(provctx, type);                                         \
    }                                                                          \
    static void *gen_init_##type(void *provctx, int selection,                 \
                                 const OSSL_PARAM params[])                    \
    {                                                                          \
        return gen_init(provctx, type, selection, params);                     \
    }                                                                          \
    static const OSSL_PARAM *gettable_params_##type(void *provctx)             \
    {                                                                          \
        warprsa_context *context = provctx;                                    \
        return context->algorithms.keymgmts[type].gettable_params(             \
            context->wrapped_provctx);                                         \
    }
DEFINE_THUNKS(0)
DEFINE_THUNKS(1)

/*
 * Entries with NULL are removed. LOAD takes over keys from decoders, and the
 * default provider's decoders never hand theirs to another provider. A setter
 * of parameters would change a key after its size class was found; the default
 * provider has none. The rest take contexts, and the default provider has none
 * of them either.
 */
#define FUNCTION(f) ((void (*)(void))(f))
#define THUNKS(type)                                                           \
    {                                                                          \
        {OSSL_FUNC_KEYMGMT_NEW, FUNCTION(new_##type)},                         \
            {OSSL_FUNC_KEYMGMT_GEN_INIT, FUNCTION(gen_init_##type)},           \
            {OSSL_FUNC_KEYMGMT_GEN_SET_TEMPLATE, FUNCTION(gen_set_template)},  \
            {OSSL_FUNC_KEYMGMT_GEN_SET_PARAMS, FUNCTION(gen_set_params)},      \
            {OSSL_FUNC_KEYMGMT_GEN_SETTABLE_PARAMS,                            \
             FUNCTION(gen_settable_params)},                                   \
            {OSSL_FUNC_KEYMGMT_GEN, FUNCTION(gen_generate)},                   \
            {OSSL_FUNC_KEYMGMT_GEN_CLEANUP, FUNCTION(gen_cleanup)},            \
            {OSSL_FUNC_KEYMGMT_GETTABLE_PARAMS,                                \
             FUNCTION(gettable_params_##type)},                                \
            {OSSL_FUNC_KEYMGMT_IMPORT, FUNCTION(key_import)},                  \
            {OSSL_FUNC_KEYMGMT_DUP, FUNCTION(key_dup)},                        \
            {OSSL_FUNC_KEYMGMT_LOAD, NULL},                                    \
            {OSSL_FUNC_KEYMGMT_SET_PARAMS, NULL},                              \
            {OSSL_FUNC_KEYMGMT_SETTABLE_PARAMS, NULL},                         \
            {KEYMGMT_GEN_GET_PARAMS, NULL},                                    \
            {KEYMGMT_GEN_GETTABLE_PARAMS, NULL},                               \
            {KEYMGMT_IMPORT_TYPES_EX, NULL}, {KEYMGMT_EXPORT_TYPES_EX, NULL},  \
        {                                                                      \
            0, NULL                                                            \
        }                                                                      \
    }
static const warprsa_thunk keymgmt_thunks[WARPRSA_KEY_TYPES][18] = {THUNKS(0),
                                                                    THUNKS(1)};

#define ORIGINAL(name, ID)                                                     \
    originals->name = (OSSL_FUNC_keymgmt_##name##_fn *)warprsa_thunk_find(     \
        table, OSSL_FUNC_KEYMGMT_##ID)
OSSL_DISPATCH *warprsa_keymgmt_wrap(warprsa_keymgmt_originals *originals,
                                    unsigned type, const OSSL_DISPATCH *table)
{
    ORIGINAL(new, NEW);
    ORIGINAL(free, FREE);
    ORIGINAL(import, IMPORT);
    ORIGINAL(export, EXPORT);
    ORIGINAL(gettable_params, GETTABLE_PARAMS);
    ORIGINAL(gen_init, GEN_INIT);
    ORIGINAL(gen_set_template, GEN_SET_TEMPLATE);
    ORIGINAL(gen_set_params, GEN_SET_PARAMS);
    ORIGINAL(gen_settable_params, GEN_SETTABLE_PARAMS);
    ORIGINAL(gen, GEN);
    ORIGINAL(gen_cleanup, GEN_CLEANUP);
    return warprsa_thunk_replace(table, keymgmt_thunks[type], KEYMGMT_ID_MAX);
}
