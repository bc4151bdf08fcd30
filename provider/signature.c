/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The functions of signatures, and the context that they work on.
 */
#include "provider/signature.h"

#include <stdbool.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/params.h>

#include "batching/vault/wire/digest_info.h"
#include "provider/callers_context.h"
#include "provider/forwarding.h"
#include "provider/key.h"
#include "provider/reference_method.h"
#include "provider/reference_padding.h"
#include "provider/reference_use.h"
#include "provider/settings.h"

enum {
    /* EMSA-PSS (RFC 8017, 9.1.1) has two bytes besides hash and salt, and one
     * less than the modulus where that has a bit more than its bytes. */
    PSS_BYTES = 3,
    /* The longest message of a reference that is kept until it is signed. What
     * TLS signs has less than 200 bytes; a certificate has some 2,000. */
    KEPT_BYTES = 4096,
};

typedef OSSL_FUNC_signature_sign_init_fn init_fn;
typedef OSSL_FUNC_signature_digest_sign_init_fn digest_init_fn;

/* This module's signature context. */
typedef struct signature {
    warprsa_context *context;
    const warprsa_signature_functions *functions; /* of `wrapped` */
    void *wrapped; /* the default provider's context */
    char *propq;   /* NULL: none */
    bool moved;    /* `wrapped` is of the caller's library context */
    warprsa_settings settings; /* of `wrapped` */
    /* How the operation was begun: by one of these functions, or not yet. */
    init_fn *init;
    digest_init_fn *digest_init;
    void *key;    /* the caller keeps it for as long */
    bool updated; /* part of the message has been hashed */
    /* Of a reference: the message's hash, for a vault that pads PSS. NULL: it
     * is not needed, or nothing has been hashed yet. */
    EVP_MD_CTX *hashing;
    /* Of a reference: the message as long as it has one part, if the vault is
     * to pad PSS. `wrapped` has not hashed it, and need not if the message ends
     * here. NULL: it is not kept. */
    unsigned char *kept;
    size_t kept_bytes;
    /* Of a reference: what `wrapped` is set to, if a use can say it; if that
     * has been read since it was last set. */
    bool is_read;
    bool has_use;
    warprsa_key_use use;
} signature;

static void freectx(void *ctx)
{
    signature *ours = ctx;

    if (ours == NULL)
        return;
    if (ours->wrapped != NULL)
        ours->functions->freectx(ours->wrapped);
    EVP_MD_CTX_free(ours->hashing);
    OPENSSL_free(ours->kept);
    OPENSSL_free(ours->propq);
    OPENSSL_free(ours);
}

/* Completes a new context with `wrapped` and a copy of propq, or frees it. */
static signature *complete(signature *ours, void *wrapped, const char *propq)
{
    ours->wrapped = wrapped;
    ours->propq = propq == NULL ? NULL : OPENSSL_strdup(propq);
    if (wrapped != NULL && (propq == NULL || ours->propq != NULL))
        return ours;
    freectx(ours);
    return NULL;
}

/* The query for the digest. A demand on the signature's provider is no demand
 * on the digest's, so clauses that name this provider are left out. NULL: no
 * memory. The caller frees it. */
static char *query_of_digest(const char *propq)
{
    char *query = OPENSSL_zalloc(strlen(propq) + 1), *end = query;

    while (query != NULL && *propq != '\0') {
        const size_t length = strcspn(propq, ",");

        if (memmem(propq, length, "warprsa", strlen("warprsa")) == NULL) {
            if (end != query)
                *end++ = ',';
            memcpy(end, propq, length);
            end += length;
        }
        propq += length + (propq[length] == ',');
    }
    return query;
}

static signature *signature_new(warprsa_context *context, unsigned index,
                                const char *propq)
{
    signature *ours = OPENSSL_zalloc(sizeof(*ours));
    char *query = NULL;

    if (ours == NULL)
        return NULL;
    ours->context = context;
    ours->functions = &context->algorithms.signatures[index];
    ours->settings.query_name = OSSL_SIGNATURE_PARAM_PROPERTIES;
    query = propq == NULL ? NULL : query_of_digest(propq);
    if (propq != NULL && query == NULL) {
        freectx(ours);
        return NULL;
    }
    ours = complete(
        ours, ours->functions->newctx(context->wrapped_provctx, query), query);
    OPENSSL_free(query);
    return ours;
}

