/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The functions of KEYMGMT: making, importing, copying and generating keys, and
 * telling about them.
 */
#include "provider/keymgmt.h"

#include <stdio.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/x509.h>

#include "provider/callers_context.h"
#include "provider/forwarding.h"
#include "provider/key.h"
#include "provider/rsa_method.h"
#include "provider/vault_client.h"

enum {
    TYPE_RSA, /* indices of the keymgmts */
    TYPE_PSS,
    REFERENCE_BITS_MIN = 1024,
    REFERENCE_BITS_MAX = 16384,
};

/* A key generation under way. */
typedef struct generation {
    warprsa_context *context;
    unsigned type;
    void *wrapped; /* the default provider's */
} generation;

/* The functions of the default provider for a key of ours. */
static const warprsa_keymgmt_functions *functions_of(const void *key)
{
    const warprsa_rsa *ours = warprsa_rsa_of(key);

    return &ours->context->algorithms.keymgmts[ours->type];
}

static warprsa_context *context_of(const void *key)
{
    return warprsa_rsa_of(key)->context;
}

/* The provider context in which keys are made: in the caller's library context
 * if possible, since an RSA takes random numbers, as for salts, from its own
 * library context. At load, when the known-answer test makes a key, it is ours:
 * the caller's other providers may not be there yet. */
static void *home_of_keys(const warprsa_context *context)
{
    void *provctx = context->loaded
                        ? warprsa_callers_provctx(context, OSSL_OP_KEYMGMT)
                        : NULL;

    return provctx != NULL ? provctx : context->wrapped_provctx;
}

static void *key_new(warprsa_context *context, unsigned type)
{
    const warprsa_keymgmt_functions *functions =
        &context->algorithms.keymgmts[type];
    void *key = functions->new (home_of_keys(context));

    if (key != NULL && !warprsa_rsa_method_attach(context, type, key)) {
        functions->free(key);
        return NULL;
    }
    return key;
}

static void key_free(void *key)
{
    if (key != NULL)
        functions_of(key)->free(key);
}

/*
 * Whether a key with public numbers only belongs to another provider, though
 * private numbers were asked for. The default provider exports its public keys
 * like this. So does a provider of keys that never leave their device, and that
 * provider has to compute with the key: libcrypto has it do so when the import
 * fails. EVP_PKEY_fromdata() can't be told from an export here.
 */
static bool is_anothers(const void *key, int selection,
                        const OSSL_PARAM params[])
{
    return (selection & OSSL_KEYMGMT_SELECT_PRIVATE_KEY) != 0 &&
           OSSL_PARAM_locate_const(params, OSSL_PKEY_PARAM_RSA_D) == NULL &&
           warprsa_callers_keep_keys(context_of(key));
}

static int import_numbers(void *key, int selection, const OSSL_PARAM params[])
{
    if (!functions_of(key)->import(key, selection, params))
        return 0;
    warprsa_rsa_classify(key);
    return 1;
}

static int key_import(void *key, int selection, const OSSL_PARAM params[])
{
    if (key == NULL)
        return 0;
    if (is_anothers(key, selection, params)) {
        /* libcrypto drops it where the other provider can take over. */
        warprsa_raise(&context_of(key)->core, WARPRSA_R_PUBLIC_NUMBERS,
                      "no private exponent: it may be with another provider "
                      "that keeps RSA keys, so a key of public numbers has to "
                      "be made with EVP_PKEY_PUBLIC_KEY");
        return 0;
    }
    WARPRSA_RETURN_INT(context_of(key), import_numbers(key, selection, params));
}

static const warprsa_key_reference *reference_of(const void *key)
{
    return warprsa_rsa_of(key)->reference;
}

/* What the default provider can be asked about a key: of a reference it knows
 * no private numbers. */
static int known_of(const void *key, int selection)
{
    return reference_of(key) == NULL
               ? selection
               : selection & ~OSSL_KEYMGMT_SELECT_PRIVATE_KEY;
}

bool warprsa_keymgmt_may_export(const void *key, int selection)
{
    if (known_of(key, selection) == selection)
        return true;
    warprsa_raise(&context_of(key)->core, WARPRSA_R_PRIVATE_NUMBERS,
                  "key %s is a reference: its private numbers never leave "
                  "warprsad",
                  reference_of(key)->name);
    return false;
}

static int key_export(void *key, int selection, OSSL_CALLBACK *callback,
                      void *arg)
{
    if (key == NULL || !warprsa_keymgmt_may_export(key, selection))
        return 0;
    WARPRSA_RETURN_INT(context_of(key), functions_of(key)->export(
                                            key, selection, callback, arg));
}

/* A copy of a key under way. */
typedef struct copying {
    void *to;
    int selection;
} copying;

