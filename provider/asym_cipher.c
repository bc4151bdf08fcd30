/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The functions of asymmetric ciphers, and the context that they work on.
 */
#include "provider/asym_cipher.h"

#include <stdbool.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/rsa.h>

#include "provider/callers_context.h"
#include "provider/forwarding.h"
#include "provider/key.h"
#include "provider/reference_method.h"
#include "provider/reference_padding.h"
#include "provider/reference_use.h"
#include "provider/settings.h"

typedef OSSL_FUNC_asym_cipher_encrypt_init_fn init_fn;

/* This module's cipher context. */
typedef struct cipher {
    warprsa_context *context;
    const warprsa_cipher_functions *functions; /* of `wrapped` */
    void *wrapped; /* the default provider's context */
    bool moved;    /* `wrapped` is of the caller's library context */
    warprsa_settings settings; /* of `wrapped` */
    init_fn *init; /* by which the operation was begun; NULL: not yet */
    void *key;     /* the caller keeps it for as long */
} cipher;

static cipher *cipher_new(warprsa_context *context, unsigned index)
{
    cipher *ours = OPENSSL_zalloc(sizeof(*ours));

    if (ours == NULL)
        return NULL;
    ours->context = context;
    ours->functions = &context->algorithms.ciphers[index];
    ours->settings.query_name = OSSL_ASYM_CIPHER_PARAM_OAEP_DIGEST_PROPS;
    ours->wrapped = ours->functions->newctx(context->wrapped_provctx);
    if (ours->wrapped == NULL) {
        OPENSSL_free(ours);
        return NULL;
    }
    return ours;
}

static void freectx(void *ctx)
{
    cipher *ours = ctx;

    if (ours == NULL)
        return;
    ours->functions->freectx(ours->wrapped);
    OPENSSL_free(ours);
}

static cipher *cipher_dup(const cipher *from)
{
    cipher *copy = OPENSSL_zalloc(sizeof(*copy));

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
    const cipher *from = ctx;

    if (from == NULL)
        return NULL;
    WARPRSA_RETURN_POINTER(from->context, cipher_dup(from));
}

/* ---- beginning, and digests of the caller's library context ---- */

/* Makes a context of the caller's default provider and begins it as ours was,
 * with `params` and, unless `fresh`, with ours' settings. NULL: that fails. */
static void *begin_in_callers(const cipher *ours, bool fresh,
                              const OSSL_PARAM params[])
{
    const warprsa_cipher_functions *functions = ours->functions;
    void *provctx =
        ours->moved || ours->init == NULL
            ? NULL
            : warprsa_callers_provctx(ours->context, OSSL_OP_ASYM_CIPHER);
    void *other = provctx == NULL ? NULL : functions->newctx(provctx);

    if (other != NULL &&
        (ours->init(other, ours->key, fresh ? params : NULL) <= 0 ||
         (!fresh && (!warprsa_cipher_settings_copy(
                         &ours->settings, functions->get_ctx_params,
                         ours->wrapped, functions->set_ctx_params, other) ||
                     functions->set_ctx_params(other, params) <= 0)))) {
        functions->freectx(other);
        return NULL;
    }
    return other;
}

/*
 * Ends an attempt that began with ERR_set_mark() and ended with `result`. If it
 * failed for a digest that our library context lacks, the attempt is repeated
 * in the caller's. The errors that stay are those of the first attempt.
 */
static int settle(cipher *ours, int result, bool fresh,
                  const OSSL_PARAM params[])
{
    void *moved = NULL;

    if (result <= 0 &&
        warprsa_params_lack_digest(ours->context->libctx, &ours->settings,
                                   params, NULL)) {
        ERR_set_mark();
        moved = begin_in_callers(ours, fresh, params);
        ERR_pop_to_mark();
    }
    ours->moved = ours->moved || moved != NULL;
    result = warprsa_attempt_end(result, &ours->wrapped, moved,
                                 ours->functions->freectx);
    if (result > 0)
        warprsa_settings_note(&ours->settings, params);
    return result;
}

static int begin(cipher *ours, init_fn *init, void *key,
                 const OSSL_PARAM params[])
{
    ours->init = init;
    if (key != NULL)
        ours->key = key;
    ERR_set_mark();
    return settle(ours, init(ours->wrapped, key, params), true, params);
}

static int set_params(cipher *ours, const OSSL_PARAM params[])
{
    ERR_set_mark();
    return settle(ours, ours->functions->set_ctx_params(ours->wrapped, params),
                  false, params);
}

#define INIT(name)                                                             \
    static int name(void *ctx, void *key, const OSSL_PARAM params[])           \
    {                                                                          \
        cipher *ours = ctx;                                                    \
        if (ours == NULL)                                                      \
            return 0;                                                          \
        WARPRSA_RETURN_INT(ours->context,                                      \
                           begin(ours, ours->functions->name, key, params));   \
    }
INIT(encrypt_init)
INIT(decrypt_init)

WARPRSA_SET_CTX_PARAMS(cipher)