/* Copies what a context has of its message. False: no memory. */
static bool dup_message(signature *copy, const signature *from)
{
    if (from->kept != NULL) {
        copy->kept = OPENSSL_memdup(from->kept, from->kept_bytes);
        if (copy->kept == NULL)
            return false;
    }
    if (from->hashing == NULL)
        return true;
    copy->hashing = EVP_MD_CTX_new();
    return copy->hashing != NULL &&
           EVP_MD_CTX_copy_ex(copy->hashing, from->hashing);
}

static signature *signature_dup(const signature *from)
{
    signature *copy = OPENSSL_zalloc(sizeof(*copy));

    if (copy == NULL)
        return NULL;
    *copy = *from;
    copy->hashing = NULL;
    copy->kept = NULL;
    copy = complete(copy, from->functions->dupctx(from->wrapped), from->propq);
    if (copy == NULL || dup_message(copy, from))
        return copy;
    freectx(copy);
    return NULL;
}

static void *dupctx(void *ctx)
{
    const signature *from = ctx;

    if (from == NULL)
        return NULL;
    WARPRSA_RETURN_POINTER(from->context, signature_dup(from));
}

static int hash_kept(signature *ours);

/* ---- beginning, and digests of the caller's library context ---- */

static int begin_wrapped(const signature *ours, void *wrapped,
                         const char *digest, const OSSL_PARAM params[])
{
    if (ours->digest_init != NULL)
        return ours->digest_init(wrapped, digest, ours->key, params);
    return ours->init(wrapped, ours->key, params);
}

/* Makes a context of the caller's default provider. NULL: there is none, or
 * ours is one. */
static void *new_in_callers(const signature *ours)
{
    void *provctx =
        ours->moved ? NULL
                    : warprsa_callers_provctx(ours->context, OSSL_OP_SIGNATURE);

    return provctx == NULL ? NULL
                           : ours->functions->newctx(provctx, ours->propq);
}

/* Begins an operation in `other` as ours was begun, with all settings so far.
 */
static bool begin_alike(const signature *ours, void *other)
{
    const warprsa_signature_functions *functions = ours->functions;
    warprsa_signature_settings read;

    return warprsa_signature_settings_read(&read, &ours->settings,
                                           functions->get_ctx_params,
                                           ours->wrapped) &&
           begin_wrapped(ours, other,
                         read.digest[0] != '\0' ? read.digest : NULL,
                         read.first) > 0 &&
           functions->set_ctx_params(other, read.last) > 0;
}

/* Whether our library context lacks a digest that an operation names. */
static bool lacks_digest(const signature *ours, const char *digest,
                         const OSSL_PARAM params[])
{
    OSSL_LIB_CTX *libctx = ours->context->libctx;

    return (digest != NULL &&
            warprsa_lacks_digest(libctx, digest, ours->propq)) ||
           warprsa_params_lack_digest(libctx, &ours->settings, params,
                                      ours->propq);
}

/* Whether the operation has begun with a digest that has to stay the same. */
static bool is_digest_fixed(const signature *ours)
{
    const OSSL_PARAM *settable = ours->functions->settable_ctx_params(
        ours->wrapped, ours->context->wrapped_provctx);

    return settable != NULL &&
           OSSL_PARAM_locate_const(settable, OSSL_SIGNATURE_PARAM_DIGEST) ==
               NULL;
}

/* Makes a context of the caller's default provider and begins it as ours is to
 * be begun. If that is not the first time, a fixed digest is fixed there, too,
 * and a digest of MGF1 stays. NULL: that fails. */
static void *begin_in_callers(const signature *ours, const char *digest,
                              const OSSL_PARAM params[])
{
    void *other = new_in_callers(ours);
    const bool ready =
        other != NULL && (is_digest_fixed(ours) ? begin_alike(ours, other)
                                                : !ours->settings.mgf1_set);

    if (other != NULL &&
        (!ready || begin_wrapped(ours, other, digest, params) <= 0)) {
        ours->functions->freectx(other);
        return NULL;
    }
    return other;
}

/* Makes a context of the caller's default provider for an operation under way,
 * with all settings so far and `params`. NULL: that fails. */
static void *copy_to_callers(const signature *ours, const OSSL_PARAM params[])
{
    void *other = NULL;

    if (ours->updated || (ours->init == NULL && ours->digest_init == NULL))
        return NULL;
    other = new_in_callers(ours);
    if (other != NULL &&
        (!begin_alike(ours, other) ||
         ours->functions->set_ctx_params(other, params) <= 0)) {
        ours->functions->freectx(other);
        return NULL;
    }
    return other;
}