static int import_copy(const OSSL_PARAM params[], void *arg)
{
    const copying *copy = arg;

    return import_numbers(copy->to, copy->selection, params);
}

/* Copies a key by export and import, because libcrypto refuses to duplicate an
 * RSA whose method isn't its own. */
static void *copy_key(const void *from, int selection)
{
    const warprsa_rsa *ours = warprsa_rsa_of(from);
    const int known = known_of(from, selection);
    copying copy = {key_new(ours->context, ours->type),
                    known | OSSL_KEYMGMT_SELECT_OTHER_PARAMETERS};

    if (copy.to == NULL || RSA_get0_n(from) == NULL)
        return copy.to;
    if (functions_of(from)->export((void *)from, copy.selection, import_copy,
                                   &copy) &&
        (known == selection ||
         warprsa_rsa_set_reference(copy.to, ours->reference)))
        return copy.to;
    key_free(copy.to);
    return NULL;
}

static void *key_dup(const void *from, int selection)
{
    /* Nor does the default provider copy parameters alone. */
    if (from == NULL || (selection & OSSL_KEYMGMT_SELECT_KEYPAIR) == 0)
        return NULL;
    WARPRSA_RETURN_POINTER(context_of(from), copy_key(from, selection));
}

static int key_has(const void *key, int selection)
{
    if (key == NULL)
        return 0;
    WARPRSA_RETURN_INT(context_of(key),
                       functions_of(key)->has(key, known_of(key, selection)));
}

static int key_validate(const void *key, int selection, int how)
{
    if (key == NULL)
        return 0;
    WARPRSA_RETURN_INT(
        context_of(key),
        functions_of(key)->validate(key, known_of(key, selection), how));
}

static int key_match(const void *key, const void *other, int selection)
{
    if (key == NULL || other == NULL)
        return 0;
    WARPRSA_RETURN_INT(context_of(key),
                       functions_of(key)->match(key, other, selection));
}

static int key_get_params(void *key, OSSL_PARAM params[])
{
    if (key == NULL)
        return 0;
    WARPRSA_RETURN_INT(context_of(key),
                       functions_of(key)->get_params(key, params));
}

/* What can be imported and exported: the numbers of a key of up to ten primes.
 */
