/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The operations of each kind, and the contexts that are kept for them.
 */
#include "bench/load/operation.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/rsa.h>

/* A context that is free for the next operation of its key and kind, in a list
 * of such contexts. While one is in use, since its job is paused, others are
 * made. */
typedef struct load_kept_context {
    struct load_kept_context *next;
    EVP_PKEY_CTX *ctx;
} kept_context;

bool load_maker_init(load_maker *maker, const load_keys *keys,
                     OSSL_LIB_CTX *subject, unsigned seed)
{
    *maker = (load_maker){
        .keys = keys,
        .subject = subject,
        .random = {(uint64_t)seed << 32},
    };
    for (int i = 0; i < LOAD_KINDS; i++)
        maker->weight += keys->options->weights[i];
    if (keys->options->fresh)
        return true;
    maker->kept =
        calloc((size_t)keys->count * LOAD_KINDS, sizeof(*maker->kept));
    return maker->kept != NULL;
}

void load_maker_clear(load_maker *maker)
{
    for (size_t i = 0;
         maker->kept != NULL && i < (size_t)maker->keys->count * LOAD_KINDS;
         i++) {
        while (maker->kept[i] != NULL) {
            kept_context *context = maker->kept[i];

            maker->kept[i] = context->next;
            EVP_PKEY_CTX_free(context->ctx);
            free(context);
        }
    }
    free(maker->kept);
}

void load_operation_choose(load_maker *maker, load_operation *operation)
{
    unsigned left = load_random_below(&maker->random, maker->weight);
    int kind = 0;

    for (; left >= maker->keys->options->weights[kind]; kind++)
        left -= maker->keys->options->weights[kind];
    operation->kind = (load_kind)kind;
    operation->key = load_keys_choose(maker->keys, &maker->random);
    operation->length = 0;
    operation->ciphertext = load_random_below(&maker->random, LOAD_CIPHERTEXTS);
    for (size_t i = 0; i < sizeof(operation->digest); i += sizeof(uint64_t)) {
        uint64_t word = load_random_next(&maker->random);

        memcpy(operation->digest + i, &word, sizeof(word));
    }
}

/* Sets padding and digest of a context that was initialized to sign, decrypt or
 * verify. */
static bool set_up(EVP_PKEY_CTX *ctx, load_kind kind)
{
    switch (kind) {
    case LOAD_PKCS1:
        return EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PADDING) == 1 &&
               EVP_PKEY_CTX_set_signature_md(ctx, EVP_sha256()) == 1;
    case LOAD_BARE:
        return EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PADDING) == 1;
    case LOAD_RAW:
        return EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_NO_PADDING) == 1;
    case LOAD_PSS:
        return EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PSS_PADDING) == 1 &&
               EVP_PKEY_CTX_set_signature_md(ctx, EVP_sha256()) == 1 &&
               EVP_PKEY_CTX_set_rsa_pss_saltlen(ctx, RSA_PSS_SALTLEN_DIGEST) ==
                   1;
    default:
        return EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_OAEP_PADDING) == 1 &&
               EVP_PKEY_CTX_set_rsa_oaep_md_name(ctx, "SHA256", NULL) == 1;
    }
}

static EVP_PKEY_CTX *make_context(const load_maker *maker,
                                  const load_operation *operation)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(
        maker->subject, operation->key->subject, NULL);

    if (ctx != NULL &&
        (operation->kind == LOAD_OAEP ? EVP_PKEY_decrypt_init(ctx)
                                      : EVP_PKEY_sign_init(ctx)) == 1 &&
        set_up(ctx, operation->kind))
        return ctx;
    EVP_PKEY_CTX_free(ctx);
    return NULL;
}

static kept_context **kept_contexts_of(const load_maker *maker,
                                       const load_operation *operation)
{
    return &maker->kept[(size_t)(operation->key - maker->keys->keys) *
                            LOAD_KINDS +
                        operation->kind];
}

static kept_context *acquire_context(const load_maker *maker,
                                     const load_operation *operation)
{
    kept_context **first = kept_contexts_of(maker, operation),
                 *context = *first;

    if (context != NULL) {
        *first = context->next;
        return context;
    }
    context = malloc(sizeof(*context));
    if (context == NULL)
        return NULL;
    context->ctx = make_context(maker, operation);
    if (context->ctx != NULL)
        return context;
    free(context);
    return NULL;
}

static void release_context(const load_maker *maker,
                            const load_operation *operation,
                            kept_context *context)
{
    kept_context **first = kept_contexts_of(maker, operation);

    context->next = *first;
    *first = context;
}

/* EMSA-PKCS1-v1_5 of the digest without its DigestInfo: what LOAD_BARE signs.
 * Returns the length of the modulus. */
static size_t pad(const load_operation *operation,
                  unsigned char padded[LOAD_BYTES_MAX])
{
    const size_t bytes = operation->key->bytes;
    unsigned char *digest = padded + bytes - sizeof(operation->digest);

    memset(padded, 0xff, bytes);
    padded[0] = 0;
    padded[1] = 1;
    digest[-1] = 0;
    memcpy(digest, operation->digest, sizeof(operation->digest));
    return bytes;
}

static int sign(EVP_PKEY_CTX *ctx, load_operation *operation, size_t *length)
{
    unsigned char padded[LOAD_BYTES_MAX];

    if (operation->kind == LOAD_RAW)
        return EVP_PKEY_sign(ctx, operation->result, length, padded,
                             pad(operation, padded));
    return EVP_PKEY_sign(ctx, operation->result, length, operation->digest,
                         sizeof(operation->digest));
}

static void run_in(EVP_PKEY_CTX *ctx, load_operation *operation)
{
    size_t length = sizeof(operation->result);
    int ok = 0;

    if (operation->kind == LOAD_OAEP)
        ok =
            EVP_PKEY_decrypt(ctx, operation->result, &length,
                             operation->key->ciphertexts[operation->ciphertext],
                             operation->key->bytes);
    else
        ok = sign(ctx, operation, &length);
    operation->length = ok == 1 ? length : 0;
}

void load_operation_run(load_maker *maker, load_operation *operation)
{
    if (maker->kept == NULL) {
        EVP_PKEY_CTX *ctx = make_context(maker, operation);

        if (ctx != NULL)
            run_in(ctx, operation);
        EVP_PKEY_CTX_free(ctx);
    } else {
        kept_context *context = acquire_context(maker, operation);

        if (context != NULL) {
            run_in(context->ctx, operation);
            release_context(maker, operation, context);
        }
    }
    if (operation->length == 0)
        ERR_clear_error();
}

bool load_operation_verify(const load_maker *maker,
                           const load_operation *operation)
{
    unsigned char text[LOAD_PLAIN_BYTES];
    EVP_PKEY_CTX *ctx = NULL;
    bool right = false;

    if (operation->kind == LOAD_OAEP) {
        load_plain_text(operation->ciphertext, text);
        return operation->length == sizeof(text) &&
               memcmp(operation->result, text, sizeof(text)) == 0;
    }
    ctx = EVP_PKEY_CTX_new_from_pkey(maker->keys->libctx,
                                     operation->key->oracle, NULL);
    right = ctx != NULL && EVP_PKEY_verify_init(ctx) == 1 &&
            set_up(ctx,
                   operation->kind == LOAD_RAW ? LOAD_BARE : operation->kind) &&
            EVP_PKEY_verify(ctx, operation->result, operation->length,
                            operation->digest, sizeof(operation->digest)) == 1;
    EVP_PKEY_CTX_free(ctx);
    ERR_clear_error();
    return right;
}