/* Ends an attempt with `result`, to set `params`. If it failed, `moved` is a
 * context for which it has succeeded, or NULL. */
static int settle(signature *ours, int result, void *moved,
                  const OSSL_PARAM params[])
{
    ours->moved = ours->moved || moved != NULL;
    result = warprsa_attempt_end(result, &ours->wrapped, moved,
                                 ours->functions->freectx);
    if (result > 0)
        warprsa_settings_note(&ours->settings, params);
    return result;
}

static int begin(signature *ours, const char *digest, void *key,
                 const OSSL_PARAM params[])
{
    void *moved = NULL;
    int result = 0;

    if (key != NULL)
        ours->key = key;
    ours->updated = false;
    EVP_MD_CTX_free(ours->hashing);
    ours->hashing = NULL;
    OPENSSL_free(ours->kept);
    ours->kept = NULL;
    ours->is_read = false;
    ERR_set_mark();
    result = begin_wrapped(ours, ours->wrapped, digest, params);
    if (result <= 0 && lacks_digest(ours, digest, params)) {
        ERR_set_mark();
        moved = begin_in_callers(ours, digest, params);
        ERR_pop_to_mark();
    }
    result = settle(ours, result, moved, params);
    if (result <= 0) {
        ours->init = NULL;
        ours->digest_init = NULL;
    }
    return result;
}

static int set_params(signature *ours, const OSSL_PARAM params[])
{
    void *moved = NULL;
    int result = 0;

    if (!hash_kept(ours))
        return 0;
    ours->is_read = false;
    ERR_set_mark();
    result = ours->functions->set_ctx_params(ours->wrapped, params);
    if (result <= 0 && lacks_digest(ours, NULL, params)) {
        ERR_set_mark();
        moved = copy_to_callers(ours, params);
        ERR_pop_to_mark();
    }
    return settle(ours, result, moved, params);
}

WARPRSA_SET_CTX_PARAMS(signature)

#define INIT(name)                                                             \
    static int name(void *ctx, void *key, const OSSL_PARAM params[])           \
    {                                                                          \
        signature *ours = ctx;                                                 \
        if (ours == NULL)                                                      \
            return 0;                                                          \
        ours->init = ours->functions->name;                                    \
        ours->digest_init = NULL;                                              \
        WARPRSA_RETURN_INT(ours->context, begin(ours, NULL, key, params));     \
    }
#define DIGEST_INIT(name)                                                      \
    static int name(void *ctx, const char *digest, void *key,                  \
                    const OSSL_PARAM params[])                                 \
    {                                                                          \
        signature *ours = ctx;                                                 \
        if (ours == NULL)                                                      \
            return 0;                                                          \
        ours->init = NULL;                                                     \
        ours->digest_init = ours->functions->name;                             \
        WARPRSA_RETURN_INT(ours->context, begin(ours, digest, key, params));   \
    }
INIT(sign_init)
INIT(sign_message_init)
INIT(verify_init)
INIT(verify_message_init)
INIT(verify_recover_init)
DIGEST_INIT(digest_sign_init)
DIGEST_INIT(digest_verify_init)

/* ---- signatures of references ---- */

/* What a reference's context is set to, in ours->use. False: the key is none,
 * or no use can say it. */
static bool has_use(signature *ours)
{
    if (ours->key == NULL || !warprsa_rsa_is_reference(ours->key))
        return false;
    if (!ours->is_read)
        ours->has_use = warprsa_reference_signs(ours->context,
                                                ours->functions->get_ctx_params,
                                                ours->wrapped, &ours->use);
    if (ours->has_use && ours->use.padding == WARPRSA_PADDING_NONE)
        ours->use.input_bytes =
            (uint16_t)warprsa_rsa_of(ours->key)->reference->modulus_bytes;
    ours->is_read = true;
    return ours->has_use;
}

/* Whether libcrypto would pad the reference's signature before it calls the
 * RSA_METHOD. */
static bool signs_pss(signature *ours)
{
    return has_use(ours) && ours->use.padding == WARPRSA_PADDING_PSS;
}

/* What a signature of `size` bytes of `hash` is to be of the vault. */
static bool intend_pss(signature *ours, const unsigned char *hash, size_t size,
                       warprsa_intended_use *intended)
{
    if (!signs_pss(ours) || size != ours->use.input_bytes)
        return false;
    *intended = (warprsa_intended_use){ours->use, hash};
    return true;
}