/* ---- decryption with references ---- */

/* Whether a vault can remove the padding: it is one that libcrypto removes
 * above the RSA_METHOD, and libcrypto would find nothing wrong before. */
static bool vault_can_decrypt(const cipher *ours, const unsigned char *result,
                              size_t size, size_t from_length,
                              warprsa_key_use *use)
{
    const size_t modulus_bytes = (size_t)RSA_size(ours->key);

    if (result == NULL || from_length > modulus_bytes ||
        !warprsa_reference_removes_padding(
            ours->context, ours->functions->get_ctx_params, ours->wrapped, use))
        return false;
    use->input_bytes = (uint16_t)modulus_bytes;
    return size >= (use->padding == WARPRSA_PADDING_TLS
                        ? WARPRSA_TLS_SECRET_BYTES
                        : modulus_bytes);
}

/* Decrypts a number as long as the modulus. */
static int decrypt_by_vault(const cipher *ours, unsigned char *result,
                            size_t *length, const warprsa_key_use *use,
                            const uint8_t *number)
{
    uint8_t answer[WARPRSA_VAULT_MODULUS_BYTES_MAX];
    const int count =
        warprsa_reference_use(warprsa_rsa_of(ours->key), use, number, answer);

    if (count >= 0) {
        memcpy(result, answer, (size_t)count);
        *length = (size_t)count;
    }
    OPENSSL_cleanse(answer, sizeof(answer));
    return count >= 0;
}

static int decrypt_any(const cipher *ours, unsigned char *result,
                       size_t *length, size_t size, const unsigned char *from,
                       size_t from_length)
{
    uint8_t number[WARPRSA_VAULT_MODULUS_BYTES_MAX];
    warprsa_key_use use;

    if (ours->key != NULL && warprsa_rsa_is_reference(ours->key) &&
        vault_can_decrypt(ours, result, size, from_length, &use) &&
        warprsa_reference_number(number, (int)from_length, from, ours->key))
        return decrypt_by_vault(ours, result, length, &use, number);
    return ours->functions->decrypt(ours->wrapped, result, length, size, from,
                                    from_length);
}

static int decrypt(void *ctx, unsigned char *result, size_t *length,
                   size_t size, const unsigned char *from, size_t from_length)
{
    const cipher *ours = ctx;

    if (ours == NULL)
        return 0;
    WARPRSA_RETURN_INT(ours->context, decrypt_any(ours, result, length, size,
                                                  from, from_length));
}

/* ---- functions that only forward: same name, same arguments ---- */

WARPRSA_FORWARD_ONCE(cipher, encrypt)
WARPRSA_FORWARD(cipher, get_ctx_params, (void *ctx, OSSL_PARAM params[]),
                (ours->wrapped, params))

#define ENTRY(ID, name) WARPRSA_ENTRY(ASYM_CIPHER, ID, name)
static const OSSL_DISPATCH for_all[] = {
    ENTRY(ENCRYPT_INIT, encrypt_init),
    ENTRY(ENCRYPT, encrypt),
    ENTRY(DECRYPT_INIT, decrypt_init),
    ENTRY(DECRYPT, decrypt),
    ENTRY(FREECTX, freectx),
    ENTRY(DUPCTX, dupctx),
    ENTRY(GET_CTX_PARAMS, get_ctx_params),
    ENTRY(SET_CTX_PARAMS, set_ctx_params),
    {0, NULL},
};

/* ---- functions of one algorithm ---- */

#define DEFINE(i)                                                              \
    static void *newctx_##i(void *provctx)                                     \
    {                                                                          \
        warprsa_context *context = provctx;                                    \
        WARPRSA_RETURN_POINTER(context, cipher_new(context, i));               \
    }                                                                          \
    WARPRSA_FORWARD_LIST(cipher, ciphers, gettable_ctx_params, i)              \
    WARPRSA_FORWARD_LIST(cipher, ciphers, settable_ctx_params, i)
WARPRSA_EACH_ALGORITHM(DEFINE)

#define ENTRIES(i)                                                             \
    {ENTRY(NEWCTX, newctx_##i),                                                \
     ENTRY(GETTABLE_CTX_PARAMS, gettable_ctx_params_##i),                      \
     ENTRY(SETTABLE_CTX_PARAMS, settable_ctx_params_##i),                      \
     {0, NULL}},
static const OSSL_DISPATCH for_one[WARPRSA_ALGORITHMS_MAX][4] = {
    WARPRSA_EACH_ALGORITHM(ENTRIES)};

#define READ(ID, name) WARPRSA_READ(ASYM_CIPHER, asym_cipher, ID, name)

OSSL_DISPATCH *warprsa_asym_cipher_wrap(warprsa_algorithms *algorithms,
                                        unsigned index,
                                        const OSSL_DISPATCH *table)
{
    warprsa_cipher_functions *functions = &algorithms->ciphers[index];

    WARPRSA_CIPHER_FUNCTIONS(READ)
    return warprsa_function_table_new(table, for_all, for_one[index]);
}