#define NUMBER(name) OSSL_PARAM_DEFN(name, OSSL_PARAM_UNSIGNED_INTEGER, NULL, 0)
#define PRIME(i)                                                               \
    NUMBER(OSSL_PKEY_PARAM_RSA_FACTOR##i),                                     \
        NUMBER(OSSL_PKEY_PARAM_RSA_EXPONENT##i)
static const OSSL_PARAM *key_types(int selection)
{
    static const OSSL_PARAM types[] = {
        NUMBER(OSSL_PKEY_PARAM_RSA_N),
        NUMBER(OSSL_PKEY_PARAM_RSA_E),
        NUMBER(OSSL_PKEY_PARAM_RSA_D),
        PRIME(1),
        PRIME(2),
        PRIME(3),
        PRIME(4),
        PRIME(5),
        PRIME(6),
        PRIME(7),
        PRIME(8),
        PRIME(9),
        PRIME(10),
        NUMBER(OSSL_PKEY_PARAM_RSA_COEFFICIENT1),
        NUMBER(OSSL_PKEY_PARAM_RSA_COEFFICIENT2),
        NUMBER(OSSL_PKEY_PARAM_RSA_COEFFICIENT3),
        NUMBER(OSSL_PKEY_PARAM_RSA_COEFFICIENT4),
        NUMBER(OSSL_PKEY_PARAM_RSA_COEFFICIENT5),
        NUMBER(OSSL_PKEY_PARAM_RSA_COEFFICIENT6),
        NUMBER(OSSL_PKEY_PARAM_RSA_COEFFICIENT7),
        NUMBER(OSSL_PKEY_PARAM_RSA_COEFFICIENT8),
        NUMBER(OSSL_PKEY_PARAM_RSA_COEFFICIENT9),
        OSSL_PARAM_END,
    };

    return (selection & OSSL_KEYMGMT_SELECT_KEYPAIR) != 0 ? types : NULL;
}

/* The name by which libcrypto finds SIGNATURE and ASYM_CIPHER for an RSA-PSS
 * key. */
static const char *operation_name(int operation)
{
    (void)operation;
    return "RSA";
}

/* ---- references ---- */

/* Takes a key over from our decoder: `address` is that of a pointer to it. */
static void *key_load(const void *address, size_t size)
{
    void **from = (void **)address;
    void *key = NULL;

    if (size == sizeof(*from)) {
        key = *from;
        *from = NULL;
    }
    return key;
}

/* Whether a public key has these bytes as its only encoding. */
static bool is_encoded_as(const EVP_PKEY *key,
                          const warprsa_reference *reference)
{
    unsigned char *spki = NULL;
    const int length = i2d_PUBKEY(key, &spki);
    const bool same = length > 0 && (size_t)length == reference->spki_bytes &&
                      memcmp(spki, reference->spki, (size_t)length) == 0;

    OPENSSL_free(spki);
    return same;
}

/* The public key of a reference, in our library context. NULL: it is none that
 * a vault key can have. */
static EVP_PKEY *public_key_of(const warprsa_context *context,
                               const warprsa_reference *reference)
{
    const unsigned char *at = reference->spki;
    EVP_PKEY *key = NULL;

    ERR_set_mark();
    key = d2i_PUBKEY_ex(NULL, &at, (long)reference->spki_bytes, context->libctx,
                        NULL);
    if (key != NULL &&
        (!(EVP_PKEY_is_a(key, "RSA") || EVP_PKEY_is_a(key, "RSA-PSS")) ||
         EVP_PKEY_get_bits(key) < REFERENCE_BITS_MIN ||
         EVP_PKEY_get_bits(key) > REFERENCE_BITS_MAX ||
         !is_encoded_as(key, reference))) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    ERR_pop_to_mark();
    return key;
}

/* Imports a public key into an empty one and marks it as a reference. */
static bool fill_reference(void *key, const EVP_PKEY *from,
                           const warprsa_reference *reference)
{
    const warprsa_context *context = context_of(key);
    const char *socket = reference->socket[0] != '\0' ? reference->socket
                                                      : context->config.socket;
    warprsa_key_reference mark = {
        .modulus_bytes = (unsigned)EVP_PKEY_get_size(from),
    };
    OSSL_PARAM *params = NULL;
    size_t length = 0;
    bool ok = false;

    snprintf(mark.name, sizeof(mark.name), "%s", reference->name);
    snprintf(mark.socket, sizeof(mark.socket), "%s", socket);
    ok = EVP_Q_digest(context->libctx, "SHA256", NULL, reference->spki,
                      reference->spki_bytes, mark.spki_sha256, &length) &&
         EVP_PKEY_todata(from, EVP_PKEY_PUBLIC_KEY, &params) &&
         import_numbers(key, EVP_PKEY_PUBLIC_KEY, params) &&
         warprsa_rsa_set_reference(key, &mark);
    OSSL_PARAM_free(params);
    return ok;
}

static int make_reference(warprsa_context *context,
                          const warprsa_reference *reference, void **out,
                          const char **type)
{
    EVP_PKEY *public_key = public_key_of(context, reference);
    const bool is_pss =
        public_key != NULL && EVP_PKEY_is_a(public_key, "RSA-PSS");
    void *key = NULL;

    if (public_key == NULL) {
        warprsa_raise(&context->core, WARPRSA_R_REFERENCE,
                      "key reference %s: its public key is not in DER, or not "
                      "one of RSA with 1024 to 16384 bits",
                      reference->name);
        return 0;
    }
    key = key_new(context, is_pss ? TYPE_PSS : TYPE_RSA);
    if (key != NULL && !fill_reference(key, public_key, reference)) {
        key_free(key);
        key = NULL;
    }
    EVP_PKEY_free(public_key);
    if (key == NULL)
        return 0;
    /* Now, since the program may lose its rights before the first use. */
    warprsa_vault_client_prepare(context,
                                 warprsa_rsa_of(key)->reference->socket);
    *out = key;
    *type = is_pss ? "RSA-PSS" : "RSA";
    return 1;
}

int warprsa_keymgmt_make_reference(warprsa_context *context,
                                   const warprsa_reference *reference,
                                   void **out, const char **type)
{
    WARPRSA_RETURN_INT(context, make_reference(context, reference, out, type));
}

void warprsa_keymgmt_free_reference(void *key)
{
    key_free(key);
}

int warprsa_keymgmt_export(void *key, int selection, OSSL_CALLBACK *callback,
                           void *arg)
{
    return key_export(key, selection, callback, arg);
}

/* ---- generation ---- */

static const warprsa_keymgmt_functions *functions_for(const generation *gen)
{
    return &gen->context->algorithms.keymgmts[gen->type];
}

static generation *generation_new(warprsa_context *context, unsigned type,
                                  int selection, const OSSL_PARAM params[])
{
    generation *gen = OPENSSL_zalloc(sizeof(*gen));

    if (gen == NULL)
        return NULL;
    gen->context = context;
    gen->type = type;
    gen->wrapped =
        functions_for(gen)->gen_init(home_of_keys(context), selection, params);
    if (gen->wrapped == NULL) {
        OPENSSL_free(gen);
        return NULL;
    }
    return gen;
}

static int gen_set_template(void *genctx, void *key)
{
    const generation *gen = genctx;

    if (gen == NULL)
        return 0;
    WARPRSA_RETURN_INT(gen->context,
                       functions_for(gen)->gen_set_template(gen->wrapped, key));
}

static int gen_set_params(void *genctx, const OSSL_PARAM params[])
{
    const generation *gen = genctx;

    if (gen == NULL)
        return 0;
    WARPRSA_RETURN_INT(
        gen->context, functions_for(gen)->gen_set_params(gen->wrapped, params));
}

static void *generate(const generation *gen, OSSL_CALLBACK *progress, void *arg)
{
    void *key = functions_for(gen)->gen(gen->wrapped, progress, arg);

    if (key == NULL)
        return NULL;
    if (!warprsa_rsa_method_attach(gen->context, gen->type, key)) {
        functions_for(gen)->free(key);
        return NULL;
    }
    warprsa_rsa_classify(key);
    return key;
}

static void *gen_generate(void *genctx, OSSL_CALLBACK *progress, void *arg)
{
    const generation *gen = genctx;

    if (gen == NULL)
        return NULL;
    WARPRSA_RETURN_POINTER(gen->context, generate(gen, progress, arg));
}

static void gen_cleanup(void *genctx)
{
    generation *gen = genctx;

    if (gen == NULL)
        return;
    functions_for(gen)->gen_cleanup(gen->wrapped);
    OPENSSL_free(gen);
}

/*
 * Functions left out on purpose: NEW_EX may take over the caller's RSA
 * (function_ids.h). A setter of parameters would change a key after its size
 * class was found. The default provider has no other functions. libcrypto calls
 * LOAD with what a decoder of this provider has made, and with nothing else.
 */
#define ENTRY(ID, name) WARPRSA_ENTRY(KEYMGMT, ID, name)
static const OSSL_DISPATCH for_all[] = {
    ENTRY(FREE, key_free),
    ENTRY(GET_PARAMS, key_get_params),
    ENTRY(HAS, key_has),
    ENTRY(VALIDATE, key_validate),
    ENTRY(MATCH, key_match),
    ENTRY(IMPORT, key_import),
    ENTRY(IMPORT_TYPES, key_types),
    ENTRY(EXPORT, key_export),
    ENTRY(EXPORT_TYPES, key_types),
    ENTRY(DUP, key_dup),
    ENTRY(LOAD, key_load),
    ENTRY(QUERY_OPERATION_NAME, operation_name),
    ENTRY(GEN_SET_TEMPLATE, gen_set_template),
    ENTRY(GEN_SET_PARAMS, gen_set_params),
    ENTRY(GEN, gen_generate),
    ENTRY(GEN_CLEANUP, gen_cleanup),
    {0, NULL},
};

/* ---- functions of one type of key ---- */

#define DEFINE(type)                                                           \
    static void *new_##type(void *provctx)                                     \
    {                                                                          \
        warprsa_context *context = provctx;                                    \
        WARPRSA_RETURN_POINTER(context, key_new(context, type));               \
    }                                                                          \
    static void *gen_init_##type(void *provctx, int selection,                 \
                                 const OSSL_PARAM params[])                    \
    {                                                                          \
        warprsa_context *context = provctx;                                    \
        WARPRSA_RETURN_POINTER(                                                \
            context, generation_new(context, type, selection, params));        \
    }                                                                          \
    WARPRSA_FORWARD_LIST(generation, keymgmts, gen_settable_params, type)      \
    static const OSSL_PARAM *gettable_##type(void *provctx)                    \
    {                                                                          \
        const warprsa_context *context = provctx;                              \
        return context->algorithms.keymgmts[type].gettable_params(             \
            context->wrapped_provctx);                                         \
    }
DEFINE(0)
DEFINE(1)

#define ENTRIES(type)                                                          \
    {                                                                          \
        ENTRY(NEW, new_##type), ENTRY(GEN_INIT, gen_init_##type),              \
            ENTRY(GEN_SETTABLE_PARAMS, gen_settable_params_##type),            \
            ENTRY(GETTABLE_PARAMS, gettable_##type),                           \
        {                                                                      \
            0, NULL                                                            \
        }                                                                      \
    }
static const OSSL_DISPATCH for_one[WARPRSA_KEY_TYPES][5] = {ENTRIES(0),
                                                            ENTRIES(1)};

#define READ(ID, name) WARPRSA_READ(KEYMGMT, keymgmt, ID, name)

OSSL_DISPATCH *warprsa_keymgmt_wrap(warprsa_algorithms *algorithms,
                                    unsigned type, const OSSL_DISPATCH *table)
{
    warprsa_keymgmt_functions *functions = &algorithms->keymgmts[type];

    WARPRSA_KEYMGMT_FUNCTIONS(READ)
    return warprsa_function_table_new(table, for_all, for_one[type]);
}