static int sign_by_vault(const signature *ours, const warprsa_key_use *use,
                         const uint8_t *input, unsigned char *result,
                         size_t *length)
{
    warprsa_rsa *rsa = warprsa_rsa_of(ours->key);
    const int count = warprsa_reference_use(rsa, use, input, result);

    if (count != (int)rsa->reference->modulus_bytes)
        return 0;
    *length = (size_t)count;
    return 1;
}

/* A hash with PKCS #1 v1.5 padding. */
static int sign_info(const signature *ours, const unsigned char *hash,
                     unsigned char *result, size_t *length)
{
    uint8_t info[WARPRSA_DIGEST_INFO_MAX + EVP_MAX_MD_SIZE];
    warprsa_key_use use = ours->use;
    const size_t prefix = warprsa_digest_info_prefix(use.digest, info);

    memcpy(info + prefix, hash, use.input_bytes);
    use.input_bytes = (uint16_t)(use.input_bytes + prefix);
    return sign_by_vault(ours, &use, info, result, length);
}

/* Whether libcrypto would find nothing wrong with a signature before it calls
 * the RSA_METHOD. Then it need not pad what the vault pads. A key for PSS alone
 * may have a shortest salt. */
static bool is_plain(const signature *ours, const unsigned char *from)
{
    const warprsa_key_use *use = &ours->use;
    const int size = (int)warprsa_rsa_of(ours->key)->reference->modulus_bytes;
    const int salt = use->salt_bytes >= 0 ? use->salt_bytes : use->input_bytes;
    uint8_t prefix[WARPRSA_DIGEST_INFO_MAX];

    switch (use->padding) {
    case WARPRSA_PADDING_NONE:
        return warprsa_reference_is_below(from, ours->key);
    case WARPRSA_PADDING_PKCS1:
        return warprsa_digest_info_prefix(use->digest, prefix) != 0 &&
               (int)sizeof(prefix) + use->input_bytes +
                       RSA_PKCS1_PADDING_SIZE <=
                   size;
    default:
        return !RSA_test_flags(ours->key, RSA_FLAG_TYPE_RSASSAPSS) &&
               salt <= size - use->input_bytes - PSS_BYTES;
    }
}

/* Whether `from` can be signed without libcrypto. A context that was begun for
 * messages gets a message here. */
static bool can_sign(signature *ours, const unsigned char *result, size_t size,
                     const unsigned char *from, size_t from_length)
{
    return result != NULL && ours->init == ours->functions->sign_init &&
           has_use(ours) && from_length == ours->use.input_bytes &&
           size >= warprsa_rsa_of(ours->key)->reference->modulus_bytes &&
           is_plain(ours, from);
}

static int sign_hash(signature *ours, unsigned char *result, size_t *length,
                     size_t size, const unsigned char *from, size_t from_length)
{
    warprsa_intended_use intended;
    int ok = 0;

    if (can_sign(ours, result, size, from, from_length))
        return ours->use.padding == WARPRSA_PADDING_PKCS1
                   ? sign_info(ours, from, result, length)
                   : sign_by_vault(ours, &ours->use, from, result, length);
    if (intend_pss(ours, from, from_length, &intended))
        warprsa_reference_intend(&intended);
    ok = ours->functions->sign(ours->wrapped, result, length, size, from,
                               from_length);
    warprsa_reference_intend(NULL); /* priv_enc() may not have been called */
    return ok;
}

/* Hashes a part of a message that a vault may have to pad. False: no memory. */
static bool hash_along(signature *ours, const unsigned char *data,
                       size_t length)
{
    if (ours->hashing == NULL) {
        if (ours->updated || !signs_pss(ours))
            return true;
        ours->hashing =
            warprsa_reference_hashing_new(ours->context, &ours->use);
    }
    return ours->hashing != NULL &&
           EVP_DigestUpdate(ours->hashing, data, length);
}

static int hash_part(signature *ours, const unsigned char *data, size_t length)
{
    if (!hash_along(ours, data, length))
        return 0;
    ours->updated = true;
    return ours->functions->digest_sign_update(ours->wrapped, data, length);
}

/* Hashes the part that was kept, as if it had not been. 0: that has failed. */
static int hash_kept(signature *ours)
{
    unsigned char *kept = ours->kept;
    int ok = 1;

    if (kept == NULL)
        return 1;
    ours->kept = NULL;
    ours->updated = false;
    ok = hash_part(ours, kept, ours->kept_bytes);
    OPENSSL_free(kept);
    return ok;
}

/* Keeps the first part of a message that a vault is to pad. False: it has to be
 * hashed. */
static bool keep(signature *ours, const unsigned char *data, size_t length)
{
    if (ours->updated || length == 0 || length > KEPT_BYTES ||
        ours->digest_init != ours->functions->digest_sign_init ||
        !signs_pss(ours) || !is_plain(ours, NULL))
        return false;
    ours->kept = OPENSSL_memdup(data, length);
    ours->kept_bytes = length;
    ours->updated = ours->kept != NULL;
    return ours->kept != NULL;
}

static int update_digest(signature *ours, const unsigned char *data,
                         size_t length)
{
    if (keep(ours, data, length))
        return 1;
    return hash_kept(ours) ? hash_part(ours, data, length) : 0;
}

/* Signs the message that was kept; and leaves it, as a caller whose context is
 * not copied for this may try again. */
static int sign_kept(signature *ours, unsigned char *result, size_t *length)
{
    EVP_MD_CTX *hashing =
        warprsa_reference_hashing_new(ours->context, &ours->use);
    unsigned char hash[EVP_MAX_MD_SIZE];
    int ok = hashing != NULL &&
             EVP_DigestUpdate(hashing, ours->kept, ours->kept_bytes) &&
             EVP_DigestFinal_ex(hashing, hash, NULL);

    EVP_MD_CTX_free(hashing);
    return ok ? sign_by_vault(ours, &ours->use, hash, result, length) : 0;
}

/* A hash, and what it is to be used for. */
typedef struct hashed {
    warprsa_intended_use intended;
    unsigned char hash[EVP_MAX_MD_SIZE];
} hashed;

/* What the last part of a message, `from`, lets the vault do. */
static void intend_hashed(signature *ours, const unsigned char *from,
                          size_t length, hashed *out)
{
    unsigned hash_length = 0;

    if (hash_along(ours, from, length) && ours->hashing != NULL &&
        EVP_DigestFinal_ex(ours->hashing, out->hash, &hash_length) &&
        intend_pss(ours, out->hash, hash_length, &out->intended))
        warprsa_reference_intend(&out->intended);
}

static int finish_digest(signature *ours, unsigned char *result, size_t *length,
                         size_t size)
{
    hashed last;
    int ok = 0;

    if (result != NULL && ours->kept != NULL &&
        size >= warprsa_rsa_of(ours->key)->reference->modulus_bytes)
        return sign_kept(ours, result, length);
    if (result != NULL && !hash_kept(ours))
        return 0;
    if (result != NULL)
        intend_hashed(ours, (const unsigned char *)"", 0, &last);
    ok =
        ours->functions->digest_sign_final(ours->wrapped, result, length, size);
    warprsa_reference_intend(NULL);
    return ok;
}

static int sign_message(signature *ours, unsigned char *result, size_t *length,
                        size_t size, const unsigned char *from,
                        size_t from_length)
{
    hashed last;
    int ok = 0;

    if (!hash_kept(ours))
        return 0;
    if (result != NULL)
        intend_hashed(ours, from, from_length, &last);
    ok = ours->functions->digest_sign(ours->wrapped, result, length, size, from,
                                      from_length);
    warprsa_reference_intend(NULL);
    return ok;
}

static int sign(void *ctx, unsigned char *result, size_t *length, size_t size,
                const unsigned char *from, size_t from_length)
{
    signature *ours = ctx;

    if (ours == NULL)
        return 0;
    WARPRSA_RETURN_INT(ours->context, sign_hash(ours, result, length, size,
                                                from, from_length));
}

static int digest_sign_update(void *ctx, const unsigned char *data,
                              size_t length)
{
    signature *ours = ctx;

    if (ours == NULL)
        return 0;
    WARPRSA_RETURN_INT(ours->context, update_digest(ours, data, length));
}

static int digest_sign_final(void *ctx, unsigned char *result, size_t *length,
                             size_t size)
{
    signature *ours = ctx;

    if (ours == NULL)
        return 0;
    WARPRSA_RETURN_INT(ours->context,
                       finish_digest(ours, result, length, size));
}

static int digest_sign(void *ctx, unsigned char *result, size_t *length,
                       size_t size, const unsigned char *from,
                       size_t from_length)
{
    signature *ours = ctx;

    if (ours == NULL)
        return 0;
    WARPRSA_RETURN_INT(ours->context, sign_message(ours, result, length, size,
                                                   from, from_length));
}

/* ---- functions that only forward: same name, same arguments ---- */

#define FORWARD(name, ...) WARPRSA_FORWARD(signature, name, __VA_ARGS__)
#define SIGN_ONCE(name)    WARPRSA_FORWARD_ONCE(signature, name)
#define UPDATE(name)                                                           \
    static int name(void *ctx, const unsigned char *data, size_t length)       \
    {                                                                          \
        signature *ours = ctx;                                                 \
        if (ours == NULL)                                                      \
            return 0;                                                          \
        ours->updated = true;                                                  \
        WARPRSA_RETURN_INT(ours->context, ours->functions->name(               \
                                              ours->wrapped, data, length));   \
    }
#define SIGN_FINAL(name)                                                       \
    FORWARD(name,                                                              \
            (void *ctx, unsigned char *result, size_t *length, size_t size),   \
            (ours->wrapped, result, length, size))
#define VERIFY_ONCE(name)                                                      \
    FORWARD(name,                                                              \
            (void *ctx, const unsigned char *result, size_t length,            \
             const unsigned char *from, size_t from_length),                   \
            (ours->wrapped, result, length, from, from_length))
/* Of the digest that `wrapped` hashes by. */
#define MD_PARAMS(name, TYPE)                                                  \
    static int name(void *ctx, TYPE params[])                                  \
    {                                                                          \
        signature *ours = ctx;                                                 \
        if (ours == NULL)                                                      \
            return 0;                                                          \
        WARPRSA_RETURN_INT(ours->context,                                      \
                           hash_kept(ours)                                     \
                               ? ours->functions->name(ours->wrapped, params)  \
                               : 0);                                           \
    }
#define GETTABLE(name)                                                         \
    static const OSSL_PARAM *name(void *ctx)                                   \
    {                                                                          \
        const signature *ours = ctx;                                           \
        return ours == NULL ? NULL : ours->functions->name(ours->wrapped);     \
    }

UPDATE(sign_message_update)
SIGN_FINAL(sign_message_final)
VERIFY_ONCE(verify)
UPDATE(verify_message_update)
SIGN_ONCE(verify_recover)
UPDATE(digest_verify_update)
FORWARD(digest_verify_final,
        (void *ctx, const unsigned char *result, size_t length),
        (ours->wrapped, result, length))
VERIFY_ONCE(digest_verify)
FORWARD(verify_message_final, (void *ctx), (ours->wrapped))
FORWARD(get_ctx_params, (void *ctx, OSSL_PARAM params[]),
        (ours->wrapped, params))
MD_PARAMS(get_ctx_md_params, OSSL_PARAM)
MD_PARAMS(set_ctx_md_params, const OSSL_PARAM)
GETTABLE(gettable_ctx_md_params)
GETTABLE(settable_ctx_md_params)

/* The types of keys that a signature with its digest takes. */
static const char **query_key_types(void)
{
    static const char *types[] = {"RSA", NULL};

    return types;
}

#define ENTRY(ID, name) WARPRSA_ENTRY(SIGNATURE, ID, name)
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
    WARPRSA_FORWARD_LIST(signature, signatures, gettable_ctx_params, i)        \
    WARPRSA_FORWARD_LIST(signature, signatures, settable_ctx_params, i)
WARPRSA_EACH_ALGORITHM(DEFINE)

#define ENTRIES(i)                                                             \
    {ENTRY(NEWCTX, newctx_##i),                                                \
     ENTRY(GETTABLE_CTX_PARAMS, gettable_ctx_params_##i),                      \
     ENTRY(SETTABLE_CTX_PARAMS, settable_ctx_params_##i),                      \
     {0, NULL}},
static const OSSL_DISPATCH for_one[WARPRSA_ALGORITHMS_MAX][4] = {
    WARPRSA_EACH_ALGORITHM(ENTRIES)};

#define READ(ID, name) WARPRSA_READ(SIGNATURE, signature, ID, name)

OSSL_DISPATCH *warprsa_signature_wrap(warprsa_algorithms *algorithms,
                                      unsigned index,
                                      const OSSL_DISPATCH *table)
{
    warprsa_signature_functions *functions = &algorithms->signatures[index];

    WARPRSA_SIGNATURE_FUNCTIONS(READ)
    return warprsa_function_table_new(table, for_all, for_one[index]);
}
